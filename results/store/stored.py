"""A stored run, whose parts and samples are read on demand."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from orchestrator.recording import multipath, spraying
from orchestrator.recording.counters import CounterNames
from orchestrator.recording.extracted import ExtractedNumber, of_provenance, values_by_metric
from orchestrator.recording.kept import KeptFile
from orchestrator.recording.model import QUEUE_DTYPE, SENDER, Check, FlowRecord, QueueRecord
from orchestrator.recording.multipath import Connection
from orchestrator.recording.trace import Trace
from orchestrator.windows import Window
from results import metrics
from results.matrix.entries import entry_of
from results.records import columns, typed
from results.records.model import (
    RunEvent,
    RunHead,
    RunIdentity,
    RunRow,
    Status,
    WindowMetrics,
)
from results.samples import sample_blocks, sample_tables
from results.samples.sample_tables import Array, Columns
from results.schema.access_errors import reading
from results.store.parts import files, integrity, judgements, kept, records, traces
from results.store.parts.judgements import Judgement
from results.store.parts.notes import Remarks
from results.store.parts.traces import TraceHead

_T = TypeVar("_T")


class StoredRun:
    """One run of an open store; usable while the store is.

    Flows and queues are named by index or name. Raises StoreError when the file cannot be read
    and UsageError for a flow, queue or column that the run does not have.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, key: int, row: RunRow) -> None:
        self._connection = connection
        self._path = path
        self._key = key
        self.row = row
        self.id = row.id
        self.status: Status = row.status
        self.duration_s = row.duration_s
        self.warmup_s = row.warmup_s
        self.metrics_grid_s = row.metrics_grid_s
        self.windows: Sequence[Window] = row.windows
        self._columns: dict[tuple[str | int, ...], Columns] = {}
        self._metrics: dict[str, WindowMetrics] | None = None
        self._intact: set[str] = set()
        self._verified: dict[str, tuple[Sequence[str], list[tuple[Any, ...]]]] = {}

    def use_verified_rows(
        self, table: str, names: Sequence[str], rows: list[tuple[Any, ...]]
    ) -> None:
        """Take the rows of a table from here, not from the file: their checksum was right."""
        self._verified[table] = (names, rows)
        self._intact.add(table)

    @property
    def verified_tables(self) -> set[str]:
        """The tables whose rows were given to :meth:`use_verified_rows`."""
        return set(self._verified)

    @cached_property
    def head(self) -> RunHead:
        """The fields that were known before the run began."""
        self._require_intact("runs")
        identity = {name: getattr(self.row, name) for name in columns.names(RunIdentity)}
        names = [name for name in columns.names(RunHead) if name not in identity]
        (values,) = self.raw("runs", names)
        return RunHead(**identity, **columns.read(RunHead, dict(zip(names, values, strict=True))))

    @cached_property
    def flows(self) -> list[FlowRecord]:
        """The flows, in the order of their indices; empty unless the run ended ok."""
        return list(map(records.flow, self._records("flows", "flow")))

    @cached_property
    def entries(self) -> list[str]:
        """The name of the scenario's flow entry of each flow, in the order of their indices."""
        resolved = self.head.resolved if self.flows else {}
        return [entry_of(flow.name, flow.traffic, resolved) for flow in self.flows]

    @cached_property
    def queues(self) -> list[QueueRecord]:
        """The qdiscs and policers, in the order of their indices; empty unless the run ended ok."""
        return list(map(records.queue, self._records("queues", "queue")))

    @cached_property
    def checks(self) -> list[Check]:
        """The fidelity checks of the latest judgement, in the order in which they were made."""
        return self.judgements[-1].checks if self.judgements else []

    @cached_property
    def judgements(self) -> list[Judgement]:
        """Every judgement of the run, oldest first; empty unless the run ended ok."""
        if self.status != "ok":
            return []
        self._require_intact("runs")
        ((verdict, version, finished),) = self._rows(
            "SELECT verdict, checks_version, finished_utc FROM runs WHERE run = ?"
        )
        with reading(self._path):
            integrity.require_judgements_intact(self._connection, self._key, self.id)
            later = judgements.read(self._connection, self._key)
        checks = list(map(records.check, self._records("checks", "position")))
        own = {"verdict": verdict, "checks": checks, "checks_version": version,
               "judged_utc": finished}  # fmt: skip
        return [typed.make(Judgement, own), *later]

    @cached_property
    def remarks(self) -> Remarks:
        """The notes and tags of the run."""
        with reading(self._path):
            return integrity.read_remarks(self._connection, self._key).get(self.id, Remarks())

    @cached_property
    def files(self) -> dict[str, bytes]:
        """The files that the run's scenario names, by their places.

        Raises:
            StoreError: they are damaged.
        """
        self._require_intact("run_files")
        with self._decoding("run_files"):
            return files.read(self._connection, self._key)

    @cached_property
    def kept_files(self) -> list[KeptFile]:
        """The files that the run keeps of its programs, and those that it leaves out.

        Raises:
            StoreError: they are damaged.
        """
        self._require_intact("kept_files")
        with self._decoding("kept_files"):
            return kept.read(self._connection, self._key)

    def kept_content(self, one: KeptFile) -> bytes:
        """Return the content of one of ``kept_files`` that is kept.

        Raises:
            StoreError: it is damaged.
        """
        with self._decoding("files"):
            return kept.content(self._connection, one)

    @cached_property
    def evidence(self) -> dict[str, Any]:
        """The evidence for judging the run again, by name; empty where none was stored.

        Raises:
            StoreError: it is damaged.
        """
        self._require_intact("evidence")
        rows = self._rows("SELECT name, bytes, json FROM evidence WHERE run = ?")
        with self._decoding("evidence"):
            return judgements.read_evidence([(name, size, data) for name, size, data in rows])

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """The provenance of the run by name."""
        self._require_intact("provenance")
        rows = self._rows("SELECT key, value FROM provenance WHERE run = ? ORDER BY key")
        return {key: json.loads(value) for key, value in rows}

    @cached_property
    def events(self) -> list[RunEvent]:
        """The events of the scenario, in the order of their times."""
        try:
            return [records.event(event) for event in self.provenance.get("events", [])]
        except typed.DECODING_ERRORS as error:
            raise integrity.damaged(self.id, f"table provenance: events: {error}") from error

    def artefact(self, name: str) -> str:
        """Return the text kept as ``console`` or ``log``; empty when nothing was kept."""
        self._require_intact("artefacts")
        rows = self._rows("SELECT text FROM artefacts WHERE run = ? AND name = ?", name)
        return zlib.decompress(rows[0][0]).decode() if rows else ""

    def metrics(self) -> dict[str, WindowMetrics]:
        """Return the metrics by window name (WHOLE first), the stored ones when complete.

        Metrics that this program knows and the one that stored the run did not are computed
        from the samples, with all others.
        """
        if self._metrics is None:
            self._require_intact("metrics")
            stored = metrics.empty(self)
            seen: set[tuple[str, str]] = set()
            for window, flow, link, name, value in self.raw(
                "metrics", ("window", "flow", "link", "name", "value")
            ):
                scope: metrics.Scope = (
                    "flow" if flow is not None else "link" if link is not None else "run"
                )
                seen.add((name, scope))
                if window in stored and metrics.find(name, scope) is not None:
                    stored[window].of(flow, link)[name] = value
            missing = metrics.expected(self) - seen
            self._metrics = metrics.compute(self) if missing else stored
        return self._metrics

    def tcp(
        self,
        flow: int | str,
        endpoint: int = SENDER,
        columns: Sequence[str] | None = None,
        within_ns: tuple[int, int] | None = None,
    ) -> dict[str, Array]:
        """Return samples of one end of a flow as columns of equal length, in the order of time.

        Columns are int64 in the unit of their name. Those in ``samples.MISSING_VALUES`` are
        float64, with NaN for a missing or infinite value. ``within_ns`` keeps first <= time_ns <=
        last.
        """
        key = {"flow": self.flow_index(flow), "endpoint": endpoint}
        return self._select("tcp_samples", key, columns, within_ns)

    def queue_samples(
        self,
        queue: int | str,
        columns: Sequence[str] | None = None,
        within_ns: tuple[int, int] | None = None,
    ) -> dict[str, Array]:
        """Return samples of one qdisc as columns of equal length, in the order of time."""
        key = {"queue": self.queue_index(queue)}
        return self._select("queue_samples", key, columns, within_ns)

    def datagrams(
        self,
        flow: int | str,
        columns: Sequence[str] | None = None,
        within_ns: tuple[int, int] | None = None,
    ) -> dict[str, Array]:
        """Return samples of a UDP flow as columns of equal length, in the order of time."""
        return self._select("datagram_samples", {"flow": self.flow_index(flow)}, columns, within_ns)

    def transfers(self, flow: int | str, columns: Sequence[str] | None = None) -> dict[str, Array]:
        """Return a flow's transfers as columns of equal length, in the order of their starts."""
        return self._select("transfers", {"flow": self.flow_index(flow)}, columns)

    def senders(self, flow: int | str, columns: Sequence[str] | None = None) -> dict[str, Array]:
        """Return the states of a flow's sender that metrics use, of those that changed.

        They are columns of equal length in the order of time. The times are on the metrics' grid.
        """
        return self._select("sender_states", {"flow": self.flow_index(flow)}, columns)

    def counters(self, host: int, columns: Sequence[str] | None = None) -> dict[str, Array]:
        """Return the SNMP counters of a host that changed: rows in the order of time.

        Hosts and counters are numbered as in ``counter_names``.
        """
        return self._select("counter_samples", {"host": host}, columns)

    def counter_series(self, host: int) -> dict[str, tuple[Array, Array]]:
        """Return (times in ns, growth since right before traffic) by the names of counters."""
        columns = self.counters(host, ("time_ns", "counter", "value"))
        series = {}
        for number in np.unique(columns["counter"]).tolist():
            rows = columns["counter"] == number
            name = self.counter_names.names[number]
            series[name] = columns["time_ns"][rows], columns["value"][rows]
        return series

    def counter_growth(self, host: int, name: str) -> tuple[Array, Array] | None:
        """Return (times in ns, growth since right before traffic); None if it did not grow."""
        return self.counter_series(host).get(name)

    def queue_array(self) -> npt.NDArray[np.void]:
        """Return all samples of qdiscs, of QUEUE_DTYPE, by queue and in the order of time."""
        self._require_intact("queue_samples")
        parts = []
        for index in range(len(self.queues)):
            columns = self.queue_samples(index)
            part = np.zeros(len(columns["time_ns"]), QUEUE_DTYPE)
            part["queue"] = index
            for name, column in columns.items():
                part[name] = column
            parts.append(part)
        return np.concatenate(parts) if parts else np.zeros(0, QUEUE_DTYPE)

    def tcp_columns(self, flow: int, endpoint: int) -> Columns:
        """Return the columns of one end of a flow, each read once, when it is used first."""
        return self._lazily("tcp_samples", flow=flow, endpoint=endpoint)

    def queue_columns(self, queue: int) -> Columns:
        """Return the columns of one qdisc, each read once, when it is used first."""
        return self._lazily("queue_samples", queue=queue)

    def sojourn_columns(self, queue: int) -> Columns:
        """Return how long packets waited in a queue, each column read once, when used first."""
        return self._lazily("sojourn_times", queue=queue)

    @cached_property
    def counter_names(self) -> CounterNames:
        """The names of SNMP counters and of their hosts; none of a run without counters."""
        return self._of_provenance(CounterNames.of)

    @cached_property
    def extracted_numbers(self) -> dict[str, list[ExtractedNumber]]:
        """The numbers of programs' output, by the names of their flows."""
        return self._of_provenance(of_provenance)

    def extracted(self, flow: int) -> dict[str, float | None]:
        """Return the numbers of a flow's program's output by the names of their metrics."""
        return values_by_metric(self.extracted_numbers, self.flows[flow].name)

    @cached_property
    def _connections(self) -> dict[str, Connection]:
        return self._of_provenance(multipath.of_provenance)

    def multipath(self, flow: int) -> Connection | None:
        """Return the Multipath TCP connection that a flow is a subflow of; None of other flows."""
        return self._connections.get(self.flows[flow].name)

    @cached_property
    def _shares_of_packets(self) -> spraying.Shares:
        return self._of_provenance(spraying.of_provenance)

    def share_of_packets(self, flow: int, channel: str) -> float:
        """Return the share of a flow's packets that a channel of its path carries."""
        return spraying.share_of(self._shares_of_packets, self.flows[flow].name, channel)

    def _of_provenance(self, read: Callable[[Mapping[str, Any]], _T]) -> _T:
        try:
            return read(self.provenance)
        except typed.DECODING_ERRORS as error:
            raise integrity.damaged(self.id, f"table provenance: {error}") from error

    def counter_columns(self, host: int) -> Columns:
        """Return the SNMP counters of a host, each column read once, when used first."""
        return self._lazily("counter_samples", host=host)

    def datagram_columns(self, flow: int) -> Columns:
        """Return the columns of a UDP flow's samples, each read once, when it is used first."""
        return self._lazily("datagram_samples", flow=flow)

    def transfer_columns(self, flow: int) -> Columns:
        """Return the columns of a flow's transfers, each read once, when it is used first."""
        return self._lazily("transfers", flow=flow)

    def sender_states(self, flow: int) -> Columns:
        """Return the states of a flow's sender on the metrics' grid, of those that changed."""
        return self._lazily("sender_states", flow=flow)

    def _lazily(self, table: str, **key: int) -> Columns:
        def fetch(name: str) -> Array:
            return self._select(table, key, [name])[name]

        names = sample_tables.TABLES[table].dtype.names or ()
        return self._columns.setdefault((table, *key.values()), Columns(names, fetch))

    def _select(
        self,
        table: str,
        key: Mapping[str, int],
        columns: Sequence[str] | None,
        within_ns: tuple[int, int] | None = None,
    ) -> dict[str, Array]:
        names = list(
            columns if columns is not None else sample_tables.TABLES[table].dtype.names or ()
        )
        with reading(self._path):
            try:
                return sample_blocks.select(
                    self._connection, table, self._key, key, names, within_ns
                )
            except sample_tables.DamagedSamplesError as error:
                raise integrity.damaged(self.id, f"table {table}: {error}") from error

    @property
    def traces(self) -> list[TraceHead]:
        """What the traces of the run are of, oldest first; none unless the run was looked at."""
        with reading(self._path):
            return traces.heads(self._connection, self._key, self.id)

    def trace(self, number: int, names: Sequence[str] = ()) -> Trace:
        """Return a trace of the run, with the tables of these names, or with all of them.

        Raises:
            StoreError: there is none of that number, or it is damaged.
        """
        with reading(self._path):
            return traces.read(self._connection, self._key, self.id, number, names)

    def flow_index(self, flow: int | str) -> int:
        """Return the index of the flow of that name or index."""
        return records.index(flow, [record.name for record in self.flows], "flow")

    def queue_index(self, queue: int | str) -> int:
        """Return the index of the queue of that name or index."""
        return records.index(queue, [record.name for record in self.queues], "queue")

    def _records(self, table: str, index: str) -> list[dict[str, Any]]:
        """Return the run's rows of a table as the fields of their records, ordered by index."""
        self._require_intact(table)
        if table in self._verified:
            names, held = self._verified[table]
            rows = sorted(held, key=itemgetter(names.index(index)))
        else:
            with reading(self._path):
                cursor = self._connection.execute(
                    f"SELECT * FROM {table} WHERE run = ? ORDER BY {index}", (self._key,)
                )
                names, rows = [column[0] for column in cursor.description], cursor.fetchall()
        return [
            {
                name: value
                for name, value in zip(names, row, strict=True)
                if name not in ("run", index)
            }
            for row in rows
        ]

    def _require_intact(self, table: str) -> None:
        """Compare the run's rows with their checksum before the first use of them."""
        if table not in self._intact:
            with reading(self._path):
                integrity.require_intact(self._connection, self._key, table)
            self._intact.add(table)

    @contextmanager
    def _decoding(self, table: str) -> Iterator[None]:
        """Raise StoreError if what is read of a table inside cannot have been stored."""
        try:
            with reading(self._path):
                yield
        except typed.DECODING_ERRORS as error:
            raise integrity.damaged(self.id, f"table {table}: {error}") from error

    def raw(self, table: str, names: Sequence[str]) -> list[tuple[Any, ...]]:
        """Return columns of the run's rows of a table as SQLite has them, without a check."""
        if table in self._verified:
            there, rows = self._verified[table]
            return list(map(itemgetter(*map(there.index, names)), rows))
        quoted = ", ".join(f'"{name}"' for name in names)
        return self._rows(f"SELECT {quoted} FROM {table} WHERE run = ?")

    def _rows(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        with reading(self._path):
            return self._connection.execute(sql, (self._key, *parameters)).fetchall()

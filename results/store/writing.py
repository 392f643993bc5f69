"""Writes the parts of a run; every function works inside the caller's transaction."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orchestrator.recording import extracted, multipath, spraying
from orchestrator.recording.counters import CounterNames
from orchestrator.recording.model import FlowRecord, QueueRecord, Recording
from orchestrator.recording.multipath import Connection
from orchestrator.windows import Window
from results.matrix.entries import entry_of
from results.records import columns
from results.records.model import RunHead, WindowMetrics
from results.samples import sample_blocks, sample_tables
from results.samples.sample_tables import Columns, SampleSeries
from results.schema.database import utc_now
from results.store.parts import judgements, removal
from results.store.parts.checksum import Checksum, SamplesHash
from results.store.parts.process_identity import ProcessIdentity


class RecordingData:
    """A recording that is about to be stored, in the form from which metrics are computed.

    Raises:
        StoreError: its arrays contradict the flows and queues.
    """

    def __init__(self, run: RunHead, recording: Recording) -> None:
        self.duration_s = run.duration_s
        self.warmup_s = run.warmup_s
        self.windows: Sequence[Window] = run.windows
        self.flows: Sequence[FlowRecord] = recording.flows
        self.metrics_grid_s = run.metrics_grid_s
        self.entries: Sequence[str] = [
            entry_of(flow.name, flow.traffic, run.resolved) for flow in recording.flows
        ]
        self.queues: Sequence[QueueRecord] = recording.queues
        flows, queues = len(self.flows), len(self.queues)
        self._tcp = sample_tables.tcp_series(recording.tcp, flows)
        self._queues = sample_tables.queue_series(recording.queue_samples, queues)
        self._sojourn = sample_tables.sojourn_series(recording.sojourn, queues)
        self.counter_names = CounterNames.of(recording.provenance)
        self._extracted = extracted.of_provenance(recording.provenance)
        self._connections = multipath.of_provenance(recording.provenance)
        self._shares = spraying.of_provenance(recording.provenance)
        hosts = len(self.counter_names.hosts)
        self._counters = sample_tables.counter_series(recording.counters, hosts)
        self._datagrams = sample_tables.datagram_series(recording.datagrams, flows)
        self._transfers = sample_tables.transfer_series(recording.transfers, flows)
        self._senders = sample_tables.sender_series(recording.sender_states, flows)
        self._cache: dict[tuple[str, tuple[int, ...]], Columns] = {}

    @property
    def series(self) -> tuple[SampleSeries, ...]:
        """The series of all tables of samples."""
        return (
            self._tcp, self._queues, self._sojourn, self._counters, self._datagrams,
            self._transfers, self._senders,
        )  # fmt: skip

    def tcp_columns(self, flow: int, endpoint: int) -> Columns:
        """Return the samples of one end of a flow."""
        return self._columns(self._tcp, flow, endpoint)

    def queue_columns(self, queue: int) -> Columns:
        """Return the samples of a qdisc."""
        return self._columns(self._queues, queue)

    def sojourn_columns(self, queue: int) -> Columns:
        """Return the sojourn times of a queue."""
        return self._columns(self._sojourn, queue)

    def extracted(self, flow: int) -> dict[str, float | None]:
        """Return the numbers of a flow's program's output by the names of their metrics."""
        return extracted.values_by_metric(self._extracted, self.flows[flow].name)

    def multipath(self, flow: int) -> Connection | None:
        """Return the Multipath TCP connection that a flow is a subflow of; None of other flows."""
        return self._connections.get(self.flows[flow].name)

    def share_of_packets(self, flow: int, channel: str) -> float:
        """Return the share of a flow's packets that a channel of its path carries."""
        return spraying.share_of(self._shares, self.flows[flow].name, channel)

    def counter_columns(self, host: int) -> Columns:
        """Return the SNMP counters of a host."""
        return self._columns(self._counters, host)

    def datagram_columns(self, flow: int) -> Columns:
        """Return the samples of a UDP flow."""
        return self._columns(self._datagrams, flow)

    def transfer_columns(self, flow: int) -> Columns:
        """Return the transfers of a flow."""
        return self._columns(self._transfers, flow)

    def sender_states(self, flow: int) -> Columns:
        """Return the states of a flow's sender."""
        return self._columns(self._senders, flow)

    def _columns(self, series: SampleSeries, *key: int) -> Columns:
        return self._cache.setdefault((series.table, key), series.columns(key))


def insert_head(
    connection: sqlite3.Connection, run_id: str, head: RunHead, owner: ProcessIdentity
) -> int:
    """Add the row of a run that begins, and return the run's key."""
    key = removal.next_key(connection)
    _insert(
        connection,
        "runs",
        [
            {
                "run": key,
                "id": run_id,
                **columns.written(head),
                "started_utc": utc_now(),
                "owner_pid": owner.pid,
                "owner_start_ticks": owner.start_ticks,
                "owner_boot_id": owner.boot_id,
                "owner_pid_namespace": owner.pid_namespace,
                "status": "running",
            }
        ],
    )
    return key


def insert_recording(
    connection: sqlite3.Connection,
    run: int,
    recording: Recording,
    recorded: RecordingData,
    evidence: Mapping[str, Any],
) -> dict[str, Checksum]:
    """Add a recording, except for what is in the run's own row.

    ``evidence`` is for judging the run again: JSON-ready values by name. Return the checksums of
    the samples by table.
    """
    _insert(connection, "flows", _flows(run, recording.flows))
    _insert(connection, "queues", [
        {
            "run": run, "queue": index, **vars(queue),
            "statistics": columns.to_json(list(queue.statistics)),
            "rate_steps": columns.to_json(list(queue.rate_steps)),
        }
        for index, queue in enumerate(recording.queues)
    ])  # fmt: skip
    _insert(connection, "checks", [
        {"run": run, "position": index, **vars(check)}
        for index, check in enumerate(recording.checks)
    ])  # fmt: skip
    _insert(connection, "provenance", [
        {"run": run, "key": key, "value": columns.to_json(value)}
        for key, value in recording.provenance.items()
    ])  # fmt: skip
    _insert(connection, "evidence", [
        {"run": run, **row} for row in judgements.evidence_rows(evidence)
    ])  # fmt: skip
    insert_artefacts(connection, run, {"console": recording.console, "log": recording.log})
    return {series.table: _insert_series(connection, run, series) for series in recorded.series}


def _insert_series(connection: sqlite3.Connection, run: int, series: SampleSeries) -> Checksum:
    """Store a table's samples and return their checksum."""
    total = SamplesHash(series.table, sorted(series.names))
    sample_blocks.insert(connection, run, series, total.add_stored)
    return total.result()


def insert_artefacts(connection: sqlite3.Connection, run: int, texts: Mapping[str, str]) -> None:
    """Store texts by name; empty ones are left out."""
    _insert(connection, "artefacts", [
        {"run": run, "name": name, "text": zlib.compress(text.encode("utf-8", "replace"))}
        for name, text in texts.items() if text
    ])  # fmt: skip


def insert_metrics(
    connection: sqlite3.Connection, run: int, computed: Mapping[str, WindowMetrics]
) -> None:
    """Add metrics, those without a value too."""

    def rows() -> Iterator[tuple[int, str, int | None, str | None, str, float | None]]:
        for window, values in computed.items():
            for name, value in values.run.items():
                yield run, window, None, None, name, value
            for index, of_flow in enumerate(values.flows):
                for name, value in of_flow.items():
                    yield run, window, index, None, name, value
            for link, of_link in values.links.items():
                for name, value in of_link.items():
                    yield run, window, None, link, name, value

    connection.executemany("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", rows())


def _flows(run: int, flows: Sequence[FlowRecord]) -> list[dict[str, Any]]:
    return [
        {
            "run": run,
            "flow": index,
            **vars(flow),
            "path": columns.to_json(list(flow.path)),
            "congestion_fields": columns.to_json(list(flow.congestion_fields)),
            "failed_s": columns.to_json(list(flow.failed_s)),
        }
        for index, flow in enumerate(flows)
    ]


def _insert(connection: sqlite3.Connection, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    if not rows:
        return
    names = ", ".join(f'"{name}"' for name in rows[0])
    values = ", ".join(f":{name}" for name in rows[0])
    connection.executemany(
        f"INSERT INTO {table} ({names}) VALUES ({values})",
        [{name: columns.python_value(value) for name, value in row.items()} for row in rows],
    )

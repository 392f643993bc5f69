"""The results store: one SQLite file that stores each run in one step and never overwrites one.

::

    with Store(path) as store:
        run_id = store.begin(head)
        store.finish(run_id, recording, wall_s)    # or store.fail(run_id, "why")

    with Store.open_read_only(path) as store:
        document = run_document.of_ids(store, [store.resolve("last")])
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Self

from orchestrator.errors import StoreError
from orchestrator.files.scenario_files import NamedFile
from orchestrator.recording.model import Recording
from orchestrator.recording.trace import Trace
from results import metrics
from results.records import columns, typed
from results.records.model import RunHead, RunRow
from results.samples import sample_blocks
from results.schema import access_errors, database, earlier_schema
from results.schema.access_errors import reading
from results.schema.database import Tell, say_nothing, utc_now
from results.store import bulk, live, metric_rows, resolving, run_rows, writing
from results.store.metric_rows import MetricCache, MetricRows
from results.store.parts import (
    checksum,
    files,
    integrity,
    judgements,
    kept,
    process_identity,
    traces,
)
from results.store.parts.checksum import Checksum
from results.store.parts.integrity import read_remarks
from results.store.parts.judgements import Judgement
from results.store.parts.notes import Remarks
from results.store.parts.traces import TraceHead
from results.store.stored import StoredRun


def prepare_storing() -> None:
    """Look up what :meth:`Store.finish` needs, which takes tens of milliseconds the first time."""
    checksum.covered(database.newest())
    sample_blocks.sample_columns()
    columns.codecs_of(RunRow)


_LOOK_UPS = 3
"""How often a run is looked up that has an id and no row."""


class Store:
    """An open results store; opening makes or migrates the file, ``with`` closes it.

    An instance belongs to the thread that opened it; any number of instances and processes may
    share the file. ``tell`` is called with what a migration does. Every method raises StoreError
    when the file cannot be read or written, and UsageError for a run that is not there.
    """

    def __init__(self, path: Path, tell: Tell = say_nothing) -> None:
        self.path = Path(path)
        self._loaded: set[int] = set()
        self.metric_cache = MetricCache()
        self._connection = database.open_writable(self.path, tell=tell)
        try:
            with self.writing():
                self._mark_interrupted()
                stale = self._stale_live_files()
            live.remove_stale(self.path, stale)
        except BaseException:
            self.close()
            raise

    @classmethod
    def open_read_only(cls, path: Path, cache: MetricCache | None = None) -> Self:
        """Open an existing store for reading; StoreError when there is none.

        ``cache`` has metrics that were read before, and gets those that are read now.
        """
        store = cls.__new__(cls)
        store.path = Path(path)
        store._loaded = set()
        store.metric_cache = MetricCache() if cache is None else cache
        store._connection = database.open_read_only(store.path)
        try:
            with reading(store.path):
                earlier_schema.show_as_newest(store._connection, store.path)
        except StoreError:
            store.close()
            raise
        return store

    @classmethod
    def open_existing(cls, path: Path, tell: Tell = say_nothing) -> Self:
        """Open an existing store for writing, migrated; StoreError when there is none."""
        database.open_read_only(Path(path)).close()
        return cls(path, tell)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: object, _traceback: object) -> None:
        """Close the file; raise StoreError for an error that damage to the file may explain."""
        try:
            if isinstance(error, typed.DECODING_ERRORS):
                self._raise_if_damaged(error)
        finally:
            self.close()

    def _raise_if_damaged(self, error: Exception) -> None:
        """Raise StoreError if a run that was read is damaged."""
        for key in sorted(self._loaded):
            with reading(self.path):
                run = integrity.examine_run(self._connection, key)
            if run.state == "damaged":
                problem = f"table {run.damage[0].table}: {run.damage[0].problem}"
                raise integrity.damaged(run.id, problem) from error

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def begin(self, head: RunHead, named: Iterable[NamedFile] = ()) -> str:
        """Record a run as running, owned by the calling process, and return its id.

        ``named`` are the files that its scenario names.
        """
        names = [window.name for window in head.windows]
        if "" in names or len(set(names)) < len(names):
            raise StoreError(f"windows must have names of their own, not {names}")
        with self.writing():
            run_id = self._new_id()
            key = writing.insert_head(
                self._connection, run_id, head, process_identity.this_process()
            )
            files.insert(self._connection, key, named)
        return run_id

    def finish(
        self,
        run_id: str,
        recording: Recording,
        wall_s: float,
        evidence: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Store the recording and the metrics of a running run in one transaction.

        ``evidence`` is for judging the run again: JSON-ready values by name.

        Raises:
            StoreError: the run is not running, or the recording has no verdict or contradicts
                itself. Then nothing is stored.
        """
        if recording.verdict is None:
            raise StoreError("a recording is judged before it is stored")
        run = self.load(run_id)
        recorded = writing.RecordingData(run.head, recording)
        warnings = recording.kernel_warnings
        computed = metrics.compute(recorded)
        with self.writing():
            key = self._running(run.id)
            sums = writing.insert_recording(self._connection, key, recording, recorded, evidence)
            writing.insert_metrics(self._connection, key, computed)
            kept.insert(self._connection, key, recording.kept)
            if recording.trace is not None:
                traces.insert(self._connection, key, run.id, recording.trace)
            self._connection.execute(
                "UPDATE runs SET status = 'ok', finished_utc = ?, wall_s = ?, kernel = ?, "
                "simulated_s = ?, digest = ?, kernel_warnings = ?, verdict = ?, checks_version = ? "
                "WHERE run = ?",
                (utc_now(), wall_s, recording.kernel, recording.simulated_s, recording.digest,
                 None if warnings is None else warnings[0],
                 recording.verdict, recording.checks_version, key),
            )  # fmt: skip
            self._seal(key, sums)

    def fail(
        self,
        run_id: str,
        error: str,
        status: Literal["failed", "interrupted"] = "failed",
        console: str = "",
        log: str = "",
    ) -> None:
        """Mark a running run as failed or interrupted; StoreError when it is not running."""
        with self.writing():
            key = self._running(self.resolve(run_id))
            writing.insert_artefacts(self._connection, key, {"console": console, "log": log})
            self._connection.execute(
                "UPDATE runs SET status = ?, error = ?, finished_utc = ? WHERE run = ?",
                (status, error, utc_now(), key),
            )
            self._seal(key)

    def add_judgement(self, run_id: str, judgement: Judgement) -> None:
        """Add a later judgement of a run; the earlier ones stay.

        Raises:
            StoreError: the run is not ok, or its judgements are damaged.
        """
        key, row = self._named(run_id)
        if row.status != "ok":
            raise StoreError(f"run {row.id} is {row.status}; only an ok run has a verdict")
        with self.writing():
            integrity.require_judgements_intact(self._connection, key, row.id)
            judgements.insert(self._connection, key, row.id, judgement)

    def add_trace(self, run_id: str, trace: Trace) -> int:
        """Add a trace of a run that is ok, and return its number; earlier ones stay."""
        key, row = self._named(run_id)
        if row.status != "ok":
            raise StoreError(f"run {row.id} is {row.status}; only an ok run has traces")
        with self.writing():
            return traces.insert(self._connection, key, row.id, trace)

    def require_writable(self) -> None:
        """Raise StoreError where nothing can be stored, as in a file that is read-only.

        SQLite opens such a file for reading, and says so at the first statement that would write.
        """
        with self.writing() as connection:
            connection.execute("DELETE FROM traces WHERE FALSE")

    def traces(self, run_id: str) -> list[TraceHead]:
        """Return what the traces of a run are of, oldest first."""
        return self.load(run_id).traces

    def trace(self, run_id: str, number: int, names: Sequence[str] = ()) -> Trace:
        """Return a trace of a run, with the tables of these names, or with all of them.

        Raises:
            StoreError: there is none of that number, or it is damaged.
        """
        return self.load(run_id).trace(number, names)

    def list_runs(self, experiment: str | None = None) -> list[RunRow]:
        """Return all runs, or those of an experiment, oldest first."""
        return [row for _, row in self._rows("?1 IS NULL OR experiment = ?1", experiment)]

    def provenance_values(self, name: str, experiment: str | None = None) -> dict[str, Any]:
        """Return one value of the provenance of each run that has it, by the run's id.

        Runs share what is decoded of equal texts. ``experiment`` restricts the runs to those of
        experiments of that name.

        Raises:
            StoreError: a value is no JSON.
        """
        with reading(self.path):
            selected = self._connection.execute(
                "SELECT id, value FROM provenance JOIN runs USING (run) "
                "WHERE key = ?1 AND (?2 IS NULL OR experiment = ?2)",
                (name, experiment),
            ).fetchall()
        decoded: dict[Any, Any] = {}
        for run_id, text in selected:
            if text in decoded:
                continue
            try:
                decoded[text] = json.loads(text)
            except typed.DECODING_ERRORS as error:
                raise integrity.damaged(run_id, f"table provenance: {name}: {error}") from error
        return {run_id: decoded[text] for run_id, text in selected}

    def resolve(self, text: str) -> str:
        """Return the id of the run that an id, a unique start of one, or ``last`` names."""
        return resolving.resolve(self._connection, self.path, text)

    def _named(self, text: str) -> tuple[int, RunRow]:
        """Return the key and the row of the run that a text names, as ``resolve`` does.

        Another process may remove it after it has been resolved. Then it is resolved again, which
        says that it was removed. An index of a damaged file may have an id that no row has.
        """
        for run_id in (self.resolve(text) for _look_up in range(_LOOK_UPS)):
            for found in self._rows("id = ?", run_id):
                return found
        raise integrity.damaged(run_id, "table runs: an index has its id, and no row does")

    def load(self, run_id: str) -> StoredRun:
        """Return the run that an id, a unique start of one, or ``last`` names."""
        key, row = self._named(run_id)
        self._loaded.add(key)
        return StoredRun(self._connection, self.path, key, row)

    def load_many(self, run_ids: Sequence[str]) -> Iterator[StoredRun]:
        """Yield the runs of these whole ids in their order; reads a few hundred at a time.

        Raises:
            UsageError: there is no run of an id.
        """
        for start in range(0, len(run_ids), bulk.AT_ONCE):
            ids = run_ids[start : start + bulk.AT_ONCE]
            rows = self._rows("id IN (SELECT value FROM json_each(?))", json.dumps(ids))
            by_id = bulk.load(self._connection, self.path, rows)
            self._loaded.update(key for key, _row in rows)
            yield from (by_id.get(run_id) or self.load(run_id) for run_id in ids)

    def metric_rows(self, rows: Sequence[RunRow]) -> Iterator[MetricRows]:
        """Yield the metrics of these runs in their order; see ``results.store.metric_rows``.

        Raises:
            UsageError: a run is not there any more.
        """
        for start in range(0, len(rows), bulk.AT_ONCE):
            some = rows[start : start + bulk.AT_ONCE]
            by_id = metric_rows.read(self._connection, self.path, some, self.metric_cache)
            yield from (by_id.get(row.id) or metric_rows.of_run(self.load(row.id)) for row in some)

    def extracted_metrics(self, rows: Sequence[RunRow]) -> list[str]:
        """Return the metrics of these runs that are numbers of programs' output, sorted."""
        layouts = {
            run.layout for run in self.metric_rows([row for row in rows if row.status == "ok"])
        }
        names = {place[-1] for layout in layouts for place in layout.places}
        return sorted(filter(metrics.is_extracted, names))

    def remarks(self) -> dict[str, Remarks]:
        """Return the notes and tags of each run that has any, by the run's id."""
        with reading(self.path):
            return read_remarks(self._connection)

    @property
    def connection(self) -> sqlite3.Connection:
        """The open connection, for other modules of this package."""
        return self._connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Run the block in one transaction; errors of SQLite become StoreError."""
        try:
            with database.transaction(self._connection):
                yield self._connection
        except access_errors.ERRORS as error:
            raise access_errors.unwritable(self.path, error) from error

    def _rows(self, where: str, *parameters: object) -> list[tuple[int, RunRow]]:
        return run_rows.read(self._connection, self.path, where, *parameters)

    def _running(self, run_id: str) -> int:
        """Return the key of a running run; StoreError when it has ended."""
        row: tuple[int, str] = self._connection.execute(
            "SELECT run, status FROM runs WHERE id = ?", (run_id,)
        ).fetchone()
        if row[1] != "running":
            raise StoreError(f"run {run_id} is {row[1]}; a stored run is never overwritten")
        return row[0]

    def _new_id(self) -> str:
        while True:
            run_id = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
            taken = self._connection.execute("SELECT 1 FROM runs WHERE id = ?", (run_id,))
            if not taken.fetchone():
                return run_id

    def _mark_interrupted(self) -> None:
        for key, *owned_by in self._connection.execute(
            f"SELECT run, {run_rows.OWNER} FROM runs WHERE status = 'running'"
        ).fetchall():
            if run_rows.owner_of(key, owned_by).is_dead():
                self._connection.execute(
                    "UPDATE runs SET status = 'interrupted', error = ? WHERE run = ?",
                    (run_rows.GONE, key),
                )
                self._seal(key)

    def _stale_live_files(self) -> list[Path]:
        rows = self._connection.execute("SELECT id FROM runs WHERE status = 'running'")
        return live.stale(self.path, [run_id for (run_id,) in rows])

    def _seal(self, key: int, samples: Mapping[str, Checksum] = MappingProxyType({})) -> None:
        """Write the checksums of a run that ends."""
        checksum.seal(self._connection, key, samples, database.newest())

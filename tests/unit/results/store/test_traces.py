"""Traces beside their runs: whole or not at all, and no damage to them goes unseen."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.errors import StoreError
from orchestrator.recording.trace import TABLES, Capture, Trace
from results.documents import trace_document
from results.schema import database
from results.store.parts import checksum, integrity, traces
from results.store.store import Store
from results.store.upkeep import housekeeping
from results.store.upkeep.merging import merge
from tests.support import traces as made
from tests.support.merging import orchestrator
from tests.support.recordings import head, whole
from tests.support.traces import finished, ids_of

RUN = "20260101-000000-abcd"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with a run that has two traces, and another run with one."""
    return made.store(tmp_path / "runs.db")


@cache
def empty() -> sqlite3.Connection:
    """A store in memory with a row of ``runs`` that has the key 1."""
    connection = database.in_memory(database.newest())
    connection.execute("PRAGMA foreign_keys = OFF")
    return connection


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 2**32))
def test_a_trace_is_read_as_it_was_stored(seed: int) -> None:
    trace = made.drawn(seed)
    number = traces.insert(empty(), 1, RUN, trace)
    assert made.same(traces.read(empty(), 1, RUN, number), trace)


def test_extreme_values_and_differences_are_kept() -> None:
    tables = {}
    for name, dtype in TABLES.items():
        tables[name] = np.zeros(6, dtype)
        for column in dtype.names or ():
            if dtype[column].kind in "iu":
                limits = np.iinfo(dtype[column])
                tables[name][column] = [limits.max, limits.min, limits.max, 0, limits.min, 1]
            else:
                tables[name][column][2:4] = [b"\xff" * 16, b"a"]
    trace = Trace(made.CAPTURE, tables, bytes(range(256)), -5)
    number = traces.insert(empty(), 1, RUN, trace)
    found = traces.read(empty(), 1, RUN, number)
    assert made.same(found, trace)
    assert found.tables["acks"]["time_ns"].tolist() == [
        2**63 - 1, -(2**63), 2**63 - 1, 0, -(2**63), 1,
    ]  # fmt: skip


def test_differences_of_times_take_little_room() -> None:
    rows = np.zeros(10_000, TABLES["links"])
    rows["time_ns"] = 10**9 + 1_211_200 * np.arange(10_000)
    rows["seq"] = (1448 * np.arange(10_000)) % 2**32
    trace = replace(made.small(), tables={**made.small().tables, "links": rows})
    number = traces.insert(empty(), 1, RUN, trace)
    (size,) = (
        empty()
        .execute(
            "SELECT length(content) FROM trace_tables WHERE number = ? AND name = 'links'",
            (number,),
        )
        .fetchone()
    )
    assert size < rows.nbytes / 300


def test_traces_of_a_run_are_numbered_and_told_of(path: Path) -> None:
    first, second = ids_of(path)
    other = made.drawn(3, capture=Capture(5, 7, frozenset({"queue"}), 2**21, 0))
    with Store(path) as store:
        assert store.add_trace(first[:-1], other) == 3
        heads = store.traces(first)
        assert [each.number for each in heads] == [1, 2, 3]
        assert [trace.number for trace in store.traces(second)] == [1]
        assert made.same(store.trace(first, 3), other)
        assert made.same(store.trace(first, 2), made.small())
        only = store.trace(first, 2, ["links"])
        assert set(only.tables) == {"links"}
        assert only.frame_bytes == b""
    last = heads[-1]
    assert (last.capture, last.full_ns) == (other.capture, other.full_ns)
    assert last.rows == {name: len(rows) for name, rows in other.tables.items()}
    with closing(sqlite3.connect(path)) as connection:
        (stored,) = connection.execute(
            "SELECT sum(length(content)) FROM trace_tables WHERE run = 1 AND number = 3"
        ).fetchone()
    assert last.stored_bytes == stored
    assert trace_document.trace(last).document() == {
        "number": 3, "traced_utc": last.traced_utc, "from_ns": 5, "to_ns": 7, "kinds": ["queue"],
        "limit_bytes": 2**21, "snap_bytes": 0, "flows": [], "links": [], "rows": last.rows,
        "stored_bytes": stored, "full_ns": other.full_ns, "captured_hosts": [],
    }  # fmt: skip
    assert database.is_moment(last.traced_utc)
    assert integrity.examine(path).ok


def test_a_trace_may_come_with_the_run(tmp_path: Path) -> None:
    with Store(tmp_path / "runs.db") as store:
        run_id = finished(store, made.small())
        assert made.same(store.trace(run_id, 1), made.small())
        assert store.traces(finished(store)) == []


def test_only_an_ok_run_has_traces(tmp_path: Path) -> None:
    with Store(tmp_path / "runs.db") as store:
        running, failed, ended = store.begin(head()), store.begin(head()), finished(store)
        store.fail(failed, "no kernel")
        for run_id, status in ((running, "running"), (failed, "failed")):
            with pytest.raises(StoreError, match=f"is {status}; only an ok run has traces"):
                store.add_trace(run_id, made.small())
        for number in (0, 1, 2):
            with pytest.raises(StoreError, match=f"run {ended} has no trace {number}"):
                store.trace(ended, number)


@pytest.mark.parametrize(
    "statement",
    ["UPDATE traces SET to_ns = to_ns", "UPDATE trace_tables SET rows = rows",
     "UPDATE trace_tables SET content = x'' WHERE name = 'acks'"],
)  # fmt: skip
def test_a_stored_trace_is_never_overwritten(path: Path, statement: str) -> None:
    with (
        closing(sqlite3.connect(path)) as connection,
        pytest.raises(sqlite3.IntegrityError, match="a stored trace is never overwritten"),
    ):
        connection.execute(statement)


def test_removing_a_run_removes_its_traces(path: Path) -> None:
    first, second = ids_of(path)
    with Store(path) as store:
        housekeeping.remove_runs(store, [first])
        assert made.same(store.trace(second, 1), made.small())
    with closing(sqlite3.connect(path)) as connection:
        for table in ("traces", "trace_tables"):
            assert connection.execute(f"SELECT DISTINCT run FROM {table}").fetchall() == [(2,)]
    assert integrity.examine(path).ok


TRIGGERS = ("traces_are_final", "trace_tables_are_final")


def change(path: Path, *statements: str) -> None:
    """Change the file as only damage could: triggers do not hold it back."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        sql = {
            name: connection.execute(
                "SELECT sql FROM sqlite_schema WHERE name = ?", (name,)
            ).fetchone()[0]
            for name in TRIGGERS
        }
        for name in TRIGGERS:
            connection.execute(f"DROP TRIGGER {name}")
        assert sum(connection.execute(statement).rowcount for statement in statements)
        for text in sql.values():
            connection.execute(text)


COLUMNS = {
    "traces": [
        "run", "number", "traced_utc", "version", "from_ns", "to_ns", "kinds", "limit_bytes",
        "snap_bytes", "flows", "links", "full_ns", "sha256",
    ],
    "trace_tables": ["run", "number", "name", "rows", "bytes", "content", "sha256"],
}  # fmt: skip


def test_all_columns_are_damaged_below() -> None:
    with closing(database.in_memory(database.newest())) as connection:
        for table, names in COLUMNS.items():
            found = connection.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
            assert [name for (name,) in found] == names


@pytest.mark.parametrize(
    ("table", "column"), [(table, name) for table, names in COLUMNS.items() for name in names]
)
def test_damage_to_any_column_is_found_by_the_doctor_and_by_reading(
    path: Path, table: str, column: str
) -> None:
    first, second = ids_of(path)
    content = path.read_bytes()
    one = "AND name = 'acks'" if table == "trace_tables" else ""
    for value in ("7", "'x'", "x'00ff'", "-1"):
        path.write_bytes(content)
        where = f"WHERE run = 1 AND number = 2 {one}"
        change(path, f'UPDATE {table} SET "{column}" = {value} {where}')
        problems = integrity.examine(path).problems
        assert problems, value
        assert not any(second in problem for problem in problems)
        with Store.open_read_only(path) as store:
            with pytest.raises(StoreError, match=first):
                _ = store.traces(first), store.trace(first, 2)
            assert made.same(store.trace(second, 1), made.small())


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("DELETE FROM traces WHERE run = 1 AND number = 2", "traces: number 2 is missing"),
        ("DELETE FROM trace_tables WHERE run = 1 AND number = 2", "has not the tables of a trace"),
        ("DELETE FROM trace_tables WHERE run = 1 AND name = 'drops' AND number = 1",
         "number 1 has not the tables of a trace"),
        ("INSERT INTO trace_tables SELECT run, number, 'more', rows, bytes, content, sha256 "
         "FROM trace_tables WHERE run = 1 AND number = 1 AND name = 'acks'",
         "number 1 has not the tables of a trace"),
        ("UPDATE trace_tables SET number = 3 WHERE run = 1 AND number = 2",
         "traces: number 3 is missing"),
        ("UPDATE trace_tables SET run = 2 WHERE run = 1 AND number = 2",
         "traces: number 2 is missing"),
        ("UPDATE traces SET run = 2 WHERE run = 1 AND number = 2",
         "traces: number 2 is not what was stored"),
    ],
)  # fmt: skip
def test_lost_and_moved_rows_are_found(path: Path, statement: str, why: str) -> None:
    change(path, statement)
    said = orchestrator("doctor", "--store", "--db", str(path))
    assert said.exit_code == 1
    assert why in said.stdout


def test_a_trace_of_before_there_were_captures_at_hosts_is_read(path: Path) -> None:
    change(path, "DELETE FROM trace_tables WHERE name = 'hosts'")
    (first, _second) = ids_of(path)
    with Store.open_read_only(path) as store:
        trace = store.trace(first, 1)
        only = store.trace(first, 1, ("hosts",))
        assert "hosts" not in store.traces(first)[0].rows
    assert integrity.examine(path).ok
    assert len(trace.tables["hosts"]) == len(only.tables["hosts"]) == 0
    assert len(trace.tables["acks"]) == 2


def test_the_doctor_examines_each_trace(path: Path) -> None:
    change(path, "UPDATE trace_tables SET content = x'00' WHERE name = 'links'")
    problems = integrity.examine(path).problems
    assert len(problems) == 3
    assert all(
        "links of trace" in problem and "is not what was stored" in problem for problem in problems
    )


def test_merging_takes_traces_with_their_runs(path: Path, tmp_path: Path) -> None:
    first, second = ids_of(path)
    target = tmp_path / "target.db"
    with Store(target) as store:
        for _ in range(3):
            housekeeping.remove_runs(store, [finished(store)])  # so that keys differ
    (merged,) = merge(target, [path])
    assert merged.taken == [first, second]
    with Store.open_read_only(target) as store:
        assert [trace.number for trace in store.traces(first)] == [1, 2]
        assert all(made.same(store.trace(first, n), made.small()) for n in (1, 2))
        assert made.same(store.trace(second, 1), made.small())
    assert integrity.examine(target).ok


def test_a_run_that_is_there_keeps_its_own_traces(path: Path, tmp_path: Path) -> None:
    first, second = ids_of(path)
    target = tmp_path / "target.db"
    merge(target, [path])
    mine = replace(made.small(), frame_bytes=b"vwxyz")
    with Store(target) as store:
        assert store.add_trace(second, mine) == 2
    with Store(path) as store:
        store.add_trace(second, made.small())
        store.add_trace(second, made.small())
    (merged,) = merge(target, [path])
    assert (merged.there, merged.taken) == ([first, second], [])
    with Store.open_read_only(target) as store:
        assert [trace.number for trace in store.traces(second)] == [1, 2]
        assert made.same(store.trace(second, 2), mine)


def _flows_of_schema_13(connection: sqlite3.Connection, names: Sequence[str]) -> None:
    """Give the table of flows the columns that it had, and the run's checksum those."""
    with closing(database.in_memory(13)) as model:
        (sql,) = model.execute("SELECT sql FROM sqlite_schema WHERE name = 'flows'").fetchone()
    columns = ", ".join(f'"{name}"' for name in ("run", *names))
    rows = connection.execute(f"SELECT {columns} FROM flows").fetchall()
    connection.execute("DROP TABLE flows")
    connection.execute(sql)
    marks = ", ".join("?" for _name in ("run", *names))
    connection.executemany(f"INSERT INTO flows ({columns}) VALUES ({marks})", rows)
    kept = checksum.of_rows(
        "flows", names, checksum.read_rows(connection, "flows", rows[0][0], names)
    )
    connection.execute("UPDATE checksums SET rows = ?, sha256 = ? WHERE \"table\" = 'flows'", kept)


def of_schema_13(path: Path) -> str:
    """Make a store as a program of schema 13 left it, with one run; return its id.

    The run has no samples of flows and queues, whose later columns would be in its rows.
    """
    recorded = whole()
    recorded = replace(recorded, tcp=recorded.tcp[:0], queue_samples=recorded.queue_samples[:0])
    with Store(path) as store:
        run_id = store.begin(head())
        store.finish(run_id, recorded, 1.0)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE traces")
        connection.execute("DROP TABLE trace_tables")
        connection.execute("DROP TABLE counter_samples")
        connection.execute("DROP TABLE kept_files")
        connection.execute("DELETE FROM checksums WHERE \"table\" = 'kept_files'")
        for table in ("sample_columns", "checksums"):
            connection.execute(f"DELETE FROM {table} WHERE \"table\" = 'counter_samples'")
        connection.execute(
            "DELETE FROM sample_columns WHERE \"table\" = 'tcp_samples' AND position >= 79"
            " OR \"table\" = 'queue_samples' AND position >= 12"
        )
        connection.execute("DELETE FROM migrations WHERE version > 13")
        connection.execute("UPDATE checksums SET schema = 13")
        names = checksum.covered(13)
        connection.executemany(
            'UPDATE checksums SET rows = ?, sha256 = ? WHERE "table" = ?',
            [
                (*checksum.SamplesHash(table, names[table]).result(), table)
                for table in ("tcp_samples", "queue_samples")
            ],
        )
        _flows_of_schema_13(connection, names["flows"])
        connection.execute("PRAGMA user_version = 13")
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return run_id


def test_a_store_of_the_schema_before_has_no_traces_until_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    run_id = of_schema_13(path)
    with closing(database.open_read_only(path)) as old:
        assert integrity.has_schema(old)
    before = path.read_bytes()
    with Store.open_read_only(path) as store:
        assert store.traces(run_id) == []
        with pytest.raises(StoreError, match=f"run {run_id} has no trace 1"):
            store.trace(run_id, 1)
    examination = integrity.examine(path)
    assert (examination.ok, examination.schema) == (True, 13)
    shown = orchestrator("show", run_id, "--json", "--db", str(path))
    assert json.loads(shown.stdout)["runs"][0]["id"] == run_id
    assert path.read_bytes() == before

    told: list[str] = []
    with Store(path, told.append) as store:
        assert store.add_trace(run_id, made.small()) == 1
        assert made.same(store.trace(run_id, 1), made.small())
    assert "the schema 13 of the file becomes 19" in told[0]
    examination = integrity.examine(path)
    assert (examination.ok, examination.schema) == (True, 19)

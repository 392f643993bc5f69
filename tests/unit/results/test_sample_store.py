"""Samples in the store: windows, missing values, damage, and limits of what is read."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from orchestrator.errors import StoreError
from results import blocks, database, packing, sample_store
from results.database import newest
from results.store import Store
from results.stored import StoredRun
from tests.unit.results.test_migrations import pragma
from tests.unit.results.test_recordings import head, recording
from tests.unit.stores import dump, restore

ROOT = Path(__file__).parents[3]
ROWS = [{"time_s": n / 100, "rtt_us": n * n, "snd_cwnd_segments": n} for n in range(100)]


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with a run whose only series has blocks of seven rows."""
    monkeypatch.setattr(blocks, "ROWS", 7)
    path = tmp_path / "runs.db"
    with Store(path) as store:
        store.finish(store.begin(head()), recording(ROWS), 1.0)
    return path


def cwnd(run: StoredRun, within_ns: tuple[int, int] | None = None) -> list[int]:
    found: list[int] = run.tcp(0, 0, ["snd_cwnd_segments"], within_ns)["snd_cwnd_segments"].tolist()
    return found


def test_a_window_has_the_samples_within_it_and_both_ends(path: Path) -> None:
    ms = 10**6
    with Store.open_read_only(path) as store:
        run = store.load("last")
        assert cwnd(run) == list(range(100))
        for first, last in ((0, 0), (6, 7), (7, 20), (13, 14), (95, 200), (-50, 3), (200, 300)):
            expected = [n for n in range(100) if first <= n <= last]
            assert cwnd(run, (first * 10 * ms, last * 10 * ms)) == expected
        assert cwnd(run, (61 * ms, 69 * ms)) == []
        assert cwnd(run, (11 * ms, 29 * ms)) == [2]
        assert run.tcp(0, 0, [], (0, ms)) == {}
        assert run.tcp(0, 0, ["flow", "endpoint"], (0, ms))["flow"].tolist() == [0]


def test_a_window_is_read_without_the_other_blocks(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE tcp_samples SET block = x'00' WHERE part > 1")
    connection.commit()
    connection.close()
    with Store.open_read_only(path) as store:
        run = store.load("last")
        assert cwnd(run, (0, 130_000_000)) == list(range(14))
        with pytest.raises(
            StoreError, match=rf"run {run.id} is damaged: table tcp_samples: block 2"
        ):
            cwnd(run, (0, 140_000_000))


def test_a_column_is_read_without_the_others(path: Path) -> None:
    connection = sqlite3.connect(path)
    ((block,),) = connection.execute("SELECT block FROM tcp_samples WHERE part = 3").fetchall()
    position = list(sample_store.sample_columns()["tcp_samples"]).index("rtt_us")
    directory = blocks._directory(block, _label(connection, 3))
    changed = bytearray(block)
    changed[directory.starts[position]] ^= 1
    connection.execute("UPDATE tcp_samples SET block = ? WHERE part = 3", (bytes(changed),))
    connection.commit()
    connection.close()
    with Store.open_read_only(path) as store:
        run = store.load("last")
        assert cwnd(run) == list(range(100))
        with pytest.raises(
            StoreError, match=r"block 3 of flow 0, endpoint 0: the checksum of a col"
        ):
            run.tcp(0, 0, ["rtt_us"])


def _label(connection: sqlite3.Connection, part: int) -> bytes:
    ((rows, first_ns, last_ns),) = connection.execute(
        "SELECT rows, first_ns, last_ns FROM tcp_samples WHERE part = ?", (part,)
    ).fetchall()
    return sample_store.Block("tcp_samples", (0, 0), part, rows, first_ns, last_ns, b"").label()


def test_a_series_of_too_many_rows_is_not_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_store, "MOST_ROWS", 99)
    with Store.open_read_only(path) as store:
        run = store.load("last")
        assert cwnd(run, (0, 900_000_000)) == list(range(91))
        with pytest.raises(StoreError, match=r"has 100 rows; 99 at most are read"):
            cwnd(run)


def test_rows_of_older_stores_are_cut_into_full_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "ROWS", 4)
    monkeypatch.setattr("results.sample_rows.CHUNK_ROWS", 3)
    path = restore("schema-11.sql", tmp_path / "runs.db")
    with Store.open_read_only(path) as store:
        before = [store.load(row.id).queue_array() for row in store.list_runs()[:3]]
    Store(path).close()
    with Store.open_read_only(path) as store:
        after = [store.load(row.id).queue_array() for row in store.list_runs()[:3]]
    assert [array.tobytes() for array in after] == [array.tobytes() for array in before]
    connection = sqlite3.connect(path)
    for table in ("tcp_samples", "queue_samples", "transfers"):
        parts = connection.execute(f"SELECT run, part, rows FROM {table} ORDER BY rowid").fetchall()
        for (run, part, rows), (next_run, next_part, _rows) in pairwise(parts):
            assert rows == 4 or next_part == 0 or run != next_run
            assert next_part in (0, part + 1)
    connection.close()


MIGRATED = """
import os, signal, sys
from pathlib import Path
from results import database, packing
from results.store import Store

start, count = sys.argv[2], int(sys.argv[3])
apply, connect = packing.apply, database._connect

def traced(statement):
    global count
    if statement.lstrip().startswith(start):
        count -= 1
        if count == 0:
            os.kill(os.getpid(), signal.SIGKILL)

def watched(*words):
    connection = connect(*words)
    connection.execute("PRAGMA cache_size = 10")
    connection.set_trace_callback(traced)
    return connection

database._connect = watched
database.MOST_FREE = 0.0
Store(Path(sys.argv[1])).close()
"""


@pytest.mark.parametrize(
    ("statement", "count"),
    [
        ("ALTER TABLE", 2),
        ("INSERT INTO tcp_samples", 1),
        ("INSERT INTO queue_samples", 10),
        ("DROP TABLE transfers_by_row", 1),
        ("COMMIT", 1),
    ],
)
def test_a_migration_that_is_killed_leaves_the_store_as_it_was(
    tmp_path: Path, statement: str, count: int
) -> None:
    path = restore("schema-11.sql", tmp_path / "runs.db")
    before = dump(path)
    done = subprocess.run(
        [sys.executable, "-c", MIGRATED, str(path), statement, str(count)],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert dump(path) == before
    assert pragma(path, "user_version") == 11
    Store(path).close()
    assert pragma(path, "user_version") == newest()


def test_a_killed_vacuum_leaves_the_migrated_store_whole(tmp_path: Path) -> None:
    path, other = (restore("schema-11.sql", tmp_path / name) for name in ("runs.db", "other.db"))
    done = subprocess.run(
        [sys.executable, "-c", MIGRATED, str(path), "VACUUM", "1"],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr
    Store(path).close()
    Store(other).close()
    without_times = [
        [line for line in dump(one).splitlines() if not line.startswith('INSERT INTO "migrations"')]
        for one in (path, other)
    ]
    assert without_times[0] == without_times[1]


def test_a_migration_says_what_it_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "EVERY_S", 0.0)
    monkeypatch.setattr(database, "MOST_FREE", 0.0)
    path = restore("schema-11.sql", tmp_path / "runs.db")
    told: list[str] = []
    Store(path, told.append).close()
    assert told[0].startswith(f"{path}: the schema 11 of the file becomes {newest()}")
    assert "packing tcp_samples of run 2 of 3" in told
    assert told[-1].startswith(f"{path}: the schema is {newest()} now; the file had 0.3 MB and has")
    assert pragma(path, "freelist_count") == 0
    Store(path, told.append).close()
    Store(tmp_path / "new.db", told.append).close()
    assert told[-1].startswith(f"{path}: the schema is")


def test_a_migration_that_cannot_shrink_the_file_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = restore("schema-11.sql", tmp_path / "runs.db")
    told: list[str] = []

    def refused(connection: sqlite3.Connection) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(database, "MOST_FREE", 0.0)
    monkeypatch.setattr(database, "_shrink", refused)
    Store(path, told.append).close()
    assert "its free space was not given back: database or disk is full; `orch" in told[1]
    assert pragma(path, "user_version") == newest()


def test_numbers_of_a_block_that_are_none_are_refused(path: Path) -> None:
    for change in ("rows = 'x'", "rows = -5", "rows = 1e300", "block = 7", "last_ns = x'00'"):
        connection = sqlite3.connect(path)
        (before,) = connection.execute("SELECT * FROM tcp_samples WHERE part = 2").fetchall()
        connection.execute(f"UPDATE tcp_samples SET {change} WHERE part = 2")
        connection.commit()
        with Store.open_read_only(path) as store, pytest.raises(StoreError, match="is damaged"):
            cwnd(store.load("last"))
        connection.execute("DELETE FROM tcp_samples WHERE part = 2")
        connection.execute(
            f"INSERT INTO tcp_samples VALUES ({', '.join('?' * len(before))})", before
        )
        connection.commit()
        connection.close()
    with Store.open_read_only(path) as store:
        assert cwnd(store.load("last")) == list(range(100))
        assert np.isnan(store.load("last").tcp(0, 0, ["pacing_rate_bytes_per_s"])[
            "pacing_rate_bytes_per_s"]).sum() in (0, 100)  # fmt: skip

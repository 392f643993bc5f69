"""Samples in the store: windows, missing values, damage, and limits of what is read."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from orchestrator.errors import StoreError
from results.samples import blocks, sample_blocks
from results.store.store import Store
from results.store.stored import StoredRun
from tests.support.recordings import head, recording

ROOT = Path(__file__).parents[4]
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
    position = list(sample_blocks.sample_columns()["tcp_samples"]).index("rtt_us")
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
    return sample_blocks.Block("tcp_samples", (0, 0), part, rows, first_ns, last_ns, b"").label()


def test_a_series_of_too_many_rows_is_not_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_blocks, "MOST_ROWS", 99)
    with Store.open_read_only(path) as store:
        run = store.load("last")
        assert cwnd(run, (0, 900_000_000)) == list(range(91))
        with pytest.raises(StoreError, match=r"has 100 rows; 99 at most are read"):
            cwnd(run)


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

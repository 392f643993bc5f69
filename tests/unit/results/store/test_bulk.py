"""Runs that are read many at a time are those that are read one by one, damage included."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from sqlite3 import connect

import pytest

from orchestrator.errors import StoreError, UsageError
from results.store import bulk
from results.store.store import Store
from tests.support import experiments


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "runs.db"
    with Store(path) as store:
        experiments.make(store, lambda _variant, number: {"a": 1e6 + number, "b": 2e6})
    return path


@pytest.mark.parametrize("at_once", [2, 200])
def test_many_runs_are_those_that_are_loaded_alone(
    path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(bulk, "AT_ONCE", at_once)
    with Store.open_read_only(path) as store:
        ids = [row.id for row in store.list_runs()][::-1]
        many = list(store.load_many(ids))
        assert [run.id for run in many] == ids
        for run, alone in zip(many, map(store.load, ids), strict=True):
            assert set(bulk.TABLES) == run.verified_tables
            assert not alone.verified_tables
            assert (run.row, run.head, run.flows) == (alone.row, alone.head, alone.flows)
            assert (run.queues, run.entries) == (alone.queues, alone.entries)
            assert run.metrics() == alone.metrics()
        with pytest.raises(UsageError, match="there is no run 20990101"):
            list(store.load_many([ids[0], "20990101"]))


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("metrics", "UPDATE metrics SET value = 1 WHERE run = 2 AND name = 'goodput_bps'"),
        ("metrics", "DELETE FROM metrics WHERE run = 2"),
        ("flows", "UPDATE flows SET name = 'other' WHERE run = 2 AND flow = 0"),
        ("metrics", "DELETE FROM checksums WHERE run = 2 AND \"table\" = 'metrics'"),
    ],
)
def test_a_damaged_run_among_many_is_named(path: Path, table: str, change: str) -> None:
    with closing(connect(path)) as connection:
        triggers = connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'trigger'"
        ).fetchall()
        for (name,) in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        assert connection.execute(change).rowcount
        connection.commit()
    with Store.open_read_only(path) as store:
        ids = [row.id for row in store.list_runs()]
        many = list(store.load_many(ids))
        assert table not in many[1].verified_tables
        assert many[2].metrics()
        with pytest.raises(StoreError, match=f"run {ids[1]} is damaged: table {table}"):
            many[1].metrics()

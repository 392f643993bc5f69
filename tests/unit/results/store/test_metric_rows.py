"""Metrics that are read many runs at a time are those that each run gives alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from sqlite3 import connect
from typing import Any

import numpy as np
import pytest

from orchestrator.errors import StoreError
from orchestrator.recording.model import RECEIVER, SENDER
from orchestrator.windows import Window
from results import metrics
from results.experiment.experiments import find
from results.experiment.observations import ValueSelection, observe
from results.metrics.base import METRICS
from results.statistics.drift import PARTS
from results.store import bulk, metric_rows
from results.store.metric_rows import MetricCache, MetricRows
from results.store.store import Store
from tests.support import experiments
from tests.support.recordings import flow, head, queue, recording
from tests.support.stores import restore

pytestmark = pytest.mark.slow

WINDOWS = (Window("late", 5.0, 10.0), Window("all", 0.0, 10.0), Window("early", 0.0, 5.0))
LIMIT = "topology.bottleneck.queue.limit"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two variants, of which the second has other flows, windows and links."""
    path = tmp_path / "runs.db"
    with Store(path) as store:
        experiments.make(
            store, lambda _v, number: {"a": 1e6 + number, "b[0]": 2e6, "b[1]": 3e6 - number**2},
            [{LIMIT: "1bdp"}],
        )  # fmt: skip
        for number in range(3):
            _with_windows(store, number)
    return path


def _with_windows(store: Store, number: int) -> None:
    """Store a run with windows, whose values differ and are equal in turn, and two links."""
    rows = [
        {"time_s": float(second), "flow": one, "endpoint": end, counter: 1000 * second**number}
        for one in range(2)
        for second in range(11)
        for end, counter in ((SENDER, "bytes_sent"), (RECEIVER, "bytes_received"))
    ]  # fmt: skip
    drops = [{"time_s": float(second), "queue": 1, "drops": number * second}
             for second in range(11)]  # fmt: skip
    made = recording(rows, drops, flows=[flow("c"), flow("d")],
                     queues=[queue(), queue("second")], digest=f"w{number}")  # fmt: skip
    run = store.begin(head(variant={LIMIT: "2bdp"}, repetition=number, seed=number + 1,
                           windows=WINDOWS, experiment_sha256="e1"))  # fmt: skip
    store.finish(run, replace(made, verdict="faithful"), 1.0)


def read(store: Store, cache: MetricCache | None = None) -> dict[int, MetricRows]:
    """Return the metrics that are read many runs at a time, by the runs' keys."""
    rows = store._rows("status = 'ok'")
    found = metric_rows.read(
        store.connection, store.path, [row for _, row in rows], cache or MetricCache()
    )
    return {key: found[row.id] for key, row in rows if row.id in found}


def values(one: MetricRows) -> dict[Any, float | None]:
    """Return the values that this program knows, by place."""
    of = {0: "run", 1: "flow", 2: "link"}
    return {
        place: None if math.isnan(value) else value
        for place, index in one.layout.places.items()
        if (place[3], of[(place[1] is not None) + 2 * (place[2] is not None)]) in METRICS
        for value in (float(one.values[index]),)
    }


def assert_as_alone(store: Store, found: MetricRows, run_id: str) -> None:
    alone = metric_rows.of_run(store.load(run_id))
    assert values(found) == values(alone)
    of = ("windows", "flows", "entries", "bottlenecks")
    assert [getattr(found.layout, one) for one in of] == [getattr(alone.layout, one) for one in of]


def test_runs_that_are_read_together_are_those_that_are_read_alone(path: Path) -> None:
    with Store.open_read_only(path) as store:
        found = read(store)
        assert len(found) == 8
        for key, row in store._rows("1"):
            assert_as_alone(store, found[key], row.id)
        layouts = {id(one.layout): one.layout for one in found.values()}
        assert sorted(layout.entries for layout in layouts.values()) == [
            ("a", "b", "b"), ("c", "d"),
        ]  # fmt: skip
        assert found[8].layout.windows == ("", "late", "all", "early")
        assert found[8].layout.bottlenecks == ("bottleneck:forward", "second:forward")


def test_runs_of_a_guest_are_those_that_are_read_alone(tmp_path: Path) -> None:
    with Store.open_read_only(restore(tmp_path / "runs.db")) as store:
        found = read(store)
        ok = [(key, row) for key, row in store._rows("status = 'ok'")]
        for (key, row), one in zip(ok, store.metric_rows([row for _, row in ok]), strict=True):
            assert_as_alone(store, one, row.id)
            if key in found:
                assert values(found[key]) == values(one)
        assert len(ok) == 3
        assert found


@pytest.mark.parametrize("window", ["", "late"])
@pytest.mark.parametrize("each_flow", [False, True])
@pytest.mark.parametrize(
    "names", [(), ("goodput_bps", "jain_index"), ("drops_packets",), ("loss_ratio", "rtt_mean_s")]
)
def test_observations_are_the_same_with_and_without_parts(
    path: Path, names: Sequence[str], each_flow: bool, window: str
) -> None:
    with Store.open_read_only(path) as store:
        found, _others = find(store, "trial")
        where = (f"limit={'2bdp' if window else '1bdp'}",)
        plain, parted = (
            observe(
                store, found, ValueSelection(names, window, where, flows=each_flow, parts=parts)
            )[0]
            for parts in (0, PARTS)
        )
    assert [list(group.values) for group in plain] == [list(group.values) for group in parted]
    for one, other in zip(plain, parted, strict=True):
        assert one.values or (names == ("drops_packets",) and not window)  # it has no queues
        for series, observations in one.values.items():
            bare = [replace(each, parts=(), from_start=()) for each in other.values[series]]
            assert observations == bare


def damage(path: Path, *changes: str) -> None:
    with closing(connect(path)) as connection:
        triggers = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
        for (name,) in triggers.fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        for change in changes:
            assert connection.execute(change).rowcount
        connection.commit()


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("metrics", "UPDATE metrics SET value = 1 WHERE run = 2 AND name = 'goodput_bps'"),
        ("metrics", "UPDATE metrics SET value = 'x' WHERE run = 2 AND name = 'goodput_bps'"),
        ("metrics", "UPDATE metrics SET value = '1,2' WHERE run = 2 AND name = 'goodput_bps'"),
        ("metrics", "UPDATE metrics SET name = 'x' WHERE run = 2 AND name = 'goodput_bps'"),
        ("metrics", "DELETE FROM metrics WHERE run = 2"),
        ("metrics", "DELETE FROM metrics WHERE run = 2 AND name = 'goodput_bps'"),
        ("flows", "UPDATE flows SET name = 'other' WHERE run = 2 AND flow = 0"),
        ("runs", "UPDATE runs SET resolved = '{}' WHERE run = 2"),
        ("metrics", "DELETE FROM checksums WHERE run = 2 AND \"table\" = 'metrics'"),
        ("flows", "DELETE FROM checksums WHERE run = 2 AND \"table\" = 'flows'"),
    ],
)
def test_a_damaged_run_among_many_is_named(path: Path, table: str, change: str) -> None:
    damage(path, change)
    with Store.open_read_only(path) as store:
        assert 2 not in read(store)
        rows = store.list_runs()
        with pytest.raises(StoreError, match=f"run {rows[1].id} is damaged: table {table}"):
            list(store.metric_rows(rows))
        assert len(list(store.metric_rows([rows[0], *rows[2:]]))) == len(rows) - 1


def test_a_metric_that_is_not_stored_is_computed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = METRICS["goodput_bps", "flow"]
    monkeypatch.setitem(METRICS, ("new_bps", "flow"), replace(known, name="new_bps"))
    with Store.open_read_only(path) as store:
        assert not read(store)
        (one,) = store.metric_rows(store.list_runs()[:1])
        places = one.layout.places
        assert one.values[places["", 0, None, "new_bps"]] == one.values[
            places["", 0, None, "goodput_bps"]
        ]  # fmt: skip
        assert metrics.expected(store.load("last")) >= {("new_bps", "flow")}


def test_only_new_and_changed_runs_are_read_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def noted(connection: Any, keys: Sequence[int]) -> Iterator[Any]:
        asked.extend(keys)
        return rows_of(connection, keys)

    rows_of = metric_rows._rows
    monkeypatch.setattr(metric_rows, "_rows", noted)
    cache = MetricCache()
    with Store.open_read_only(path) as store:
        first = read(store, cache)
    assert asked == list(range(1, 9))
    with Store(path) as store:
        _with_windows(store, 3)
    with Store.open_read_only(path, cache) as store:
        second = dict(zip(range(1, 10), store.metric_rows(store.list_runs()), strict=True))
    assert asked[8:] == [9]
    assert all(second[key] is first[key] for key in first)
    assert second[9].layout is first[8].layout  # though it was made anew
    # A run of the same id with another checksum: the file may be another one.
    damage(path, "UPDATE checksums SET sha256 = 'x' WHERE run = 1 AND \"table\" = 'metrics'")
    with Store.open_read_only(path) as store:
        assert 1 not in read(store, cache)
    assert asked[9:] == [1]


def test_no_more_values_are_kept_than_allowed(path: Path) -> None:
    with Store.open_read_only(path) as store:
        keys = [key for key, _row in store._rows("1")]
        count = len(read(store)[1].values)
        sums = bulk.checksums(store.connection, keys)
        found = MetricRows(read(store)[1].layout, np.zeros(count))
        cache = MetricCache(2 * count)
        for key in (1, 2, 1, 3):
            cache.add(str(key), sums[key], found)
        assert [cache.find(str(key), sums[key]) for key in (1, 2, 3)] == [found, None, found]
        assert cache.find("1", sums[2]) is None

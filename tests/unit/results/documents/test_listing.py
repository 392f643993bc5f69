"""A page of the list of runs is the same as the command's list, cut."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from orchestrator.errors import UsageError
from results.query.conditions import parse
from results.query.run_fields import find
from results.runs import listing
from results.runs.page import PageRequest, page
from results.store.store import Store
from results.store.upkeep import housekeeping
from tests.support import experiments
from tests.support.recordings import head

LIMIT = "topology.bottleneck.queue.limit"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with 12 runs of one experiment, 2 of another, and one each failed and running."""
    path = tmp_path_factory.mktemp("listing") / "runs.db"
    draw = random.Random(7)
    with Store(path) as store:
        variants = [{LIMIT: f"{limit}bdp"} for limit in (0.5, 1, 10, 2)]
        ids = experiments.make(
            store, lambda _v, _r: {"a": 1e6 * draw.random(), "b": 1e6}, variants, 3, name="sweep"
        )
        experiments.make(store, lambda _v, _r: {"a": 2e6}, repetitions=2, name="other")
        store.fail(store.begin(head(experiment="broken", seed=77)), "the guest ended")
        store.begin(head(experiment="going", seed=78))
        housekeeping.add_tag(store, ids[:2], "paper")
    return path


CONDITIONS = [
    "experiment=sweep", "limit<=1bdp", "goodput_bps>1.4mbit and not verdict=unfaithful",
    "tag=paper or status=failed", "flow=b and jain_index<0.9", "congestion=reno", "seed=2",
    "kernel=none", "limit=none", "status!=ok",
]  # fmt: skip
ORDERS = ["goodput_bps", "-goodput_bps", "limit", "-limit", "id", "congestion", "experiment"]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions_keep_what_the_whole_list_keeps(path: Path, condition: str) -> None:
    with Store.open_read_only(path) as store:
        every = listing.read(store)
        holds = parse(condition, every)
        expected = [run for run in every[::-1] if holds(run)]
        found = page(store, PageRequest(where=(condition,)))
    assert found.runs == expected
    assert 0 < found.found == len(expected) < found.total == 16
    assert found.running == 1


@pytest.mark.parametrize("order", ORDERS)
def test_orders_are_those_of_the_whole_list_cut_into_pages(path: Path, order: str) -> None:
    with Store.open_read_only(path) as store:
        every = listing.read(store)
        field = find(order.removeprefix("-"), every)
        known = [run for run in every[::-1] if field.values(run)]
        known.sort(key=lambda run: sorted(field.values(run)), reverse=order.startswith("-"))
        pages = [
            page(store, PageRequest(sort=order, first=first, most=5)) for first in range(0, 20, 5)
        ]
    listed = [run.row.id for one in pages for run in one.runs]
    assert [len(one.runs) for one in pages] == [5, 5, 5, 1]
    assert listed[: len(known)] == [run.row.id for run in known]
    assert sorted(listed) == sorted(run.row.id for run in every)


@pytest.mark.parametrize("condition", [None, *CONDITIONS])
def test_counts_are_those_of_the_whole_list_and_their_conditions_keep_as_many(
    path: Path, condition: str | None
) -> None:
    where = () if condition is None else (condition,)
    with Store.open_read_only(path) as store:
        runs = page(store, PageRequest(where=where)).runs
        facets = page(store, PageRequest(where=where, facets=True, most=1)).facets
        expected = {
            "status": Counter(run.row.status for run in runs),
            "verdict": Counter(run.row.verdict or "none" for run in runs),
            "congestion": Counter(
                each for run in runs for each in set(run.congestion_controls) - {None}
            ),
            "experiment": Counter(run.row.experiment for run in runs),
            "tag": Counter(tag for run in runs for tag in run.tags),
        }
        assert {
            name: {count.value: count.runs for count in counts} for name, counts in facets.items()
        } == expected
        for name, counts in facets.items():
            assert [count.runs for count in counts] == sorted(count.runs for count in counts)[::-1]
            for one in counts:
                assert one.condition is not None
                kept = page(store, PageRequest(where=(*where, one.condition)))
                assert kept.found == one.runs, (name, one)


def test_a_value_of_any_text_has_a_condition_that_keeps_it(tmp_path: Path) -> None:
    names = ["a b", "and", "none", "(x)", "it's", 'say "no"', "a=b", "x<y"]
    with Store(tmp_path / "runs.db") as store:
        for name in names:
            store.fail(store.begin(head(experiment=name)), "no")
        counts = page(store, PageRequest(facets=True)).facets["experiment"]
        assert sorted(count.value for count in counts) == sorted(names)
        for one in counts:
            assert one.condition is not None
            (run,) = page(store, PageRequest(where=(one.condition,))).runs
            assert run.row.experiment == one.value


def test_without_conditions_the_newest_run_is_first(path: Path) -> None:
    with Store.open_read_only(path) as store:
        every = listing.read(store)[::-1]
        assert page(store, PageRequest(first=3, most=4)).runs == every[3:7]
        assert page(store, PageRequest(first=100)).runs == []


@pytest.mark.parametrize(
    ("words", "number"),
    [("SWEEP 10bdp", 3), ("seed=77", 1), ("paper", 2), ("reno", 16), ("x y", 0)],
)
def test_words_are_those_of_a_runs_names(path: Path, words: str, number: int) -> None:
    with Store.open_read_only(path) as store:
        assert page(store, PageRequest(words=words)).found == number


@pytest.mark.parametrize(
    "wanted",
    [PageRequest(where=("nothing=1",)), PageRequest(where=("(",)), PageRequest(sort="nothing")],
)
def test_what_is_not_valid_is_said(path: Path, wanted: PageRequest) -> None:
    with Store.open_read_only(path) as store, pytest.raises(UsageError):
        page(store, wanted)

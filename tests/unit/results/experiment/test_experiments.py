"""Which runs belong to one experiment, and what a name means."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.errors import UsageError
from results.experiment.experiments import choice, experiments, find
from results.store.store import Store
from tests.support.experiments import make
from tests.support.recordings import head


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "runs.db") as opened:
        yield opened


def one(_variant: object, repetition: int) -> dict[str, float]:
    return {"a": 1e6 + repetition}


LIMITS = [{"topology.bottleneck.queue.limit": limit} for limit in ("10p", "20p")]


def test_runs_of_one_scenario_are_one_experiment(store: Store) -> None:
    make(store, one, LIMITS, 2)
    (found,) = experiments(store)
    assert (found.name, len(found.rows)) == ("trial", 4)
    assert [axis.path for axis in found.axes()] == ["topology.bottleneck.queue.limit"]
    make(store, one, LIMITS, 3)  # more of the same
    (again,) = experiments(store)
    assert (again.identity, len(again.rows)) == (found.identity, 10)


@pytest.mark.slow
def test_another_scenario_or_link_model_is_another_experiment(store: Store) -> None:
    make(store, one)
    make(store, one, experiment_sha256="e2")
    make(store, one, link_model=7)
    make(store, one, name="other")
    make(store, one, backend="local")
    found = experiments(store)
    assert [len(each.rows) for each in found] == [5] * 5
    assert len({each.identity for each in found}) == 5


def test_older_runs_are_told_apart_by_text_and_axes(store: Store) -> None:
    make(store, one, LIMITS, experiment_sha256=None)
    make(store, one, experiment_sha256=None)
    make(store, one, experiment_sha256=None, scenario_sha256="77")
    assert [len(experiment.rows) for experiment in experiments(store)] == [10, 5, 5]


def test_a_module_that_was_built_anew_makes_another_experiment(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = make(store, one, LIMITS, 2)
    modules = dict(
        zip(
            ids,
            ({"x": {"sha256": "1"}}, {}, {"y": {"sha256": "2"}}, {"x": {"sha256": "3"}}),
            strict=True,
        )
    )
    monkeypatch.setattr(
        Store, "provenance_values", lambda _self, name, _of: modules if name == "modules" else {}
    )
    found = experiments(store)
    assert [len(each.rows) for each in found] == [3, 1]
    assert found[0].modules == {"": {"x": "1", "y": "2"}}


def test_an_axis_of_kernels_makes_one_experiment_with_modules_of_each(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = [{"kernel": series} for series in ("6.1", "6.12", "6.1")]
    ids = make(store, one, kernels, 1)
    loaded = dict(zip(ids, ({"x": {"sha256": text}} for text in "123"), strict=True))
    guests = {
        run_id: {"inputs": {"source": source}}
        for run_id, source in zip(ids, ("old", "new", "old"), strict=True)
    }
    monkeypatch.setattr(
        Store, "provenance_values", lambda _self, name, _of: loaded if name == "modules" else guests
    )
    first, second = experiments(store)
    assert (len(first.rows), len(second.rows)) == (2, 1), "6.1 has another module at last"
    assert first.modules == {'{"kernel": "6.1"}': {"x": "1"}, '{"kernel": "6.12"}': {"x": "2"}}
    assert len(first.kernels) == 2
    assert first.identity != second.identity


def test_a_failed_run_belongs_to_the_newest_that_it_fits(store: Store) -> None:
    make(store, one, LIMITS, 1)
    run = store.begin(head(experiment="trial", experiment_sha256="e1", variant=LIMITS[0]))
    store.fail(run, "it hung")
    (found,) = experiments(store)
    assert [row.status for row in found.rows] == ["ok", "ok", "failed"]


def test_a_name_means_the_sweep_and_not_a_run_that_was_tried(store: Store) -> None:
    """The most variants and repetitions that ended well; of equal ones the newest."""
    make(store, one, LIMITS, 3, experiment_sha256="sweep")
    make(store, one, LIMITS[:1], 3, experiment_sha256="debugging")
    make(store, one, LIMITS[:1], 3, experiment_sha256="debugging")  # the same runs once more
    for _number in range(9):
        failed = head(experiment="trial", experiment_sha256="broken", variant=LIMITS[0])
        store.fail(store.begin(failed), "it hung")
    chosen, others = find(store, "trial")
    assert {row.experiment_sha256 for row in chosen.rows} == {"sweep"}
    assert [one.complete for one in (chosen, *others)] == [6, 3, 0]
    said = choice(chosen, others)
    assert said.startswith(f"{chosen.label} is taken: it has the most runs that ended well (6); ")
    assert f"there are also {others[0].label} (3), {others[1].label} (0)" in said
    make(store, one, LIMITS, 3, experiment_sha256="later")
    chosen, others = find(store, "trial")
    assert {row.experiment_sha256 for row in chosen.rows} == {"later"}
    assert "the newest run of those with the most (6)" in choice(chosen, others)


def test_of_equal_experiments_a_name_means_the_newest(store: Store) -> None:
    make(store, one, experiment_sha256="e1", repetitions=1)
    make(store, one, experiment_sha256="e2", repetitions=1)
    make(store, one, name="other", repetitions=1)
    first, second, other = experiments(store)
    chosen, others = find(store, "trial")
    assert (chosen.identity, [each.identity for each in others]) == (
        second.identity, [first.identity],
    )  # fmt: skip
    assert find(store, first.label)[0].identity == first.identity
    assert find(store, "other") == (other, [])
    with pytest.raises(UsageError, match=r"no experiment nothing in .*; there are trial, other"):
        find(store, "nothing")
    with pytest.raises(UsageError, match=rf"no experiment trial@zz in .*; there are {first.label}"):
        find(store, "trial@zz")
    with pytest.raises(UsageError, match="`trial@` has no hash: write `trial` or `trial`@HASH"):
        find(store, "trial@")


def test_an_empty_store_says_so(store: Store) -> None:
    with pytest.raises(UsageError, match="it has no runs yet"):
        find(store, "trial")

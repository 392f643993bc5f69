"""Runs and variants that stand beside each other are named by what tells them apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from results.matrix import naming
from results.records.model import RunRow
from results.store.store import Store
from tests.support.recordings import head

CONTROL, LIMIT = "flows.a.congestion", "topology.bottleneck.queue.limit"


def rows(path: Path, *changes: dict[str, Any]) -> list[RunRow]:
    with Store(path / "runs.db") as store:
        ids = [store.begin(head(**change)) for change in changes]
        return [store.load(run_id).row for run_id in ids]


def test_variants_are_told_apart_by_axes_on_which_they_differ() -> None:
    both = [{CONTROL: "bbr", LIMIT: "1bdp"}, {CONTROL: "cubic", LIMIT: "1bdp"}]
    assert naming.distinctions(both) == ["congestion=bbr", "congestion=cubic"]
    assert naming.distinctions(both[:1]) == [""]
    assert naming.distinctions([]) == []


def test_an_axis_that_some_variants_lack_tells_them_apart() -> None:
    assert naming.distinctions([{CONTROL: "bbr"}, {}]) == ["congestion=bbr", ""]


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ([{"seed": 1}, {"seed": 2}], ["seed 1", "seed 2"]),
        (
            [{"variant": {CONTROL: "bbr"}, "seed": 1}, {"variant": {CONTROL: "cubic"}, "seed": 2}],
            ["congestion=bbr", "congestion=cubic"],
        ),
        (
            [
                {"variant": {CONTROL: "bbr"}, "repetition": 0},
                {"variant": {CONTROL: "bbr"}, "repetition": 1},
                {"variant": {CONTROL: "cubic"}, "repetition": 0},
            ],
            [
                "congestion=bbr, repetition 0",
                "congestion=bbr, repetition 1",
                "congestion=cubic, repetition 0",
            ],
        ),
        ([{"experiment": "first"}, {"experiment": "second"}], ["first", "second"]),
    ],
)
def test_runs_are_named_by_as_little_as_tells_them_apart(
    tmp_path: Path, changes: list[dict[str, Any]], names: list[str]
) -> None:
    assert naming.of_runs(rows(tmp_path, *changes)) == names


def test_runs_that_differ_in_nothing_are_named_by_their_ids(tmp_path: Path) -> None:
    same = rows(tmp_path, {}, {})
    assert naming.of_runs(same) == [row.id for row in same]


def test_the_hash_of_an_experiment_is_named_only_if_it_is_needed() -> None:
    same = [{CONTROL: "bbr"}] * 2
    assert naming.of_variants(["a@1", "b@2"], same) == ["a", "b"]
    assert naming.of_variants(["a@1", "a@2"], same) == ["a@1", "a@2"]
    assert naming.of_variants(["a@1", "b@2"], [{CONTROL: "bbr"}, {CONTROL: "cubic"}]) == [
        "congestion=bbr",
        "congestion=cubic",
    ]

"""Variants over their repetitions: means, intervals and differences are those of a summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from results.comparison import comparison_document
from results.comparison.runs import compare
from results.comparison.variants import compare_variants
from results.experiment.experiments import find
from results.experiment.observations import ValueSelection
from results.experiment.summary import summarise
from results.experiment.summary_document import document
from results.store.store import Store
from tests.support.experiments import make

CONTROL = "flows.a.congestion"
VARIANTS = [{CONTROL: control} for control in ("bbr", "cubic", "reno")]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "runs.db") as opened:
        yield opened


def rates(variant: Mapping[str, Any], repetition: int) -> dict[str, float]:
    base = {"bbr": 5e6, "cubic": 3e6, "reno": 2e6}[variant[CONTROL]]
    return {"a": base + base / 30 * repetition**2, "b": 9e6 - base}


def compared(store: Store, ids: list[str]) -> dict[str, Any]:
    runs = [store.load(run_id) for run_id in ids]
    found = compare_variants(store, [run.row for run in runs])
    assert found is not None
    made: dict[str, Any] = comparison_document.document(compare(runs), found)["variants"]
    return made


def test_differences_are_those_of_the_summary(store: Store) -> None:
    ids = make(store, rates, VARIANTS[:2], repetitions=4)
    made = compared(store, ids)
    assert [variant["name"] for variant in made["variants"]] == [
        "congestion=bbr",
        "congestion=cubic",
    ]
    assert [variant["runs"] for variant in made["variants"]] == [ids[:4], ids[4:]]
    found_experiment, _others = find(store, "trial")
    wanted = ValueSelection(("goodput_bps",))
    summary = document(summarise(store, found_experiment, wanted, ("congestion",)))
    of = {line["flow"]: line for line in made["values"] if line["metric"] == "goodput_bps"}
    for difference in summary["differences"]:
        if difference["axis"] is not None:
            (first, found) = of[difference["flow"]]["differences"]
            assert first is None
            label = found.pop("label").replace("congestion=", "")  # names the variants
            assert label == difference["label"]
            assert found == {name: difference[name] for name in found}
    for row in summary["rows"]:
        place = [variant[CONTROL] for variant in VARIANTS].index(row["variant"][CONTROL])
        mean = of[row["flow"]]["means"][place]
        if mean is not None:
            metric = row["metrics"]["goodput_bps"]
            assert {**mean, "rule": "student"} == {name: metric[name] for name in mean}
    assert {line["flow"] for line in made["values"]} == {None, "a", "b"}


def test_three_variants_are_compared_with_the_first(store: Store) -> None:
    ids = make(store, rates, VARIANTS, repetitions=3)
    (line,) = [
        value
        for value in compared(store, ids[3:] + ids[:3])["values"]
        if (value["flow"], value["metric"]) == ("a", "goodput_bps")
    ]
    first, second, third = line["differences"]
    assert first is None
    mean = 1 + 5 / 3 / 30  # of the factors of three repetitions
    assert second["mean"] == pytest.approx(-1e6 * mean, rel=1e-3)
    assert third["mean"] == pytest.approx(2e6 * mean, rel=1e-3)
    assert second["p_holm"] >= second["p"]


def test_unfaithful_failed_and_equal_runs_are_left_out_and_counted(store: Store) -> None:
    ids = make(store, rates, VARIANTS[:2], repetitions=3)
    unfaithful = make(store, rates, VARIANTS[:1], repetitions=1, verdict="unfaithful", seed=9)
    equal = make(
        store, lambda *_: rates(VARIANTS[1], 0), VARIANTS[1:2], repetitions=2, name="other"
    )
    made = compared(store, [*ids[:3], *unfaithful, *ids[3:], *equal])
    left_out = {variant["name"]: variant["left_out"] for variant in made["variants"]}
    assert left_out["trial, congestion=bbr"] == {"unfaithful": 1, "failed": 0, "identical": 0}
    assert [len(variant["runs"]) for variant in made["variants"]] == [3, 3, 2]


def test_equal_variants_of_two_experiments_are_told_apart(store: Store) -> None:
    ids = make(store, rates, VARIANTS[:1], repetitions=2)
    ids += make(store, rates, VARIANTS[:1], repetitions=2, name="other", link_model=1)
    made = compared(store, ids)
    assert [variant["name"] for variant in made["variants"]] == ["trial", "other"]
    again = make(store, rates, VARIANTS[:1], repetitions=2, experiment_sha256="e2")
    made = compared(store, [*ids[:2], *again])
    assert len({variant["name"] for variant in made["variants"]}) == 2
    assert all(variant["name"].startswith("trial@") for variant in made["variants"])


@pytest.mark.parametrize("variants", [VARIANTS[:1], VARIANTS])
def test_one_variant_or_single_runs_give_none(store: Store, variants: list[dict[str, Any]]) -> None:
    ids = make(store, rates, variants, repetitions=2 if len(variants) == 1 else 1)
    assert compare_variants(store, [store.load(run_id).row for run_id in ids]) is None

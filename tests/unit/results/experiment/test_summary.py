"""The summary of an experiment: which runs count, means, differences and crossings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from orchestrator.errors import UsageError
from orchestrator.repetitions import RepetitionRule
from results.documents import experiment_document
from results.experiment.experiments import find
from results.experiment.observations import ValueSelection
from results.experiment.summary import summarise
from results.experiment.summary_document import document
from results.matrix.axes import axes, named, number
from results.statistics.drift import PARTS
from results.statistics.estimates import estimate
from results.store.store import Store
from results.wording.summary_tables import notes
from tests.support.experiments import make
from tests.support.recordings import head
from web.views import run_view

LIMIT, CONTROL = "topology.bottleneck.queue.limit", "flows.a.congestion"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "runs.db") as opened:
        yield opened


def summary(store: Store, *metrics: str, by: tuple[str, ...] = (), **wanted: Any) -> dict[str, Any]:
    found, _others = find(store, "trial")
    chosen = ValueSelection(metrics or ("goodput_bps",), parts=PARTS, **wanted)
    return document(summarise(store, found, chosen, by))


def row(document: Mapping[str, Any], flow: str | None, **variant: Any) -> dict[str, Any]:
    (found,) = [
        each
        for each in document["rows"]
        if each["flow"] == flow and variant.items() <= each["variant"].items()
    ]
    return dict(found)


def two(_variant: object, repetition: int) -> dict[str, float]:
    return {"a": 1e6 + 1e4 * repetition**2, "b[0]": 3e6 - 2e4 * repetition, "b[1]": 1e6}


@pytest.mark.slow
def test_a_row_for_each_variant_and_entry(store: Store) -> None:
    make(store, two, [{LIMIT: "10p"}, {LIMIT: "5p"}])
    document = summary(store)
    assert [(each["variant"][LIMIT], each["flow"]) for each in document["rows"]] == [
        ("5p", None), ("5p", "a"), ("5p", "b"), ("10p", None), ("10p", "a"), ("10p", "b"),
    ]  # fmt: skip
    assert document["axes"][0]["label"] == "limit"
    assert document["axes"][0]["numbers"] == [5.0, 10.0]
    found = row(document, "b", **{LIMIT: "5p"})["metrics"]["goodput_bps"]
    values = [2e6 - 1e4 * repetition for repetition in range(5)]  # the mean of its flows
    assert found["values"] == pytest.approx(values, rel=1e-5)
    expected = estimate(found["values"])
    assert expected is not None
    assert (found["mean"], found["low"], found["high"]) == (
        expected.mean, expected.low, expected.high,
    )  # fmt: skip
    assert (found["n"], found["drifting"], found["rule"]) == (5, False, "student")
    assert len(row(summary(store, flows=True), "b[1]", **{LIMIT: "5p"})["metrics"]) == 1


def test_runs_that_do_not_count_are_counted(store: Store) -> None:
    make(store, two)
    of_trial = {"experiment": "trial", "experiment_sha256": "e1", "variant": {}}
    store.fail(store.begin(head(**of_trial, repetition=9, seed=10)), "hung")
    make(store, lambda _v, _r: {"a": 9e9}, repetitions=1, verdict="unfaithful", repetition=7)
    (run,) = make(store, lambda v, r: two(v, r + 3), repetitions=1, repetition=3, seed=4)
    document = summary(store)
    found = row(document, "a")
    assert found["left_out"] == {"unfaithful": 1, "failed": 1, "identical": 0}
    assert found["n"] == 5  # repetition 3 was run again: the newest counts
    assert run in found["metrics"]["goodput_bps"]["runs"]


def test_an_attempt_that_ended_well_stands_in_the_place_of_those_that_did_not(
    store: Store,
) -> None:
    known = {"experiment": "trial", "experiment_sha256": "e1", "variant": {}}
    for repetition in (0, 0, 1, 7):
        broken = store.begin(head(**known, repetition=repetition, seed=repetition + 1))
        store.fail(broken, "interrupted by the user", "interrupted")
    make(store, lambda _v, r: {"a": 1e6 + r}, repetitions=2)
    found = row(summary(store), "a")
    assert (found["n"], found["left_out"]["failed"]) == (2, 1)  # repetition 7 is missing
    trial, _others = find(store, "trial")
    assert experiment_document.fields(trial)["failed"] == 1
    assert [row.repetition for row in trial.standing()] == [7, 0, 1]
    shown = run_view.experiment_line(trial, {}, datetime.now(UTC))
    assert shown.states == "2 faithful, 1 failed"
    again = store.begin(head(**known, repetition=7, seed=8))
    assert summary(store)["rows"][0]["left_out"]["failed"] == 0  # it is being made again
    store.fail(again, "hung")
    assert summary(store)["rows"][0]["left_out"]["failed"] == 1


def test_repetitions_that_are_equal_to_the_bit_are_one_observation(store: Store) -> None:
    for repetition in range(4):
        make(store, lambda _v, _r: {"a": 1e6}, repetitions=1, repetition=repetition,
             seed=repetition)  # fmt: skip
    found = row(summary(store), "a")
    assert (found["n"], found["left_out"]["identical"]) == (1, 3)
    assert found["metrics"]["goodput_bps"]["low"] is None


def test_differences_of_flows_are_paired_by_seed(store: Store) -> None:
    noise = [0.0, 3e5, -2e5, 1e5, 4e5]
    make(store, lambda _v, r: {"a": 2e6 + noise[r], "b": 2.1e6 + noise[r] + r})
    (found,) = summary(store)["differences"]
    assert (found["a"], found["b"], found["axis"], found["paired_n"]) == ("a", "b", None, 5)
    assert found["mean"] == pytest.approx(1e5 + 2, abs=1)
    assert found["high"] - found["low"] < 10  # what both have in common is no uncertainty
    assert found["p_holm"] == found["p"] < 1e-6


@pytest.mark.slow
def test_differences_of_variants(store: Store) -> None:
    rates = {"reno": 1e6, "cubic": 2e6, "bic": 3e6}
    draw = np.random.default_rng(1)
    variants = [{CONTROL: name, LIMIT: limit} for limit in ("10p", "20p") for name in rates]
    make(store, lambda v, r: {"a": rates[v[CONTROL]] + 1e4 * draw.normal()}, variants)
    found = [
        difference for difference in summary(store)["differences"] if difference["flow"] == "a"
    ]
    assert [(each["variant"], each["a"], each["b"]) for each in found[:3]] == [
        ({LIMIT: "10p"}, "reno", "cubic"),
        ({LIMIT: "10p"}, "reno", "bic"),
        ({LIMIT: "10p"}, "cubic", "bic"),
    ]
    assert len(found) == 6
    assert all(each["p"] <= each["p_holm"] < 0.001 for each in found)
    by_limit = [
        difference
        for difference in summary(store, by=("limit",))["differences"]
        if difference["flow"]
    ]
    assert {(each["a"], each["b"]) for each in by_limit} == {("10p", "20p")}
    assert all(each["p_holm"] > 0.05 for each in by_limit)
    limits = [each["variant"][LIMIT] for each in summary(store, by=("limit",))["rows"]]
    assert limits == sorted(limits)


def seeds_differ(store: Store, goodput: Any, variants: list[dict[str, str]]) -> None:
    """Store runs whose seeds are others in each variant, as `seeds: independent` makes them."""
    for place, variant in enumerate(variants):
        for repetition in range(5):
            flows = goodput(variant, repetition)
            seed = 100 * place + repetition
            made: dict[str, Any] = {"repetition": repetition, "seed": seed}
            make(store, partial(_flows, flows), [variant], 1, **made)


def _flows(flows: Any, _variant: object, _repetition: int) -> Any:
    return flows


def test_variants_without_a_common_seed_are_independent_samples(store: Store) -> None:
    noise = [0.0, 3e5, -2e5, 1e5, 4e5]
    base = {"reno": 2e6, "cubic": 2.1e6}
    variants = [{CONTROL: name} for name in base]
    seeds_differ(store, lambda v, r: {"a": base[v[CONTROL]] + noise[r], "b": 1e6 + r}, variants)
    document = summary(store)
    of_variants = [difference for difference in document["differences"] if difference["axis"]]
    (found,) = [difference for difference in of_variants if difference["flow"] == "a"]
    assert (found["method"], found["paired_n"]) == ("welch", 0)
    assert (found["a_n"], found["b_n"]) == (5, 5)
    assert found["mean"] == pytest.approx(1e5, abs=1)
    # Twice the variance of the noise; with equal seeds the noise would cancel.
    half = stats.t.ppf(0.975, 8) * np.std(noise, ddof=1) * np.sqrt(2 / 5)
    assert (found["high"] - found["low"]) / 2 == pytest.approx(half, rel=1e-4)
    of_flows = [difference for difference in document["differences"] if difference["axis"] is None]
    assert {(difference["method"], difference["paired_n"]) for difference in of_flows} == {
        ("paired", 5)
    }


@pytest.mark.slow
def test_a_crossing_of_variants_without_a_common_seed(store: Store) -> None:
    shift = [0.9, 1.0, 1.1, 1.05, 0.95]
    variants = [{LIMIT: f"{x}bdp"} for x in (0.25, 0.5, 1, 2, 4, 8)]
    seeds_differ(
        store, lambda v, r: {"a": 2e6 * shift[r] / float(v[LIMIT][:-3]), "b": 1e6}, variants
    )
    (found,) = summary(store)["crossings"]
    assert (found["n"], found["of"]) == (5, 5)
    assert found["low"] < 2 < found["high"]


@pytest.mark.slow
def test_a_crossing_has_an_interval_over_seeds(store: Store) -> None:
    """Flow a falls as 1/x and b is constant: they are equal at 2, shifted by each seed."""
    shift = [0.9, 1.0, 1.1, 1.05, 0.95]
    variants = [{LIMIT: f"{x}bdp"} for x in (0.25, 0.5, 1, 2, 4, 8)]
    make(store, lambda v, r: {"a": 2e6 * shift[r] / float(v[LIMIT][:-3]), "b": 1e6}, variants)
    (found,) = summary(store)["crossings"]
    assert (found["a"], found["b"], found["n"], found["of"]) == ("a", "b", 5, 5)
    assert found["low"] < 2 < found["high"]
    assert found["mean"] == pytest.approx(2, rel=0.1)
    assert found["high"] / found["low"] < 1.3


@pytest.mark.slow
def test_no_interval_of_a_crossing_leaves_the_axis(store: Store) -> None:
    """Two places at opposite ends have a Student's interval that is wider than the axis."""
    variants = [{LIMIT: f"{x}bdp"} for x in (0.25, 0.5, 1, 2, 4, 8)]
    make(
        store, lambda v, r: {"a": (0.3e6, 7e6)[r] / float(v[LIMIT][:-3]), "b": 1e6}, variants,
        repetitions=2,
    )  # fmt: skip
    (found,) = summary(store)["crossings"]
    assert (found["n"], found["low"], found["high"]) == (2, pytest.approx(0.25), pytest.approx(8))
    assert 0.25 < found["mean"] < 8


@pytest.mark.slow
def test_entries_that_are_asked_for_alone_have_crossings(store: Store) -> None:
    variants = [{LIMIT: f"{x}bdp"} for x in (1, 2, 4)]
    make(
        store, lambda v, r: {"a": (4e6 + r) / float(v[LIMIT][:-3]), "b": 1.5e6, "c": 2.5e6},
        variants,
    )  # fmt: skip
    found, _others = find(store, "trial")

    def crossed(*compare: str, by: Sequence[str] = ()) -> list[tuple[str, str]]:
        wanted = ValueSelection(("goodput_bps",))
        made = document(summarise(store, found, wanted, by, compare=compare))
        return [(each["a"], each["b"]) for each in made["crossings"]]

    assert crossed() == [("a", "b"), ("a", "c")]
    assert crossed("c,a") == [("a", "c")]
    assert crossed("a,b", "c,a", "a,b,c") == [("a", "b"), ("a", "c")]
    assert crossed("b,c") == []
    assert crossed("1bdp,2bdp") == []  # values of an axis: it had those of all entries
    assert crossed("1bdp,2bdp", "a,b") == [("a", "b")]
    assert crossed(by=["limit"]) == [("a", "b"), ("a", "c")]  # an axis alone names no entries
    assert crossed("1bdp,2bdp", by=["limit"]) == []


def test_flows_that_never_change_places_have_no_crossing(store: Store) -> None:
    make(store, lambda v, _r: {"a": 1e6, "b": 2e6}, [{LIMIT: f"{x}bdp"} for x in (1, 2)])
    assert summary(store)["crossings"] == []


def test_a_metric_that_rises_through_the_window_is_drifting(store: Store) -> None:
    def rising(_variant: object, repetition: int) -> dict[str, Any]:
        return {"a": [1e6 + 1e5 * part + repetition for part in range(20)], "b": 1e6 + repetition}

    make(store, rising)
    document = summary(store)
    assert row(document, "a")["metrics"]["goodput_bps"]["drifting"] is True
    assert row(document, "b")["metrics"]["goodput_bps"]["drifting"] is False


def test_a_rise_and_a_fall_are_told_apart(store: Store) -> None:
    for sign in (1, -1):
        rates = [1e6 * (1 + sign * 0.2 * (part - 9.5) / 20) for part in range(20)]
        make(store, partial(_flows, {"a": rates}), name=f"t{sign}")
        found, _others = find(store, f"t{sign}")
        made = summarise(store, found, ValueSelection(("goodput_bps",), parts=PARTS))
        metric = row(document(made), "a")["metrics"]["goodput_bps"]
        assert (metric["drifting"], metric["rise"]) == (True, pytest.approx(sign * 0.2, rel=0.01))


def test_quantiles_are_over_repetitions(store: Store) -> None:
    values = [1e6, 2e6, 3e6, 4e6, 9e6]
    make(store, lambda _v, r: {"a": values[r]})
    found, _others = find(store, "trial")
    made = summarise(store, found, ValueSelection(("goodput_bps",)), quantiles=(0.5, 0.9))
    middle, high = row(document(made), "a")["metrics"]["goodput_bps"]["quantiles"]
    assert (middle["share"], middle["n"]) == (0.5, 5)
    assert middle["value"] == pytest.approx(3e6, rel=1e-5)
    assert high["value"] == pytest.approx(7e6, rel=1e-5)
    assert middle["low"] < 3e6 < middle["high"] <= 9e6 * (1 + 1e-5)
    assert row(summary(store), "a")["metrics"]["goodput_bps"]["quantiles"] == []


def test_the_interval_is_that_of_the_rule_that_ended_the_repetitions(store: Store) -> None:
    rule = RepetitionRule("goodput_bps", "a", None, interval=0.02, least=3, most=9)
    make(store, two, repetition_rule=rule)
    document = summary(store)
    assert row(document, "a")["metrics"]["goodput_bps"]["rule"] == "stein"
    assert row(document, "b")["metrics"]["goodput_bps"]["rule"] == "student"


def test_only_what_is_asked_for(store: Store) -> None:
    make(store, two, [{LIMIT: "5p"}, {LIMIT: "10p"}])
    document = summary(store, "rtt_mean_s", where=("limit=5p",), entries=("a",))
    assert {(each["variant"][LIMIT], each["flow"]) for each in document["rows"]} == {
        ("5p", None), ("5p", "a"),
    }  # fmt: skip
    assert set(row(document, "a")["metrics"]) == {"rtt_mean_s"}


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"metrics": ("goodput",)}, "no metric goodput .did you mean `goodput_bps`"),
        ({"where": ("limit",)}, "column 6: here must be one of = != <"),
        ({"where": ("limit=6p",)}, "limit has no value 6p; its values are `5p`, `10p`"),
        ({"where": ("rate=6p",)}, "no axis rate; the axes are limit"),
        ({"entries": ("c",)}, "no flow entry c; the entries are a, b"),
        ({"window": "late"}, "has no window late; it has none"),
    ],
)
def test_what_is_not_there_is_an_error(store: Store, wanted: Any, message: str) -> None:
    make(store, two, [{LIMIT: "5p"}, {LIMIT: "10p"}], repetitions=1)
    found, _others = find(store, "trial")
    with pytest.raises(UsageError, match=message):
        summarise(store, found, ValueSelection(**wanted))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("10mbit", (1e7, "bit/s")), ("0.1bdp", (0.1, "BDP")), ("20ms", (0.02, "s")),
        ("100p", (100.0, "packets")), ("150kB", (1.5e5, "bytes")), ("1%", (0.01, "1")),
        (3, (3.0, "1")), ("5/min", (5 / 60, "1/s")), ("reno", None), (True, None), ({}, None),
    ],
)  # fmt: skip
def test_values_of_axes_are_numbers_where_they_are_quantities(value: Any, expected: Any) -> None:
    assert number(value) == (None if expected is None else pytest.approx(expected))


def test_labels_are_the_shortest_ends_that_tell_paths_apart() -> None:
    paths = ("flows.a.congestion", "flows.b.congestion", "topology.bottleneck.rate")
    there = axes([dict.fromkeys(paths, "x")])
    assert [axis.label for axis in there] == ["a.congestion", "b.congestion", "rate"]
    assert named("bottleneck.rate", there).label == "rate"
    with pytest.raises(UsageError, match=r"several axes: flows\.a\.congestion, flows\.b"):
        named("congestion", there)
    mixed = axes([{"x": "1bdp"}, {"x": "10p"}])
    assert mixed[0].numbers is None


def test_a_warm_up_is_offered_beside_the_fixed_one(store: Store) -> None:
    def slow(_variant: object, repetition: int) -> dict[str, Any]:
        noise = np.random.default_rng(repetition).normal(0, 1e4, 20)
        return {"a": [1e6 * (part < 6) + 4e6 * (part >= 6) + noise[part] for part in range(20)]}

    make(store, slow)
    found = row(summary(store), "a")["metrics"]["goodput_bps"]["steady_from_s"]
    assert 3.0 <= found <= 5.0  # 6 parts of 20 of 10 s; the rule may leave out some more by chance


@pytest.mark.slow
def test_an_axis_without_differences_is_named(store: Store) -> None:
    make(store, two, [{LIMIT: "5p", CONTROL: "reno"}, {LIMIT: "10p", CONTROL: "cubic"}])
    trial, _others = find(store, "trial")
    made = summarise(store, trial, ValueSelection(("goodput_bps",)), ["limit"])
    assert (made.differences, made.without_differences) == ([], ["limit"])
    said = "no differences along limit: no two variants with values differ in it alone"
    assert said in list(notes(made))
    make(store, two, [{LIMIT: "10p", CONTROL: "reno"}])
    trial, _others = find(store, "trial")
    assert not summarise(store, trial, ValueSelection(()), ["limit"]).without_differences

"""The values of a row: which variant, which flows, paired by repetition, and what counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from orchestrator.errors import UsageError
from orchestrator.recording.model import SENDER_STATE_DTYPE
from results.claims import values as claim_values
from results.claims.stated.accepted import AcceptedRange
from results.claims.stated.model import Quantity, Statement
from results.claims.stated.rows import ClaimRow, rows
from results.claims.values import ExperimentRuns, input_rate_bps, matching, series, value
from results.experiment.left_out import LeftOut
from results.experiment.values import RunValues
from results.matrix.axes import axes
from results.store.store import Store
from results.store.writing import RecordingData
from tests.support import experiments
from tests.support.recordings import array, flow, head, recording

VARIANTS: Sequence[Mapping[str, Any]] = (
    {"topology.queue.limit": "10p", "flows.one.congestion": "reno"},
    {
        "topology.queue.limit": "10p",
        "flows.one.congestion": {"name": "fast", "parameters": {"a": 1}},
    },
    {"topology.queue.limit": "1e-3", "flows.one.congestion": "reno", "flows": [1]},
)

ORDERING: dict[str, Any] = {
    "id": "W1.1", "says": "later", "place": "here", "relation": "ordering", "tolerance": 0,
    "reason": "any", "of": {"experiment": "e", "metric": "convergence_time_s", "at_least": True},
    "compare": [{"name": "a", "of": {"where": {"limit": "10p"}}},
                {"name": "b", "of": {"where": {"limit": "20p"}}}],
}  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "runs.db") as store:
        yield store


def runs(store: Store, ids: Sequence[str], variants: Sequence[Mapping[str, Any]]) -> ExperimentRuns:
    each = len(ids) // len(variants)
    made = [
        {number: store.load(ids[index * each + number]) for number in range(each)}
        for index in range(len(variants))
    ]
    return ExperimentRuns(variants, axes(variants), made)


def row(*terms: dict[str, Any], **more: Any) -> ClaimRow:
    base = Quantity(experiment="e", metric="goodput_bps", flows=("one",))
    made = tuple(Quantity.model_validate(each).with_defaults(base) for each in terms)
    return ClaimRow("r", "p", AcceptedRange(0.0, None), AcceptedRange(0.0, None), (made,), **more)


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ({}, [0, 1, 2]),
        ({"limit": "10p"}, [0, 1]),
        ({"queue.limit": 0.001}, [2]),
        ({"congestion": "reno", "limit": "10p"}, [0]),
        ({"congestion": "fast"}, [1]),
        ({"congestion": {"name": "fast"}}, [1]),
        ({"congestion": {"name": "fast", "parameters": {"a": 2}}}, []),
        ({"flows": "*"}, [2]),
        ({"flows": [1]}, [2]),
        ({"rate": "1mbit"}, []),
    ],
)
def test_a_place_names_variants_by_their_axes(where: dict[str, Any], found: list[int]) -> None:
    assert matching(where, VARIANTS, axes(VARIANTS)) == found


def test_terms_are_paired_by_repetition(store: Store) -> None:
    variants = ({"limit": "10p"}, {"limit": "20p"})

    def goodput(variant: Mapping[str, Any], repetition: int) -> dict[str, float]:
        return {"one": (repetition + 1) * (2e6 if variant["limit"] == "20p" else 1e6)}

    there = runs(store, experiments.make(store, goodput, variants, 3), variants)
    points = series(row({"where": {"limit": "20p"}}, {"where": {"limit": "10p"}}), {"e": there})
    assert points.values == pytest.approx([2.0, 2.0, 2.0])
    single = series(row({"where": {"limit": "10p"}, "scale": 1e-6}), {"e": there})
    assert single.values == pytest.approx([1.0, 2.0, 3.0])
    assert len(single.used) == 3
    assert not series(row({"where": {"limit": "30p"}}), {"e": there}).present
    with pytest.raises(UsageError, match="fits 2 variants"):
        series(row({}), {"e": there})


def test_what_does_not_converge_counts_with_its_time_above_and_has_no_value_below(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    stated = Statement.model_validate(ORDERING)
    (made,) = rows(stated)
    ((upper, lower),) = made.terms
    assert (upper.at_least, lower.at_least) == (True, None)
    variants = ({"limit": "10p"}, {"limit": "20p"})
    ids = experiments.make(store, lambda _v, _r: {"one": 1e6, "two": 1e6}, variants, 2)
    there = runs(store, ids, variants)
    monkeypatch.setattr(claim_values, "time_to_converge_s", lambda _run, _span: 90.0)
    times = {ids[0]: None, ids[1]: 45.0, ids[2]: 30.0, ids[3]: 30.0}
    monkeypatch.setattr(
        RunValues, "value", lambda self, _subject, _metric: times[self.run.id], raising=True
    )
    assert series(made, {"e": there}).values == [3.0, 1.5]
    times[ids[2]] = None
    assert series(made, {"e": there}).values == [1.5]


def test_only_an_ordering_of_times_to_converge_may_be_at_least() -> None:
    with pytest.raises(ValidationError, match="`at_least` is of an ordering of convergence_time_s"):
        Statement.model_validate({**ORDERING, "of": {**ORDERING["of"], "metric": "timeouts"}})
    base = {key: value for key, value in ORDERING.items() if key != "compare"}
    value = {"relation": "value", "paper": 1, "of": {"experiment": "e", "metric": "timeouts"},
             "cases": [{"label": "c", "of": {"at_least": True}}]}  # fmt: skip
    with pytest.raises(ValidationError, match="`at_least` is of an ordering of convergence_time_s"):
        Statement.model_validate({**base, **value})


@pytest.mark.parametrize(
    ("changes", "value"),
    [
        ({"flows": ["one"]}, 1.0),
        ({"flows": ["one", "two"]}, 2.0),
        ({"flows": ["one", "two"], "over": "sum"}, 4.0),
        ({"flows": ["one", "two"], "over": "least"}, 1.0),
        ({"flows": ["one", "two"], "over": "largest"}, 3.0),
        ({"flows": ["one", "two"], "over": "deviation"}, 1.0),
        ({"flows": ["one", "two"], "over": "jain", "scale": 1.0}, 0.8),
        ({"flows": ["one"], "plus": {"flows": ["two"]}}, 4.0),
        ({"flows": []}, 4.0),
    ],
)
def test_flows_are_combined(store: Store, changes: dict[str, Any], value: float) -> None:
    ids = experiments.make(store, lambda _v, _r: {"one": 1e6, "two": 3e6}, repetitions=1)
    there = runs(store, ids, [{}])
    points = series(row({"scale": 1e-6, **changes}), {"e": there})
    assert points.values == pytest.approx([value])


@pytest.mark.parametrize(
    ("across", "values"),
    [("largest", [4e6, 1e6]), ("least", [1e6, 3e6]), ("mean", [2.5e6, 2e6])],
)
def test_several_places_are_judged_by_the_largest_or_least_mean_or_by_the_mean(
    store: Store, across: str, values: list[float]
) -> None:
    variants = ({"limit": "10p"}, {"limit": "20p"})
    rates = {("10p", 0): 4e6, ("10p", 1): 1e6, ("20p", 0): 1e6, ("20p", 1): 3e6}  # means 2.5 and 2

    def goodput(variant: Mapping[str, Any], repetition: int) -> dict[str, float]:
        return {"one": rates[variant["limit"], repetition]}

    there = runs(store, experiments.make(store, goodput, variants, 2), variants)
    terms = tuple(row({"where": {"limit": limit}}).terms[0] for limit in ("10p", "20p", "30p"))
    points = series(
        ClaimRow("r", "p", AcceptedRange(0.0, None), AcceptedRange(0.0, None), terms, across),
        {"e": there},
    )
    assert points.values == pytest.approx(values)


def test_equal_unfaithful_and_failed_runs_are_counted_and_left_out(store: Store) -> None:
    same = runs(store, experiments.make(store, lambda _v, _r: {"one": 1e6}, name="a"), [{}])
    points = series(row({}), {"e": same})
    assert (len(points.values), points.left_out.identical) == (
        5,
        0,
    )  # the digests name the repetitions
    for number, run in same.runs[0].items():
        same.runs[0][number] = same.runs[0][0] if number < 3 else run
    points = series(row({}), {"e": same})
    assert (len(points.values), points.left_out.identical) == (3, 2)
    wrong = experiments.make(
        store, lambda _v, _r: {"one": 1e6}, name="b", verdict="unfaithful", repetitions=2
    )
    points = series(row({}), {"e": runs(store, wrong, [{}])})
    assert (points.values, points.left_out) == ([], LeftOut(unfaithful=2))


def test_a_flow_that_is_not_there_is_an_error(store: Store) -> None:
    ids = experiments.make(store, lambda _v, _r: {"one": 1e6}, repetitions=1)
    with pytest.raises(UsageError, match="no flow entry three"):
        series(row({"flows": ["three"]}), {"e": runs(store, ids, [{}])})


def test_the_median_of_samples_is_taken(store: Store) -> None:
    ids = experiments.make(store, lambda _v, _r: {"one": 1e6}, repetitions=1)
    points = series(
        row({"sample": "rtt_us", "take": "median", "scale": 1e-3}), {"e": runs(store, ids, [{}])}
    )
    assert points.values == pytest.approx([100.0])


def test_the_input_rate_is_filtered_once_a_round_trip() -> None:
    time_ns = np.arange(0, 500e6, 50e6)  # ten samples, five round trips of 100 ms
    cwnd = np.asarray([10, 99, 20, 99, 20, 99, 20, 99, 20, 99], float)
    found = input_rate_bps(time_ns, cwnd, np.full(10, 1000.0), np.full(10, 100_000.0))
    first, second = 10 * 8e3 / 0.1, 20 * 8e3 / 0.1
    expected = [first]
    for _number in range(4):
        expected.append(0.9 * expected[-1] + 0.1 * second)
    assert found.tolist() == pytest.approx(expected)
    assert len(input_rate_bps(time_ns, cwnd, np.full(10, 1000.0), np.zeros(10))) == 0


def test_samples_do_not_depend_on_the_scenarios_period() -> None:
    grid_s, cwnd, rtt_us = 0.05, (10, 20, 40, 30), (60_000, 60_000, 110_000, 110_000)
    states = [
        {"time_s": 0.5 * at, "state": 1, "snd_cwnd_segments": cwnd[at], "rtt_us": rtt_us[at]}
        for at in range(4)
    ]
    found = []
    for period_s in (0.01, 0.1, 0.5):
        times_s = np.unique(np.concatenate([np.arange(0, 2, period_s), np.arange(0, 2.05, 0.1)]))
        rows = [
            {"time_s": time_s, "snd_mss_bytes": 1000, "snd_ssthresh_segments": round(time_s * 10),
             "snd_cwnd_segments": 99}
            for time_s in times_s
        ]  # fmt: skip
        made = recording(
            rows,
            sender_states=array(SENDER_STATE_DTYPE, states),
            flows=[flow("one", start_s=0.0, stop_s=2.0)],
        )
        run: Any = RecordingData(head(metrics_grid_s=grid_s, warmup_s=0.0), made)
        found.append(
            [
                value(run, quantity)
                for quantity in row(
                    {"sample": "snd_cwnd_segments", "take": "mean"},
                    {"sample": "snd_ssthresh_segments", "take": "deviation"},
                    {"sample": "input_rate_bps", "take": "median"},
                ).terms[0]
            ]
        )
    assert found[0] == found[1] == found[2]
    assert None not in found[0]
    # 41 times of the grid from 0 to 2 s: 10 each of the first three, and 11 of the last.
    assert found[0][0] == pytest.approx((10 * (10 + 20 + 40) + 11 * 30) / 41)

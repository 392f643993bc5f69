"""Expectations: what is met, what is not and why, and what is no expectation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from results.experiment.expectations import Expectation, ExpectationResult, evaluate
from results.experiment.experiments import find
from results.store.store import Store
from tests.support.experiments import make

pytestmark = pytest.mark.slow

LIMIT = "topology.bottleneck.queue.limit"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Two variants of five runs: flow b has about half of a's goodput, less with 20p."""
    with Store(tmp_path / "runs.db") as opened:
        make(
            opened,
            lambda v, r: {
                "a": 4e6 + 1e5 * r,
                "b": 2e6 + 6e4 * r - (1e6 if v[LIMIT] == "20p" else 0),
            },
            [{LIMIT: "10p"}, {LIMIT: "20p"}],
        )
        yield opened


def judged(store: Store, **keys: Any) -> list[ExpectationResult]:
    expectation = Expectation.model_validate({"metric": "goodput_bps", "flow": "a"} | keys)
    return evaluate(store, find(store, "trial")[0], [expectation])


@pytest.mark.parametrize(
    ("keys", "met"),
    [
        ({"above": 3.9e6}, [True, True]),
        ({"above": "3.9mbit"}, [True, True]),
        ({"above": 4.1e6}, [False, False]),  # the mean is, the interval is not
        ({"above": 4.1e6, "confidence": 0.5}, [True, True]),
        ({"above": 3.9e6, "over": "every"}, [True, True]),
        ({"above": 4.05e6, "over": "every"}, [False, False]),
        ({"below": "5mbit"}, [True, True]),
        ({"below": 4.2e6}, [False, False]),
        ({"near": 4.2e6, "tolerance": "10%"}, [True, True]),
        ({"near": 4.2e6, "tolerance": "1%"}, [False, False]),
        ({"near": 4.2e6, "tolerance": "10%", "over": "every"}, [True, True]),
        ({"flow": "b", "above": {"flow": "a", "factor": 0.4}}, [True, False]),
        ({"flow": "b", "below": {"flow": "a"}}, [True, True]),
        ({"flow": "b", "above": {"flow": "a", "factor": 0.4}, "where": {"limit": "10p"}}, [True]),
        ({"metric": "jain_index", "flow": None, "above": 0.85}, [True, False]),
    ],
)
def test_what_is_expected_is_met_or_not(store: Store, keys: Any, met: list[bool]) -> None:
    found = judged(store, **keys)
    assert [each.met for each in found] == met, found
    assert [each.reason is None for each in found] == met
    assert {each.n for each in found} == {5}


def test_the_reason_says_what_was_measured(store: Store) -> None:
    (first, _second) = judged(store, above=4.05e6, over="every")
    assert first.reason == "1 of 5 runs are not: 4e+06"
    assert first.expectation == "a: goodput_bps above 4050000.0"
    (first, _second) = judged(store, above="4.1mbit")
    assert first.reason is not None
    assert first.reason.startswith("its interval is 4.00")
    rival = judged(store, flow="b", above={"flow": "a", "factor": 0.4})
    assert rival[0].expectation == "b: goodput_bps above 0.4 x that of a"
    assert rival[0].mean == pytest.approx(2.12e6 - 0.4 * 4.2e6, rel=1e-4)
    low, high = rival[0].low, rival[0].high
    assert low is not None
    assert high is not None
    assert high - low < 1e5  # what varies together cancels


def test_a_run_without_a_value_does_not_meet_what_is_expected(tmp_path: Path) -> None:
    """One of three runs converges at once: the others must not be forgotten."""
    with Store(tmp_path / "runs.db") as store:
        make(store, lambda _v, r: {"a": 1e6 + r, "b": 1e6 if r == 1 else 3e6}, repetitions=3)
        for over in ("every", "mean"):
            keys = {"metric": "convergence_time_s", "flow": None, "below": "1h", "over": over}
            (found,) = judged(store, **keys)
            assert (found.met, found.n) == (False, 1)
            assert found.reason == "2 of 3 runs have no value"


def test_without_runs_or_intervals_nothing_is_met(tmp_path: Path) -> None:
    with Store(tmp_path / "runs.db") as store:
        make(store, lambda _v, _r: {"a": 4e6}, repetitions=1)
        assert judged(store, above=1)[0].met  # a single run is compared by its value
        (each,) = judged(store, above=1, over="mean")
        assert (each.met, each.reason) == (False, "a single run has no interval")
    with Store(tmp_path / "bad.db") as store:
        make(store, lambda _v, _r: {"a": 4e6}, verdict="unfaithful")
        (each,) = judged(store, above=1)
        assert (each.met, each.reason, each.n) == (False, "no run has a value", 0)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({}, "give one of `above`, `below` and `near`"),
        ({"above": 1, "below": 2}, "give one of `above`, `below` and `near`"),
        ({"near": 1}, "`near` and `tolerance` go together"),
        ({"above": 1, "tolerance": 0.1}, "`near` and `tolerance` go together"),
        ({"near": {"flow": "b"}, "tolerance": 0.1}, "`near` takes a number"),
        ({"above": "fast"}, "`fast` is no bound"),
        ({"above": "20ms"}, "`20ms` is in s, and goodput_bps in bit/s"),
        (
            {"metric": "utilisation", "flow": None, "above": 95},
            "is a share, never 95: write 95% or",
        ),
        ({"above": True}, "`true` is no bound"),
        ({"above": 1, "confidence": 1}, "`confidence` must be above 0% and below 100%"),
        ({"flow": None, "above": {"flow": "b"}}, "compared with a number, not with a flow"),
        ({"metric": "window_recovery_p50_s", "flow": None, "above": 1}, "name a `flow`"),
        ({"metric": "jain_index", "above": 1}, "flows have no metric jain_index"),
        ({"above": {"flow": "b", "factors": 2}}, "Extra inputs"),
    ],
)
def test_what_is_no_expectation(keys: Any, message: str) -> None:
    with pytest.raises(ValidationError) as error:
        Expectation.model_validate({"metric": "goodput_bps", "flow": "a"} | keys)
    assert message in str(error.value)

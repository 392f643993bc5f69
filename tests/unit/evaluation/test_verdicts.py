"""The verdict on a cell at the edges of its bounds, and the grade of a criterion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from orchestrator.evaluation.model import Level, Row
from orchestrator.evaluation.verdicts import (
    DOES_NOT,
    LIMITED,
    MEETS,
    NOT_DECIDED,
    Grade,
    decide,
    excess,
    grade,
)


def row(**changes: Any) -> Row:
    values = {
        "id": "r", "asks": "It is so.", "metric": "goodput_bps", "relation": "at least",
        "bound": 10.0, "limit": 5.0, "reason": "why not",
    }  # fmt: skip
    return Row.model_validate(values | changes)


MOST: dict[str, Any] = {"relation": "at most", "bound": 10.0, "limit": 20.0}


@pytest.mark.parametrize(
    ("changes", "value", "verdict"),
    [
        ({}, 10.0, MEETS),
        ({}, 9.999, LIMITED),
        ({}, 5.0, LIMITED),
        ({}, 4.999, DOES_NOT),
        (MOST, 10.0, MEETS),
        (MOST, 10.001, LIMITED),
        (MOST, 20.0, LIMITED),
        (MOST, 20.001, DOES_NOT),
        ({"limit": None}, 9.999, DOES_NOT),
        (MOST | {"limit": None}, 10.001, DOES_NOT),
    ],
)
def test_a_mean_on_an_edge_is_within_it(
    changes: dict[str, Any], value: float, verdict: Grade
) -> None:
    """Repetitions that are equal have an interval without width."""
    assert decide(row(**changes), [value] * 3, None).verdict == verdict


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([11.0, 12.0, 13.0], LIMITED),  # [9.5, 14.5] reaches below 10, and not below 5
        ([11.9, 12.0, 12.1], MEETS),
        ([7.0, 8.0, 9.0], LIMITED),
        ([4.0, 6.0, 8.0], NOT_DECIDED),
        ([2.0, 2.1, 2.2], DOES_NOT),
    ],
)
def test_the_interval_decides_and_not_the_mean(values: list[float], verdict: Grade) -> None:
    assert decide(row(), values, None).verdict == verdict


def test_a_factor_is_of_the_other_control_in_the_same_repetition() -> None:
    """Both vary together, so that the difference hardly does."""
    of_reno = row(of="reno", bound=0.8, limit=0.5)
    own, reno = [8.5, 10.2, 11.9], [10.0, 12.0, 14.0]
    assert decide(of_reno, own, reno).verdict == MEETS
    assert decide(of_reno, own, [14.0, 10.0, 12.0]).verdict != MEETS
    assert decide(of_reno, [3.0, 3.6, 4.2], reno).verdict == DOES_NOT
    assert decide(of_reno, [6.5, 7.8, 9.1], reno).verdict == LIMITED


def test_an_allowance_helps_where_the_other_control_has_nothing() -> None:
    loss = {"metric": "loss_ratio", "relation": "at most", "of": "reno", "bound": 2.0, "limit": 4.0}
    assert decide(row(**loss), [0.004] * 3, [0.0] * 3).verdict == DOES_NOT
    assert decide(row(**loss, allowance="0.5%"), [0.004] * 3, [0.0] * 3).verdict == MEETS


def test_the_excess_of_both_relations_is_positive_beyond_the_bound() -> None:
    assert excess(row(), 10.0, 7.0, None) == 3.0
    assert excess(row(**MOST), 10.0, 7.0, None) == -3.0
    assert excess(row(of="reno", bound=0.5, limit=0.1, allowance=1.0), 0.5, 3.0, 10.0) == 1.0


@pytest.mark.parametrize(
    ("values", "options", "reason"),
    [
        ([], {}, "no run has a value"),
        ([12.0], {}, "a single run has no interval"),
        ([12.0, 12.0], {"missing": 1}, "1 of 3 runs have no value"),
        ([1.0, 30.0], {}, "the interval reaches over the limit"),
    ],
)
def test_what_is_not_known_is_not_decided(
    values: list[float], options: dict[str, Any], reason: str
) -> None:
    decision = decide(row(), values, None, **options)
    assert (decision.verdict, decision.reason) == (NOT_DECIDED, reason)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([7.8, 8.0, 8.2], "all of the interval is beyond this, and none beyond the limit"),
        ([7.0, 8.0, 9.0], "a part of the interval is beyond this, and none beyond the limit"),
    ],
)
def test_limits_say_how_much_of_the_interval_is_beyond_the_bound(
    values: list[float], reason: str
) -> None:
    decision = decide(row(), values, None)
    assert (decision.verdict, decision.reason) == (LIMITED, reason)


def test_a_single_value_of_equal_runs_is_exact() -> None:
    assert decide(row(), [12.0], None, identical=True).verdict == MEETS


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([], NOT_DECIDED),
        ([("must", MEETS)], MEETS),
        ([("must", MEETS), ("should", MEETS)], MEETS),
        ([("must", MEETS), ("must", LIMITED)], LIMITED),
        ([("must", MEETS), ("should", LIMITED)], LIMITED),
        ([("must", MEETS), ("should", DOES_NOT)], LIMITED),
        ([("must", MEETS), ("should", NOT_DECIDED)], LIMITED),
        ([("must", NOT_DECIDED), ("must", MEETS)], NOT_DECIDED),
        ([("must", NOT_DECIDED), ("must", LIMITED)], NOT_DECIDED),
        ([("must", NOT_DECIDED), ("must", DOES_NOT)], DOES_NOT),
        ([("must", DOES_NOT), ("should", MEETS)], DOES_NOT),
        ([("should", DOES_NOT)], LIMITED),
        ([("should", MEETS)], MEETS),
    ],
)
def test_the_grade_of_cells(cells: Sequence[tuple[Level, Grade]], expected: Grade) -> None:
    assert grade(cells) == expected
    assert grade(list(reversed(cells))) == expected

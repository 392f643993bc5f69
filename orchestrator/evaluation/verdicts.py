"""The verdict on a cell, and the grade of a criterion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from orchestrator.evaluation.model import Level, Row
from results.experiment.model import Interval
from results.statistics.estimates import estimate

Grade = Literal["meets", "meets with limits", "does not meet", "not decided", "not applicable"]
"""The word for a cell, a row or a criterion. Only a criterion can be not applicable."""

MEETS: Literal["meets"] = "meets"
LIMITED: Literal["meets with limits"] = "meets with limits"
DOES_NOT: Literal["does not meet"] = "does not meet"
NOT_DECIDED: Literal["not decided"] = "not decided"
NOT_APPLICABLE: Literal["not applicable"] = "not applicable"
"""The kernel lacks what the criterion's scenario wants, so that nothing of it was run."""
GRADES: tuple[Grade, ...] = (MEETS, LIMITED, DOES_NOT, NOT_DECIDED, NOT_APPLICABLE)


@dataclass(frozen=True)
class Decision:
    """The verdict on a cell, and why it has limits or is not decided."""

    verdict: Grade
    reason: str | None = None


def excess(row: Row, bound: float, own: float, baseline: float | None) -> float:
    """Return by how much a value is beyond a bound, in the metric's unit; at most 0 is within it.

    ``baseline`` is the value of the control that the bound is a factor of, None without one.
    """
    if row.relation == "at most":
        most = bound if baseline is None else bound * baseline + row.allowed
        return own - most
    least = bound if baseline is None else bound * baseline - row.allowed
    return least - own


def decide(
    row: Row,
    own: Sequence[float],
    baseline: Sequence[float] | None,
    identical: bool = False,
    missing: int = 0,
) -> Decision:
    """Return the verdict on a cell by the 95% intervals of its mean excesses.

    The first that applies: it meets the row if all of the interval is within the bound, meets it
    with limits if all is within the limit, and does not meet it if none of it is within the limit.
    Else it is not decided.

    Args:
        row: what is asked.
        own: a value of each repetition.
        baseline: the other control's of the same repetitions; None where the bound is a number.
        identical: whether other repetitions were equal to the bit. A single value is then exact.
        missing: repetitions that count and have no value. With any, nothing is decided.
    """
    if not own:
        return Decision(NOT_DECIDED, "no run has a value")
    if missing:
        return Decision(NOT_DECIDED, f"{missing} of {len(own) + missing} runs have no value")
    if len(own) == 1 and not identical:
        return Decision(NOT_DECIDED, "a single run has no interval")
    asked, limit = (
        _interval([excess(row, bound, *pair) for pair in _pairs(own, baseline)])
        for bound in (row.asked, row.most)
    )
    return _word(asked, limit)


def _pairs(
    own: Sequence[float], baseline: Sequence[float] | None
) -> list[tuple[float, float | None]]:
    others: Sequence[float | None] = [None] * len(own) if baseline is None else baseline
    return list(zip(own, others, strict=True))


def _interval(values: Sequence[float]) -> tuple[float, float]:
    """Return Student's interval of the mean; of a single exact value that value twice."""
    found = estimate(values)
    if found is None:
        raise AssertionError("there are values")
    if found.low is None or found.high is None:
        return found.mean, found.mean
    return found.low, found.high


def _word(asked: tuple[float, float], limit: tuple[float, float]) -> Decision:
    if asked[1] <= 0:
        return Decision(MEETS)
    if limit[1] <= 0:
        within = "all of the interval" if asked[0] > 0 else "a part of the interval"
        return Decision(LIMITED, f"{within} is beyond this, and none beyond the limit")
    if limit[0] > 0:
        return Decision(DOES_NOT)
    return Decision(NOT_DECIDED, "the interval reaches over the limit")


def grade(cells: Iterable[tuple[Level, Grade]]) -> Grade:
    """Return the grade of a criterion, from the levels and verdicts of its cells.

    The first that applies:

    - it does not meet the criterion if a cell of level "must" does not meet its row
    - it is not decided if there is no cell, or one of level "must" is not decided
    - it meets the criterion if all cells meet their rows
    - it meets the criterion with limits otherwise: a cell has limits, or one of level "should" is
      not met or not decided

    So what is not decided never makes a grade better, and a "should" alone never makes it fail.
    """
    every = list(cells)
    musts = [verdict for level, verdict in every if level == "must"]
    if DOES_NOT in musts:
        return DOES_NOT
    if not every or NOT_DECIDED in musts:
        return NOT_DECIDED
    return MEETS if all(verdict == MEETS for _level, verdict in every) else LIMITED


def mean(values: Sequence[float], identical: bool = False) -> Interval:
    """Return the mean of values with its 95% interval, as the card shows it."""
    found = estimate(values)
    if found is None:
        return Interval(None, None, None)
    if found.low is None and identical:
        return Interval(found.mean, found.mean, found.mean)
    return Interval(found.mean, found.low, found.high)

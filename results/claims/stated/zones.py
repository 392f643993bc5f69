"""What is near to agreeing with the paper: a zone around what agrees, by a table of relations.

The tolerance of a statement says what agrees. It was chosen for how exactly the paper gives its
number. The zone says what a reader would still call nearly the same. It is a rule for all
statements of a relation, with its reason, so that no statement has a zone of its own:

- ``value``, ``range``, ``at-most``, ``at-least``, ``share``: as wide as the tolerance again, and at
  least a tenth of the paper's number. Numbers that are read from a figure are not better known.
- Of these an index: 0.05. It ends at 1, where a tenth of the number would be all that is left.
- ``factor``: as wide as the tolerance again, at least a tenth of the ratio's distance from 1, and
  at least 0.05. The effect is that distance, so a tenth of the ratio could be all of it.
- ``ordering``: from 5% behind to the lead that is asked for. Who is 5% behind is not seen to be.
- ``monotone``: a step of 5% more the other way, for the same reason.

0.05 is also the least of a factor, because a factor of 1 is an ordering whose sides are equal.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from results.claims.stated.accepted import AcceptedRange

if TYPE_CHECKING:
    from results.claims.stated.model import Statement
    from results.claims.stated.scales import Scale

OF_NUMBER = 0.1
"""Least zone of a number, as a share of it; of a factor, as a share of its distance from 1."""

OF_INDEX = 0.05
"""Zone of an index."""

Ends = tuple[float | None, float | None]

BEHIND = 0.05
"""Zone of an ordering and of a step, and the least zone of a factor."""


def near(statement: Statement, accepted: AcceptedRange, paper: Ends, index: bool) -> AcceptedRange:
    """Return what agrees or is near.

    Args:
        statement: a statement that can be tested.
        accepted: the values that agree with the paper at one place.
        paper: the ends of the paper's number or range there; None without an end.
        index: whether the value is an index between 0 and 1.
    """
    if statement.relation == "ordering":
        return AcceptedRange(1.0 - BEHIND, None)
    low, high = paper
    return AcceptedRange(
        None if accepted.low is None else accepted.low - _width(statement, low, index),
        None if accepted.high is None else accepted.high + _width(statement, high, index),
    )


def _width(statement: Statement, number: float | None, index: bool) -> float:
    """Return the width of the zone beside a number of the paper, in the unit of the statement."""
    tolerance = statement.tolerance
    if tolerance is None or number is None:
        raise AssertionError("what is accepted ends beside a number, by a tolerance")
    if statement.relation == "monotone":
        return BEHIND
    if statement.relation == "factor":
        return max(tolerance.around(number), OF_NUMBER * abs(number - 1.0), BEHIND)
    if index:
        return OF_INDEX
    return max(tolerance.around(number), OF_NUMBER * abs(number))


def narrowest(accepted: AcceptedRange, zone: AcceptedRange, scale: Scale) -> float:
    """Return the width of the zone on a scale; where it has two sides, of the narrower one.

    It is infinite where no value of the scale can be at an edge of what agrees.
    """
    sides = [
        abs(scale.of(inner) - scale.of(outer))
        for inner, outer in ((accepted.low, zone.low), (accepted.high, zone.high))
        if inner is not None and outer is not None and math.isfinite(scale.of(inner))
    ]
    return min(sides, default=math.inf)

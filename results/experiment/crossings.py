"""Where on an axis of numbers a difference changes its sign."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from results.matrix.axes import Axis, key
from results.statistics.estimates import estimate


class CrossingPlace(NamedTuple):
    """A mean with its interval; ``n`` of ``of`` repetitions have given a place."""

    mean: float
    low: float | None
    high: float | None
    n: int
    of: int


def crossing(axis: Axis, by_repetition: Mapping[int, Mapping[str, float]]) -> CrossingPlace | None:
    """Return where the difference changes its sign, with an interval over repetitions.

    Each repetition gives one place, by interpolation between neighbouring values of the axis, on a
    logarithmic scale if the axis is geometric. A repetition whose difference changes its sign
    never, or several times, gives none. ``n`` of the ``of`` repetitions have given one. The
    interval is Student's, as far as the axis reaches: no place is outside of it. On a logarithmic
    scale it is that of the logarithm, so ``mean`` is the geometric mean.

    Args:
        axis: an axis of numbers.
        by_repetition: the difference by repetition and by :func:`results.matrix.axes.key` of the
        axis's
            value.

    Returns:
        The place in the axis's unit; None if no repetition has one.
    """
    assert axis.numbers is not None, "checked by the caller"
    scale, back = (math.log, math.exp) if axis.geometric else (float, float)
    at = [(scale(n), key(value)) for n, value in zip(axis.numbers, axis.values, strict=True)]
    places = []
    for differences in by_repetition.values():
        points = [(x, differences[value]) for x, value in at if value in differences]
        changes = _sign_changes(points)
        if len(changes) == 1:
            places.append(changes[0])
    mean = estimate(places)
    if mean is None:
        return None
    first, last = (end(x for x, _value in at) for end in (min, max))
    return CrossingPlace(
        back(mean.mean),
        None if mean.low is None else back(max(mean.low, first)),
        None if mean.high is None else back(min(mean.high, last)),
        mean.n,
        len(by_repetition),
    )


def _sign_changes(points: Sequence[tuple[float, float]]) -> list[float]:
    """Return where a line through points (x, y) changes its sign."""
    changes = []
    signed = [(x, y) for x, y in points if y != 0]
    for (x, first), (y, second) in pairwise(signed):
        if first * second < 0:
            zeros = [at for at, value in points if x < at < y and value == 0]
            zero = sum(zeros) / len(zeros) if zeros else x + (y - x) * first / (first - second)
            changes.append(zero)
    return changes

"""Where on an axis of numbers a difference changes its sign."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from results.axes import Axis, key
from results.statistics.estimates import estimate


def crossing(axis: Axis, by_repetition: Mapping[int, Mapping[str, float]]) -> dict[str, Any] | None:
    """Return where the difference changes its sign, with an interval over repetitions.

    Each repetition gives one place, by interpolation between neighbouring values of the axis, on a
    logarithmic scale if the axis is geometric. A repetition whose difference changes its sign
    never, or several times, gives none. ``n`` of the ``of`` repetitions have given one. The
    interval is Student's; on a logarithmic scale that of the logarithm, so ``mean`` is the
    geometric mean.

    Args:
        axis: an axis of numbers.
        by_repetition: the difference by repetition and by :func:`results.axes.key` of the axis's
            value.

    Returns:
        ``mean``, ``low``, ``high`` in the axis's unit, ``n`` and ``of``; None if none has one.
    """
    assert axis.numbers is not None, "checked by the caller"
    scale, back = (math.log, math.exp) if axis.geometric else (float, float)
    at = [(scale(n), key(value)) for n, value in zip(axis.numbers, axis.values, strict=True)]
    places = []
    for differences in by_repetition.values():
        points = [(x, differences[value]) for x, value in at if value in differences]
        found = _sign_changes(points)
        if len(found) == 1:
            places.append(found[0])
    mean = estimate(places)
    if mean is None:
        return None
    return {
        "mean": back(mean.mean),
        "low": None if mean.low is None else back(mean.low),
        "high": None if mean.high is None else back(mean.high),
        "n": mean.n,
        "of": len(by_repetition),
    }


def _sign_changes(points: Sequence[tuple[float, float]]) -> list[float]:
    """Return where a line through points (x, y) changes its sign."""
    found = []
    signed = [(x, y) for x, y in points if y != 0]
    for (x, first), (y, second) in pairwise(signed):
        if first * second < 0:
            zeros = [each for each, value in points if x < each < y and value == 0]
            place = sum(zeros) / len(zeros) if zeros else x + (y - x) * first / (first - second)
            found.append(place)
    return found

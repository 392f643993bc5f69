"""How many repetitions decide between neighbouring answers, and the interval: at most two looks.

Three answers lie beside each other on a scale: what agrees, what is near, and what is neither. The
middle one is a zone of width w. After the first repetitions, ``FIRST`` at least, the interval of
the mean decides, if it can. If it cannot, (2 t s / w)^2 repetitions in all are made. Here s is the
standard deviation of the first ones, and t is Student's quantile with one degree of freedom less.
Then the interval is no wider than the zone, and such an interval always decides: it cannot reach
from what agrees to what is neither. So the number depends on s and w alone, and not on how near the
mean is to an edge.

The interval is mean +- t s / sqrt(n) at both looks, as in Stein's rule (see
:mod:`results.statistics.stein`). It is exact at each look. Only what the first look leaves open has
a second one, so both looks together must hold the mean. Their confidences are 99% and 96%, and the
errors of both add up to 5% at most (Bonferroni). The second look has the smaller one, as its
interval sets the number of repetitions.

A row may get fewer than the second look needs, as those are too many. They are looked at with the
confidence of the first look, so such a look adds an error of 1% at most. It decides where the mean
is far from all edges. Their number is a limit that was set without regard to the mean.

``python -m bench.verdict_rule`` simulates how often an answer is wrong and how many repetitions it
takes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from results.statistics.estimates import Estimate, deviation_of, mean_of, student

FIRST = 5
"""Repetitions before the first look. Of three, t would be 9.9 and 4.8 at the two looks; of ten,
pilots alone would take most of the time."""

FIRST_LOOK, SECOND_LOOK = 0.99, 0.96
"""Confidences of the two looks."""

POWER = 0.9
"""Probability with which a stated number of repetitions decides."""

MOST = 100_000
"""More repetitions than this are not counted."""


def required_repetitions(values: Sequence[float], zone: float, first: int = FIRST) -> int:
    """Return how many repetitions decide in any case, by the deviation of the first ones.

    Args:
        values: two at least, in the order of the repetitions. Of fewer than ``first`` all count,
            and the number is an estimate.
        zone: the width of the zone in the values' unit.
        first: how many repetitions were made before the first look, without regard to values.

    Returns:
        ``MOST`` where so many would not do.
    """
    spread = 2.0 * student(SECOND_LOOK, first - 1) * deviation_of(values[:first])
    if spread > zone * math.sqrt(MOST):
        return MOST
    return max(first, math.ceil((spread / zone) ** 2)) if spread > 0.0 else first


def likely_repetitions(
    values: Sequence[float], zone: float, first: int = FIRST, power: float = POWER
) -> int:
    """Return how many repetitions decide with a probability of ``power`` at least.

    Once there are ``first`` values, the required number always decides. Of fewer ones, two at
    least, the deviation of the first ones is not known yet: with probability ``power`` it is below
    what is assumed here. The squares that k values add to those of n have a ratio to them that is
    F-distributed, with k and n - 1 degrees of freedom.
    """
    n = len(values)
    required = required_repetitions(values, zone, first)
    if n >= first or required == MOST or deviation_of(values) == 0.0:
        return required
    from scipy.special import fdtri

    added = first - n
    squares = (n - 1 + added * float(fdtri(added, n - 1, power))) / (first - 1)
    narrower = zone / math.sqrt(squares)
    return max(required, required_repetitions(values, narrower, first))


def interval(values: Sequence[float], zone: float, first: int = FIRST) -> Estimate:
    """Return the mean of all values with its interval, at the look that their number stands for.

    It is the second look once there are as many values as are required, and else the first. Where
    ``first`` are all that is required, it is the only one. Values beyond the required ones make the
    interval narrower.

    Args:
        values: at least ``first`` values, in the order of the repetitions.
        zone: the width of the zone, above 0, in the values' unit.
        first: how many repetitions were made before the first look, without regard to values.
    """
    n, mean = len(values), mean_of(values)
    decides = n >= required_repetitions(values, zone, first)
    confidence = SECOND_LOOK if decides else FIRST_LOOK
    half = student(confidence, first - 1) * deviation_of(values[:first]) / math.sqrt(n)
    return Estimate(mean, mean - half, mean + half, deviation_of(values), n, "stein")

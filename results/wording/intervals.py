"""Formats a mean with its interval, the same on a terminal, in a report, on a page and in a claim.

Who shows it says how many digits a number has.
"""

from __future__ import annotations

from collections.abc import Callable

from results.experiment.model import HasInterval
from results.wording.quantities import NO_VALUE


def with_interval(
    each: HasInterval, digits: Callable[[float], str], no_value: str = NO_VALUE
) -> str:
    """Return ``mean [low, high]``, or the mean alone where it has no interval."""
    if each.mean is None:
        return no_value
    if each.low is None or each.high is None:
        return digits(each.mean)
    return f"{digits(each.mean)} [{digits(each.low)}, {digits(each.high)}]"


def step(each: HasInterval) -> float | None:
    """Return what gives a mean its digits: half of its interval, if that is not mere rounding.

    It is None without an interval.
    """
    if each.mean is None or each.low is None or each.high is None:
        return None
    half, least = (each.high - each.low) / 2, abs(each.mean)
    return half if half > least * 1e-9 else least / 1000

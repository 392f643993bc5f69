"""Random quantities of a flow, drawn from its own seed.

A quantity is {"distribution", "mean", "shape", "deviation", "most", "least", "points",
"parts"}. All but the first three are optional. Distributions are "fixed", "exponential", "pareto",
"lognormal", "uniform", "empirical" and "mixture". Draws come from Python's random.Random (Mersenne
Twister) and are rounded down to whole units. A value above "most" is drawn again.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any

Quantity = Mapping[str, Any]

ALWAYS_NS = 1 << 62
"""Longer than any run."""


def draw(generator: Random, quantity: Quantity) -> int:
    """Return the next value of the quantity, a whole number from 0 in the unit of its mean."""
    most = quantity.get("most", math.inf)
    while True:
        value = DISTRIBUTIONS[quantity["distribution"]](generator, quantity)
        if value <= most:
            return int(value)


def _fixed(_generator: Random, quantity: Quantity) -> float:
    return float(quantity["mean"])


def _exponential(generator: Random, quantity: Quantity) -> float:
    return generator.expovariate(1 / quantity["mean"])


def _pareto(generator: Random, quantity: Quantity) -> float:
    """P(X > x) = (least / x)^shape, with least = mean (shape - 1) / shape."""
    shape = quantity["shape"]
    least = quantity["mean"] * (shape - 1) / shape
    return float(least * generator.paretovariate(shape))


def _lognormal(generator: Random, quantity: Quantity) -> float:
    """The logarithm is normal, of the variance ln(1 + deviation^2 / mean^2)."""
    variance = math.log1p((quantity["deviation"] / quantity["mean"]) ** 2)
    middle = math.log(quantity["mean"]) - variance / 2
    return generator.lognormvariate(middle, math.sqrt(variance))


def _uniform(generator: Random, quantity: Quantity) -> float:
    return generator.uniform(quantity["least"], quantity["most"])


def _empirical(generator: Random, quantity: Quantity) -> float:
    """Between two points the cumulative distribution function is a straight line."""
    points = quantity["points"]
    share = generator.random()
    number = bisect.bisect_left([above for _value, above in points], share)
    if number == 0:
        return float(points[0][0])
    (low, below), (high, above) = points[number - 1 : number + 1]
    return float(low + (high - low) * (share - below) / (above - below))


def _mixture(generator: Random, quantity: Quantity) -> float:
    """Draw the part, and then its value; the last part takes what rounding leaves of the shares."""
    left = generator.random()
    parts = quantity["parts"]
    for share, part in parts[:-1]:
        if left < share:
            return draw(generator, part)
        left -= share
    return draw(generator, parts[-1][1])


DISTRIBUTIONS: dict[str, Callable[[Random, Quantity], float]] = {
    "fixed": _fixed,
    "exponential": _exponential,
    "pareto": _pareto,
    "lognormal": _lognormal,
    "uniform": _uniform,
    "empirical": _empirical,
    "mixture": _mixture,
}


def poisson_times(generator: Random, mean_gap_ns: float) -> Iterator[int]:
    """Yield the times of a Poisson process that begins at 0, in ns and without end.

    Times are rounded down to whole nanoseconds, and gaps are not. So rounding does not add up.
    """
    time_ns = 0.0
    while True:
        time_ns += generator.expovariate(1 / mean_gap_ns)
        yield int(time_ns)


def on_periods(generator: Random, parameters: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    """Yield (nanoseconds on, nanoseconds off); always on where ``parameters["on"]`` is None."""
    if parameters["on"] is None:
        yield ALWAYS_NS, 0
        return
    while True:
        yield draw(generator, parameters["on"]), draw(generator, parameters["off"])


def periods(generator: Random, parameters: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    """Yield (begin, end) in ns since the flow's start of each period in which it is on.

    The periods are the given "intervals", or alternate between the quantities "on" and "off" in ns,
    beginning with "on".
    """
    if parameters["intervals"] is not None:
        yield from parameters["intervals"]
        return
    begin_ns = 0
    while True:
        end_ns = begin_ns + draw(generator, parameters["on"])
        yield begin_ns, end_ns
        begin_ns = end_ns + draw(generator, parameters["off"])

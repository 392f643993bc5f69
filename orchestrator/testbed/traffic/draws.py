"""Random quantities of a flow, drawn from its own seed.

A quantity is {"distribution", "mean", "shape", "deviation", "most"}, the last two only where they
are given: "fixed", "exponential", "pareto" or "lognormal". Draws come from Python's random.Random
(Mersenne Twister) and are rounded down to whole units; one above "most" is drawn anew.
"""

import math


def draw(generator, quantity):
    """Return the next value of the quantity, a whole number from 0 in the unit of its mean."""
    most = quantity.get("most", math.inf)
    while True:
        value = DISTRIBUTIONS[quantity["distribution"]](generator, quantity)
        if value <= most:
            return int(value)


def _fixed(_generator, quantity):
    return quantity["mean"]


def _exponential(generator, quantity):
    return generator.expovariate(1 / quantity["mean"])


def _pareto(generator, quantity):
    """P(X > x) = (least / x)^shape, with least = mean (shape - 1) / shape."""
    shape = quantity["shape"]
    least = quantity["mean"] * (shape - 1) / shape
    return least * generator.paretovariate(shape)


def _lognormal(generator, quantity):
    """The logarithm is normal, of the variance ln(1 + deviation^2 / mean^2)."""
    variance = math.log1p((quantity["deviation"] / quantity["mean"]) ** 2)
    middle = math.log(quantity["mean"]) - variance / 2
    return generator.lognormvariate(middle, math.sqrt(variance))


DISTRIBUTIONS = {
    "fixed": _fixed,
    "exponential": _exponential,
    "pareto": _pareto,
    "lognormal": _lognormal,
}

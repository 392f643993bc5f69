"""Tables of delay distributions for sch_netem, in multiples of the standard deviation.

netem draws an entry with equal chance and adds entry / 8192 x jitter to the delay (tabledist() of
net/sched/sch_netem.c). So the entries are quantiles at the middles of 4096 equal parts, moved and
stretched so that their mean is 0 and their standard deviation 1. An entry is 16 bits: the tails
are cut off where a delay would be more than 4 standard deviations from the mean.

- ``normal``: the standard normal distribution, which ends at 3.7 standard deviations.
- ``pareto``: P(X > x) = x^-3 from x = 1, the shape of tc's table of that name. It is cut off
  before it is scaled. tc cuts off the scaled one, so its table has a standard deviation of only
  0.82.
- ``paretonormal``: N/4 + 3P/4 of independent N (normal) and P (pareto), cut off in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt

from orchestrator.protocol.links.netem import TABLE_ENTRIES, TABLE_SCALE, UNIFORM_TABLE

Floats = npt.NDArray[np.float64]

_LARGEST = 2**15 - 1
_SHAPE = 3.0
_SHARES = (0.25, 0.75)


@cache
def table(distribution: str) -> tuple[int, ...]:
    """Return the entries of a distribution, in increasing order.

    The entries of ``uniform`` go from -1 to 1 unit and are not scaled to the standard deviation.
    """
    if distribution == "uniform":
        return UNIFORM_TABLE
    quantiles = {"normal": _normal, "pareto": _pareto, "paretonormal": _pareto_normal}
    return _cut(quantiles[distribution])


def _cut(quantiles: Callable[[Floats], Floats]) -> tuple[int, ...]:
    """Return the entries of a distribution, cut off where an entry would exceed 16 bits."""

    def entries(share: float) -> npt.NDArray[np.int64]:
        raw = quantiles(_middles(TABLE_ENTRIES) * share)
        scaled: npt.NDArray[np.int64] = np.rint(
            (raw - raw.mean()) / raw.std() * TABLE_SCALE
        ).astype("i8")
        return scaled

    kept, too_much = 0.5, 1.0
    if entries(too_much)[-1] <= _LARGEST:
        kept = too_much
    while too_much - kept > 1e-9:
        middle = (kept + too_much) / 2
        kept, too_much = (middle, too_much) if entries(middle)[-1] <= _LARGEST else (kept, middle)
    return tuple(int(entry) for entry in entries(kept))


def _middles(parts: int) -> Floats:
    return (np.arange(parts) + 0.5) / parts


def _normal(shares: Floats) -> Floats:
    from scipy.special import ndtri  # slow to import, and few scenarios need it

    quantiles: Floats = ndtri(shares)
    return quantiles


def _pareto(shares: Floats) -> Floats:
    mean = _SHAPE / (_SHAPE - 1)
    deviation = math.sqrt(_SHAPE / (_SHAPE - 2)) / (_SHAPE - 1)
    quantiles: Floats = ((1 - shares) ** (-1 / _SHAPE) - mean) / deviation
    return quantiles


@cache
def _pareto_normal_sums() -> tuple[Floats, Floats]:
    """Return increasing values of N/4 + 3P/4, and the distribution function at each."""
    from scipy.special import ndtr

    normal, pareto = _SHARES
    parts = pareto * _pareto(_middles(2048))
    values = np.linspace(parts[0] - 5 * normal, parts[-1] + 5 * normal, 4096)
    return values, np.array([ndtr((value - parts) / normal).mean() for value in values])


def _pareto_normal(shares: Floats) -> Floats:
    values, below = _pareto_normal_sums()
    return np.interp(shares, below, values)

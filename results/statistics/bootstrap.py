"""Quantiles over repetitions with intervals by bootstrap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from results.statistics.estimates import CONFIDENCE

RESAMPLES = 9999
_MOST_KEPT = 100
"""Values of which the indices of resamples are kept, which take 80 kB a value."""

LEAST = 5
"""With fewer values, resampling says nothing about a quantile."""


@dataclass(frozen=True)
class Quantile:
    """A quantile of independent values; without an interval for fewer than LEAST values."""

    value: float
    low: float | None
    high: float | None
    n: int


def quantile(
    values: Sequence[float], share: float, confidence: float = CONFIDENCE
) -> Quantile | None:
    """Return a quantile with the percentile bootstrap's interval; None without values.

    The resampling has a fixed seed, so that equal values give an equal interval.
    """
    if not values:
        return None
    array = np.asarray(values, np.float64)
    value = float(np.quantile(array, share))
    if len(values) < LEAST:
        return Quantile(value, None, None, len(values))
    quantiles = _resampled(array, share)
    low, high = np.quantile(quantiles, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Quantile(value, float(low), float(high), len(values))


def _resampled(array: npt.NDArray[np.float64], share: float) -> npt.NDArray[np.float64]:
    """Return the quantile of each resample, by linear interpolation as of ``np.quantile``.

    The ranks of values are ordered in place of the values: 16 bits take a fraction of the time.
    """
    n = len(array)
    order = np.argsort(array)
    rank = np.empty(n, np.int16 if n < 2**15 else np.int64)
    rank[order] = np.arange(n)
    drawn = rank[(_kept_drawn if n <= _MOST_KEPT else _drawn)(n)]
    position = (n - 1) * share
    below = int(position)
    weight = position - below
    between = (below, min(below + 1, n - 1))
    drawn.sort(axis=1)  # of 16 bits that is faster than to part only these two from the others
    low, high = (array[order[drawn[:, at]]] for at in between)
    step = high - low
    quantiles: npt.NDArray[np.float64] = (
        low + step * weight if weight < 0.5 else high - step * (1 - weight)
    )
    return quantiles


def _drawn(n: int) -> npt.NDArray[np.int64]:
    """Return the indices of the values in each resample."""
    return np.random.default_rng(1).integers(0, n, (RESAMPLES, n))


_kept_drawn = lru_cache(maxsize=1)(_drawn)
"""Most variants have the same number of repetitions."""

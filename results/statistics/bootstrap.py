"""Quantiles over repetitions with intervals by bootstrap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from results.statistics.estimates import CONFIDENCE

RESAMPLES = 9999
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
    draws = np.random.default_rng(1).choice(array, (RESAMPLES, len(array)))
    found = np.quantile(draws, share, axis=1)
    low, high = np.quantile(found, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Quantile(value, float(low), float(high), len(values))

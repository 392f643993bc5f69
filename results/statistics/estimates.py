"""Means with confidence intervals over independent values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean over independent values, in their unit.

    ``low`` and ``high`` are the ends of the confidence interval, and ``sd`` is the sample's
    standard deviation (n - 1). All three are None for a single value. ``rule`` is "student" for
    Student's interval, and "stein" for that of :mod:`results.statistics.stein`.
    """

    mean: float
    low: float | None
    high: float | None
    sd: float | None
    n: int
    rule: Literal["student", "stein"] = "student"

    @property
    def half_width(self) -> float | None:
        """Half of the interval's width."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


def mean_of(values: Sequence[float]) -> float:
    """Return the mean, with the rounding error of one division."""
    return math.fsum(values) / len(values)


def deviation_of(values: Sequence[float]) -> float:
    """Return the sample's standard deviation; of equal values it is exactly zero."""
    mean = mean_of(values)
    if all(value == values[0] for value in values):
        return 0.0
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


@lru_cache(maxsize=1024)
def student(confidence: float, degrees: float) -> float:
    """Return the two-sided quantile of Student's t distribution."""
    from scipy.special import stdtrit  # scipy.stats computes it by this, and is slow to import

    return float(stdtrit(degrees, (1 + confidence) / 2))


def estimate(values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate | None:
    """Return the mean and Student's interval: exact for normal values; None without values."""
    if not values:
        return None
    mean, n = mean_of(values), len(values)
    if n == 1:
        return Estimate(mean, None, None, None, 1)
    sd = deviation_of(values)
    half = student(confidence, n - 1) * sd / math.sqrt(n)
    return Estimate(mean, mean - half, mean + half, sd, n)

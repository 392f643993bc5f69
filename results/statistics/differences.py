"""Differences of means, and the correction of their p values for many comparisons."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from results.statistics.estimates import CONFIDENCE, deviation_of, mean_of, student


@dataclass(frozen=True)
class Difference:
    """The mean of ``b - a``, with its interval and a two-sided test.

    ``n`` is the number of pairs, 0 for :func:`welch`. ``effect`` has Hedges' correction for small
    samples. ``p`` and ``effect`` are None for single values. Where nothing deviates, there is no
    deviation to test with: both are None, too, unless the difference is zero (``p`` 1, ``effect``
    0). ``effect`` is also None below two degrees of freedom, as of two pairs: the deviation is
    then too uncertain for an unbiased effect. ``error`` is the standard error of the mean, and
    ``degrees`` are its degrees of freedom; ``error`` is 0 where nothing deviates.
    """

    mean: float
    low: float | None
    high: float | None
    p: float | None
    effect: float | None
    n: int
    method: Literal["paired", "welch"] = "paired"
    error: float = 0.0
    degrees: float = 1.0

    def interval(self, confidence: float) -> tuple[float | None, float | None]:
        """Return the ends of the interval of that confidence; None of single values."""
        if self.low is None:
            return None, None
        half = student(confidence, self.degrees) * self.error
        return self.mean - half, self.mean + half


def paired(
    a: Sequence[float], b: Sequence[float], confidence: float = CONFIDENCE
) -> Difference | None:
    """Return the difference of pairs, one of each repetition; None without pairs.

    The interval and the test are Student's over the differences of pairs. ``effect`` is the mean in
    standard deviations of these differences.

    Raises:
        ValueError: the sequences have different lengths.
    """
    differences = [second - first for first, second in zip(a, b, strict=True)]
    if not differences:
        return None
    mean, n = mean_of(differences), len(differences)
    if n == 1:
        return Difference(mean, None, None, None, None, 1)
    sd = deviation_of(differences)
    if sd == 0.0:
        none = mean == 0.0
        return Difference(mean, mean, mean, 1.0 if none else None, 0.0 if none else None, n)
    error = sd / math.sqrt(n)
    half = student(confidence, n - 1) * error
    effect, p = _unbiased(mean / sd, n - 1), two_sided(mean / error, n - 1)
    return Difference(
        mean, mean - half, mean + half, p, effect, n, "paired", error, float(n - 1)
    )  # fmt: skip


def welch(
    a: Sequence[float], b: Sequence[float], confidence: float = CONFIDENCE
) -> Difference | None:
    """Return the difference of two independent samples; None if one is empty.

    The interval and the test are Welch's, whose degrees of freedom are Satterthwaite's (Biometrika
    34, 1947). So the samples may have unequal variances and sizes. ``effect`` is the mean
    difference in units of the root of the mean of both variances (Bonett, Psychol. Methods 13,
    2008). Its degrees of freedom are those of that mean, by the same approximation.
    """
    if not a or not b:
        return None
    mean = mean_of(b) - mean_of(a)
    if min(len(a), len(b)) < 2:
        return Difference(mean, None, None, None, None, 0, "welch")
    of_a, of_b = deviation_of(a) ** 2, deviation_of(b) ** 2
    if of_a == of_b == 0.0:
        p, effect = (1.0, 0.0) if mean == 0.0 else (None, None)
        return Difference(mean, mean, mean, p, effect, 0, "welch")
    error = math.sqrt(of_a / len(a) + of_b / len(b))
    degrees = _satterthwaite((of_a / len(a), len(a)), (of_b / len(b), len(b)))
    half = student(confidence, degrees) * error
    of_mean = _satterthwaite((of_a, len(a)), (of_b, len(b)))
    effect = _unbiased(mean / math.sqrt((of_a + of_b) / 2), of_mean)
    p = two_sided(mean / error, degrees)
    return Difference(mean, mean - half, mean + half, p, effect, 0, "welch", error, degrees)


def _satterthwaite(*parts: tuple[float, int]) -> float:
    """Return the degrees of freedom of a sum of multiples of variances of n values each."""
    total = sum(value for value, _n in parts)
    # Divided first: squares of small variances would be zero.
    return 1 / sum((value / total) ** 2 / (n - 1) for value, n in parts)


def _unbiased(effect: float, degrees: float) -> float | None:
    """Return the effect of a small sample without its bias, None where that is not possible.

    The correction is Hedges' (Journal of Educational Statistics 6, 1981). It is zero at one degree
    of freedom, where the effect has no expected value.
    """
    return None if degrees < 2 else effect * (1 - 3 / (4 * degrees - 1))


def two_sided(t: float, degrees: float) -> float:
    """Return the two-sided p value of a statistic of Student's t distribution."""
    from scipy.special import stdtr  # scipy.stats computes it by this, and is slow to import

    return float(2 * stdtr(degrees, -abs(t)))


def bonferroni(number: int, confidence: float = CONFIDENCE) -> float:
    """Return the confidence of each of ``number`` intervals that hold together with ``confidence``.

    Bonferroni's inequality: the probability that any of them misses its value is at most the sum of
    the probabilities that each does, whatever the dependence between them.
    """
    return 1 - (1 - confidence) / max(number, 1)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p values corrected for their number, in their order; None stays None.

    Holm's step-down procedure (Scand. J. Statist. 6, 1979): the probability that any true null
    hypothesis is rejected stays at the level, whatever the dependence between the tests.
    """
    known = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, index) in enumerate(known):
        largest = max(largest, min(1.0, p * (len(known) - rank)))
        corrected[index] = largest
    return corrected

"""Paired differences, and the correction of their p values for many comparisons."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from results.statistics.estimates import CONFIDENCE, deviation_of, mean_of, student


@dataclass(frozen=True)
class Difference:
    """The mean of ``b - a`` over pairs, with Student's interval and the paired t test.

    ``p`` is two-sided. ``effect`` is the mean difference in standard deviations of the differences,
    with Hedges' correction for small samples. Both are None for a single pair. Where all
    differences are equal, there is no deviation to test with: ``p`` and ``effect`` are None, too,
    unless the differences are zero (``p`` 1, ``effect`` 0).
    """

    mean: float
    low: float | None
    high: float | None
    p: float | None
    effect: float | None
    n: int


def paired(
    a: Sequence[float], b: Sequence[float], confidence: float = CONFIDENCE
) -> Difference | None:
    """Return the difference of pairs, one of each repetition; None without pairs.

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
    hedges = 1 - 3 / (4 * (n - 1) - 1)
    return Difference(
        mean, mean - half, mean + half, _two_sided(mean / error, n - 1), hedges * mean / sd, n
    )


def _two_sided(t: float, degrees: int) -> float:
    from scipy import stats

    return float(2 * stats.t.sf(abs(t), degrees))


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

"""How many repetitions make an interval as narrow as asked: Stein's two-stage rule.

C. Stein, "A two-sample test for a linear hypothesis whose power is independent of the variance",
Ann. Math. Statist. 16, 1945. The first ``least`` repetitions give the standard deviation s. With
n = (t s / d)^2 repetitions in all, the interval mean +- t s / sqrt(n) has half width d at most.
Here t is Student's quantile with ``least`` - 1 degrees of freedom. For normal values the interval
is exact although n depends on the values: the mean of all does not depend on s. An ordinary
interval that is looked at again and again until it is narrow enough holds the mean less often than
it says.

Where d is a share of the mean, the mean so far takes the mean's place. It is looked at again after
the repetitions that it asked for, and more may follow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from results.statistics.estimates import (
    CONFIDENCE,
    Estimate,
    deviation_of,
    mean_of,
    student,
)


@dataclass(frozen=True)
class StoppingRule:
    """Repeat until the interval's half width is ``share`` of the mean.

    At least ``least`` repetitions are made, at least 2, and at most ``most``.
    """

    share: float
    least: int
    most: int
    confidence: float = CONFIDENCE


def required_repetitions(values: Sequence[float], rule: StoppingRule) -> int:
    """Return how many repetitions the rule asks for in all, from the values of the first ones.

    It is more than the number of values while more are needed. The decision is taken after
    ``least`` repetitions, and again after as many as the one before asked for. So it depends on the
    values in the order of repetitions alone, not on how many are known when it is asked.
    """
    n = rule.least
    if len(values) < n:
        return n
    needed = student(rule.confidence, rule.least - 1) * deviation_of(values[: rule.least])
    while n <= len(values):
        allowed = rule.share * abs(mean_of(values[:n]))
        ratio = math.inf if allowed == 0.0 else needed / allowed
        more = math.ceil(min(ratio**2, float(rule.most))) if needed > 0.0 else 0
        if more <= n or n >= rule.most:
            return n
        n = more
    return n


def stein(values: Sequence[float], rule: StoppingRule) -> Estimate | None:
    """Return the mean of all values, with the interval that the rule makes valid.

    None for fewer values than ``rule.least``.
    """
    if len(values) < rule.least:
        return None
    mean = mean_of(values)
    first = deviation_of(values[: rule.least])
    half = student(rule.confidence, rule.least - 1) * first / math.sqrt(len(values))
    return Estimate(mean, mean - half, mean + half, deviation_of(values), len(values), "stein")

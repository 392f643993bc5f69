"""Whether values of ours agree with a number of the paper.

A row of a statement has one value for each repetition, and an accepted interval. The confidence
interval of the mean decides: it holds if all of it is accepted, and does not hold if none of it is.
Otherwise it is undecided. The interval is Stein's: its width comes from the first ``least``
repetitions, and more of them make it narrower. So it stays valid when an undecided row gets more
repetitions (see ``results.statistics.stein``). For the first repetitions alone it is Student's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from results.statistics.estimates import CONFIDENCE, deviation_of, estimate, student
from results.statistics.stein import Rule, stein

Verdict = Literal["holds", "holds in part", "does not hold", "undecided", "cannot be tested here"]
HOLDS: Verdict = "holds"
IN_PART: Verdict = "holds in part"
DOES_NOT: Verdict = "does not hold"
UNDECIDED: Verdict = "undecided"
CANNOT: Verdict = "cannot be tested here"
VERDICTS: tuple[Verdict, ...] = (HOLDS, IN_PART, DOES_NOT, UNDECIDED, CANNOT)

NO_VALUE = "-"
NO_RUNS = "undecided: no runs at this length"

_MOST_DIGITS = 16

MOST_RUNS = 100_000
"""More repetitions than this are not estimated."""

FIRST = 3
"""Repetitions that a row needs at least, where nothing is known of its deviation."""


@dataclass(frozen=True)
class Accepted:
    """The means that agree with the paper; an end that is None has no limit.

    ``above`` says that ``low`` itself does not agree: a value must be larger.
    """

    low: float | None
    high: float | None
    above: bool = False

    def has(self, value: float) -> bool:
        """Tell whether a value is accepted."""
        if self.low is not None and (value < self.low or (self.above and value == self.low)):
            return False
        return self.high is None or value <= self.high

    def has_none_of(self, low: float, high: float) -> bool:
        """Tell whether no value from ``low`` to ``high`` is accepted."""
        if self.high is not None and low > self.high:
            return True
        return self.low is not None and (high < self.low or (self.above and high == self.low))

    def edges(self) -> list[float]:
        """Return the ends that are limits."""
        return [edge for edge in (self.low, self.high) if edge is not None]


@dataclass(frozen=True)
class Finding:
    """The verdict on a row.

    ``low`` and ``high`` are the confidence interval of the mean, None for a single value.
    ``needed`` is the number of repetitions in all that an undecided row would need. It is None
    where the row is decided, or where more repetitions than MOST_RUNS would not do.
    """

    verdict: Verdict
    mean: float | None
    low: float | None
    high: float | None
    n: int
    needed: int | None
    reason: str | None

    def text(self, accepted: Accepted) -> str:
        """Return the mean with its interval, as documents and tables show it."""
        return mean_with_interval(self.mean, self.low, self.high, self.n, accepted.edges())


def mean_with_interval(
    mean: float | None,
    low: float | None,
    high: float | None,
    n: int,
    edges: Iterable[float | None] = (),
) -> str:
    """Return a mean with its interval; a single value has none.

    The ends have as many digits as tell them apart, if they differ at all. They also have those
    that show on which side of ``edges`` each end is, if eight do: limits of what is accepted. So
    has a single value.
    """
    if mean is None:
        return NO_VALUE
    limits = [each for each in edges if each is not None]
    if low is None or high is None or n == 1:
        return _shown(mean, _digits(mean, mean, limits, 4))
    few = next((few for few in range(4, _MOST_DIGITS) if _tells(low, high, (), few)), 4)
    digits = _digits(low, high, limits, few)
    return f"{_shown(mean, digits)} [{_shown(low, digits)}, {_shown(high, digits)}]"


def _digits(low: float, high: float, limits: Sequence[float], few: int) -> int:
    """Return the digits, at most eight, that show on which side of limits the ends are."""
    return next((more for more in range(few, 9) if _tells(low, high, limits, more)), few)


def _shown(value: float, digits: int) -> str:
    """Return a number with so many digits; one below 1e8 has no exponent of ten."""
    rounded = f"{value:.{digits}g}"
    return f"{float(rounded):.0f}" if "e+" in rounded and abs(value) < 1e8 else rounded


def _tells(low: float, high: float, limits: Iterable[float], digits: int) -> bool:
    """Tell whether an interval that has so many digits is shown as what it is."""
    shown_low, shown_high = (float(f"{each:.{digits}g}") for each in (low, high))
    return (shown_low == shown_high) == (low == high) and all(
        (shown > limit, shown < limit) == (value > limit, value < limit)
        for limit in limits
        for value, shown in ((low, shown_low), (high, shown_high))
    )


def judge(
    values: Sequence[float], accepted: Accepted, least: int = 2, identical: int = 0
) -> Finding:
    """Return the verdict on one row.

    ``values`` are in the order of the repetitions. ``identical`` counts those that were equal to
    the bit to an earlier one. If all were, nothing in them is random and the one value is exact.
    """
    if not values:
        return Finding(UNDECIDED, None, None, None, 0, FIRST, "no run has a value")
    if len(values) == 1:
        (value,) = values
        if identical:
            verdict = HOLDS if accepted.has(value) else DOES_NOT
            reason = "nothing in the runs is random: they are equal to the bit"
            return Finding(verdict, value, value, value, 1, None, reason)
        reason = "a single run has no interval"
        return Finding(UNDECIDED, value, None, None, 1, max(least, FIRST), reason)
    first = min(max(2, least), len(values))
    found = stein(values, Rule(1.0, first, MOST_RUNS)) or estimate(values)
    if found is None or found.low is None or found.high is None:
        raise AssertionError("several values have an interval")
    if accepted.has_none_of(found.low, found.high):
        return Finding(DOES_NOT, found.mean, found.low, found.high, found.n, None, None)
    if accepted.has(found.low) and accepted.has(found.high):
        return Finding(HOLDS, found.mean, found.low, found.high, found.n, None, None)
    needed = _needed(values[:first], found.mean, accepted)
    reason = (
        "the mean is at an edge of what is accepted"
        if needed is None
        else f"the interval crosses an edge of what is accepted: about {needed} runs decide"
    )
    return Finding(UNDECIDED, found.mean, found.low, found.high, found.n, needed, reason)


def _needed(first: Sequence[float], mean: float, accepted: Accepted) -> int | None:
    """Return with how many repetitions the interval would not reach the nearest edge."""
    room = min(abs(mean - edge) for edge in accepted.edges())
    spread = student(CONFIDENCE, len(first) - 1) * deviation_of(first)
    if room <= 0.0 or spread / room > math.sqrt(MOST_RUNS):
        return None
    return math.floor((spread / room) ** 2) + 1


def combined_verdict(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict on a statement by those on its rows, or on a claim by its statements.

    What holds at some places and not at others holds in part, whatever is undecided elsewhere.
    What cannot be tested does not count if anything else can.
    """
    given = set(verdicts)
    tested = given - {CANNOT}
    if not tested:
        return CANNOT
    if IN_PART in tested or {HOLDS, DOES_NOT} <= tested:
        return IN_PART
    if UNDECIDED in tested:
        return UNDECIDED
    return HOLDS if tested == {HOLDS} else DOES_NOT

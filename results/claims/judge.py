"""Whether values of ours agree with a number of the paper, and what a claim's statements say of it.

A row of a statement has one value for each repetition, an interval of means that agree with the
paper, and a zone around it of those that are near (see :mod:`results.claims.stated.zones`). The
confidence interval of our mean decides; the first that applies:

- **holds**: all of it agrees
- **nearly**: all of it agrees or is near
- **does not hold**: none of it agrees
- **open**: none of these

The mean is taken on the row's scale (:mod:`results.claims.stated.scales`), and more repetitions
are asked for by the rule of two looks (:mod:`results.statistics.two_looks`). Rows with fewer
repetitions than its first look needs have Student's interval of 95%.

A statement has the mean of its rows: holds counts 1, nearly 1/2, does not hold 0, and open
anything from 0 to 1. So the mean is an interval, its *agreement*, and a claim has the mean of its
statements. The word for an agreement stays true however the open rows turn out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from results.claims.stated.accepted import AcceptedRange
from results.claims.stated.scales import scale_of
from results.claims.stated.zones import narrowest
from results.experiment.model import Interval
from results.statistics import two_looks
from results.statistics.estimates import estimate
from results.statistics.two_looks import FIRST
from results.wording.intervals import with_interval

RowVerdict = Literal["holds", "nearly", "does not hold", "open"]
Verdict = Literal[
    "holds", "mostly holds", "mixed", "mostly does not hold", "does not hold", "open",
    "cannot be tested here",
]  # fmt: skip
"""The word for a statement or claim."""

HOLDS: Literal["holds"] = "holds"
NEARLY: RowVerdict = "nearly"
DOES_NOT: Literal["does not hold"] = "does not hold"
OPEN: Literal["open"] = "open"
MOSTLY: Verdict = "mostly holds"
MIXED: Verdict = "mixed"
MOSTLY_NOT: Verdict = "mostly does not hold"
CANNOT: Verdict = "cannot be tested here"
VERDICTS: tuple[Verdict, ...] = (HOLDS, MOSTLY, MIXED, MOSTLY_NOT, DOES_NOT, OPEN, CANNOT)

NO_RUNS = "open: no runs at this length"
NOT_YET: Final = "not measured yet"

_MOST_DIGITS = 16


@dataclass(frozen=True)
class RowFinding:
    """The verdict on a row.

    ``low`` and ``high`` are the confidence interval of the mean, None for a single value.
    ``needed`` is the number of repetitions in all that would decide an open row, with a probability
    of 90% at least. It is None where the row is decided, or where no number of repetitions decides.
    ``planned`` is the number that the rule makes next: what its first look needs, and then what its
    second one does.
    """

    verdict: RowVerdict
    mean: float | None
    low: float | None
    high: float | None
    n: int
    needed: int | None
    reason: str | None
    planned: int | None = None

    def text(self, accepted: AcceptedRange, near: AcceptedRange) -> str:
        """Return the mean with its interval, as documents and tables show it."""
        edges = [*accepted.edges(), *near.edges()]
        return mean_with_interval(self.mean, self.low, self.high, self.n, edges)


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
    limits = [edge for edge in edges if edge is not None]
    if mean is None or low is None or high is None or n == 1:
        digits = 4 if mean is None else _digits(mean, mean, limits, 4)
        interval = Interval(mean, None, None)
    else:
        few = next((few for few in range(4, _MOST_DIGITS) if _tells(low, high, (), few)), 4)
        digits = _digits(low, high, limits, few)
        interval = Interval(mean, low, high)
    return with_interval(interval, lambda value: _shown(value, digits))


def _digits(low: float, high: float, limits: Sequence[float], few: int) -> int:
    """Return the digits, at most eight, that show on which side of limits the ends are."""
    return next((more for more in range(few, 9) if _tells(low, high, limits, more)), few)


def _shown(value: float, digits: int) -> str:
    """Return a number with so many digits; one below 1e8 has no exponent of ten."""
    rounded = f"{value:.{digits}g}"
    return f"{float(rounded):.0f}" if "e+" in rounded and abs(value) < 1e8 else rounded


def _tells(low: float, high: float, limits: Iterable[float], digits: int) -> bool:
    """Tell whether an interval that has so many digits is shown as what it is."""
    shown_low, shown_high = (float(f"{bound:.{digits}g}") for bound in (low, high))
    return (shown_low == shown_high) == (low == high) and all(
        (shown > limit, shown < limit) == (value > limit, value < limit)
        for limit in limits
        for value, shown in ((low, shown_low), (high, shown_high))
    )


def judge(
    values: Sequence[float],
    accepted: AcceptedRange,
    near: AcceptedRange,
    index: bool = False,
    least: int = 0,
    identical: int = 0,
) -> RowFinding:
    """Return the verdict on one row.

    Args:
        values: in the order of the repetitions.
        accepted: the means that agree with the paper.
        near: those that agree or are near.
        index: whether the value is an index between 0 and 1.
        least: how many repetitions were made at first. Of more than the rule's first look needs,
            all count for the deviation.
        identical: how many repetitions were equal to the bit to an earlier one. If all were,
            nothing in them is random and the one value is exact.
    """
    if not values:
        return RowFinding(OPEN, None, None, None, 0, FIRST, "no run has a value", FIRST)
    if len(values) == 1:
        (value,) = values
        if identical:
            reason = "nothing in the runs is random: they are equal to the bit"
            verdict = word_of_row(value, value, accepted, near)
            return RowFinding(verdict, value, value, value, 1, None, reason)
        return RowFinding(OPEN, value, None, None, 1, FIRST, "a single run has no interval", FIRST)
    scale = scale_of(index, values)
    places = [scale.of(value) for value in values]
    zone = narrowest(accepted, near, scale)
    first = FIRST if len(places) < least else max(FIRST, least)
    few = len(places) < FIRST
    found = estimate(places) if few else two_looks.interval(places, zone, first)
    if found is None or found.low is None or found.high is None:
        raise AssertionError("several values have an interval")
    mean, low, high = (scale.back(bound) for bound in (found.mean, found.low, found.high))
    verdict = word_of_row(low, high, accepted, near)
    if verdict != OPEN:
        return RowFinding(verdict, mean, low, high, found.n, None, None)
    planned = FIRST if few else two_looks.required_repetitions(places, zone, first)
    reason = "the interval reaches from what agrees beyond what is near"
    if planned == two_looks.MOST:
        return RowFinding(OPEN, mean, low, high, found.n, None, reason)
    needed = two_looks.likely_repetitions(places, zone, first)
    if needed == two_looks.MOST:
        return RowFinding(OPEN, mean, low, high, found.n, None, reason, planned)
    reason = f"{reason}: {needed} runs decide"
    return RowFinding(OPEN, mean, low, high, found.n, needed, reason, planned)


def word_of_row(
    low: float, high: float, accepted: AcceptedRange, near: AcceptedRange
) -> RowVerdict:
    """Return the word for an interval of means; the first that applies."""
    if accepted.has(low) and accepted.has(high):
        return HOLDS
    if near.has(low) and near.has(high):
        return NEARLY
    return DOES_NOT if accepted.has_none_of(low, high) else OPEN


def of_some_places(
    found: RowFinding, accepted: AcceptedRange, near: AcceptedRange, across: str, places: str
) -> RowFinding:
    """Return the verdict on the largest, least or mean of all places, from that of some of them.

    The largest of all is at least that of some, so only its lower end is known, and of the least
    only the upper end. Of the mean of all nothing is known.

    Args:
        found: the verdict on the value of the places that there are.
        accepted: the means that agree with the paper.
        near: those that agree or are near.
        across: ``largest``, ``least`` or ``mean``.
        places: how many there are, in words.
    """
    if found.low is None or found.high is None:
        return found
    low, high = {
        "largest": (found.low, math.inf),
        "least": (-math.inf, found.high),
    }.get(across, (-math.inf, math.inf))
    verdict = word_of_row(low, high, accepted, near)
    reason = f"only the {places} was measured" if verdict == OPEN else None
    return replace(found, verdict=verdict, needed=None, reason=reason, planned=None)


@dataclass(frozen=True)
class Agreement:
    """The share of a statement or claim that agrees: from ``low`` to ``high``, as rows are open."""

    low: float
    high: float

    @classmethod
    def of_rows(cls, verdicts: Iterable[RowVerdict]) -> Agreement:
        """Return the agreement of a statement, by its rows; unknown without any."""
        ends = {HOLDS: (1.0, 1.0), NEARLY: (0.5, 0.5), DOES_NOT: (0.0, 0.0), OPEN: (0.0, 1.0)}
        return cls.mean([cls(*ends[verdict]) for verdict in verdicts])

    @classmethod
    def mean(cls, several: Sequence[Agreement]) -> Agreement:
        """Return the mean of several; unknown without any."""
        if not several:
            return cls(0.0, 1.0)
        ends = ([agreement.low for agreement in several], [agreement.high for agreement in several])
        low, high = (math.fsum(values) / len(several) for values in ends)
        return cls(low, high)

    @property
    def word(self) -> Verdict:
        """The first word that applies; it is true wherever in the interval the share lies."""
        if self.low >= 0.9:
            return HOLDS
        if self.low > 0.5:
            return MOSTLY
        if self.high <= 0.1:
            return DOES_NOT
        if self.high < 0.5:
            return MOSTLY_NOT
        return MIXED if self.low >= 0.35 and self.high <= 0.65 else OPEN

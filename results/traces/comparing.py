"""What one of two flows suffered that the other did not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from results.traces.moments import Moment


@dataclass(frozen=True)
class Difference:
    """How often something of each kind happened to two flows, and what only one of them had.

    ``counts`` has the numbers of both by kind, the largest differences first.
    """

    counts: dict[str, tuple[int, int]]
    only_first: Sequence[Moment]
    only_second: Sequence[Moment]


def difference(first: Sequence[Moment], second: Sequence[Moment], gap_ns: int) -> Difference:
    """Compare what happened to two flows, of one run or of two.

    A moment is had by both where the other flow has one of the same kind that overlaps it, or is
    less than ``gap_ns`` away from it.
    """
    counted = [Counter(moment.kind for moment in each) for each in (first, second)]
    kinds = sorted(
        counted[0].keys() | counted[1].keys(),
        key=lambda kind: (-abs(counted[0][kind] - counted[1][kind]), kind),
    )
    return Difference(
        {kind: (counted[0][kind], counted[1][kind]) for kind in kinds},
        _alone(first, second, gap_ns),
        _alone(second, first, gap_ns),
    )


def _alone(ones: Sequence[Moment], others: Sequence[Moment], gap_ns: int) -> list[Moment]:
    """Return the moments that the other flow does not have."""
    by_kind: dict[str, list[Moment]] = {}
    for moment in others:
        by_kind.setdefault(moment.kind, []).append(moment)
    return [
        moment
        for moment in ones
        if not any(_near(moment, other, gap_ns) for other in by_kind.get(moment.kind, ()))
    ]


def _near(one: Moment, other: Moment, gap_ns: int) -> bool:
    last = [moment.until_ns or moment.time_ns for moment in (one, other)]
    return one.time_ns - last[1] < gap_ns and other.time_ns - last[0] < gap_ns

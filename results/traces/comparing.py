"""How often and how something happened to two flows, and what only one of them suffered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from results.traces.moments import Moment


@dataclass(frozen=True)
class KindSummary:
    """How often something of a kind happened to a flow, with means over its moments.

    A mean is None where no moment has such a number. ``mean_duration_s`` of a timeout is that of
    the RTO that ran out. ``mean_cwnd_ratio`` is cwnd after a moment / cwnd before it.
    ``mean_packets`` is the number of packets that were lost or marked in one.
    """

    count: int
    mean_duration_s: float | None
    mean_cwnd_ratio: float | None
    mean_packets: float | None


@dataclass(frozen=True)
class Difference:
    """How often something of each kind happened to two flows, and what only one of them had.

    ``counts`` has the numbers of both by kind, the largest differences first, and ``kinds`` the
    summaries of both in the same order.
    """

    counts: dict[str, tuple[int, int]]
    only_first: Sequence[Moment]
    only_second: Sequence[Moment]
    kinds: dict[str, tuple[KindSummary, KindSummary]]


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
        {kind: (_summary(first, kind), _summary(second, kind)) for kind in kinds},
    )


def _summary(moments: Sequence[Moment], kind: str) -> KindSummary:
    of_kind = [moment for moment in moments if moment.kind == kind]
    numbers = [moment.numbers for moment in of_kind]
    return KindSummary(
        len(of_kind),
        _mean(_durations_s(of_kind)),
        _mean(
            each["cwnd_after_segments"] / each["cwnd_before_segments"]
            for each in numbers
            if each.get("cwnd_before_segments") and "cwnd_after_segments" in each
        ),
        _mean(each["packets"] for each in numbers if "packets" in each),
    )


def _durations_s(moments: Sequence[Moment]) -> Iterator[float]:
    for moment in moments:
        if "rto_ms" in moment.numbers:
            yield moment.numbers["rto_ms"] / 1e3
        elif moment.until_ns is not None:
            yield (moment.until_ns - moment.time_ns) / 1e9


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return sum(known) / len(known) if known else None


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

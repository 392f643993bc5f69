"""When what is sampled: a pure function of periods, edges and duration."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

SENDERS, RECEIVERS, QUEUES, CROWDS = 1, 2, 4, 8
DIGEST_NS = 100_000_000
"""cwnd enters the digest at this period, whatever the scenario samples."""
CROWD_NS = 1_000_000_000
"""Flows with many connections at a time are sampled at this period."""


def ticks(
    duration_ns: int, tcp_ns: int, queue_ns: int, edges_ns: Iterable[int]
) -> Iterator[tuple[int, int]]:
    """Yield (time_ns, what) in order, each time once; ``what`` joins SENDERS, RECEIVERS, ...

    Receivers are sampled at the digest's period, flows of many connections at one of their own,
    and everything at the windows' edges, at the start and at the end.
    """
    everything = SENDERS | RECEIVERS | QUEUES | CROWDS
    merged = heapq.merge(
        _every(DIGEST_NS, duration_ns, SENDERS | RECEIVERS),
        _every(tcp_ns, duration_ns, SENDERS),
        _every(queue_ns, duration_ns, QUEUES),
        _every(CROWD_NS, duration_ns, CROWDS),
        [(edge, everything) for edge in sorted({0, *edges_ns, duration_ns})],
    )
    pending_time, pending = next(merged)
    for time_ns, what in merged:
        if time_ns == pending_time:
            pending |= what
        else:
            yield pending_time, pending
            pending_time, pending = time_ns, what
    yield pending_time, pending


def _every(period_ns: int, duration_ns: int, what: int) -> Iterator[tuple[int, int]]:
    return ((time_ns, what) for time_ns in range(0, duration_ns + 1, period_ns))

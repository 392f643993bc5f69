"""Says what is sampled when: a pure function of periods, edges and duration."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

SENDERS, RECEIVERS, QUEUES, MANY, READINGS, EDGES, GRID, COUNTERS = 1, 2, 4, 8, 16, 32, 64, 128
"""What is sampled at a time; MANY are the sockets of many-connection flows. READINGS are the queue
counters that checks use, and GRID the states of TCP senders that metrics use, whatever the scenario
samples. COUNTERS are those of hosts. At EDGES of windows the times are read that packets waited
in queues."""
DIGEST_NS = 100_000_000
"""cwnd enters the digest at this period, whatever the scenario samples."""
MANY_NS = 1_000_000_000
"""Many-connection flows are sampled at this period."""

QUEUE_READS_PER_S, MOST_READS_PER_S = 20, 64
"""How often a backlogged queue, and all of them, are read in a second between the regular readings.
"""


def ticks(
    duration_ns: int,
    tcp_ns: int,
    queue_ns: int,
    edges_ns: Iterable[int],
    readings_ns: int | None = None,
    grid_ns: int | None = None,
    counters_ns: int | None = None,
) -> Iterator[tuple[int, int]]:
    """Yield (time_ns, what) in order, each time once; ``what`` joins SENDERS, RECEIVERS, ...

    Receivers are sampled at the digest's period, and many-connection flows at one of their own.
    Everything is sampled at the windows' edges, at the start and at the end. Queues are read for
    checks every ``readings_ns`` and at the end; None is for runs that were stored without readings.
    The states of senders are read for metrics every ``grid_ns``; None is for runs without a grid.
    Counters of hosts are read every ``counters_ns``, if it is given.
    """
    everything = SENDERS | RECEIVERS | QUEUES | MANY | EDGES | COUNTERS
    everything |= 0 if grid_ns is None else GRID
    merged = heapq.merge(
        _every(DIGEST_NS, duration_ns, SENDERS | RECEIVERS),
        _every(tcp_ns, duration_ns, SENDERS),
        _every(queue_ns, duration_ns, QUEUES),
        _every(MANY_NS, duration_ns, MANY),
        *([] if readings_ns is None else [_readings(readings_ns, duration_ns)]),
        *([] if grid_ns is None else [_every(grid_ns, duration_ns, GRID)]),
        *([] if counters_ns is None else [_every(counters_ns, duration_ns, COUNTERS)]),
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


def _readings(period_ns: int, duration_ns: int) -> Iterator[tuple[int, int]]:
    yield from _every(period_ns, duration_ns, READINGS)
    if duration_ns % period_ns:
        yield duration_ns, READINGS


def _every(period_ns: int, duration_ns: int, what: int) -> Iterator[tuple[int, int]]:
    return ((time_ns, what) for time_ns in range(0, duration_ns + 1, period_ns))

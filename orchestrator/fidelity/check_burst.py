"""Rate and queue of each bottleneck, from a burst that overfilled it before traffic started."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable
from typing import Any

from orchestrator.fidelity.evidence import Evidence
from orchestrator.recording import Check

FRAME_BITS = 1514 * 8
RATE_TOLERANCE = 0.005
LEAST_QUEUE_PACKETS = 3
"""A shorter queue leaves no two frames behind the first, which goes out at once."""

Arrival = list[int]
"""[round, sequence, sent_ns, arrived_ns] of a probe packet."""


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield, for each probed bottleneck, its rate and its delay when the queue is full."""
    for burst in evidence.all("burst"):
        rounds = _rounds(burst["arrivals"])
        if burst["queue_packets"] >= LEAST_QUEUE_PACKETS:
            yield _rate(burst, rounds)
        yield _full_queue(burst, rounds)


def _rounds(arrivals: list[Arrival]) -> list[list[Arrival]]:
    ordered = sorted(arrivals, key=lambda arrival: (arrival[0], arrival[3]))
    return [list(group) for _number, group in itertools.groupby(ordered, lambda a: a[0])]


def _rate(burst: dict[str, Any], rounds: list[list[Arrival]]) -> Check:
    name, asked = f"burst_rate {burst['channel']}", burst["rate_bps"]
    tolerance = asked * RATE_TOLERANCE
    # Behind the first frame of a round, for which the bucket was full.
    gaps_ns = [
        later[3] - earlier[3]
        for arrivals in rounds
        for earlier, later in itertools.pairwise(arrivals[1:])
    ]
    if not gaps_ns:
        return Check(name, "bit/s", asked, None, tolerance, False, "hardly a probe packet arrived")
    # The median gap is one frame's time even when loss has taken frames out.
    gap_ns = statistics.median(gaps_ns)
    measured = FRAME_BITS * 1e9 / gap_ns if gap_ns else float("inf")
    good = abs(measured - asked) <= tolerance
    return Check(name, "bit/s", asked, measured, tolerance, good, f"{len(gaps_ns)} gaps")


def _full_queue(burst: dict[str, Any], rounds: list[list[Arrival]]) -> Check:
    """Compare the longest stay in the queue with its limit at the asked rate."""
    frame_s = FRAME_BITS / burst["rate_bps"]
    expected = burst["queue_packets"] * frame_s
    # One frame: whether the one being sent counts depends on when the last one comes.
    tolerance = frame_s + expected * RATE_TOLERANCE
    name = f"full_queue_delay {burst['channel']}"
    if not rounds:
        return Check(name, "s", expected, None, tolerance, False, "no probe packet arrived")
    measured = max(max(_stays_ns(burst, arrivals)) for arrivals in rounds) / 1e9
    lost = burst["sent"] * len(rounds) - sum(map(len, rounds))
    if lost == 0:
        return Check(name, "s", expected, measured, tolerance, False, "the queue did not overflow")
    good = abs(measured - expected) <= tolerance
    return Check(name, "s", expected, measured, tolerance, good, f"{lost} probe packets dropped")


def _stays_ns(burst: dict[str, Any], arrivals: list[Arrival]) -> list[int]:
    """Return how long each packet of a round was in the queue: behind the link that feeds it."""
    first_sent = min(sent for _round, _sequence, sent, _arrived in arrivals)
    return [
        arrived - burst["path_ns"] - max(sent, first_sent + sequence * burst["feed_frame_ns"])
        for _round, sequence, sent, arrived in arrivals
    ]

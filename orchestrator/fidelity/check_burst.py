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
LEAST_ARRIVALS = 8


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield, for each probed bottleneck, its rate and its delay when the queue is full."""
    for burst in evidence.all("burst"):
        arrivals = sorted(burst["arrivals"], key=lambda arrival: int(arrival[2]))
        yield _rate(burst, arrivals)
        yield _full_queue(burst, arrivals)


def _rate(burst: dict[str, Any], arrivals: list[list[int]]) -> Check:
    name, asked = f"burst_rate {burst['channel']}", burst["rate_bps"]
    tolerance = asked * RATE_TOLERANCE
    if len(arrivals) < LEAST_ARRIVALS:
        detail = f"only {len(arrivals)} of {burst['sent']} probe packets arrived"
        return Check(name, "bit/s", asked, None, tolerance, False, detail)
    # The median gap is one frame's time even when loss has taken frames out.
    gap_ns = statistics.median(
        later[2] - earlier[2] for earlier, later in itertools.pairwise(arrivals)
    )
    measured = FRAME_BITS * 1e9 / gap_ns if gap_ns else float("inf")
    good = abs(measured - asked) <= tolerance
    return Check(name, "bit/s", asked, measured, tolerance, good)


def _full_queue(burst: dict[str, Any], arrivals: list[list[int]]) -> Check:
    """Compare the longest stay in the queue with its limit at the asked rate."""
    frame_s = FRAME_BITS / burst["rate_bps"]
    expected = burst["queue_packets"] * frame_s
    # One frame: whether the one being sent counts depends on when the last one comes.
    tolerance = frame_s + expected * RATE_TOLERANCE
    name = f"full_queue_delay {burst['channel']}"
    if not arrivals:
        return Check(name, "s", expected, None, tolerance, False, "no probe packet arrived")
    first_sent = min(arrival[1] for arrival in arrivals)
    stays = [
        arrived - burst["path_ns"] - max(sent, first_sent + sequence * burst["feed_frame_ns"])
        for sequence, sent, arrived in arrivals
    ]
    measured = max(stays) / 1e9
    lost = burst["sent"] - len(arrivals)
    if lost == 0:
        return Check(name, "s", expected, measured, tolerance, False, "the queue did not overflow")
    good = abs(measured - expected) <= tolerance
    return Check(name, "s", expected, measured, tolerance, good, f"{lost} probe packets dropped")

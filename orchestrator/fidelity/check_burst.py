"""Rate and queue length of each bottleneck, measured by bursts before traffic."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable

from orchestrator.fidelity import host
from orchestrator.fidelity.evidence import Evidence
from orchestrator.protocol import facts
from orchestrator.protocol.frames import FRAME_BYTES
from orchestrator.recording.model import Check

RATE_TOLERANCE = 0.005

Passed = tuple[int, int, int, int]
"""[round, number, came_ns, left_ns] of a probe packet that left the link."""


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield, for each probed bottleneck, its rate and the delay of its full queue.

    Only a drop-tail queue has such a delay. Probes of other queues have no "queue_packets".
    """
    for burst in evidence.all(facts.Burst):
        rounds = _rounds(burst["passed"])
        yield _rate(evidence, burst, rounds)
        if burst["queue_packets"] is not None:
            yield _full_queue(evidence, burst, burst["queue_packets"], rounds)


def _rounds(passed: list[Passed]) -> list[list[Passed]]:
    return [list(group) for _number, group in itertools.groupby(passed, lambda one: one[0])]


def _frame_bits(burst: facts.Burst) -> int:
    """Return the size of a probe's frame; earlier versions had no other MTU than 1500."""
    return 8 * burst.get("frame_bytes", FRAME_BYTES)


def _rate(evidence: Evidence, burst: facts.Burst, rounds: list[list[Passed]]) -> Check:
    name, requested = f"burst_rate {burst['channel']}", burst["rate_bps"]
    tolerance = requested * (host.RATE_TOLERANCE if evidence.real_time else RATE_TOLERANCE)
    gaps_ns = [
        later[3] - earlier[3] for passed in rounds for earlier, later in itertools.pairwise(passed)
    ]
    if not gaps_ns:
        return Check(
            name, "bit/s", requested, None, tolerance, False, "too few probe packets passed"
        )
    # The median, because the queue may run empty: loss and reordering before it make gaps.
    gap_ns = statistics.median(gaps_ns)
    measured = _frame_bits(burst) * 1e9 / gap_ns if gap_ns else float("inf")
    # When timers fire late, frames leave in bunches, and their spacing does not show the rate.
    # check_rate measures it then, from what the link carries while packets wait.
    good = evidence.judge(abs(measured - requested), tolerance, math.inf)
    return Check(name, "bit/s", requested, measured, tolerance, good, f"{len(gaps_ns)} gaps")


def _full_queue(
    evidence: Evidence, burst: facts.Burst, packets: int, rounds: list[list[Passed]]
) -> Check:
    """Compare the longest wait in the queue with its limit at the requested rate.

    A packet that gets the last place waits for those before it, and for the one in transmission.
    """
    frame_s = _frame_bits(burst) / burst["rate_bps"]
    expected = packets * frame_s
    # One frame, because the frame in transmission may have just begun or nearly ended.
    tolerance = frame_s + expected * RATE_TOLERANCE
    if evidence.real_time:  # this frame and the one before it leave late
        tolerance += 2 * host.TIMER_S
    name = f"full_queue_delay {burst['channel']}"
    behind_ns = burst.get("behind_ns", 0)  # runs of earlier versions measured at the queue
    stays_ns = [
        left - came - behind_ns for passed in rounds for _round, _number, came, left in passed
    ]
    if not stays_ns:
        return Check(name, "s", expected, None, tolerance, False, "no probe packet passed")
    # The median over the rounds' longest stays, because a real machine pauses now and then.
    longest = [max(left - came - behind_ns for _r, _n, came, left in each) for each in rounds]
    measured = (statistics.median(longest) if evidence.real_time else max(stays_ns)) / 1e9
    dropped = burst["came"] - len(stays_ns)
    if dropped == 0:
        return Check(name, "s", expected, measured, tolerance, False, "the queue did not overflow")
    good = evidence.judge(abs(measured - expected), tolerance, 2 * evidence.late_s)
    return Check(name, "s", expected, measured, tolerance, good, f"{dropped} probe packets dropped")

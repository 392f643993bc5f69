"""Rate and queue length of each bottleneck, measured by bursts before traffic."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable

from orchestrator.fidelity import host
from orchestrator.fidelity.evidence import Evidence
from orchestrator.protocol.links.frames import PROBE_FRAME_BYTES, transmission_ns
from orchestrator.protocol.reports import facts
from orchestrator.recording.model import Check

RATE_TOLERANCE = 0.005
CLOCK_S = 2e-9
"""The virtual clock counts nanoseconds, and both ends of a time are rounded."""

Passed = tuple[int, int, int, int]
"""[round, number, came_ns, left_ns] of a probe packet that left the link."""


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield, for each probed bottleneck, its rate and the delay of its full queue.

    Only a drop-tail queue has such a delay. Probes of other queues have no "queue_packets".
    """
    for burst in evidence.all(facts.Burst):
        rounds = _rounds(burst["passed"])
        if burst["frame_bytes"] == PROBE_FRAME_BYTES:
            yield from _serialisation(evidence, burst, rounds)
            continue
        yield _rate(evidence, burst, rounds)
        if burst["queue_packets"] is not None:
            yield _full_queue(evidence, burst, burst["queue_packets"], rounds)


def _rounds(passed: list[Passed]) -> list[list[Passed]]:
    return [list(group) for _number, group in itertools.groupby(passed, lambda packet: packet[0])]


def _frame_bits(burst: facts.Burst) -> int:
    """Return the size of a probe's frame."""
    return 8 * burst["frame_bytes"]


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


def _serialisation(
    evidence: Evidence, burst: facts.Burst, rounds: list[list[Passed]]
) -> Iterable[Check]:
    """Yield the time from small packet to small packet, in which the link transmits one.

    A real machine's timers are later than that time, so only virtual time is judged.
    """
    if evidence.real_time:
        return
    name, length = f"serialisation {burst['channel']}", burst["frame_bytes"]
    expected_s = transmission_ns(length, burst["rate_bps"]) / 1e9
    tolerance_s = expected_s * RATE_TOLERANCE + CLOCK_S
    gaps_ns = [
        later[3] - earlier[3] for passed in rounds for earlier, later in itertools.pairwise(passed)
    ]
    if not gaps_ns:
        yield Check(name, "s", expected_s, None, tolerance_s, False, "no probe packets passed")
        return
    # The farthest one, because a link must not send any packets together.
    measured_s = max(gaps_ns, key=lambda gap_ns: abs(gap_ns / 1e9 - expected_s)) / 1e9
    good = abs(measured_s - expected_s) <= tolerance_s
    detail = f"frames of {length} bytes, farthest off of {len(gaps_ns)} gaps"
    yield Check(name, "s", expected_s, measured_s, tolerance_s, good, detail)


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
    behind_ns = burst["behind_ns"]
    stays_ns = [
        left - came - behind_ns for passed in rounds for _round, _number, came, left in passed
    ]
    if not stays_ns:
        return Check(name, "s", expected, None, tolerance, False, "no probe packet passed")
    # The median over the rounds' longest stays, because a real machine pauses now and then.
    longest = [
        max(left - came - behind_ns for _r, _n, came, left in burst_packets)
        for burst_packets in rounds
    ]
    measured = (statistics.median(longest) if evidence.real_time else max(stays_ns)) / 1e9
    dropped = burst["came"] - len(stays_ns)
    if dropped == 0:
        return Check(name, "s", expected, measured, tolerance, False, "the queue did not overflow")
    good = evidence.judge(abs(measured - expected), tolerance, 2 * evidence.late_s)
    return Check(name, "s", expected, measured, tolerance, good, f"{dropped} probe packets dropped")

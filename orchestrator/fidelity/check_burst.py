"""Rate and queue of each bottleneck, from a burst that overfilled it before traffic started."""

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

FRAME_BITS = FRAME_BYTES * 8
RATE_TOLERANCE = 0.005
LEAST_QUEUE_PACKETS = 3
"""A shorter queue leaves no two frames behind the first, which goes out at once."""

Passed = tuple[int, int, int, int]
"""[round, number, came_ns, left_ns] of a probe packet that left the queue."""


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield, for each probed bottleneck, its rate and its delay when the queue is full.

    Only a drop-tail queue has such a delay: the probe of another kind has no "queue_packets".
    """
    for burst in evidence.all(facts.Burst):
        rounds = _rounds(burst["passed"])
        packets = burst["queue_packets"]
        at_once = _at_once(evidence, burst)
        longest = max((len(passed) for passed in rounds), default=0)
        # A burst that a deep bucket holds tells nothing; what is backlogged does, see check_rate.
        held = at_once > 1 and 2 < longest <= at_once + 1
        if (packets is None or packets >= LEAST_QUEUE_PACKETS) and not held:
            yield _rate(evidence, burst, [passed[at_once:] for passed in rounds])
        if packets is not None:
            yield _full_queue(evidence, burst, packets, rounds)


def _rounds(passed: list[Passed]) -> list[list[Passed]]:
    return [list(group) for _number, group in itertools.groupby(passed, lambda one: one[0])]


def _at_once(evidence: Evidence, burst: facts.Burst) -> int:
    """Return how many frames of a round leave at once: those for which the bucket was full."""
    late_s = max((each.late_timers_s for each in evidence.hosts), default=0.0)
    rate_bps: int = burst["rate_bps"]
    return 1 + math.ceil(late_s * rate_bps / FRAME_BITS)


def _rate(evidence: Evidence, burst: facts.Burst, rounds: list[list[Passed]]) -> Check:
    name, asked = f"burst_rate {burst['channel']}", burst["rate_bps"]
    tolerance = asked * (host.RATE_TOLERANCE if evidence.real_time else RATE_TOLERANCE)
    gaps_ns = [
        later[3] - earlier[3] for passed in rounds for earlier, later in itertools.pairwise(passed)
    ]
    if not gaps_ns:
        return Check(name, "bit/s", asked, None, tolerance, False, "hardly a probe packet passed")
    # The median, as loss and reordering before the queue may let it run empty.
    gap_ns = statistics.median(gaps_ns)
    measured = FRAME_BITS * 1e9 / gap_ns if gap_ns else float("inf")
    # Where timers come late, frames leave in bunches: their spacing then tells nothing, however far
    # off it is. What the link carries under backlog still does, see check_rate.
    good = evidence.judge(abs(measured - asked), tolerance, math.inf)
    return Check(name, "bit/s", asked, measured, tolerance, good, f"{len(gaps_ns)} gaps")


def _full_queue(
    evidence: Evidence, burst: facts.Burst, packets: int, rounds: list[list[Passed]]
) -> Check:
    """Compare the longest stay in the queue with its limit at the asked rate."""
    frame_s = FRAME_BITS / burst["rate_bps"]
    expected = packets * frame_s
    # One frame: whether the one being sent counts depends on when the last one comes.
    tolerance = frame_s + expected * RATE_TOLERANCE
    if evidence.real_time:  # the frame before leaves late, and this one
        tolerance += 2 * host.TIMER_S
    name = f"full_queue_delay {burst['channel']}"
    stays_ns = [left - came for passed in rounds for _round, _number, came, left in passed]
    if not stays_ns:
        return Check(name, "s", expected, None, tolerance, False, "no probe packet passed")
    # The longest stay of a round; of several, the median, for any machine halts now and then.
    longest = [max(left - came for _r, _n, came, left in passed) for passed in rounds]
    measured = (statistics.median(longest) if evidence.real_time else max(stays_ns)) / 1e9
    dropped = burst["came"] - len(stays_ns)
    if dropped == 0:
        return Check(name, "s", expected, measured, tolerance, False, "the queue did not overflow")
    good = evidence.judge(abs(measured - expected), tolerance, 2 * evidence.late_s)
    return Check(name, "s", expected, measured, tolerance, good, f"{dropped} probe packets dropped")

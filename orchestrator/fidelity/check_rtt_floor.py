"""RTT floor: no RTT that a sender measured is below the sum of the delays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from orchestrator.fidelity.evidence import Evidence
from orchestrator.recording.model import Check

TOLERANCE_NS = 20_000
"""As of base_rtt. The kernel measures in whole microseconds. In virtual time the smallest RTT of a
flow that met an empty queue was the sum of its delays to the microsecond, in all scenarios."""
TIMESTAMP_NS = 1_000_000
"""The RTT of a retransmitted segment is the difference of two timestamps in whole milliseconds
(tcp_rtt_tsopt_us() of net/ipv4/tcp_input.c). So it may be a millisecond too small."""
_UNKNOWN_US = 2**32 - 1
"""min_rtt_us of a connection without any RTT sample."""


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield one check, of the flow whose smallest RTT was farthest below its smallest delays.

    The smallest delays include jitter, skipped delays, and all events. Packets are sent at once by
    an idle link, so serialisation adds nothing to them.
    """
    found = list(_found(evidence))
    if not found:
        return
    excess_ns, name, least_ns, floor_ns, tolerance_ns = max(found)
    flows = len({each[1] for each in found})
    yield Check(
        "rtt_floor", "s", floor_ns / 1e9, least_ns / 1e9, tolerance_ns / 1e9, excess_ns <= 0,
        f"smallest RTT of {name}, lowest of {flows} flows",
    )  # fmt: skip


def _found(evidence: Evidence) -> Iterator[tuple[int, str, int, int, int]]:
    """Yield (ns below what is allowed, flow, smallest RTT, floor, tolerance), all times in ns.

    A flow that retransmitted appears twice: until its first retransmission, and after it.
    """
    if evidence.plan is None or evidence.network.live:  # a live path has no requested RTT
        return
    for number, (flow, plan) in enumerate(zip(evidence.flows, evidence.plan["flows"], strict=True)):
        if flow.transport != "tcp":
            continue
        columns = evidence.senders(number, ["min_rtt_us", "total_retrans_segments"])
        rtt_us, resent = columns["min_rtt_us"], columns["total_retrans_segments"] > 0
        known = (rtt_us > 0) & (rtt_us < _UNKNOWN_US)
        floor_ns = plan["least_rtt_ns"]
        for chosen, tolerance_ns in (
            (known & ~resent, TOLERANCE_NS),
            (known & resent, TOLERANCE_NS + TIMESTAMP_NS),
        ):
            if chosen.any():
                least_ns = 1000 * int(rtt_us[chosen].min())
                excess_ns = floor_ns - least_ns - tolerance_ns
                yield excess_ns, flow.name, least_ns, floor_ns, tolerance_ns

"""RTT floor: no RTT that a sender measured is below the sum of the delays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from orchestrator.fidelity.evidence import Evidence
from orchestrator.recording.model import Check

TOLERANCE_S = 20e-6
"""As of base_rtt. The kernel measures in whole microseconds. In virtual time the smallest RTT of a
flow that met an empty queue was the sum of its delays to the microsecond, in all scenarios."""
TIMESTAMP_S = 1e-3
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
    _off, name, least_s, floor_s, tolerance_s = max(found)
    yield Check(
        "rtt_floor",
        "s",
        floor_s,
        least_s,
        tolerance_s,
        floor_s - least_s <= tolerance_s,
        f"smallest RTT of {name}, lowest of {len({each[1] for each in found})} flows",
    )


def _found(evidence: Evidence) -> Iterator[tuple[float, str, float, float, float]]:
    """Yield (excess, flow, smallest RTT, floor, tolerance), all in seconds.

    A flow that retransmitted appears twice: until its first retransmission and as a whole.
    """
    if evidence.plan is None or evidence.network.live:  # a live path has no requested RTT
        return
    for number, (flow, plan) in enumerate(zip(evidence.flows, evidence.plan["flows"], strict=True)):
        if flow.transport != "tcp":
            continue
        columns = evidence.senders(number, ["min_rtt_us", "total_retrans_segments"])
        rtt_us, resent = columns["min_rtt_us"], columns["total_retrans_segments"] > 0
        known = (rtt_us > 0) & (rtt_us < _UNKNOWN_US)
        floor_s = plan["least_rtt_ns"] / 1e9
        for chosen, tolerance_s in (
            (known & ~resent, TOLERANCE_S),
            (known & resent, TOLERANCE_S + TIMESTAMP_S),
        ):
            if chosen.any():
                least_s = int(rtt_us[chosen].min()) / 1e6
                yield floor_s - least_s - tolerance_s, flow.name, least_s, floor_s, tolerance_s

"""RTT floor: no RTT that a sender measured is below that of the idle network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from orchestrator.fidelity.evidence import Evidence
from orchestrator.recording.model import Check

TOLERANCE_NS = 20_000
"""As of base_rtt. The kernel measures in whole microseconds. In virtual time the smallest RTT of a
flow that met an empty queue was that of the idle network to the microsecond."""
_UNKNOWN_US = 2**32 - 1
"""min_rtt_us of a connection without any RTT sample."""


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield one check, of the flow whose smallest RTT was farthest below its smallest delays.

    Samples until the first retransmission of a flow count. Afterwards the kernel also computes RTTs
    from timestamps in whole milliseconds (tcp_rtt_tsopt_us() of net/ipv4/tcp_input.c), which were
    up to 3 ms too small in measured runs.

    The smallest RTT is that of a small packet over idle links. It includes jitter, skipped delays,
    and all events.
    """
    flows = list(_found(evidence))
    if not flows:
        return
    excess_ns, name, least_ns, floor_ns = max(flows)
    yield Check(
        "rtt_floor", "s", floor_ns / 1e9, least_ns / 1e9, TOLERANCE_NS / 1e9, excess_ns <= 0,
        f"smallest RTT of {name}, lowest of {len(flows)} flows",
    )  # fmt: skip


def _found(evidence: Evidence) -> Iterator[tuple[int, str, int, int]]:
    """Yield (ns below what is allowed, flow, smallest RTT, floor), all times in ns."""
    if evidence.plan is None or evidence.network.live:  # a live path has no requested RTT
        return
    for number, (flow, plan) in enumerate(zip(evidence.flows, evidence.plan["flows"], strict=True)):
        if flow.transport != "tcp":
            continue
        columns = evidence.sent(number, ["min_rtt_us", "total_retrans_segments"])
        rtt_us, resent = columns["min_rtt_us"], columns["total_retrans_segments"] > 0
        known = (rtt_us > 0) & (rtt_us < _UNKNOWN_US) & ~resent
        if known.any():
            floor_ns, least_ns = plan["least_rtt_ns"], 1000 * int(rtt_us[known].min())
            yield floor_ns - least_ns - TOLERANCE_NS, flow.name, least_ns, floor_ns

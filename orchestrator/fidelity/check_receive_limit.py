"""Receive limit: receivers without a limited window never limit bulk flows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from orchestrator.fidelity.evidence import Columns, Evidence
from orchestrator.recording.model import Check, FlowRecord

MOST_LIMITED = 0.01
"""Limit of the share of a flow's busy time in which the window limited it. It was 0 in all
scenarios, except while the kernel still enlarged the window."""
SETTLING_RTTS = 4
"""For so many RTTs after the window has reached half of its largest size, it may limit a flow.

The kernel begins with a window of 64 KiB and enlarges it once per RTT, as data come
(tcp_rcv_space_adjust() of net/ipv4/tcp_input.c). A flow whose congestion window grows faster is
limited meanwhile. Hybla over a satellite was limited for 3 s of 20, with a window of up to a third
of the later one."""
_OPEN = 0
"""TCP_CA_Open of include/uapi/linux/tcp.h. While a loss is repaired, data out of order fill the
receive buffer, and the window is what remains of it. NewReno without SACK repairs a loss per RTT.
It was limited for 70% of its time over a wireless link with bursts of losses."""
_COLUMNS = ("time_ns", "ca_state", "rtt_us", "busy_time_us", "rwnd_limited_us", "snd_wnd_bytes")


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield one check, of the bulk flow that was limited for the largest share of its busy time."""
    if evidence.plan is None or evidence.network.live:  # the buffers are not sized for a live path
        return
    shares = [
        (share, number)
        for number, (flow, plan) in enumerate(
            zip(evidence.flows, evidence.plan["flows"], strict=True)
        )
        if flow.transport == "tcp" and flow.traffic == "bulk" and not plan["window_limited"]
        for share in [_limited(evidence.sent(number, _COLUMNS))]
        if share is not None
    ]
    if not shares:
        return
    share, number = max(shares)
    flow = evidence.flows[number]
    good = evidence.judge(share, MOST_LIMITED, 1.0)
    detail = f"share of busy time limited by the receive window; flow {flow.name}, most of "
    detail += str(len(shares))
    if not good:
        detail += _cause(evidence, flow)
    yield Check("receive_limit", "", 0.0, share, MOST_LIMITED, good, detail)


def _cause(evidence: Evidence, flow: FlowRecord) -> str:
    """Return why a window limited the flow, if its packets waited where no queue limits it."""
    waited: dict[bool, tuple[int, str]] = {}
    for number, queue in enumerate(evidence.queues):
        name, readings = f"{queue.link}:{queue.direction}", evidence.read(number)
        if queue.role == "queue" and name in flow.path and len(readings):
            most = int(readings["backlog_bytes"].max())
            waited[queue.bottleneck] = max(waited.get(queue.bottleneck, (0, "")), (most, name))
    most, name = waited.get(False, (0, ""))
    if most <= waited.get(True, (0, ""))[0]:
        return ""
    return (
        f". Up to {most} bytes waited in front of {name}, whose queue has no limit: nothing but "
        "the window ended its growth. Give this link a higher rate than the bottleneck, or a queue"
    )


def _limited(samples: Columns) -> float | None:
    """Return the limited share of the busy time without losses, after the window has settled.

    It is None if there was less of that time than the window takes to settle.
    """
    time_ns, window = samples["time_ns"], samples["snd_wnd_bytes"]
    if not len(time_ns):
        return None
    settling_us = SETTLING_RTTS * int(samples["rtt_us"].max())
    reached = int(np.argmax(window >= window.max() / 2))
    usable = (time_ns >= time_ns[reached] + 1000 * settling_us) & (samples["ca_state"] == _OPEN)
    whole = usable[:-1] & usable[1:]
    busy_us = int(np.diff(samples["busy_time_us"])[whole].sum())
    limited_us = int(np.diff(samples["rwnd_limited_us"])[whole].sum())
    return limited_us / busy_us if busy_us > settling_us else None

"""Receive limit: receivers without a limited window never limit bulk flows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from orchestrator.fidelity.evidence import Columns, Evidence
from orchestrator.recording.model import Check

MOST_LIMITED = 0.01
"""Limit of the share of a flow's busy time in which the window limited it. It was 0 in all
scenarios, except while the kernel still enlarged the window."""
SETTLING_RTTS = 4
"""For so many RTTs after the window has reached half of its largest size, it may limit a flow.

The kernel begins with a window of 64 KiB and enlarges it once per RTT, as data come
(tcp_rcv_space_adjust() of net/ipv4/tcp_input.c). A flow whose congestion window grows faster is
limited meanwhile. Hybla over a satellite was limited for 3 s of 20, with a window of up to a third
of the later one."""
_COLUMNS = ("time_ns", "rtt_us", "busy_time_us", "rwnd_limited_us", "snd_wnd_bytes")


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield one check, of the bulk flow that was limited for the largest share of its busy time."""
    if evidence.plan is None or evidence.network.live:  # the buffers are not sized for a live path
        return
    shares = [
        (share, flow.name)
        for number, (flow, plan) in enumerate(
            zip(evidence.flows, evidence.plan["flows"], strict=True)
        )
        if flow.transport == "tcp" and flow.traffic == "bulk" and not plan["window_limited"]
        for share in [_limited(evidence.senders(number, _COLUMNS))]
        if share is not None
    ]
    if not shares:
        return
    share, name = max(shares)
    good = evidence.judge(share, MOST_LIMITED, 1.0)
    yield Check(
        "receive_limit", "", 0.0, share, MOST_LIMITED, good,
        f"share of busy time limited by the receive window; flow {name}, most of {len(shares)}",
    )  # fmt: skip


def _limited(samples: Columns) -> float | None:
    """Return the limited share of the busy time after the window has settled; None without any."""
    time_ns, window = samples["time_ns"], samples["snd_wnd_bytes"]
    if not len(time_ns):
        return None
    reached = int(np.argmax(window >= window.max() / 2))
    settled_ns = time_ns[reached] + SETTLING_RTTS * 1000 * int(samples["rtt_us"].max())
    after = time_ns >= settled_ns
    if np.count_nonzero(after) < 2:
        return None
    busy_us, limited_us = (
        samples[name][after][[0, -1]] for name in ("busy_time_us", "rwnd_limited_us")
    )
    spent_us = int(busy_us[1] - busy_us[0])
    return int(limited_us[1] - limited_us[0]) / spent_us if spent_us > 0 else None

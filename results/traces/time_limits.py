"""What limited a sender, by shares of a flow's time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from results.metrics import METRICS, Span, in_parts
from results.traces.view import TraceView

_SHARES = {
    "congestion window": "cwnd_limited_share",
    "receive window": "rwnd_limited_share",
    "send buffer": "sndbuf_limited_share",
    "application": "app_limited_share",
}
"""The metrics by what they are shares of; their docstrings define them."""

_BY_STATES = {"congestion window": 1, "receive window": 2, "send buffer": 3, "application": 0}
"""enum tcp_chrono of include/linux/tcp.h."""


@dataclass(frozen=True)
class TimeLimits:
    """Shares of a flow's time, 0 to 1 and together 1, by what limited its sender.

    ``shown_by`` is ``samples``, by the kernel's own counters of tcp_info, or ``acks``: by the
    states after ACKs, each until the next one of its connection.
    """

    shares: dict[str, float]
    shown_by: Literal["samples", "acks"]


def time_limits(view: TraceView, flow: int, end_ns: int | None = None) -> TimeLimits | None:
    """Return what limited the sender of a flow in the whole run, or until a time; None of UDP.

    Samples tell it of a flow with one connection at a time, and states after ACKs of others.
    """
    whole = Span(0.0, view.run.duration_s if end_ns is None else end_ns / 1e9)
    shares = {
        name: in_parts(view.run, METRICS[metric, "flow"], flow, whole, 1)[0]
        for name, metric in _SHARES.items()
    }
    if not any(math.isnan(share) for share in shares.values()):
        return TimeLimits(shares, "samples")
    times_ns = dict.fromkeys(_BY_STATES, 0)
    for end in view.ends(flow, sender=True):
        states = view.states(end)
        times = states["time_ns"] if end_ns is None else np.minimum(states["time_ns"], end_ns)
        spans_ns = np.diff(times)
        for name, code in _BY_STATES.items():
            times_ns[name] += int(spans_ns[states["limited_by"][:-1] == code].sum())
    total_ns = sum(times_ns.values())
    if not total_ns:
        return None
    return TimeLimits({name: spent / total_ns for name, spent in times_ns.items()}, "acks")

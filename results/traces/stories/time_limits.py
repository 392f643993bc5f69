"""What limited a sender, by shares of a flow's time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from results.metrics import METRICS, Span, in_parts
from results.metrics.limits import flow_time_s
from results.traces.causes.handshakes import handshakes
from results.traces.stories.pacing import paced_share
from results.traces.stories.rates import spans
from results.traces.view import TraceView

CONGESTION_WINDOW = "congestion window"

_SHARES = {
    CONGESTION_WINDOW: "cwnd_limited_share",
    "receive window": "rwnd_limited_share",
    "send buffer": "sndbuf_limited_share",
    "application": "app_limited_share",
}
"""The metrics by what they are shares of; their docstrings define them."""

_HANDSHAKE = "handshake"

_BY_STATES = {CONGESTION_WINDOW: 1, "receive window": 2, "send buffer": 3, "application": 0}
"""enum tcp_chrono of include/linux/tcp.h."""


@dataclass(frozen=True)
class TimeLimits:
    """Shares of a flow's time, 0 to 1 and together 1, by what limited its sender.

    ``handshake`` is the time from a first SYN until its connection was established. Where a trace
    does not tell when SYNs were sent, there is none, and ``application`` has that time.
    ``shown_by`` is ``samples``, by the kernel's own counters of tcp_info, or ``acks``: by the
    states after ACKs, each until the next one of its connection.

    Time in which pacing held the sender back is of ``congestion window``, too. ``paced_share`` is
    its part of that, 0 to 1, and None where the trace does not tell it.
    """

    shares: dict[str, float]
    shown_by: Literal["samples", "acks"]
    paced_share: float | None = None


def time_limits(view: TraceView, flow: int, end_ns: int | None = None) -> TimeLimits | None:
    """Return what limited the sender of a flow in the whole run, or until a time; None of UDP.

    Samples tell it of a flow with one connection at a time, and states after ACKs of others.
    """
    whole = Span(0.0, view.run.duration_s if end_ns is None else end_ns / 1e9)
    window = 0, round(whole.to_s * 1e9)
    paced = paced_share(view, flow, window)
    shares = {
        name: in_parts(view.run, METRICS[metric, "flow"], flow, whole, 1)[0]
        for name, metric in _SHARES.items()
    }
    if not any(math.isnan(share) for share in shares.values()):
        start_s, stop_s = flow_time_s(view.run.flows[flow], whole)
        shaken_ns = _handshakes_ns(view, flow, start_s * 1e9, stop_s * 1e9)
        if shaken_ns is None:
            return TimeLimits(shares, "samples", paced)
        # That metric counts the handshake: the sender had no data yet that it could send.
        share = min(shaken_ns / 1e9 / (stop_s - start_s), shares["application"])
        shares["application"] -= share
        return TimeLimits(shares | {_HANDSHAKE: share}, "samples", paced)
    times_ns = dict.fromkeys(_BY_STATES, 0.0)
    for states, spans_ns in spans(view, flow, window):
        for name, code in _BY_STATES.items():
            times_ns[name] += int(spans_ns[states["limited_by"] == code].sum())
    shaken_ns = _handshakes_ns(view, flow, 0.0, whole.to_s * 1e9)
    if any(times_ns.values()) and shaken_ns is not None:
        times_ns[_HANDSHAKE] = shaken_ns
    total_ns = sum(times_ns.values())
    if not total_ns:
        return None
    by_acks = {name: spent / total_ns for name, spent in times_ns.items()}
    return TimeLimits(by_acks, "acks", paced)


def _handshakes_ns(view: TraceView, flow: int, from_ns: float, to_ns: float) -> float | None:
    """Return how long connections of a flow took to be established, within a time.

    None: the trace does not tell when they began.
    """
    spans_ns = [
        min(to_ns if each.until_ns is None else each.until_ns, to_ns) - max(each.begin_ns, from_ns)
        for each in handshakes(view, flow)
        if each.begin_ns is not None
    ]
    return sum(max(span_ns, 0.0) for span_ns in spans_ns) if spans_ns else None

"""Echoes of ping flows, and their round-trip times; None for every other flow.

An echo belongs to the span in which its request leaves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from orchestrator.protocol.units import NS_PER_S, nanoseconds
from results.metrics.base import RunData, Span, TableColumn, metric
from results.metrics.rtt import percentile

PATIENCE_S = 1.0


@metric(
    "echoes_sent",
    unit="1",
    subject="flow",
    scopes=("flow",),
    columns=(TableColumn("icmp", 10, "sent"),),
)
def echoes_sent(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """ICMP echo requests (RFC 792) that a ping flow sent within the span."""
    found = _echoes_ns(data, flows[0], span)
    return None if found is None else len(found[0])


@metric(
    "echoes_lost",
    unit="1",
    subject="flow",
    scopes=("flow",),
    columns=(TableColumn("icmp", 20, "lost"),),
)
def echoes_lost(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Requests of a ping flow that had no reply by the end of the run (RFC 2681, a lost packet).

    Requests of the run's last second and two base RTTs do not count, as their replies may be on
    their way.
    """
    found = _echoes_ns(data, flows[0], span)
    if found is None:
        return None
    sent_ns, times_ns = found
    late_s = data.duration_s - PATIENCE_S - 2 * data.flows[flows[0]].base_rtt_s
    return int((np.isnan(times_ns) & (sent_ns < late_s * NS_PER_S)).sum())


@metric(
    "echo_rtt_min_s",
    unit="s",
    subject="flow",
    scopes=("flow",),
    columns=(TableColumn("icmp", 30, "RTT min"),),
)
def echo_rtt_min(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Least round-trip time (RFC 2681) of a ping flow's echoes."""
    times_s = _times_s(data, flows[0], span)
    return float(times_s.min()) if len(times_s) else None


@metric(
    "echo_rtt_mean_s",
    unit="s",
    subject="flow",
    scopes=("flow",),
    columns=(TableColumn("icmp", 40, "mean"),),
)
def echo_rtt_mean(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Mean round-trip time (RFC 2681) of a ping flow's echoes that were answered."""
    times_s = _times_s(data, flows[0], span)
    return float(times_s.mean()) if len(times_s) else None


@metric(
    "echo_rtt_p99_s",
    unit="s",
    subject="flow",
    scopes=("flow",),
    columns=(TableColumn("icmp", 50, "p99"),),
)
def echo_rtt_p99(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """99th percentile (RFC 2330 11.3) of the round-trip times of a ping flow's echoes."""
    return percentile(_times_s(data, flows[0], span), 0.99)


@metric(
    "echo_rtt_max_s",
    unit="s",
    subject="flow",
    scopes=("flow",),
    columns=(TableColumn("icmp", 60, "max"),),
)
def echo_rtt_max(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Largest round-trip time (RFC 2681) of a ping flow's echoes that were answered."""
    times_s = _times_s(data, flows[0], span)
    return float(times_s.max()) if len(times_s) else None


def _echoes_ns(
    data: RunData, flow: int, span: Span
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]] | None:
    """Return when the span's requests left, and their round-trip times; NaN without a reply."""
    if data.flows[flow].transport != "icmp":
        return None
    columns = data.transfer_columns(flow)
    sent_ns, end_ns = columns["start_ns"], columns["end_ns"]
    chosen = (sent_ns >= nanoseconds(span.from_s)) & (sent_ns < nanoseconds(span.to_s))
    return sent_ns[chosen], end_ns[chosen] - sent_ns[chosen]


def _times_s(data: RunData, flow: int, span: Span) -> npt.NDArray[np.float64]:
    found = _echoes_ns(data, flow, span)
    if found is None:
        return np.empty(0)
    return found[1][~np.isnan(found[1])] / NS_PER_S

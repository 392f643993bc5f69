"""Smoothed round-trip times of the sending kernel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from orchestrator.recording.model import SENDER
from results.metrics.base import Column, RunData, Span, metric, running, within


@metric(
    "rtt_min_s",
    unit="s",
    subject="flow",
    scopes=("run", "flow"),
    columns=(Column("tcp", 25, "RTT min", in_text=False),),
)
def rtt_min(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Smallest sampled tcpi_rtt (smoothed RTT, RFC 6298) while the flow runs."""
    rtts = _rtts(data, flows, span)
    return float(rtts.min()) if len(rtts) else None


@metric(
    "rtt_mean_s",
    unit="s",
    subject="flow",
    scopes=("run", "flow"),
    averages=True,
    columns=(Column("tcp", 30, "RTT mean"),),
)
def rtt_mean(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Mean of the samples of tcpi_rtt (smoothed RTT, RFC 6298) while the flow runs.

    Of a run the mean of the samples of all flows.
    """
    rtts = _rtts(data, flows, span)
    return float(rtts.mean()) if len(rtts) else None


@metric("rtt_p50_s", unit="s", subject="flow", scopes=("run", "flow"))
def rtt_p50(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Median of the samples of tcpi_rtt while the flow runs, a percentile as in RFC 2330 11.3."""
    rtts = _rtts(data, flows, span)
    return percentile(rtts, 0.50)


@metric(
    "rtt_p95_s",
    unit="s",
    subject="flow",
    scopes=("run", "flow"),
    columns=(Column("tcp", 40, "RTT p95"),),
)
def rtt_p95(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """95th percentile (RFC 2330 11.3) of the samples of tcpi_rtt while the flow runs."""
    return percentile(_rtts(data, flows, span), 0.95)


@metric(
    "rtt_max_s",
    unit="s",
    subject="flow",
    scopes=("run", "flow"),
    columns=(Column("tcp", 50, "RTT max"),),
)
def rtt_max(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Largest sampled tcpi_rtt (smoothed RTT, RFC 6298) while the flow runs.

    For the whole run the warm-up counts, too, because slow start fills the queue. Congestion
    avoidance may not fill a long queue again within minutes. For a window only its own time counts.
    """
    if span == Span(data.warmup_s, data.duration_s):
        span = Span(0.0, data.duration_s)
    rtts = _rtts(data, flows, span)
    return float(rtts.max()) if len(rtts) else None


@metric("queueing_delay_mean_s", unit="s", subject="flow", scopes=("flow",))
def queueing_delay_mean(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Mean RTT less the base RTT of the scenario: queueing and what larger packets take to be sent.

    RFC 5166 section 2.2 (delay). The base RTT is that of a small packet over the idle links at the
    start of the run. Events that change rates, delays and paths do not change it.
    """
    mean = rtt_mean(data, flows, span)
    return mean - data.flows[flows[0]].base_rtt_s if mean is not None else None


def percentile(values: npt.NDArray[np.float64], fraction: float) -> float | None:
    """Return the smallest value that at least that fraction of values do not exceed (RFC 2330)."""
    if not len(values):
        return None
    return float(np.quantile(values, fraction, method="inverted_cdf"))


def _rtts(data: RunData, flows: Sequence[int], span: Span) -> npt.NDArray[np.float64]:
    """Return the RTT samples of the flows in seconds; zero means none was measured yet."""
    found = [np.empty(0)]
    for flow in flows:
        columns = data.tcp_columns(flow, SENDER)
        rtts = columns["rtt_us"]
        chosen = within(columns["time_ns"], span) & running(columns, data.flows[flow])
        found.append(rtts[chosen & (rtts > 0)] / 1e6)
    return np.concatenate(found)

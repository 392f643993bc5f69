"""Smoothed round-trip times of the sending kernel, on the metrics' grid.

The grid has a period of one smallest base RTT of the run, so no round trip changes the RTT unseen.
It does not depend on what the scenario samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from orchestrator.recording.model import SENDER
from results.metrics.base import RunData, Span, TableColumn, metric, within
from results.metrics.regular import on_grid

_NO_RTT_US = 2**32 - 1
"""The value of tcpi_min_rtt before the first sample."""


@metric(
    "rtt_min_s",
    unit="s",
    subject="flow",
    scopes=("run", "flow"),
    columns=(TableColumn("tcp", 25, "RTT min", in_text=False),),
)
def rtt_min(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Smallest tcpi_rtt (smoothed RTT, RFC 6298) on the metrics' grid while the flow runs.

    The smallest RTT that the kernel itself measured is ``rtt_min_kernel_s``.
    """
    rtts = _rtts(data, flows, span)
    return int(rtts.us.min()) / 1e6 if len(rtts.us) else None


@metric("rtt_min_kernel_s", unit="s", subject="flow", scopes=("run", "flow"))
def rtt_min_kernel(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Smallest tcpi_min_rtt, the kernel's own minimum, at the samples every 100 ms in the span.

    Each covers up to 300 s before it (net.ipv4.tcp_min_rtt_wlen), so also time before the span. It
    is the least RTT of single segments, while ``rtt_min_s`` is of smoothed RTTs.
    """
    least = [
        int(known_us.min())
        for flow in flows
        for known_us in [kernel_minima_us(data, flow, span)]
        if len(known_us)
    ]
    return min(least) / 1e6 if least else None


@metric(
    "rtt_mean_s",
    unit="s",
    subject="flow",
    scopes=("run", "flow"),
    averages=True,
    columns=(TableColumn("tcp", 30, "RTT mean"),),
)
def rtt_mean(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Mean of tcpi_rtt (smoothed RTT, RFC 6298) on the metrics' grid while the flow runs.

    Of a run the mean over the readings of all flows.
    """
    rtts = _rtts(data, flows, span)
    if not len(rtts.us):
        return None
    return int((rtts.us * rtts.counts).sum()) / int(rtts.counts.sum()) / 1e6


@metric("rtt_p50_s", unit="s", subject="flow", scopes=("run", "flow"))
def rtt_p50(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Median of tcpi_rtt on the metrics' grid while the flow runs, as in RFC 2330 11.3."""
    return _rtts(data, flows, span).percentile_s(0.50)


@metric(
    "rtt_p95_s",
    unit="s",
    subject="flow",
    scopes=("run", "flow"),
    columns=(TableColumn("tcp", 40, "RTT p95"),),
)
def rtt_p95(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """95th percentile (RFC 2330 11.3) of tcpi_rtt on the metrics' grid while the flow runs."""
    return _rtts(data, flows, span).percentile_s(0.95)


@metric(
    "rtt_max_s",
    unit="s",
    subject="flow",
    scopes=("run", "flow"),
    columns=(TableColumn("tcp", 50, "RTT max"),),
)
def rtt_max(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Largest tcpi_rtt (smoothed RTT, RFC 6298) on the metrics' grid while the flow runs.

    For the whole run the warm-up counts, too, because slow start fills the queue. Congestion
    avoidance may not fill a long queue again within minutes. For a window only its own time counts.
    """
    if span == Span(data.warmup_s, data.duration_s):
        span = Span(0.0, data.duration_s)
    rtts = _rtts(data, flows, span)
    return int(rtts.us.max()) / 1e6 if len(rtts.us) else None


@metric(
    "queueing_delay_mean_s",
    unit="s",
    least=None,  # an event may make the path shorter than it was at the start
    subject="flow",
    scopes=("flow",),
)
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


@dataclass(frozen=True)
class _RttCounts:
    """RTTs in us, and at how many times of the grid each was found."""

    us: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]

    def percentile_s(self, fraction: float) -> float | None:
        """Return the smallest value that at least that fraction of readings do not exceed."""
        if not len(self.us):
            return None
        order = np.argsort(self.us, kind="stable")
        up_to = np.cumsum(self.counts[order])
        position = int(np.searchsorted(up_to, fraction * up_to[-1] * (1 - 1e-12)))
        return int(self.us[order][position]) / 1e6


def _rtts(data: RunData, flows: Sequence[int], span: Span) -> _RttCounts:
    """Return the RTTs of the flows; zero means that none was measured yet."""
    us, counts = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for flow in flows:
        states = on_grid(data, flow, span, ["rtt_us"])
        known = states.columns["rtt_us"] > 0
        us.append(states.columns["rtt_us"][known])
        counts.append(states.counts[known])
    return _RttCounts(np.concatenate(us), np.concatenate(counts))


def kernel_minima_us(data: RunData, flow: int, span: Span) -> npt.NDArray[np.int64]:
    """Return the samples of tcpi_min_rtt every 100 ms; those of no RTT yet are left out."""
    columns = data.tcp_columns(flow, SENDER)
    inside = within(columns["time_ns"], span)
    least_us: npt.NDArray[np.int64] = columns["min_rtt_us"][inside]
    return least_us[(least_us > 0) & (least_us < _NO_RTT_US)]

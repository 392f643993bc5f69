"""The bandwidth that a congestion control estimates for its flow and reports."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from orchestrator.recording.model import SENDER
from results.metrics.base import RunData, Span, metric, running, within
from results.metrics.fairness import fair_share_bps
from results.metrics.regular import RegularRun, on_grid

ESTIMATES = (("bandwidth", "bytes/s"), ("the estimate", "bytes/s"))
"""Names of the congestion columns with estimates of bandwidth: BBR's and those of our modules.

Rates with other names are no estimates of the flow's share. FAST reports w / RTT, Libra the
bottleneck's capacity, and Ideal TCP the rate that was set.
"""


@metric("estimate_bandwidth_mean_bps", unit="bit/s", subject="flow", scopes=("flow",))
def estimate_bandwidth_mean(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Mean of the bandwidth that the congestion control estimates, on the metrics' grid.

    It counts bytes of payload. A zero means that there is no estimate yet; it is left out. None for
    an algorithm that reports no estimate.
    """
    rates = estimates(data, flows[0], span)
    return float(rates.mean()) * 8 if len(rates) else None


@metric("estimate_bandwidth_deviation_bps", unit="bit/s", subject="flow", scopes=("flow",))
def estimate_bandwidth_deviation(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Standard deviation of the values whose mean is estimate_bandwidth_mean_bps."""
    rates = estimates(data, flows[0], span)
    return float(rates.std()) * 8 if len(rates) else None


@metric("estimate_to_fair_share", unit="1", subject="flow", scopes=("flow",))
def estimate_to_fair_share(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Mean estimated bandwidth / fair share of the flow's path.

    The fair share is that of ``goodput_to_fair_share``. The rate includes headers, the estimate
    does not. So segments of 1448 bytes can reach 0.956 of the fair share.
    """
    mean_bps = estimate_bandwidth_mean(data, flows, span)
    share_bps = fair_share_bps(data, data.flows[flows[0]], span) if mean_bps is not None else None
    return mean_bps / share_bps if mean_bps is not None and share_bps else None


def estimates(data: RunData, flow: int, span: Span) -> npt.NDArray[np.float64]:
    """Return the estimate in bytes/s at each time of the metrics' grid that has one.

    The grid has the first number that a congestion control shows. If the estimate is another one,
    its samples every 100 ms are returned.
    """
    shown = data.flows[flow].congestion_fields
    slot = next((slot for slot, field in enumerate(shown) if field in ESTIMATES), None)
    if slot is None:
        return np.empty(0)
    if slot == 0:
        rates = on_grid(data, flow, span, ["estimate_bytes_per_s"]).sampled("estimate_bytes_per_s")
    else:
        columns = RegularRun.of(data).tcp_columns(flow, SENDER)
        chosen = within(columns["time_ns"], span) & running(columns, data.flows[flow])
        rates = columns[f"congestion_{slot}"][chosen]
    return rates[rates > 0].astype(np.float64)

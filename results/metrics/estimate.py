"""The bandwidth that a congestion control estimates for its flow and reports."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from orchestrator.recording.model import SENDER, FlowRecord
from results.metrics.base import RunData, Span, channel, metric, running, within
from results.metrics.fairness import is_on

ESTIMATES = (("bandwidth", "bytes/s"), ("the estimate", "bytes/s"))
"""Names of the congestion columns with estimates of bandwidth: BBR's and those of our modules.

Rates with other names are no estimates of the flow's share. FAST reports w / RTT, Libra the
bottleneck's capacity, and Ideal TCP the rate that was set.
"""


@metric("estimate_bandwidth_mean_bps", unit="bit/s", subject="flow", scopes=("flow",))
def estimate_bandwidth_mean(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Mean of the samples of the bandwidth that the congestion control estimates.

    It counts bytes of payload. A zero means that there is no estimate yet; it is left out. None for
    an algorithm that reports no estimate.
    """
    rates = estimates(data, flows[0], span)
    return float(rates.mean()) * 8 if len(rates) else None


@metric("estimate_bandwidth_deviation_bps", unit="bit/s", subject="flow", scopes=("flow",))
def estimate_bandwidth_deviation(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Standard deviation of the samples whose mean is estimate_bandwidth_mean_bps."""
    rates = estimates(data, flows[0], span)
    return float(rates.std()) * 8 if len(rates) else None


@metric("estimate_to_fair_share", unit="1", subject="flow", scopes=("flow",))
def estimate_to_fair_share(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Mean estimated bandwidth / fair share of the flow's path.

    The fair share is the minimum over the path's links of rate / number of flows that are scheduled
    in the span and send data through the link. The rate includes headers, the estimate does not. So
    segments of 1448 bytes can reach 0.956 of the fair share.
    """
    mean_bps = estimate_bandwidth_mean(data, flows, span)
    share_bps = _fair_share_bps(data, data.flows[flows[0]], span) if mean_bps is not None else None
    return mean_bps / share_bps if mean_bps is not None and share_bps else None


def estimates(data: RunData, flow: int, span: Span) -> npt.NDArray[np.float64]:
    """Return the samples of the estimate in bytes/s."""
    shown = data.flows[flow].congestion_fields
    slot = next((slot for slot, field in enumerate(shown) if field in ESTIMATES), None)
    if slot is None:
        return np.empty(0)
    columns = data.tcp_columns(flow, SENDER)
    rates = columns[f"congestion_{slot}"]
    chosen = within(columns["time_ns"], span) & running(columns, data.flows[flow])
    return rates[chosen & (rates > 0)].astype(np.float64)


def _fair_share_bps(data: RunData, flow: FlowRecord, span: Span) -> float | None:
    on = [other for index, other in enumerate(data.flows) if is_on(data, index, span)]
    crossing = {name: sum(name in other.path for other in on) for name in flow.path}
    return min(
        (
            queue.rate_bps / crossing[channel(queue)]
            for queue in data.queues
            if queue.role == "queue" and queue.rate_bps and crossing.get(channel(queue))
        ),
        default=None,
    )

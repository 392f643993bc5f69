"""Delay in a queue."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from orchestrator.capacity import Capacity
from results.metrics.base import RunData, Span, metric, within
from results.metrics.rtt import percentile
from results.metrics.utilisation import busiest


@metric("queue_delay_mean_s", unit="s", subject="link", scopes=("run", "link"))
def queue_delay_mean(data: RunData, links: Sequence[int], span: Span) -> float | None:
    """Mean over the samples of the time to drain the queue: backlog in bytes x 8 / rate.

    RFC 5166 section 2.2 (queueing delay at routers). A rate that changes is the one of each time
    until the queue would be empty. Of a run at its busiest bottleneck: the one of the largest
    utilisation.
    """
    delays = _delays(data, links, span)
    return float(delays.mean()) if len(delays) else None


@metric("queue_delay_p95_s", unit="s", subject="link", scopes=("run", "link"))
def queue_delay_p95(data: RunData, links: Sequence[int], span: Span) -> float | None:
    """95th percentile (RFC 2330 11.3) of the samples of the time to drain the queue.

    Of a run at its busiest bottleneck.
    """
    return percentile(_delays(data, links, span), 0.95)


def _delays(data: RunData, links: Sequence[int], span: Span) -> npt.NDArray[np.float64]:
    """Return the samples' delays; those that would last beyond all that is known are left out."""
    link = busiest(data, links, span)
    capacity = None if link is None else Capacity.of(data.queues[link])
    if link is None or capacity is None:
        return np.empty(0)
    columns = data.queue_columns(link)
    chosen = within(columns["time_ns"], span)
    backlog_bits = columns["backlog_bytes"][chosen] * np.float64(8)
    delays = capacity.drain_s(columns["time_ns"][chosen] / 1e9, backlog_bits)
    finite: npt.NDArray[np.float64] = delays[np.isfinite(delays)]
    return finite

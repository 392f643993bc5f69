"""Delay in a queue."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from results.metrics.base import RunData, Span, metric, within
from results.metrics.rtt import percentile
from results.metrics.utilisation import busiest


@metric("queue_delay_mean_s", unit="s", subject="link", scopes=("run", "link"))
def queue_delay_mean(data: RunData, links: Sequence[int], span: Span) -> float | None:
    """Mean over the samples of the time to drain the queue: backlog in bytes x 8 / rate.

    RFC 5166 section 2.2 (queueing delay at routers).
    """
    delays = _delays(data, links, span)
    return float(delays.mean()) if len(delays) else None


@metric("queue_delay_p95_s", unit="s", subject="link", scopes=("run", "link"))
def queue_delay_p95(data: RunData, links: Sequence[int], span: Span) -> float | None:
    """95th percentile (RFC 2330 11.3) of the samples of backlog in bytes x 8 / rate."""
    return percentile(_delays(data, links, span), 0.95)


def _delays(data: RunData, links: Sequence[int], span: Span) -> npt.NDArray[np.float64]:
    link = busiest(data, links, span)
    rate_bps = data.queues[link].rate_bps if link is not None else None
    if link is None or not rate_bps:
        return np.empty(0)
    columns = data.queue_columns(link)
    backlog = columns["backlog_bytes"][within(columns["time_ns"], span)]
    return backlog * 8 / np.float64(rate_bps)

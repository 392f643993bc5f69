"""Delay in a queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.recording.capacity import Capacity
from orchestrator.recording.model import QueueRecord
from results.metrics.base import Column, RunData, Span, metric, within
from results.metrics.rtt import percentile
from results.metrics.utilisation import busiest


@metric(
    "queue_delay_mean_s",
    unit="s",
    subject="link",
    scopes=("run", "link"),
    averages=True,
    columns=(
        Column("run", 60, "queue delay mean", in_text=False),
        Column("link", 40, "queue mean"),
    ),
)
def queue_delay_mean(data: RunData, links: Sequence[int], span: Span) -> float | None:
    """Mean over the samples of the time to drain the queue: backlog in bytes x 8 / rate.

    RFC 5166 section 2.2 (queueing delay at routers). If the rate changes, its value at each time
    until the queue is empty counts. Of a run that of its busiest bottleneck, the one with the
    largest utilisation.
    """
    delays = _delays(data, links, span)
    return float(delays.mean()) if len(delays) else None


@metric(
    "queue_delay_p95_s",
    unit="s",
    subject="link",
    scopes=("run", "link"),
    columns=(
        Column("run", 70, "queue delay p95", in_text=False),
        Column("link", 50, "queue p95"),
    ),
)
def queue_delay_p95(data: RunData, links: Sequence[int], span: Span) -> float | None:
    """95th percentile (RFC 2330 11.3) of the samples of the time to drain the queue.

    Of a run that of its busiest bottleneck.
    """
    return percentile(_delays(data, links, span), 0.95)


def queue_delays_s(
    queue: QueueRecord, time_ns: npt.NDArray[Any], backlog_bytes: npt.NDArray[Any]
) -> npt.NDArray[np.float64] | None:
    """Return the seconds that each backlog takes to leave, at the rates of that time.

    NaN where it does not leave by the last known rate; None for a queue without a rate.
    """
    capacity = Capacity.of(queue)
    if capacity is None:
        return None
    delays = capacity.drain_s(time_ns / 1e9, backlog_bytes * np.float64(8))
    return np.where(np.isfinite(delays), delays, np.nan)


def _delays(data: RunData, links: Sequence[int], span: Span) -> npt.NDArray[np.float64]:
    """Return the samples' delays, without those that are NaN."""
    link = busiest(data, links, span)
    if link is None:
        return np.empty(0)
    columns = data.queue_columns(link)
    chosen = within(columns["time_ns"], span)
    shown = columns["time_ns"][chosen], columns["backlog_bytes"][chosen]
    delays = queue_delays_s(data.queues[link], *shown)
    if delays is None:
        return np.empty(0)
    finite: npt.NDArray[np.float64] = delays[np.isfinite(delays)]
    return finite

"""Delay in a queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.recording.capacity import Capacity
from orchestrator.recording.model import QueueRecord
from results.metrics.base import RunData, Span, TableColumn, metric, within
from results.metrics.rtt import percentile
from results.metrics.sojourn import SojournTimes, sojourn_times
from results.metrics.utilisation import busiest


@metric(
    "queue_delay_mean_s",
    unit="s",
    subject="link",
    scopes=("run", "link"),
    averages=True,
    columns=(
        TableColumn("run", 60, "queue delay mean", in_text=False),
        TableColumn("link", 40, "queue mean"),
    ),
)
def queue_delay_mean(data: RunData, links: Sequence[int], span: Span) -> float | None:
    """Mean time in the queue of the packets whose transmission began in the span.

    From a packet's arrival at the queue to the begin of its transmission; packets that the queue
    dropped do not count. RFC 5166 section 2.2 (queueing delay at routers). The link (sch_link)
    counts every packet, so the value is exact, whatever is sampled. Of a run that of its busiest
    bottleneck, the one with the largest utilisation.

    Where the link did not count, it is estimated. It did not with packets of several frames, nor
    for the parts of a window in which a drift is looked for. The estimate is the mean over the
    samples of the time to drain the queue: backlog in bytes x 8 / rate. If the rate changes, its
    value at each time until the queue is empty counts.
    """
    counted = _counted(data, links, span)
    if counted is not None:
        return counted.mean_s
    delays = _delays(data, links, span)
    return float(delays.mean()) if len(delays) else None


@metric("queue_delay_p50_s", unit="s", subject="link", scopes=("run", "link"))
def queue_delay_p50(data: RunData, links: Sequence[int], span: Span) -> float | None:
    """Median (RFC 2330 11.3) of the times in the queue of `queue_delay_mean_s`, within 1%."""
    return _quantile(data, links, span, 0.5)


@metric(
    "queue_delay_p95_s",
    unit="s",
    subject="link",
    scopes=("run", "link"),
    columns=(
        TableColumn("run", 70, "queue delay p95", in_text=False),
        TableColumn("link", 50, "queue p95"),
    ),
)
def queue_delay_p95(data: RunData, links: Sequence[int], span: Span) -> float | None:
    """95th percentile (RFC 2330 11.3) of the times in the queue of `queue_delay_mean_s`, within 1%.

    Of a run that of its busiest bottleneck.
    """
    return _quantile(data, links, span, 0.95)


@metric("queue_delay_p99_s", unit="s", subject="link", scopes=("run", "link"))
def queue_delay_p99(data: RunData, links: Sequence[int], span: Span) -> float | None:
    """99th percentile (RFC 2330 11.3) of the times in the queue of `queue_delay_mean_s`, within 1%.

    Of a run that of its busiest bottleneck.
    """
    return _quantile(data, links, span, 0.99)


@metric("queue_delay_max_s", unit="s", subject="link", scopes=("run", "link"))
def queue_delay_max(data: RunData, links: Sequence[int], span: Span) -> float | None:
    """Longest of the times in the queue of `queue_delay_mean_s`; exact.

    Of a run that of its busiest bottleneck. None when no packet left the queue.
    """
    counted = _counted(data, links, span)
    if counted is not None:
        return counted.largest_s if counted.packets else None
    delays = _delays(data, links, span)
    return float(delays.max()) if len(delays) else None


def _counted(data: RunData, links: Sequence[int], span: Span) -> SojournTimes | None:
    link = busiest(data, links, span)
    return None if link is None else sojourn_times(data, link, span)


def _quantile(data: RunData, links: Sequence[int], span: Span, share: float) -> float | None:
    counted = _counted(data, links, span)
    if counted is not None:
        return counted.quantile_s(share)
    return percentile(_delays(data, links, span), share)


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

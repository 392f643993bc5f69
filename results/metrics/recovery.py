"""The time in which a congestion window recovers after a loss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from orchestrator.recording.model import SENDER
from results.metrics.base import RunData, Span, metric, running, within
from results.metrics.rtt import percentile
from results.samples import Array, Columns

# include/net/tcp.h: TCP_CA_CWR, above which are Recovery and Loss.
_REDUCING = 2

_SHORT_SEGMENTS = 1
"""A window has recovered when at most this is missing, as samples may miss the last step."""


@metric("window_recovery_mean_s", unit="s", subject="flow", scopes=("flow",))
def window_recovery_mean(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Mean time from a loss until the congestion window has its size before the loss again.

    As in Fig. 3 of D. Kliazovich, F. Granelli, D. Miorandi, Computer Networks 52 (2008). A loss is
    a row of TCP samples with retransmissions or a sender in CWR, Recovery or Loss. Its window is
    that of the sample before, and it counts if the window fell. The window has recovered when at
    most one segment is missing. The resolution is the sampling period. A window that does not
    recover within the span is left out; None when there is no other.
    """
    times = _recovery_times(data, flows[0], span)
    return float(times.mean()) if len(times) else None


@metric("window_recovery_p50_s", unit="s", subject="flow", scopes=("flow",))
def window_recovery_p50(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Median (RFC 2330) time from a loss until the window has its size before the loss again.

    If windows at losses differ by a few segments, the largest ones recover after many other losses.
    They change the mean, but not the median.
    """
    return percentile(_recovery_times(data, flows[0], span), 0.50)


@metric("window_recovery_max_s", unit="s", subject="flow", scopes=("flow",))
def window_recovery_max(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Longest time from a loss until the window has its size before the loss again."""
    times = _recovery_times(data, flows[0], span)
    return float(times.max()) if len(times) else None


def _recovery_times(data: RunData, flow: int, span: Span) -> npt.NDArray[np.float64]:
    """Return the recovery time in seconds of each reduced window in the span."""
    columns = data.tcp_columns(flow, SENDER)
    chosen = np.flatnonzero(within(columns["time_ns"], span) & running(columns, data.flows[flow]))
    if len(chosen) < 2:
        return np.empty(0)
    times_ns, cwnd = columns["time_ns"][chosen], columns["snd_cwnd_segments"][chosen]
    found = [
        int(times_ns[back] - times_ns[before])
        for before, after in _losses(columns, chosen)
        if int(cwnd[before:after].min()) < int(cwnd[before]) - _SHORT_SEGMENTS
        and (back := _first_at_least(cwnd, after, int(cwnd[before]) - _SHORT_SEGMENTS)) is not None
    ]
    return np.array(found) / 1e9


def _losses(columns: Columns, chosen: npt.NDArray[np.intp]) -> Iterator[tuple[int, int]]:
    """Yield (last sample before, first sample after) of each row of samples that show a loss."""
    losing = columns["ca_state"][chosen] >= _REDUCING
    losing[1:] |= np.diff(columns["total_retrans_segments"][chosen]) > 0
    edges = np.flatnonzero(losing[1:] != losing[:-1]) + 1
    if losing[0]:  # the window before it is unknown
        edges = edges[1:]
    ends = [*edges[1::2].tolist(), len(losing)]
    yield from ((begin - 1, end) for begin, end in zip(edges[::2].tolist(), ends, strict=False))


def _first_at_least(values: Array, start: int, least: int) -> int | None:
    found = np.flatnonzero(values[start:] >= least)
    return start + int(found[0]) if len(found) else None

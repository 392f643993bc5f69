"""How long a window takes to come back to where a loss found it."""

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
"""A window this short of what it was is back: samples may miss the last step before a loss."""


@metric("window_recovery_mean_s", unit="s", subject="flow", scopes=("flow",))
def window_recovery_mean(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Mean time from a loss until the congestion window is again what it was before.

    As in Fig. 3 of D. Kliazovich, F. Granelli, D. Miorandi, Computer Networks 52 (2008). A loss is
    a row of TCP samples in which segments were sent again or the sender reduces its window (CWR,
    Recovery or Loss); its window is that of the sample before, and it counts when the window
    fell. It is back when at most one segment is missing. The resolution is the sampling period. A
    window that does not come back while the span lasts is left out; None when there is no other.
    """
    times = _recovery_times(data, flows[0], span)
    return float(times.mean()) if len(times) else None


@metric("window_recovery_p50_s", unit="s", subject="flow", scopes=("flow",))
def window_recovery_p50(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Median time from a loss until the congestion window is again what it was before (RFC 2330).

    Where windows at losses differ by a few segments, the largest wait for many others to come and
    go: they move the mean, not the median.
    """
    return percentile(_recovery_times(data, flows[0], span), 0.50)


@metric("window_recovery_max_s", unit="s", subject="flow", scopes=("flow",))
def window_recovery_max(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Longest time from a loss until the congestion window is again what it was before."""
    times = _recovery_times(data, flows[0], span)
    return float(times.max()) if len(times) else None


def _recovery_times(data: RunData, flow: int, span: Span) -> npt.NDArray[np.float64]:
    """Return the time in seconds that each reduced window of the span took to come back."""
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
    """Yield (last sample before, first sample after) of each row of samples that tell of loss."""
    losing = columns["ca_state"][chosen] >= _REDUCING
    losing[1:] |= np.diff(columns["total_retrans_segments"][chosen]) > 0
    edges = np.flatnonzero(losing[1:] != losing[:-1]) + 1
    if losing[0]:  # its window before is not known
        edges = edges[1:]
    ends = [*edges[1::2].tolist(), len(losing)]
    yield from ((begin - 1, end) for begin, end in zip(edges[::2].tolist(), ends, strict=False))


def _first_at_least(values: Array, start: int, least: int) -> int | None:
    found = np.flatnonzero(values[start:] >= least)
    return start + int(found[0]) if len(found) else None

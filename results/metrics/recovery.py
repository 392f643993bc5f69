"""The time in which a congestion window recovers after a loss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from orchestrator.protocol.units import nanoseconds
from results.metrics.base import RunData, Span, metric
from results.metrics.regular import GridStates, on_grid
from results.metrics.rtt import percentile
from results.samples.sample_tables import Array

# include/net/tcp.h: TCP_CA_CWR, above which are Recovery and Loss.
_REDUCING = 2

_SHORT_SEGMENTS = 1
"""A window has recovered when at most this is missing, as the grid may miss the last step."""

_COLUMNS = ("connection", "ca_state", "snd_cwnd_segments", "total_retrans_segments")


@metric("window_recovery_mean_s", unit="s", subject="flow", scopes=("flow",))
def window_recovery_mean(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Mean time from a loss until the congestion window has its size before the loss again.

    As in Fig. 3 of D. Kliazovich, F. Granelli, D. Miorandi, Computer Networks 52 (2008). A loss is
    a row of times of the metrics' grid with retransmissions or a sender in CWR, Recovery or Loss.
    Its window is that of the time before, and it counts if the window fell. The window has
    recovered when at most one segment is missing. The resolution is the grid, one smallest base RTT
    of the run. A window that does not recover within the span and its connection is left out; None
    when there is no other.
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
    return data.sender_states(flow).derived(
        f"recovery times {span}", lambda: _found_times(data, flow, span)
    )


def _found_times(data: RunData, flow: int, span: Span) -> npt.NDArray[np.float64]:
    states = on_grid(data, flow, span, _COLUMNS)
    connection = states.columns["connection"]
    edges = np.flatnonzero(np.diff(connection)) + 1
    grid_s = nanoseconds(data.metrics_grid_s or 0.0) / 1e9
    parts = [
        _of_connection(states, slice(begin, end))
        for begin, end in zip([0, *edges.tolist()], [*edges.tolist(), len(connection)], strict=True)
    ]
    times_s: npt.NDArray[np.float64] = np.concatenate(parts) * np.float64(grid_s)
    return times_s


def _of_connection(states: GridStates, rows: slice) -> npt.NDArray[np.int64]:
    """Return the recovery times of one connection in periods of the grid."""
    tick, counts = states.tick[rows], states.counts[rows]
    until = tick + counts - 1
    cwnd = states.columns["snd_cwnd_segments"][rows]
    reducing = states.columns["ca_state"][rows] >= _REDUCING
    resent = np.diff(states.columns["total_retrans_segments"][rows], prepend=0) > 0
    resent[:1] = False
    # Segments are sent again once: at later times of a state that holds, there is no loss.
    longer = resent & ~reducing & (counts > 1)
    repeated = np.repeat(np.arange(len(tick)), 1 + longer)
    again = np.diff(repeated, prepend=-1) == 0
    tick, cwnd = tick[repeated] + again, cwnd[repeated]
    losing = (reducing | resent)[repeated] & ~again
    periods = [
        int(tick[back] - until[repeated[before]])
        for before, after in _losses(losing)
        if int(cwnd[before:after].min()) < int(cwnd[before]) - _SHORT_SEGMENTS
        and (back := _first_at_least(cwnd, after, int(cwnd[before]) - _SHORT_SEGMENTS)) is not None
    ]
    return np.array(periods, np.int64)


def _losses(losing: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Yield (last place before, first place after) of each row of places that show a loss."""
    edges = np.flatnonzero(losing[1:] != losing[:-1]) + 1
    if len(losing) and losing[0]:  # the window before it is unknown
        edges = edges[1:]
    ends = [*edges[1::2].tolist(), len(losing)]
    yield from ((begin - 1, end) for begin, end in zip(edges[::2].tolist(), ends, strict=False))


def _first_at_least(values: Array, start: int, least: int) -> int | None:
    """Return the first place from ``start`` on with such a value; most are found at once."""
    length = 256
    while start < len(values):
        matches = np.flatnonzero(values[start : start + length] >= least)
        if len(matches):
            return start + int(matches[0])
        start, length = start + length, 4 * length
    return None

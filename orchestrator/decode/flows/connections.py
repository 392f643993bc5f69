"""Flows of many connections as one series: counters over all connections, closed ones included.

The kernel reports the last state of every socket that it destroys (SKNLGRP_INET_TCP_DESTROY). So
the counters include connections that opened and closed between two samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from orchestrator.kinds.traffic import Connections
from orchestrator.recording.model import (
    ABSENT,
    ABSENT_COLUMNS,
    ECN_COUNTERS,
    FIN_RECEIVED,
    RECENT_COUNTERS,
    SENDER,
    TCP_DTYPE,
)

Array = npt.NDArray[np.void]
Times = npt.NDArray[np.int64]

COUNTERS = (
    "total_retrans_segments",
    "bytes_acked",
    "bytes_received",
    "segs_out",
    "segs_in",
    "data_segs_in",
    "data_segs_out",
    "busy_time_us",
    "rwnd_limited_us",
    "sndbuf_limited_us",
    "delivered_segments",
    "delivered_ce_segments",
    "bytes_sent",
    "bytes_retrans",
    "dsack_dups",
    "reord_seen",
    "rcv_ooopack",
)
"""Fields of tcp_info that only grow; a flow's are the sums over its connections."""

SOMETIMES = (*RECENT_COUNTERS, *ECN_COUNTERS)
"""Those that are treated alike where the kernel has them."""

PRESENT = (
    "rqueue_bytes",
    "wqueue_bytes",
    "unacked_segments",
    "sacked_segments",
    "lost_segments",
    "retrans_segments",
    "notsent_bytes",
    "snd_cwnd_segments",
)
"""Of a flow with many connections at a time: sums over those that are open."""

LARGEST = "snd_wnd_bytes"
"""Of a flow with many connections at a time: the largest value of connections without loss that
were open since the previous row. Connections with loss are left out. If a connection's first
segment is lost, the next one makes the kernel forget the window's limit. The receiver sets it again
only when it has read something."""

_ESTABLISHED, _CLOSE = 1, 7  # include/net/tcp_states.h
_SUMS = np.dtype(
    [
        ("time_ns", "<i8"),
        ("cookie", "<u8"),
        *((name, "<i8") for name in (*COUNTERS, *SOMETIMES, LARGEST)),
    ]
)
_Key = tuple[int, int]


@dataclass
class _EndSamples:
    """Samples of one end of a flow: of open sockets, and the last states of closed ones."""

    open: list[tuple[Array, npt.NDArray[np.uint64]]] = field(default_factory=list)
    closed: list[Array] = field(default_factory=list)


class ConnectionsDecoder:
    """Merges samples of single connections into one series for each flow.

    If a flow has one connection at a time, a row shows its newest open connection. Without one it
    shows the state CLOSE and zeros; of such rows in sequence the first and the last are kept. If a
    flow has many at a time, a row shows the state ESTABLISHED, the sums of PRESENT and LARGEST.

    The kernel counts a FIN in bytes_received as a byte. It is subtracted for closed connections,
    and for all connections of flows with many at a time.

    Args:
        kinds: of each flow by its number.
    """

    def __init__(self, kinds: Mapping[int, Connections]) -> None:
        self._kinds = kinds
        self._ends: dict[_Key, _EndSamples] = {}
        self._seen: dict[int, set[int]] = {}

    def take(self, rows: Array, cookies: npt.NDArray[np.uint64]) -> None:
        """Take samples of connections, as an array of TCP_DTYPE and the kernel's socket cookies."""
        keys = rows["flow"].astype(np.int64) * 2 + rows["endpoint"]
        for key in np.unique(keys).tolist():
            chosen = keys == key
            end = self._ends.setdefault(divmod(key, 2), _EndSamples())
            if key % 2 == SENDER:
                self._seen.setdefault(key // 2, set()).update(np.unique(cookies[chosen]).tolist())
            closed = chosen & (rows["state"] == _CLOSE)
            if closed.any():
                end.closed.append(_sums(rows[closed], cookies[closed]))
            is_open = chosen & ~closed
            if is_open.any():
                end.open.append((rows[is_open], cookies[is_open]))

    def count(self, flow: int) -> int:
        """Return how many connections of a flow the kernel had, as its sender knows them."""
        return len(self._seen.get(flow, ()))

    def samples(self, often_ns: Times, seldom_ns: Times, edges_ns: Times) -> Array:
        """Return the rows of all such flows.

        Args:
            often_ns: when flows with one connection at a time are sampled whether they have one.
            seldom_ns: the same of flows with many.
            edges_ns: the same of all flows.
        """
        parts = [np.zeros(0, TCP_DTYPE)]
        for (flow, endpoint), end in self._ends.items():
            if self._kinds[flow] == "many":
                rows = _series(end, np.union1d(seldom_ns, edges_ns), many=True)
            else:
                rows = _series(end, np.union1d(often_ns, edges_ns), many=False)
                rows = rows[_telling(rows, often_ns)]
            rows["flow"], rows["endpoint"] = flow, endpoint
            parts.append(rows)
        return np.concatenate(parts)


def _sums(rows: Array, cookies: npt.NDArray[np.uint64]) -> Array:
    out = np.zeros(len(rows), _SUMS)
    out["time_ns"], out["cookie"] = rows["time_ns"], cookies
    for name in (*COUNTERS, *SOMETIMES):
        out[name] = rows[name]
    out[LARGEST] = _windows(rows)
    out["bytes_received"] -= rows["bytes_received"] > 0
    return out


def _windows(rows: Array) -> npt.NDArray[np.uint32]:
    """Return the advertised windows of connections without loss, 0 for others."""
    whole = (rows["total_retrans_segments"] == 0) & (rows["sacked_segments"] == 0)
    windows: npt.NDArray[np.uint32] = rows[LARGEST] * whole
    return windows


def _series(end: _EndSamples, times_ns: Times, many: bool) -> Array:
    """Return the rows of one end, from its first sample on."""
    closed = np.concatenate([np.zeros(0, _SUMS), *end.closed])
    closed = closed[np.argsort(closed["time_ns"], kind="stable")]
    rows = _still_open(end, closed)
    seen = [*closed["time_ns"][:1].tolist(), *rows["time_ns"][:1].tolist()]
    row_times_ns = times_ns if many else np.union1d(times_ns, rows["time_ns"])
    row_times_ns = row_times_ns[row_times_ns >= min(seen, default=0)]
    rows = rows[np.isin(rows["time_ns"], row_times_ns)]
    index = np.searchsorted(row_times_ns, rows["time_ns"])
    out = np.zeros(len(row_times_ns), TCP_DTYPE)
    for name in ABSENT_COLUMNS:
        out[name] = ABSENT
    fin = np.isin(rows["state"], FIN_RECEIVED)
    shown_fin = np.zeros(len(row_times_ns), np.int64)
    if many:
        out["state"] = _ESTABLISHED
        for name in PRESENT:
            np.add.at(out[name], index, rows[name])
        np.maximum.at(out[LARGEST], index, _windows(rows))
        until = np.searchsorted(row_times_ns, closed["time_ns"])
        seen_closed = closed[until < len(row_times_ns)]
        last = until[until < len(row_times_ns)]
        np.maximum.at(out[LARGEST], last, seen_closed[LARGEST].astype(out[LARGEST].dtype))
        np.subtract.at(out["rqueue_bytes"], index, (fin & (rows["rqueue_bytes"] > 0)).astype("u4"))
    else:
        out["state"] = _CLOSE
        out[index] = rows  # of several at a time the last: see _still_open
        shown_fin[index] = fin
    out["time_ns"] = row_times_ns
    before = np.searchsorted(closed["time_ns"], row_times_ns, side="right")
    reported = [
        name for name in SOMETIMES if (rows[name] != ABSENT).any() or (closed[name] != ABSENT).any()
    ]
    for name in (*COUNTERS, *reported):
        total = np.concatenate([[0], np.cumsum(closed[name])])[before]
        values = rows[name].astype(np.int64)
        np.add.at(total, index, values - fin if name == "bytes_received" else values)
        # A socket that closes in the nanosecond of a sample may be in neither of its two parts.
        out[name] = np.maximum.accumulate(total)
    out["bytes_received"] += shown_fin.astype(np.uint64)
    return out


def _telling(rows: Array, grid_ns: Times) -> npt.NDArray[np.bool_]:
    """Mark all rows except rows on the grid that equal both the row before and the row after.

    Only rows on the grid are compared, so that it does not depend on what else is sampled.
    """
    kept = np.ones(len(rows), np.bool_)
    places = np.flatnonzero(np.isin(rows["time_ns"], grid_ns))
    grid = rows[places]
    same = (grid["state"][1:] == _CLOSE) & (grid["state"][:-1] == _CLOSE)
    for name in COUNTERS:
        same &= grid[name][1:] == grid[name][:-1]
    kept[places[1:-1]] = ~(same[:-1] & same[1:])
    return kept


def _still_open(end: _EndSamples, closed: Array) -> Array:
    """Return the samples of open sockets by time, and the newest of several at a time last.

    Sockets that were closed at the same time, before the last states were read, are left out.
    """
    rows = np.concatenate([np.zeros(0, TCP_DTYPE), *(rows for rows, _cookies in end.open)])
    cookies = np.concatenate([np.zeros(0, np.uint64), *(cookies for _rows, cookies in end.open)])
    order = np.lexsort((cookies, rows["state"] == _ESTABLISHED, rows["time_ns"]))
    rows, cookies = rows[order], cookies[order]
    by_cookie = np.argsort(closed["cookie"], kind="stable")
    known = closed["cookie"][by_cookie]
    index = np.searchsorted(known, cookies)
    is_closed = np.zeros(len(rows), np.bool_)
    inside = index < len(known)
    is_closed[inside] = known[index[inside]] == cookies[inside]
    is_closed[is_closed] &= (
        closed["time_ns"][by_cookie][index[is_closed]] <= rows["time_ns"][is_closed]
    )
    kept: Array = rows[~is_closed]
    return kept

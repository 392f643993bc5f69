"""Segments of a connection and their blocks of SACK, as a trace's frames and links have them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.protocol.reports.trace_records import ENQUEUED, RECEIVED, REFUSED, SENT
from orchestrator.recording.trace import Trace
from results.store.stored import StoredRun
from results.traces.columns import channel_names
from results.traces.view import Rows, chosen

Octets = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]

_ETHERNET_BYTES = 14
_LEAST_BYTES = 54
"""Headers of Ethernet, IPv4 and TCP without options."""
_MOST_OPTIONS_BYTES = 40
_TCP = 6
_SYN = 2
_END, _PADDING, _SACK = 0, 1, 5
"""Kinds of options (RFC 9293, RFC 2018)."""


@dataclass(frozen=True)
class Segments:
    """Sequence numbers from ``seq`` until before ``end_seq`` at moments, in the order of time."""

    time_ns: npt.NDArray[Any]
    seq: npt.NDArray[Any]
    end_seq: npt.NDArray[Any]

    @classmethod
    def none(cls) -> Segments:
        """Return no segments."""
        empty = np.empty(0, np.int64)
        return cls(empty, empty, empty)


def in_links(run: StoredRun, trace: Trace, flow: int, end: Any) -> Segments:
    """Return the segments with data that came to the first link on a flow's path.

    ``end`` is the row of the connection's sender.
    """
    path, names = run.flows[flow].path, channel_names(run)
    if not path or path[0] not in names:
        return Segments.none()
    rows = trace.tables["links"]
    came = (rows["channel"] == names.index(path[0])) & np.isin(rows["step"], (ENQUEUED, REFUSED))
    mine = (rows["flow"] == flow) & (rows["to_sink"] == 1) & (rows["payload_bytes"] > 0)
    ports = (rows["source_port"] == end["port"]) & (rows["sink_port"] == end["peer_port"])
    rows = chosen(rows, came & mine & ports)
    seq = rows["seq"].astype(np.int64)
    return Segments(rows["time_ns"], seq, (seq + rows["payload_bytes"]) % 2**32)


def in_frames(trace: Trace, host: int, end: Any) -> tuple[Segments, Segments, int | None]:
    """Return what a host sent and got of a connection: segments with data, blocks of SACK, SYN.

    ``end`` is the row of the connection's end at the host. The last value is the sequence number of
    its SYN if that is in the trace.
    """
    rows, data = trace.tables["frames"], np.frombuffer(trace.frame_bytes, np.uint8)
    there = (rows["host"] == host) & (rows["captured_bytes"] >= _LEAST_BYTES)
    sent = _Headers(chosen(rows, there & (rows["step"] == SENT)), data)
    sent = sent.of(sent.is_tcp & sent.are_ports(int(end["port"]), int(end["peer_port"])))
    got = _Headers(chosen(rows, there & (rows["step"] == RECEIVED)), data)
    got = got.of(got.is_tcp & got.are_ports(int(end["peer_port"]), int(end["port"])))
    begins = sent.seq[(sent.flags & _SYN) > 0]
    full = sent.of((sent.payload > 0) & ((sent.flags & _SYN) == 0))
    segments = Segments(full.rows["time_ns"], full.seq, (full.seq + full.payload) % 2**32)
    return segments, _sacked(got), int(begins[0]) if len(begins) else None


class _Headers:
    """Fields of the headers of frames, each of which has at least _LEAST_BYTES."""

    def __init__(self, rows: Rows, data: Octets) -> None:
        self.rows, self.data = rows, data
        self.start: Integers = rows["offset"].astype(np.int64) + _ETHERNET_BYTES
        self.stop: Integers = rows["offset"] + rows["captured_bytes"].astype(np.int64)
        first = data[self.start].astype(np.int64)
        ip_bytes = 4 * (first & 15)
        fits = self.start + ip_bytes + 20 <= self.stop
        self.is_tcp: npt.NDArray[np.bool_] = (
            (first >> 4 == 4) & (ip_bytes >= 20) & fits & (data[self.start + 9] == _TCP)
        )
        # What is no TCP is read where it is there, and not used.
        self.tcp: Integers = self.start + np.where(fits, ip_bytes, 20)
        self.tcp_bytes: Integers = 4 * (data[self.tcp + 12].astype(np.int64) >> 4)
        self.seq = self._number(self.tcp + 4, 4)
        self.flags = data[self.tcp + 13]
        self.payload: Integers = self._number(self.start + 2, 2) - ip_bytes - self.tcp_bytes

    def of(self, mask: npt.NDArray[np.bool_]) -> _Headers:
        """Return those of the frames that a mask chooses."""
        return _Headers(chosen(self.rows, mask), self.data)

    def are_ports(self, source: int, sink: int) -> npt.NDArray[np.bool_]:
        """Tell which frames go from one port to the other."""
        here = self._number(self.tcp, 2) == source
        return np.asarray(here & (self._number(self.tcp + 2, 2) == sink))

    def _number(self, place: Integers, size: int) -> Integers:
        """Return a number in the order of the network at places of the data."""
        made = np.zeros(len(place), np.int64)
        for byte in range(size):
            made = made * 256 + self.data[place + byte]
        return made

    def sack_blocks(self) -> Iterator[tuple[npt.NDArray[np.intp], Integers, Integers]]:
        """Yield (frames, left edges, right edges) of the first block of SACK, the second, ..."""
        found, place = self._sack_options()
        stop = np.minimum(self.stop, self.tcp + self.tcp_bytes)[found]
        length = self.data[place + 1]
        for block in range(4):
            left = place + 2 + 8 * block
            there = (length >= 10 + 8 * block) & (left + 8 <= stop)
            found, place, stop, length = (each[there] for each in (found, place, stop, length))
            left = left[there]
            yield found, self._number(left, 4), self._number(left + 4, 4)

    def _sack_options(self) -> tuple[npt.NDArray[np.intp], Integers]:
        """Return which frames have the option SACK, and where it begins."""
        place = self.tcp + 20
        stop = np.minimum(self.stop, self.tcp + self.tcp_bytes)
        found = np.full(len(place), -1, np.int64)
        for _ in range(_MOST_OPTIONS_BYTES):
            open_ = np.flatnonzero((found < 0) & (place + 1 < stop))
            if not len(open_):
                break
            kind = self.data[place[open_]]
            length = self.data[place[open_] + 1].astype(np.int64)
            found[open_[kind == _SACK]] = place[open_[kind == _SACK]]
            step = np.where(kind == _PADDING, 1, np.maximum(length, 2))
            place[open_] = np.where(kind == _END, stop[open_], place[open_] + step)
        having = np.flatnonzero(found >= 0)
        return having, found[having]


def _sacked(got: _Headers) -> Segments:
    """Return the blocks of SACK of frames, in the order of time."""
    frames, left, right = (np.concatenate(parts) for parts in zip(*got.sack_blocks(), strict=True))
    order = np.argsort(frames, kind="stable")
    frames = frames[order]
    return Segments(got.rows["time_ns"][frames], left[order], right[order])

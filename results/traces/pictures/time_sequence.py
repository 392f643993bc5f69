"""What a connection's sender sent and got to know over time, as tcptrace's time-sequence plot.

Positions are bytes since the connection's first byte of data if its SYN is in the trace, and else
since the first byte that was not acknowledged when the trace began.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.errors import StoreError
from orchestrator.protocol.reports import trace_records as records
from orchestrator.recording.trace import Trace
from orchestrator.units import shown
from results.runs.captures import host_names
from results.store.parts.traces import FRAME_BYTES
from results.store.stored import StoredRun
from results.traces.pictures.segments import Segments, in_frames, in_links
from results.traces.view import Rows, chosen

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

TABLES = ("ends", "acks", "events", "links", "frames", FRAME_BYTES)
"""What of a trace it is made of."""

SOURCES = ("packets", "queue")
"""Kinds of traces that have a sender's segments. The first one also has what SACK tells."""

_PERIOD = 2**32


@dataclass(frozen=True)
class Spans:
    """Bytes from ``first`` until before ``end`` at moments, in the order of time."""

    time_s: Floats
    first: Floats
    end: Floats

    def of(self, mask: npt.NDArray[Any]) -> Spans:
        """Return those that a mask, or indices, choose."""
        return Spans(self.time_s[mask], self.first[mask], self.end[mask])


@dataclass(frozen=True)
class TimeSequence:
    """A connection at its sender.

    ``new`` and ``again`` are segments with data as they were sent, ``sacks`` blocks of SACK as ACKs
    with them came. At ``time_s``, after each ACK, ``acked`` is what is acknowledged and ``edge``
    the receive window's end. ``ports`` are the sender's and the receiver's, and ``connections`` how
    many the flow has in the trace. ``has_segments`` and ``has_sacks`` tell whether the trace can
    show them.
    """

    ports: tuple[int, int]
    connections: int
    new: Spans
    again: Spans
    sacks: Spans
    time_s: Floats
    acked: Floats
    edge: Floats
    has_segments: bool
    has_sacks: bool


def time_sequence(run: StoredRun, trace: Trace, flow: int) -> TimeSequence | None:
    """Return the connection of a flow that has most ACKs in a trace; None if none has one.

    The trace has ``acks``, and :data:`TABLES`. Segments are those that the sender sent by a trace
    of ``packets``, or else those that came to its first link by one of ``queue``, or else only
    those that were sent again by one of ``tcp``.

    Raises:
        StoreError: the run's hosts are not known.
    """
    ends = trace.tables["ends"]
    mine = chosen(ends, (ends["flow"] == flow) & (ends["is_sender"] == 1))
    states = trace.tables["acks"]
    counts = [int(np.sum(states["end"] == end)) for end in mine["end"]]
    if not any(counts):
        return None
    end = mine[int(np.argmax(counts))]
    states = chosen(states, states["end"] == end["end"])
    events = trace.tables["events"]
    events = chosen(events, events["end"] == end["end"])
    kinds = trace.capture.kinds
    segments, sacks, syn = Segments.none(), Segments.none(), None
    if "packets" in kinds:
        host = _host_number(run, run.flows[flow].source)
        segments, sacks, syn = in_frames(trace, host, end)
    elif "queue" in kinds:
        segments = in_links(run, trace, flow, end)
    else:
        segments = _sent_again(events)
    numbers = _Numbers(states, syn)
    spans = numbers.spans(segments)
    again = _again(spans, numbers) if {*SOURCES} & kinds else np.ones(len(spans.time_s), np.bool_)
    acked = numbers.acked
    return TimeSequence(
        (int(end["port"]), int(end["peer_port"])),
        int(np.count_nonzero(counts)),
        spans.of(~again),
        spans.of(again),
        numbers.spans(sacks),
        states["time_ns"] / 1e9,
        acked.astype(np.float64),
        (acked + states["snd_wnd_bytes"]).astype(np.float64),
        bool({*SOURCES} & kinds),
        "packets" in kinds,
    )


def _host_number(run: StoredRun, name: str) -> int:
    names = host_names(run)
    if name not in names:
        raise StoreError(f"run {run.id}: its network has no host {shown(name)}")
    return names.index(name)


def _sent_again(events: Rows) -> Segments:
    rows = chosen(events, events["what"] == records.RETRANSMIT)
    return Segments(rows["time_ns"], rows["seq"], rows["end_seq"])


def _differences(later: npt.NDArray[Any], earlier: npt.NDArray[Any]) -> Integers:
    """Return differences of sequence numbers, which are less than half of their period."""
    gap = (later.astype(np.int64) - earlier.astype(np.int64)) % _PERIOD
    return np.where(gap >= _PERIOD // 2, gap - _PERIOD, gap).astype(np.int64)


class _Numbers:
    """Positions by sequence numbers, which begin again after 4 GiB."""

    def __init__(self, states: Rows, syn: int | None) -> None:
        self.states = states
        una = states["snd_una"].astype(np.int64)
        start = una[:1] if syn is None else np.array([(syn + 1) % _PERIOD])
        before = np.concatenate([start, una[:-1]])
        self.acked: Integers = np.cumsum(_differences(una, before))
        self.sent: Integers = self.acked + _differences(states["snd_nxt"], una)

    def at(self, time_ns: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
        """Return the index of the last state before each moment, or of the first one."""
        return np.maximum(np.searchsorted(self.states["time_ns"], time_ns, side="left") - 1, 0)

    def spans(self, segments: Segments) -> Spans:
        """Return positions of segments, each near what was acknowledged at its time."""
        index = self.at(segments.time_ns)
        una = self.states["snd_una"][index]
        first = self.acked[index] + _differences(segments.seq, una)
        size = _differences(segments.end_seq, segments.seq)
        return Spans(
            segments.time_ns / 1e9, first.astype(np.float64), (first + size).astype(np.float64)
        )


def _again(spans: Spans, numbers: _Numbers) -> npt.NDArray[np.bool_]:
    """Tell which segments had been sent before, as far as the trace knows."""
    if not len(spans.time_s):
        return np.zeros(0, np.bool_)
    time_ns = np.round(spans.time_s * 1e9).astype(np.int64)
    known = np.searchsorted(numbers.states["time_ns"], time_ns, side="left") - 1
    by_state = np.where(known >= 0, numbers.sent[np.maximum(known, 0)], -(2**62))
    by_segment = np.concatenate([[-(2.0**62)], np.maximum.accumulate(spans.end)[:-1]])
    return np.asarray(spans.first < np.maximum(by_state, by_segment))

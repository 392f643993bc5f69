"""The time in which a queue was backlogged, and what left it then, from readings of the queue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from orchestrator.network import Channel, Trace
from orchestrator.protocol.links.frames import OPPORTUNITY_BYTES
from orchestrator.recording.capacity import Capacity
from orchestrator.recording.model import QueueRecord

_NS_PER_MS = 1_000_000


class LinkCapacity(Protocol):
    """What a link can carry over a span of time."""

    def bits(self, from_s: Any, to_s: Any) -> Any:
        """Return the bits that can pass between two times, or arrays of times, in seconds."""


class TraceCapacity:
    """The capacity of a link that follows a trace, to the opportunity.

    Args:
        trace: the trace.
        duration_s: the end of the run; no frame leaves at it or later.
    """

    def __init__(self, trace: Trace, duration_s: float) -> None:
        end_ms = round(duration_s * 1000)
        granted = [opportunity for opportunity in trace.until(end_ms) if opportunity[0] < end_ms]
        self._times_ns = np.array([time_ms * _NS_PER_MS for time_ms, _frames in granted], np.int64)
        frames = np.array([frames for _time_ms, frames in granted], np.int64)
        self._bits = np.concatenate([[0], np.cumsum(frames * OPPORTUNITY_BYTES * 8)])

    def bits(self, from_s: Any, to_s: Any) -> Any:
        """Return the bits of the opportunities after one time, up to the other one."""
        return self._until(to_s) - self._until(from_s)

    def _until(self, time_s: Any) -> Any:
        time_ns = np.rint(np.asarray(time_s) * 1e9)
        return self._bits[np.searchsorted(self._times_ns, time_ns, side="right")].astype(float)


def capacity(queue: QueueRecord, channel: Channel, duration_s: float) -> LinkCapacity:
    """Return the capacity of a channel that has a rate."""
    if channel.trace is not None:
        return TraceCapacity(channel.trace, duration_s)
    assert channel.rate_bps is not None, "checked by the caller"
    return Capacity(queue.rate_steps or ((0.0, channel.rate_bps),))


def most_at_once_bytes(channel: Channel) -> int:
    """Return how much may leave at the moment of a reading: a frame, or what a trace grants."""
    opportunities = () if channel.trace is None else channel.trace.opportunities
    granted = max((frames for _time, frames in opportunities), default=0)
    return channel.frame_bytes + granted * OPPORTUNITY_BYTES


@dataclass(frozen=True)
class Intervals:
    """The intervals between successive readings of a queue.

    ``busy`` marks those in which it cannot have run empty. ``octets`` left it in each, and ``bits``
    could have left.
    """

    begin_ns: npt.NDArray[np.int64]
    length_s: npt.NDArray[np.float64]
    octets: npt.NDArray[np.int64]
    bits: npt.NDArray[np.float64]
    busy: npt.NDArray[np.bool]


def intervals(
    readings: npt.NDArray[np.void], carrier: LinkCapacity, sheds: bool, frame_bytes: int
) -> Intervals:
    """Return the intervals, and whether the queue was backlogged in each.

    It cannot have run empty in an interval if the backlog at its begin exceeds what can be sent in
    it. One frame is subtracted, because it may be nearly sent. A queue that ``sheds`` packets drops
    some that it has taken; these are subtracted, too.
    """
    time_s = readings["time_ns"] / 1e9
    bits = np.asarray(carrier.bits(time_s[:-1], time_s[1:]), float)
    gone = frame_bytes * (1 + np.diff(readings["drops"]) * sheds)
    busy = (readings["backlog_bytes"][:-1] - gone) * 8 >= bits
    return Intervals(
        readings["time_ns"][:-1], np.diff(time_s), np.diff(readings["bytes"]), bits, busy
    )


@dataclass(frozen=True)
class BackloggedTime:
    """The time in which a queue cannot have run empty.

    ``octets`` left it in that time, and ``bits`` could have left. ``spans`` is the number of
    unbroken rows of intervals.
    """

    octets: int
    bits: float
    time_s: float
    spans: int


def backlogged(spans: Intervals) -> BackloggedTime:
    """Return the sums over the busy intervals. If every interval is too long, no time is found."""
    busy = spans.busy
    begins = int(np.count_nonzero(busy[1:] & ~busy[:-1])) + int(busy[:1].sum())
    return BackloggedTime(
        int(spans.octets[busy].sum()),
        float(spans.bits[busy].sum()),
        float(spans.length_s[busy].sum()),
        begins,
    )

"""From the record of a connection (see inside/connection.py) to what its congestion control saw."""

from __future__ import annotations

import bisect
import itertools
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from orchestrator.recording.model import TCP_INFO_FIELDS

OPEN, DISORDER, CWR, RECOVERY, LOSS = range(5)
"""The states of TCP's congestion avoidance (enum tcp_ca_state)."""

_TCP_INFO = np.dtype([(name, "<" + kind) for name, kind in TCP_INFO_FIELDS])
_SACK = 2  # TCPI_OPT_SACK
_BBR_INFO = struct.Struct("<QIII")

Range = tuple[int, int]


class State:
    """What TCP showed at a time; ``shown`` are the four integers of a module's own info."""

    def __init__(self, info: str, shown: str) -> None:
        self._info = np.frombuffer(bytes.fromhex(info)[: _TCP_INFO.itemsize], _TCP_INFO)[0]
        own = bytes.fromhex(shown)
        self.shown: tuple[int, ...] = _BBR_INFO.unpack(own) if own else ()

    def __getitem__(self, name: str) -> int:
        return int(self._info[name])

    @property
    def window(self) -> int:
        """The congestion window in segments."""
        return self["snd_cwnd_segments"]

    @property
    def ssthresh(self) -> int:
        """In segments."""
        return self["snd_ssthresh_segments"]

    @property
    def ca_state(self) -> int:
        """OPEN to LOSS."""
        return self["ca_state"]

    @property
    def in_flight(self) -> int:
        """In segments, as tcp_packets_in_flight() counts."""
        left_out = self["sacked_segments"] + self["lost_segments"]
        return self["unacked_segments"] - left_out + self["retrans_segments"]


@dataclass(frozen=True)
class Ack:
    """One ACK as a congestion control sees it, and the states around it.

    ``delivered`` counts segments, including SACKed ones and those that a DSACK reports.
    ``new_bytes`` are acknowledged or SACKed for the first time. ``rtt_us`` is that of the last of
    them, None when there is no sample. ``counted_late``: without SACK the kernel counts what a
    duplicate ACK delivers after it has called the congestion control. ``limited`` says whether the
    application limited the rate before, ``still_limited`` whether it does after what is delivered.
    ``marked``: it has ECE. ``sent_bytes`` is the end of what had been sent by then.
    """

    time_us: int
    delivered: int
    new_bytes: int
    rtt_us: int | None
    counted_late: bool
    advanced: bool
    limited: bool
    still_limited: bool
    marked: bool
    acked_bytes: int
    sent_bytes: int
    before: State
    after: State


@dataclass(frozen=True)
class Timeout:
    """A retransmission timeout, and the states around it."""

    before: State
    after: State


@dataclass(frozen=True)
class Pause:
    """The application goes on with nothing in flight; what TCP showed then."""

    after: State


@dataclass(frozen=True)
class Mark:
    """A named point of the script, and what TCP showed there."""

    name: str
    state: State


@dataclass
class Trace:
    """A whole connection in order.

    ``handshake_us`` is the round-trip time of the handshake. ``sent`` holds all that was sent,
    retransmissions included, and ``sent_us`` when.
    """

    mss: int
    handshake_us: int
    events: list[Ack | Timeout | Pause | Mark] = field(default_factory=list)
    sent: list[Range] = field(default_factory=list)
    sent_us: list[int] = field(default_factory=list)

    def __getitem__(self, mark: str) -> State:
        """Return what TCP showed at a mark."""
        return next(e.state for e in self.events if isinstance(e, Mark) and e.name == mark)

    def acks(self, begin: str | None = None, end: str | None = None) -> list[Ack]:
        """Return the ACKs between two marks, or from the begin or to the end."""
        names = [event.name if isinstance(event, Mark) else None for event in self.events]
        first = names.index(begin) if begin else 0
        last = names.index(end) if end else len(names)
        return [event for event in self.events[first:last] if isinstance(event, Ack)]


class _Path:
    """What was sent when, and what of it the peer has."""

    def __init__(self, mss: int, *, sack: bool) -> None:
        self.mss = mss
        self.sack = sack
        self.duplicates = 0  # ACKs without SACK, each for a segment behind the hole
        self.blocks: list[tuple[int, int, int]] = []  # start, end, time; never retransmissions
        self.ends: list[int] = []  # of all blocks
        self.again: list[Range] = []
        self.received: list[Range] = []
        self.acked = 0
        self.end = 0
        self.clock_ms = 0  # TCP's timestamp at our time 0

    def sent(self, time_us: int, start: int, end: int, timestamp: int) -> None:
        self.clock_ms = timestamp - time_us // 1000
        if start < self.end:
            self.again.append((start, end))
        else:
            self.blocks.append((start, end, time_us))
            self.ends.append(end)
            self.end = end

    def ack(
        self, time_us: int, upto: int, sack: list[Range], echo: int
    ) -> tuple[int, int, int | None]:
        """Return how many segments and new bytes were delivered, and the RTT of the last of them.

        The latter as tcp_clean_rtx_queue() has it: of what was SACKed first, never of what was
        retransmitted; then timestamps tell it, to a millisecond.
        """
        if upto == self.acked and not self.sack:
            self.duplicates += 1
            return 1, self.mss, None
        twice = sack[:1] if _tells_of_a_duplicate(sack, upto) else []
        fresh_sack = [piece for block in sack for piece in self._missing(*block) if block[1] > upto]
        fresh_ack = self._missing(self.acked, upto)
        again = any(start < upto and end > self.acked for start, end in self.again)
        once = [piece for piece in fresh_sack if not self._was_sent_again(piece)]
        rtt_us = None
        if once or (fresh_ack and not again):
            rtt_us = time_us - self._sent_at((once or fresh_ack)[-1][1])
        elif again and echo:
            rtt_us = (self.clock_ms + time_us // 1000 - echo) * 1000
        self.received = _merged([*self.received, *fresh_sack, *fresh_ack])
        self.acked = upto
        fresh = [*fresh_sack, *fresh_ack]
        segments = sum(self._segments(*piece) for piece in (*fresh, *twice))
        new_bytes = sum(end - start for start, end in fresh)
        known = min(self.duplicates, max(0, segments - 1))  # by duplicate ACKs without SACK
        self.duplicates -= known
        return segments - known, new_bytes - known * self.mss, rtt_us

    def _segments(self, start: int, end: int) -> int:
        """Return in how many segments those bytes were sent."""
        first, last = bisect.bisect_right(self.ends, start), bisect.bisect_left(self.ends, end)
        cuts = [start, *self.ends[first:last], end]
        return sum(-((low - high) // self.mss) for low, high in itertools.pairwise(cuts))

    def _missing(self, start: int, end: int) -> list[Range]:
        missing = []
        for low, high in self.received:
            if high <= start or low >= end:
                continue
            if low > start:
                missing.append((start, low))
            start = max(start, high)
        return [*missing, (start, end)] if start < end else missing

    def _was_sent_again(self, piece: Range) -> bool:
        return any(low < piece[1] and high > piece[0] for low, high in self.again)

    def _sent_at(self, end: int) -> int:
        while self.blocks[0][1] < end:
            self.blocks.pop(0)
        return self.blocks[0][2]


def _tells_of_a_duplicate(sack: Sequence[Range], upto: int) -> bool:
    """RFC 2883: the first block is below the cumulative ACK or within the second block."""
    if not sack:
        return False
    (start, end), second = sack[0], sack[1:2]
    return end <= upto or any(low <= start and end <= high for low, high in second)


def _merged(ranges: Iterable[Range]) -> list[Range]:
    merged: list[Range] = []
    for start, end in sorted(ranges):
        if merged and merged[-1][1] >= start:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def replay(record: Sequence[Sequence[Any]]) -> Trace:
    """Return what happened on a connection."""
    first = next(row for row in record if row[0] == "state")
    replayer = _Replayer(State(*first[2:]), first[1])
    for kind, time_us, *rest in record:
        getattr(replayer, kind)(time_us, *rest)
    return replayer.trace


class _Replayer:
    """Takes in one row after the other; its methods are called as the rows' kinds are."""

    def __init__(self, first: State, handshake_us: int) -> None:
        self.trace = Trace(first["snd_mss_bytes"], handshake_us)
        sack = bool(first["options"] & _SACK)
        self._path, self._last = _Path(self.trace.mss, sack=sack), first
        self._ack: dict[str, Any] | None = None  # seen, but not yet what TCP made of it
        self._limited = 0
        self._paused = False

    def sent(self, time_us: int, start: int, bytes_: int, timestamp: int) -> None:
        self._path.sent(time_us, start, start + bytes_, timestamp)
        self.trace.sent.append((start, start + bytes_))
        self.trace.sent_us.append(time_us)

    def wrote(self, _time_us: int, _bytes: int) -> None:
        """Follow tp->app_limited as net/ipv4/tcp_rate.c has it.

        A write that finds nothing left to send, and room in the window, sets it. The value is what
        will be delivered with all that is in flight. It ends when more than that is delivered.
        """
        last = self._last
        if not last["notsent_bytes"] and last.in_flight < last.window:
            self._limited = last["delivered_segments"] + last.in_flight or 1
        self._paused = not last["unacked_segments"]

    def mark(self, _time_us: int, name: str) -> None:
        self.trace.events.append(Mark(name, self._last))

    def ack(self, time_us: int, upto: int, sack: list[list[int]], ece: bool, echo: int) -> None:
        advanced, end = upto > self._path.acked, self._path.end
        blocks = [(low, high) for low, high in sack]
        segments, new_bytes, rtt_us = self._path.ack(time_us, upto, blocks, echo)
        delivered = self._last["delivered_segments"] + segments
        self._ack = {
            "time_us": time_us,
            "delivered": segments,
            "new_bytes": new_bytes,
            "rtt_us": rtt_us,
            "counted_late": not advanced and not self._path.sack,
            "advanced": advanced,
            "limited": bool(self._limited),
            "still_limited": delivered <= self._limited,
            "marked": ece,
            "acked_bytes": upto,
            "sent_bytes": end,
        }

    def state(self, _time_us: int, info: str, shown: str) -> None:
        state, last, trace = State(info, shown), self._last, self.trace
        if self._ack is not None:
            trace.events.append(Ack(**self._ack, before=last, after=state))
            if state["delivered_segments"] > self._limited:
                self._limited = 0
        elif state.ca_state == LOSS != last.ca_state:
            trace.events.append(Timeout(last, state))
        elif self._paused:
            trace.events.append(Pause(state))
        self._ack, self._paused, self._last = None, False, state

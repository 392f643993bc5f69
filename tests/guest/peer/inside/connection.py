"""A connection of the kernel's TCP with a scripted peer, and a record of its events.

Times are microseconds since the connection began, sequence numbers bytes since the first one of
data. The record is a list of rows, in order:

    ["wrote", time, bytes]                                what the application wrote to TCP
    ["sent", time, sequence, bytes, timestamp]            what TCP sent
    ["ack", time, acknowledged, [[from, to], ...], ece, echo]
                                                          what the peer said; ranges as in SACK
    ["state", time, tcp_info, cc_info]                    TCP_INFO and TCP_CC_INFO, hexadecimal
    ["mark", time, name]                                  a point of the script
"""

from __future__ import annotations

import importlib
import socket
import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .wire import ACK, CWR, ECE, FIN, SEQUENCES, SYN, Segment, Tap, Voice

system: Any = importlib.import_module("orchestrator.testbed.kernel.system")

_PORT, _FIRST = 80, 1_000_000  # the peer's port and first sequence number
_TCP_INFO, _TCP_CONGESTION, _TCP_CC_INFO = 11, 13, 26
_SO_SNDBUFFORCE, _SEND_BUFFER_BYTES = 32, 2**30
_WINDOW_SCALE = 14
_PEER_CLOCK = 7_000  # its timestamps need only not go back
_SACK_BLOCKS = 3
_CWND = 80  # in struct tcp_info
_BYTES_SENT = 200  # there, too; bytes_retrans follows

Range = tuple[int, int]


class Connection:
    """An established connection to ``peer`` with that congestion control.

    ``mss``, ``timestamps`` and ``ecn`` are what the peer offers or agrees to. Segments and
    their ACKs together take ``rtt_us``, the handshake ``handshake_us``, which is the same if not
    given. Without ``sack`` the peer offers no selective acknowledgements. The peer is a receiver
    as RFC 9293, 2018, 2883, 3168 and 7323 describe it, unless a script changes that. What is sent
    is captured, or else (captured gigabytes of data by reference are copied) known from the
    counters of TCP_INFO.
    """

    def __init__(
        self,
        tap: Tap,
        timer: Any,
        peer: str,
        congestion: str,
        *,
        mss: int = 1460,
        rtt_us: int = 100_000,
        handshake_us: int | None = None,
        timestamps: bool = False,
        ecn: bool = False,
        sack: bool = True,
        captured: bool = True,
    ) -> None:
        self._tap, self._timer, self._voice = tap, timer, Voice(peer)
        self._timestamps, self._captured, self._sack = timestamps, captured, sack
        self.rtt_us, self.mss = rtt_us, mss - 12 * timestamps
        self.record: list[list[Any]] = []
        self.on_the_way: list[Segment] = []
        """What TCP has sent and the script has not yet let arrive, lost or held."""
        self.sent = 0
        """What TCP has sent at least once, in bytes."""
        self.acked = 0
        """What the peer has received in order, in bytes."""
        self.window = 0
        """The congestion window in segments, as TCP showed it last."""
        self.duplicates = 0
        """Segments that arrived for a second time."""
        self._beyond: list[Range] = []  # received out of order, in order
        self._again = 0  # bytes retransmitted
        self._echo_congestion = False
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, _SEND_BUFFER_BYTES)
        self.socket.setsockopt(socket.IPPROTO_TCP, _TCP_CONGESTION, congestion.encode())
        self._handshake(peer, mss, ecn, rtt_us if handshake_us is None else handshake_us)

    def _handshake(self, peer: str, mss: int, ecn: bool, takes_us: int) -> None:
        # On a whole millisecond, so that the microseconds of TCP's own clock are ours.
        self._start_ns = (system.monotonic_ns() // 1_000_000 + 2) * 1_000_000
        self.until(0)
        self.socket.connect_ex((peer, _PORT))
        self._port = self.socket.getsockname()[1]
        (syn,) = [s for s in self._tap.segments() if s.port == self._port]
        self._first = (syn.sequence + 1) % SEQUENCES
        self._echo = syn.timestamp
        self.until(takes_us)
        options = struct.pack("!BBHBB", 2, 4, mss, 1, 1)
        options += bytes([4, 2] if self._sack else [1, 1])
        options += bytes([1, 3, 3, _WINDOW_SCALE]) + self._timestamp_option()
        self._say(_FIRST, 0, SYN | ACK | (ECE if ecn else 0), options)
        # A window is scaled only from the second segment on.
        self._say(_FIRST + 1, 0, ACK, self._timestamp_option())
        self._notice()
        if not self._captured:
            self._tap.rest()
        self.state()

    def until(self, time_us: int) -> None:
        """Wait until that time."""
        self.now_us = time_us
        self._timer.sleep_until(self._start_ns + time_us * 1000)

    def mark(self, name: str) -> None:
        """Name this point of the script."""
        self.record.append(["mark", self.now_us, name])

    def write(self, data: bytes | memoryview, flags: int = 0) -> None:
        """Let the application write data, which TCP must accept completely."""
        self.record.append(["wrote", self.now_us, len(data)])
        taken = self.socket.send(data, flags)
        if taken != len(data):
            raise OSError(f"TCP took {taken} of {len(data)} bytes")
        self.state()

    def deliver(self, count: int = 1, gap_us: int = 0, *, marked: bool = False) -> None:
        """Let the next ``count`` segments arrive, and the peer answer with one ACK.

        That reaches TCP ``gap_us`` from now, but not before the round trip is over. ``marked``:
        the last of them was marked by a router (ECN).
        """
        arrived, left = [], count * self.mss
        while left:
            arrived.append(self._next(left))
            left -= arrived[-1].bytes
        self.until(max(self.now_us + gap_us, arrived[-1].time_us + self.rtt_us))
        self._arrive(arrived, marked=marked)

    def lose(self) -> Segment:
        """Lose the next segment. Or hold it: it may ``arrive_late``."""
        return self._next(self.mss)

    def hold_again(self, segment: Segment) -> Segment:
        """Take the retransmission of a segment off the way."""
        for again in self.on_the_way:
            if again.sequence == segment.sequence:
                self.on_the_way.remove(again)
                return again
        raise ValueError("it was not retransmitted")

    def _next(self, most: int) -> Segment:
        """Take the next of what is on the way, at most so many bytes."""
        if not self.on_the_way:
            raise ValueError("nothing is on the way")
        whole = self.on_the_way.pop(0)
        if whole.bytes <= most:
            return whole
        rest = replace(whole, sequence=whole.sequence + most, bytes=whole.bytes - most)
        self.on_the_way.insert(0, rest)
        return replace(whole, bytes=most)

    def arrive_late(self, segment: Segment) -> None:
        """Let a segment that was held arrive now."""
        self._arrive([segment])

    def _arrive(self, segments: Sequence[Segment], *, marked: bool = False) -> None:
        twice: list[Range] = []
        for segment in segments:
            if segment.flags & CWR:
                self._echo_congestion = False
            if segment.sequence <= self.acked:
                self._echo = segment.timestamp
            twice += self._take(segment.sequence, segment.sequence + segment.bytes)
        self._echo_congestion |= marked
        self.duplicates += len(twice)
        newest = segments[-1].sequence
        beyond = sorted(self._beyond, key=lambda block: not block[0] <= newest < block[1])
        blocks = [*twice[-1:], *beyond][:_SACK_BLOCKS] if self._sack else []
        self.ack(self.acked, blocks, ece=self._echo_congestion)

    def _take(self, start: int, end: int) -> list[Range]:
        """Receive those bytes; return them when they had been received before."""
        if end <= self.acked or any(low <= start < high for low, high in self._beyond):
            return [(start, end)]
        merged: list[Range] = []
        for low, high in sorted([*self._beyond, (start, end)]):
            if low <= self.acked:
                self.acked = max(self.acked, high)
            elif merged and merged[-1][1] == low:
                merged[-1] = (merged[-1][0], high)
            else:
                merged.append((low, high))
        self._beyond = merged
        return []

    def ack(self, upto: int, sack: Sequence[Range] = (), *, ece: bool = False) -> None:
        """Let the peer say that it has everything up to that byte, and those ranges."""
        self.acked = upto
        options = self._timestamp_option()
        if sack:
            options += bytes([1, 1, 5, 2 + 8 * len(sack)])
            edges = [(self._first + edge) % SEQUENCES for block in sack for edge in block]
            options += struct.pack(f"!{len(edges)}I", *edges)
        echo = self._echo * self._timestamps
        self.record.append(["ack", self.now_us, upto, [list(block) for block in sack], ece, echo])
        self._say(_FIRST + 1, upto, ACK | (ECE if ece else 0), options)
        self.state()

    def state(self) -> None:
        """Record what TCP and its congestion control show."""
        info = self.socket.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, 256)
        (self.window,) = struct.unpack_from("=I", info, _CWND)
        if self._captured:
            self._notice()
        else:
            self._infer(info)
        shown = self.socket.getsockopt(socket.IPPROTO_TCP, _TCP_CC_INFO, 64)
        self.record.append(["state", self.now_us, info.hex(), shown.hex()])

    def wait_for_timeout(self, longest_us: int) -> None:
        """Wait until TCP retransmits by itself; the present time is then that of it."""
        if not self._tap.wait(longest_us / 1e6):
            raise TimeoutError(f"no retransmission within {longest_us} us")
        self.now_us = (system.monotonic_ns() - self._start_ns) // 1000
        self.state()

    def close(self) -> None:
        """Close both ends in good order."""
        self.socket.shutdown(socket.SHUT_WR)
        for flags in (ACK, FIN | ACK):
            self._say(_FIRST + 1, self.sent + 1, flags, self._timestamp_option())
        self.abort()

    def abort(self) -> None:
        """End the connection at once, whatever it holds."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()
        if lost := self._tap.lost():
            raise OSError(f"{lost} segments were not captured")

    def _say(self, sequence: int, upto: int, flags: int, options: bytes) -> None:
        self._voice.say(self._port, sequence, self._first + upto, flags, options)

    def _timestamp_option(self) -> bytes:
        if not self._timestamps:
            return b""
        return struct.pack("!4B2I", 1, 1, 8, 10, _PEER_CLOCK, self._echo)

    def _notice(self) -> None:
        """Take in what was captured."""
        for seen in self._tap.segments():
            if seen.port == self._port and seen.bytes:
                time_us = seen.time_us - self._start_ns // 1000
                sequence = (seen.sequence - self._first) % SEQUENCES
                self._note(replace(seen, time_us=time_us, sequence=sequence))

    def _infer(self, info: bytes) -> None:
        """Conclude from the counters what was sent just now: new data, or the first hole again."""
        sent, again = struct.unpack_from("=QQ", info, _BYTES_SENT)
        new = sent - again - self.sent
        known = Segment(self.now_us, self._port, self.sent, new, ACK, 0)
        if again > self._again:
            self._note(replace(known, sequence=self.acked, bytes=again - self._again))
        if new:
            self._note(known)
        self._again = again

    def _note(self, segment: Segment) -> None:
        self.on_the_way.append(segment)
        self.sent = max(self.sent, segment.sequence + segment.bytes)
        row = ["sent", segment.time_us, segment.sequence, segment.bytes, segment.timestamp]
        self.record.append(row)

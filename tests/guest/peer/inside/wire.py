"""The two ends of the wire: what the kernel's TCP sends is seen, what a script says reaches it.

Routes lead to dummy interfaces, which swallow everything; a packet socket's ring in shared memory
keeps the headers. The peer's segments come from a raw socket, whose packets to an address of this
machine go through its input path before the system call returns. So nothing but the script's
own timer ever takes simulated time.
"""

from __future__ import annotations

import mmap
import select
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

SENDER = "10.0.0.1"
FIN, SYN, PSH, ACK, ECE, CWR = 1, 2, 8, 16, 64, 128
SEQUENCES = 2**32

_FRAMES, _FRAME_BYTES = 8192, 256  # a frame's slot holds every header and cuts the data off
_SOL_PACKET, _RX_RING, _STATISTICS, _VERSION, _V2 = 263, 5, 6, 10, 1
_ETH_P_ALL = 3
# struct tpacket2_hdr: status, len, snaplen, mac, net, sec, nsec (linux/if_packet.h)
_SLOT = struct.Struct("=IIIHHII")
_TCP = struct.Struct("!HHIIBBHHH")
_IP = struct.Struct("!BBHHHBBH4s4s")
_PSEUDO = struct.Struct("!4s4sBBH")


@dataclass(frozen=True)
class Segment:
    """A segment as TCP sent it (with segmentation offload: several at once)."""

    time_us: int
    port: int
    sequence: int
    bytes: int
    flags: int
    timestamp: int


class Tap:
    """Sees what leaves by an interface. ``offset_ns`` is real time minus monotonic time."""

    def __init__(self, offset_ns: int) -> None:
        self._offset_ns = offset_ns
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
        self._socket.setsockopt(_SOL_PACKET, _VERSION, _V2)
        request = struct.pack("=4I", 4096, _FRAMES * _FRAME_BYTES // 4096, _FRAME_BYTES, _FRAMES)
        self._socket.setsockopt(_SOL_PACKET, _RX_RING, request)
        self._ring = mmap.mmap(self._socket.fileno(), _FRAMES * _FRAME_BYTES)
        self._next = 0

    def watch(self, interface: str) -> None:
        """See that interface alone from now on."""
        self._socket.bind((interface, _ETH_P_ALL))

    def rest(self) -> None:
        """See nothing from now on."""
        self._socket.bind(("lo", 0))

    def segments(self) -> Iterator[Segment]:
        """Yield what was sent since the last call."""
        while True:
            start = self._next * _FRAME_BYTES
            status, _whole, _kept, _mac, net, seconds, nanoseconds = _SLOT.unpack_from(
                self._ring, start
            )
            if not status & 1:
                return
            time_ns = seconds * 10**9 + nanoseconds - self._offset_ns
            packet = self._ring[start + net : start + _FRAME_BYTES]
            self._ring[start : start + 4] = bytes(4)
            self._next = (self._next + 1) % _FRAMES
            yield _parsed(packet, time_ns // 1000)

    def wait(self, seconds: float) -> bool:
        """Wait until something is sent, for that long at most; return whether it was."""
        return bool(select.select([self._socket], [], [], seconds)[0])

    def lost(self) -> int:
        """Return how many packets did not fit into the ring since the last call."""
        answer = self._socket.getsockopt(_SOL_PACKET, _STATISTICS, 8)
        return int(struct.unpack("=II", answer)[1])


def _parsed(packet: bytes, time_us: int) -> Segment:
    ip_bytes = (packet[0] & 15) * 4
    whole = int.from_bytes(packet[2:4], "big")
    port, _to, sequence, _ack, size, flags, _window, _sum, _urgent = _TCP.unpack_from(
        packet, ip_bytes
    )
    tcp_bytes = (size >> 4) * 4
    options = packet[ip_bytes + 20 : ip_bytes + tcp_bytes]
    return Segment(
        time_us, port, sequence, whole - ip_bytes - tcp_bytes, flags, _timestamp(options)
    )


def _timestamp(options: bytes) -> int:
    """Return the timestamp option's value, 0 when there is none."""
    place = 0
    while place < len(options) and options[place]:
        if options[place] == 1:
            place += 1
            continue
        if options[place] == 8:
            return int.from_bytes(options[place + 2 : place + 6], "big")
        place += options[place + 1]
    return 0


class Voice:
    """Says segments in the name of a peer. None of them carries data."""

    def __init__(self, peer: str) -> None:
        self._from, self._to = socket.inet_aton(peer), socket.inet_aton(SENDER)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)

    def say(self, port: int, sequence: int, ack: int, flags: int, options: bytes) -> None:
        """Let the kernel's TCP receive a segment at once."""
        options += bytes(-len(options) % 4)
        size = (20 + len(options)) << 2
        words = (80, port, sequence % SEQUENCES, ack % SEQUENCES, size & 0xF0, flags, 65535, 0, 0)
        segment = bytearray(_TCP.pack(*words) + options)
        pseudo = _PSEUDO.pack(self._from, self._to, 0, socket.IPPROTO_TCP, len(segment))
        segment[16:18] = _checksum(pseudo + segment)
        head = _IP.pack(69, 0, 20 + len(segment), 0, 0, 64, 6, 0, self._from, self._to)
        self._socket.sendto(head + segment, (SENDER, 0))


def _checksum(data: bytes) -> bytes:
    words: tuple[int, ...] = struct.unpack(f"!{len(data) // 2}H", data)
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return (~total & 0xFFFF).to_bytes(2, "big")

"""Captures the frames of an interface with their times, without a system call for each frame.

A packet socket shares a ring buffer with the kernel (TPACKET_V2). The kernel writes the first bytes
of each frame into it, with the time at which the interface received or sent the frame. Frames that
come while the buffer is full are lost, and counted.
Source: include/uapi/linux/if_packet.h, packet(7); include/uapi/linux/filter.h.
"""

from __future__ import annotations

import mmap
import socket
import struct

from orchestrator.testbed.kernel import system

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Iterator, Sequence

_ETH_P_ALL = 3
_SOL_PACKET, _RX_RING, _STATISTICS, _VERSION = 263, 5, 6, 10
_SO_ATTACH_FILTER = 26
_TPACKET_V2, _USER = 1, 1
_FRAME_AT = 66
"""Where a frame begins in its place: behind header, link-layer address and padding."""
_ALIGNED = 16
_HEADER = struct.Struct("=IIIHHII")  # status, length, length kept, place, IP's place, s, ns
_TYPE_AT, _OUTGOING = 42, 4  # sll_pkttype of struct sockaddr_ll, PACKET_OUTGOING
INSTRUCTION, RETURN = struct.Struct("=HBBI"), 0x06  # struct sock_filter, BPF_RET | BPF_K
_PROGRAM = struct.Struct("@HP")  # struct sock_fprog
_COUNTS = struct.Struct("=II")
_WITH_ETHERNET = (1, 772)
"""ARPHRD_ETHER and ARPHRD_LOOPBACK of include/uapi/linux/if_arp.h."""

KEPT_BYTES = 62
"""What is kept of each frame unless a capture is to keep more."""


class CapturedFrame:
    """A frame: its time in ns of the wall clock, whether it was sent, its length, and its begin."""

    __slots__ = ("content", "is_sent", "size", "time_ns")

    def __init__(self, time_ns: int, is_sent: bool, size: int, content: bytes) -> None:
        self.time_ns, self.is_sent, self.size, self.content = time_ns, is_sent, size, content


class PacketCapture:
    """Captures what an interface of the calling thread's namespace receives and sends.

    Args:
        name: the interface.
        frames: how many frames the buffer has room for at least.
        snap_bytes: how many bytes of each frame are kept, 1 at least.
        block_bytes: of the pieces of the buffer, whole pages, each with room for a frame.
        begun: whether it captures at once, or only after ``pass_frames``.
        program: instructions of a filter for what ``pass_frames`` lets through; all without any.

    Raises:
        OSError: the kernel has no memory for the buffer, among others.
    """

    def __init__(
        self,
        name: str,
        frames: int,
        snap_bytes: int = KEPT_BYTES,
        block_bytes: int = mmap.PAGESIZE,
        begun: bool = True,
        program: Sequence[bytes] = (),
    ) -> None:
        self._place_bytes, self._block_bytes = place_bytes(snap_bytes), block_bytes
        self._per_block = block_bytes // self._place_bytes
        blocks = -(-frames // self._per_block)
        self._frames, self._next = blocks * self._per_block, 0
        self._program = program or [INSTRUCTION.pack(RETURN, 0, 0, snap_bytes)]
        # Protocol 0 captures nothing until bind() sets another one, when the ring exists.
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        try:
            self._socket.setsockopt(_SOL_PACKET, _VERSION, struct.pack("=i", _TPACKET_V2))
            if not begun:
                self.pass_frames(True)  # nothing comes yet; the kernel may refuse the program
                self.pass_frames(False)
            ring = struct.pack("=4I", block_bytes, blocks, self._place_bytes, self._frames)
            self._socket.setsockopt(_SOL_PACKET, _RX_RING, ring)
            self._ring = mmap.mmap(self._socket.fileno(), blocks * block_bytes)
            self._socket.bind((name, _ETH_P_ALL))
        except BaseException:
            self._socket.close()
            raise

    def pass_frames(self, on: bool) -> None:
        """Capture frames from now on, or none. Any thread may call it."""
        steps = self._program if on else [INSTRUCTION.pack(RETURN, 0, 0, 0)]
        instructions = bytearray(b"".join(steps))
        program = _PROGRAM.pack(len(steps), system.address_of(instructions))
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)

    @property
    def has_ethernet(self) -> bool:
        """Whether frames begin with a header of Ethernet, as those of the loopback device do."""
        return self._socket.getsockname()[3] in _WITH_ETHERNET

    def counts(self) -> tuple[int, int]:
        """Return how many frames came since the last call, and how many of them are lost."""
        seen, lost = _COUNTS.unpack(self._socket.getsockopt(_SOL_PACKET, _STATISTICS, _COUNTS.size))
        return seen, lost

    def close(self) -> None:
        """End the capture."""
        self._ring.close()
        self._socket.close()

    def frames(self) -> Iterator[CapturedFrame]:
        """Yield the frames since the last call, in their order."""
        while True:
            block, place = divmod(self._next, self._per_block)
            begin = block * self._block_bytes + place * self._place_bytes
            status, size, kept, offset, _network, seconds, ns = _HEADER.unpack_from(
                self._ring, begin
            )
            if not status & _USER:
                return
            content = self._ring[begin + offset : begin + offset + kept]
            is_sent = self._ring[begin + _TYPE_AT] == _OUTGOING
            yield CapturedFrame(seconds * 10**9 + ns, is_sent, size, content)
            struct.pack_into("=I", self._ring, begin, 0)  # TP_STATUS_KERNEL: may be used again
            self._next = (self._next + 1) % self._frames

    def take(self) -> list[tuple[int, bytes]]:
        """Return (time in ns of the wall clock, first bytes) of the frames since the last call."""
        return [(frame.time_ns, frame.content) for frame in self.frames()]


def place_bytes(snap_bytes: int) -> int:
    """Return what a frame takes in the buffer."""
    return -(-(_FRAME_AT + snap_bytes) // _ALIGNED) * _ALIGNED

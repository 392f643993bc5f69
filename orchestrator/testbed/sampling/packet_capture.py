"""Captures the frames of an interface with their times, without a system call for each frame.

A packet socket shares a ring buffer with the kernel (TPACKET_V2). The kernel writes the first bytes
of each frame into it, with the time at which the interface received or sent the frame.
Source: include/uapi/linux/if_packet.h, packet(7).
"""

from __future__ import annotations

import mmap
import socket
import struct

_ETH_P_ALL = 3
_SOL_PACKET, _RX_RING, _VERSION = 263, 5, 10
_TPACKET_V2, _USER = 1, 1
_FRAME_BYTES = 128  # header, padding, and then the frame from its 66th byte on
_HEADER = struct.Struct("=IIIHHII")  # status, length, length kept, place, IP's place, s, ns


class PacketCapture:
    """Captures what an interface of the calling thread's namespace receives and sends.

    Args:
        name: the interface.
        frames: how many frames the buffer has room for at least.
    """

    def __init__(self, name: str, frames: int) -> None:
        pages = -(-frames * _FRAME_BYTES // mmap.PAGESIZE)
        self._frames = pages * mmap.PAGESIZE // _FRAME_BYTES
        self._next = 0
        # Protocol 0 captures nothing until bind() sets another one, when the ring exists.
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self._socket.setsockopt(_SOL_PACKET, _VERSION, struct.pack("=i", _TPACKET_V2))
        ring = struct.pack("=4I", mmap.PAGESIZE, pages, _FRAME_BYTES, self._frames)
        self._socket.setsockopt(_SOL_PACKET, _RX_RING, ring)
        self._ring = mmap.mmap(self._socket.fileno(), pages * mmap.PAGESIZE)
        self._socket.bind((name, _ETH_P_ALL))

    def close(self) -> None:
        """End the capture."""
        self._ring.close()
        self._socket.close()

    def take(self) -> list[tuple[int, bytes]]:
        """Return the frames since the last call, in their order.

        Each is (time in ns of the wall clock, the first 62 bytes of the frame).
        """
        frames: list[tuple[int, bytes]] = []
        while True:
            begin = self._next * _FRAME_BYTES
            status, _length, kept, offset, _network, seconds, ns = _HEADER.unpack_from(
                self._ring, begin
            )
            if not status & _USER:
                return frames
            frame = self._ring[begin + offset : begin + offset + kept]
            frames.append((seconds * 10**9 + ns, frame))
            struct.pack_into("=I", self._ring, begin, 0)  # TP_STATUS_KERNEL: may be used again
            self._next = (self._next + 1) % self._frames

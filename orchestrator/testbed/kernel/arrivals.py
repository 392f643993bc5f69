"""Receives packets with the time when the kernel received them."""

from __future__ import annotations

import socket
import struct

from orchestrator.testbed.kernel import system

_SO_TIMESTAMPNS = 35  # also the type of its ancillary messages (asm-generic/socket.h)
_TIMESPEC = struct.Struct("@ll")


def timestamp_arrivals(receiver: socket.socket) -> None:
    """Have the kernel note when packets arrive at that socket, for ``receive``."""
    receiver.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)


def receive(receiver: socket.socket, flags: int = 0) -> tuple[bytes, int]:
    """Return (packet, its arrival at the kernel by the monotonic clock in ns).

    The kernel notes arrivals from a moment after ``timestamp_arrivals`` on. Until then the time of
    an arrival is the time of reading.
    """
    packet, ancillary, _flags, _sender = receiver.recvmsg(
        2048, socket.CMSG_SPACE(_TIMESPEC.size), flags
    )
    wall_ns, now_ns = system.realtime_ns(), system.monotonic_ns()
    ((_level, _kind, stamp),) = ancillary
    seconds, rest_ns = _TIMESPEC.unpack(stamp)
    # The stamp is by the wall clock, which may have been set back since: no arrival is later than
    # its reading.
    return packet, now_ns - max(0, wall_ns - (seconds * 1_000_000_000 + rest_ns))

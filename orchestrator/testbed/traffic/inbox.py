"""Reads datagrams from sockets, hundreds in each system call, with the times of their arrival.

The kernel records when each datagram arrives (SO_TIMESTAMPNS), so they can be read later.
Source: include/linux/socket.h (struct mmsghdr), recvmmsg(2), socket(7), net/ipv4/udp.c.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import socket
import struct

from orchestrator.testbed.kernel import system
from orchestrator.testbed.kernel.timed_send import HEADER

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Iterator

_BATCH = 512
_SO_RCVBUFFORCE, _SO_TIMESTAMPNS = 33, 35
_MSG_DONTWAIT = 0x40
_MESSAGE = struct.Struct("=QIxxxxQQQQixxxxIxxxx")  # struct mmsghdr
_BUFFER = struct.Struct("=QQ")  # struct iovec
_STAMP_BYTES = 32  # CMSG_SPACE of a struct timespec: header, seconds, nanoseconds
_LARGEST_BUFFER_BYTES = 1 << 30

_libc = ctypes.CDLL(None, use_errno=True)


def overflows() -> int:
    """Return how many datagrams did not fit into socket buffers, in the thread's namespace.

    The drop counter of a single socket is not used: it includes wrong checksums.
    """
    with open("/proc/thread-self/net/snmp") as table:
        names, values = (line.split() for line in table if line.startswith("Udp:"))
    counted = dict(zip(names, values, strict=True))
    return int(counted["RcvbufErrors"]) + int(counted["MemErrors"])


class Inbox:
    """Any number of sockets that are read into the same buffers; for use by one thread."""

    def __init__(self) -> None:
        self._poll = select.epoll()
        self._receivers = 0
        self._polled_ns: int | None = None
        self._ready: set[int] = set()
        self._headers = bytearray(HEADER.size * _BATCH)
        self._stamps = bytearray(_STAMP_BYTES * _BATCH)
        self._buffers = bytearray(_BUFFER.size * _BATCH)
        self._messages = bytearray(_MESSAGE.size * _BATCH)
        places = [system.address_of(b) for b in (self._headers, self._stamps, self._buffers)]
        for number in range(_BATCH):
            header, stamp, buffer = (
                offset + size * number
                for offset, size in zip(
                    places, (HEADER.size, _STAMP_BYTES, _BUFFER.size), strict=True
                )
            )
            _BUFFER.pack_into(self._buffers, _BUFFER.size * number, header, HEADER.size)
            message = (0, 0, buffer, 1, stamp, _STAMP_BYTES, 0, 0)
            _MESSAGE.pack_into(self._messages, _MESSAGE.size * number, *message)
        self._messages_at = ctypes.c_void_p(system.address_of(self._messages))
        self._wall_ahead_ns = system.realtime_ns() - system.monotonic_ns()

    def open(self, address: tuple[str, int]) -> socket.socket:
        """Return a socket with timestamps and the largest buffer, in the thread's namespace."""
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        receiver.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _LARGEST_BUFFER_BYTES)
        receiver.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        receiver.bind(address)
        self._poll.register(receiver, select.EPOLLIN)
        self._receivers += 1
        return receiver

    def read(self, receiver: socket.socket, now_ns: int) -> Iterator[tuple[int, int, int]]:
        """Yield (sequence number, due ns, arrival ns) of each datagram, on the monotonic clock.

        The first call with another ``now_ns`` polls all sockets, in one system call.
        """
        if now_ns != self._polled_ns:
            self._polled_ns = now_ns
            self._ready = {ready for ready, _events in self._poll.poll(0, self._receivers)}
        descriptor = receiver.fileno()
        count = _BATCH if descriptor in self._ready else 0
        while count == _BATCH:
            count = _libc.recvmmsg(descriptor, self._messages_at, _BATCH, _MSG_DONTWAIT, None)
            if count < 0:
                code = ctypes.get_errno()
                if code != errno.EAGAIN:
                    raise OSError(code, f"recvmmsg: {os.strerror(code)}")
                return
            headers = memoryview(self._headers).cast("q")[: 2 * count].tolist()
            stamps = memoryview(self._stamps).cast("q")[: 4 * count].tolist()
            ahead_ns = self._wall_ahead_ns
            for sequence, due_ns, seconds, ns in zip(
                headers[::2], headers[1::2], stamps[2::4], stamps[3::4], strict=True
            ):
                yield sequence, due_ns, seconds * 10**9 + ns - ahead_ns

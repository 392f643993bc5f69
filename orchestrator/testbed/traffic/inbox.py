"""Takes datagrams off sockets, hundreds to a system call, with the times of their arrival.

The kernel keeps each datagram's arrival (SO_TIMESTAMPNS), so they need not be taken when they come.
Source: include/linux/socket.h (struct mmsghdr), recvmmsg(2), socket(7), net/ipv4/udp.c.
"""

import ctypes
import errno
import os
import select
import socket
import struct

from orchestrator.testbed.kernel import system
from orchestrator.testbed.traffic.timed_send import HEADER

_BATCH = 512
_SO_RCVBUFFORCE, _SO_TIMESTAMPNS = 33, 35
_MSG_DONTWAIT = 0x40
_MESSAGE = struct.Struct("=QIxxxxQQQQixxxxIxxxx")  # struct mmsghdr
_BUFFER = struct.Struct("=QQ")  # struct iovec
_STAMP_BYTES = 32  # CMSG_SPACE of a struct timespec: header, seconds, nanoseconds
_LARGEST_BUFFER_BYTES = 1 << 30

_libc = ctypes.CDLL(None, use_errno=True)


def overflows():
    """Return how many datagrams sockets of the thread's namespace have had no room for.

    A socket's own count of drops holds those with a wrong checksum, too.
    """
    with open("/proc/thread-self/net/snmp") as table:
        names, values = (line.split() for line in table if line.startswith("Udp:"))
    counted = dict(zip(names, values, strict=True))
    return int(counted["RcvbufErrors"]) + int(counted["MemErrors"])


class Inbox:
    """Any number of sockets and common buffers for taking; used by one thread."""

    def __init__(self):
        self._poll = select.epoll()
        self._receivers = 0
        self._looked, self._ready = None, set()
        self._headers = bytearray(HEADER.size * _BATCH)
        self._stamps = bytearray(_STAMP_BYTES * _BATCH)
        self._buffers = bytearray(_BUFFER.size * _BATCH)
        self._messages = bytearray(_MESSAGE.size * _BATCH)
        places = [system.address_of(b) for b in (self._headers, self._stamps, self._buffers)]
        for number in range(_BATCH):
            header, stamp, buffer = (
                place + size * number
                for place, size in zip(
                    places, (HEADER.size, _STAMP_BYTES, _BUFFER.size), strict=True
                )
            )
            _BUFFER.pack_into(self._buffers, _BUFFER.size * number, header, HEADER.size)
            message = (0, 0, buffer, 1, stamp, _STAMP_BYTES, 0, 0)
            _MESSAGE.pack_into(self._messages, _MESSAGE.size * number, *message)
        self._messages_at = ctypes.c_void_p(system.address_of(self._messages))
        self._wall_ahead_ns = system.realtime_ns() - system.monotonic_ns()

    def open(self, address):
        """Return a socket bound in the thread's namespace, with stamps and room for all."""
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        receiver.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _LARGEST_BUFFER_BYTES)
        receiver.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        receiver.bind(address)
        self._poll.register(receiver, select.EPOLLIN)
        self._receivers += 1
        return receiver

    def take(self, receiver, now):
        """Yield (sequence number, due ns, arrived ns) of each datagram, on the monotonic clock.

        At each other ``now`` all sockets are asked, in one system call, whether anything came.
        """
        if now != self._looked:
            self._looked = now
            self._ready = {each for each, _events in self._poll.poll(0, self._receivers)}
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
            ahead = self._wall_ahead_ns
            for sequence, due_ns, seconds, ns in zip(
                headers[::2], headers[1::2], stamps[2::4], stamps[3::4], strict=True
            ):
                yield sequence, due_ns, seconds * 10**9 + ns - ahead

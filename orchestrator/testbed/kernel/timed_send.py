"""Sends datagrams at exact times, hundreds in each system call, over io_uring.

System calls are the largest cost in the guest. A sleep and a send for each packet take three times
the CPU time of a chain of requests that the kernel processes by itself. In the chain, a wait until
the packet's absolute time precedes each packet. The wait polls a descriptor that never becomes
ready, and a linked timeout ends it. (A timeout alone would wake the caller every time.)
Source: include/uapi/linux/io_uring.h, io_uring/timeout.c.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct

from orchestrator.protocol.links.frames import MOST_MTU_BYTES
from orchestrator.testbed.kernel import system

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Sequence
    from typing import Any, TypeAlias, TypeVar

    Owner = TypeVar("Owner")
    Packet: TypeAlias = tuple[int, int, int, int, Owner]
    """(time in ns of the monotonic clock, descriptor of a connected socket, sequence number, bytes
    of payload, the sender's own)."""

BATCH = 256
_SLOT_BYTES = 2048
"""From the beginning of one payload to that of the next one.

A larger payload has the headers of later ones in it, which nobody reads there.
"""

HEADER = struct.Struct("=qq")
"""A payload begins with this: sequence number, and due time on the monotonic clock in ns."""

_SYS_SETUP, _SYS_ENTER = 425, 426  # x86-64
_OFF_REQUESTS = 0x10000000
_GET_EVENTS = 1
_POLL_ADD, _LINK_TIMEOUT, _SEND = 6, 15, 26
_HARD_LINK = 1 << 3  # the next request follows even if this one fails
_POLLIN, _TIMEOUT_ABS, _MSG_DONTWAIT = 1, 1, 0x40
_REQUEST = struct.Struct("=BBHiQQIIQ24x")  # struct io_uring_sqe: 64 bytes
_STEPS = 3
_REQUESTS = 1024  # a power of two, at least _STEPS * BATCH
_TIME = struct.Struct("=qq")

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


class TimedSender:
    """An io_uring; only one thread may call ``send``."""

    def __init__(self) -> None:
        parameters = (ctypes.c_uint32 * 30)()  # struct io_uring_params
        self._descriptor = _call(_SYS_SETUP, _REQUESTS, parameters)
        submission, completion = parameters[10:20], parameters[20:30]
        size = max(submission[6] + 4 * parameters[0], completion[5] + 16 * parameters[1])
        self._ring = memoryview(mmap.mmap(self._descriptor, size)).cast("I")
        self._requests = mmap.mmap(self._descriptor, 64 * parameters[0], offset=_OFF_REQUESTS)
        # Places of the ring's fields, in words: the submission queue's tail and its array, and the
        # completion queue's head, tail and entries.
        self._submitted, self._order = submission[1] // 4, submission[6] // 4
        self._consumed, self._completed = completion[0] // 4, completion[1] // 4
        self._results, self._result_mask = completion[5] // 4, parameters[1] - 1
        self._payloads = bytearray(_SLOT_BYTES * BATCH + MOST_MTU_BYTES)
        self._payloads_at = system.address_of(self._payloads)
        self._times = bytearray(_TIME.size * BATCH)
        self._prepare_waits()

    def _prepare_waits(self) -> None:
        """Write the requests of each packet's wait, which never change."""
        never, times = os.eventfd(0), system.address_of(self._times)
        for index in range(BATCH):
            wait = (_POLL_ADD, _HARD_LINK, 0, never, 0, 0, 0, _POLLIN, 0)
            _REQUEST.pack_into(self._requests, 64 * _STEPS * index, *wait)
            time = times + _TIME.size * index
            until = (_LINK_TIMEOUT, _HARD_LINK, 0, -1, 0, time, 1, _TIMEOUT_ABS, 0)
            _REQUEST.pack_into(self._requests, 64 * (_STEPS * index + 1), *until)

    def sent_packets(self) -> int:
        """Return how many packets of the current batch have been sent."""
        return self._steps_done() // _STEPS

    def _steps_done(self) -> int:
        return (self._ring[self._completed] - self._ring[self._consumed]) & 0xFFFFFFFF

    def send(self, packets: Sequence[Packet[Owner]]) -> list[tuple[Packet[Owner], int]]:
        """Send each packet at its time; return when all have been sent.

        Args:
            packets: at most BATCH, in the order of their times.

        Returns:
            (packet, errno) of each packet that the kernel refused.
        """
        for index, (time_ns, descriptor, sequence, size_bytes, _owner) in enumerate(packets):
            _TIME.pack_into(self._times, _TIME.size * index, *divmod(time_ns, 10**9))
            HEADER.pack_into(self._payloads, _SLOT_BYTES * index, sequence, time_ns)
            link = _HARD_LINK if index < len(packets) - 1 else 0
            payload = self._payloads_at + _SLOT_BYTES * index
            request = (_SEND, link, 0, descriptor, 0, payload, size_bytes, _MSG_DONTWAIT, index + 1)
            _REQUEST.pack_into(self._requests, 64 * (_STEPS * index + 2), *request)
        steps = _STEPS * len(packets)
        self._submit(steps)
        return [(packets[index], code) for index, code in self._consume_results(steps)]

    def _submit(self, steps: int) -> None:
        begin = self._ring[self._submitted]
        for step in range(steps):
            self._ring[self._order + (begin + step) % _REQUESTS] = step
        self._ring[self._submitted] = (begin + steps) & 0xFFFFFFFF
        rest = steps
        while self._steps_done() < steps:
            rest -= _call(_SYS_ENTER, self._descriptor, rest, steps, _GET_EVENTS, None, 0)

    def _consume_results(self, steps: int) -> list[tuple[int, int]]:
        """Return (place in the batch, errno) of each packet that the kernel refused."""
        begin = self._ring[self._consumed]
        failed = []
        for number in range(begin, begin + steps):
            result = self._results + 4 * (number & self._result_mask)  # struct io_uring_cqe
            index, code = self._ring[result], self._ring[result + 2]
            if index and code >> 31:
                failed.append((index - 1, 2**32 - code))
        self._ring[self._consumed] = (begin + steps) & 0xFFFFFFFF
        return failed


def _call(number: int, *arguments: Any) -> int:
    result: int = _libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"io_uring: {os.strerror(code)}")
    return result

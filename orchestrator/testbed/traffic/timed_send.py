"""Sends datagrams at exact times, hundreds to a system call, over io_uring.

System calls are what costs most in the guest: a sleep and a send for each packet take three times
the CPU of a chain of requests that the kernel works off by itself. In the chain each packet is
preceded by a wait until its absolute time: a poll of what never becomes ready, ended by the
timeout that is linked to it. (A timeout by itself would wake the caller every time.)
Source: include/uapi/linux/io_uring.h, io_uring/timeout.c.
"""

import ctypes
import mmap
import os
import struct

from orchestrator.testbed.kernel import system

BATCH = 256
MOST_BYTES = 2048
"""Of a payload: more than fits into a frame."""

HEADER = struct.Struct("=qq")
"""What a payload begins with: sequence number, and when it was due on the monotonic clock, ns."""

_SYS_SETUP, _SYS_ENTER = 425, 426  # x86-64
_OFF_REQUESTS = 0x10000000
_GET_EVENTS = 1
_POLL_ADD, _LINK_TIMEOUT, _SEND = 6, 15, 26
_HARD_LINK = 1 << 3  # the next one follows however this one ends
_POLLIN, _TIMEOUT_ABS, _MSG_DONTWAIT = 1, 1, 0x40
_REQUEST = struct.Struct("=BBHiQQIIQ24x")  # struct io_uring_sqe: 64 bytes
_STEPS = 3
_REQUESTS = 1024  # a power of two, at least _STEPS * BATCH
_TIME = struct.Struct("=qq")

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


class TimedSender:
    """One ring; ``send`` is for one thread."""

    def __init__(self):
        words = (ctypes.c_uint32 * 30)()  # struct io_uring_params
        self._descriptor = _call(_SYS_SETUP, _REQUESTS, words)
        submission, completion = words[10:20], words[20:30]
        size = max(submission[6] + 4 * words[0], completion[5] + 16 * words[1])
        self._ring = memoryview(mmap.mmap(self._descriptor, size)).cast("I")
        self._requests = mmap.mmap(self._descriptor, 64 * words[0], offset=_OFF_REQUESTS)
        self._submitted, self._order = submission[1] // 4, submission[6] // 4
        self._taken, self._completed = completion[0] // 4, completion[1] // 4
        self._results, self._result_mask = completion[5] // 4, words[1] - 1
        self._payloads = bytearray(MOST_BYTES * BATCH)
        self._payloads_at = system.address_of(self._payloads)
        self._times = bytearray(_TIME.size * BATCH)
        self._prepare_waits()

    def _prepare_waits(self):
        """Write each packet's wait, whose place and buffer never change."""
        never, times = os.eventfd(0), system.address_of(self._times)
        for place in range(BATCH):
            wait = (_POLL_ADD, _HARD_LINK, 0, never, 0, 0, 0, _POLLIN, 0)
            _REQUEST.pack_into(self._requests, 64 * _STEPS * place, *wait)
            time = times + _TIME.size * place
            until = (_LINK_TIMEOUT, _HARD_LINK, 0, -1, 0, time, 1, _TIMEOUT_ABS, 0)
            _REQUEST.pack_into(self._requests, 64 * (_STEPS * place + 1), *until)

    def gone(self):
        """Return how many packets of the batch that is being sent have left."""
        return self._steps_done() // _STEPS

    def _steps_done(self):
        return (self._ring[self._completed] - self._ring[self._taken]) & 0xFFFFFFFF

    def send(self, packets):
        """Send each packet at its time; return when all are gone.

        Args:
            packets: (time in ns of the monotonic clock, descriptor of a connected socket, sequence
                number, bytes of payload, anything), in the order of time, BATCH at most.

        Returns:
            (packet, errno) of each that the kernel did not take.
        """
        for place, (time_ns, descriptor, sequence, size_bytes, _more) in enumerate(packets):
            _TIME.pack_into(self._times, _TIME.size * place, *divmod(time_ns, 10**9))
            HEADER.pack_into(self._payloads, MOST_BYTES * place, sequence, time_ns)
            link = _HARD_LINK if place < len(packets) - 1 else 0
            payload = self._payloads_at + MOST_BYTES * place
            request = (_SEND, link, 0, descriptor, 0, payload, size_bytes, _MSG_DONTWAIT, place + 1)
            _REQUEST.pack_into(self._requests, 64 * (_STEPS * place + 2), *request)
        steps = _STEPS * len(packets)
        self._submit(steps)
        return [(packets[place], code) for place, code in self._take_results(steps)]

    def _submit(self, steps):
        begin = self._ring[self._submitted]
        for step in range(steps):
            self._ring[self._order + (begin + step) % _REQUESTS] = step
        self._ring[self._submitted] = (begin + steps) & 0xFFFFFFFF
        rest = steps
        while self._steps_done() < steps:
            rest -= _call(_SYS_ENTER, self._descriptor, rest, steps, _GET_EVENTS, None, 0)

    def _take_results(self, steps):
        begin, failed = self._ring[self._taken], []
        for number in range(begin, begin + steps):
            result = self._results + 4 * (number & self._result_mask)  # struct io_uring_cqe
            place, code = self._ring[result], self._ring[result + 2]
            if place and code >> 31:
                failed.append((place - 1, 2**32 - code))
        self._ring[self._taken] = (begin + steps) & 0xFFFFFFFF
        return failed


def _call(number, *arguments):
    result = _libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"io_uring: {os.strerror(code)}")
    return result

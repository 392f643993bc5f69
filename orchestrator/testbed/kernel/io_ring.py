"""An io_uring: many requests to the kernel in one system call.

System calls are the largest cost in the guest: each stops the process twice under ptrace, which
takes longer than what most of them ask for.
Source: include/uapi/linux/io_uring.h.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
from array import array

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Iterable, Iterator
    from typing import Any

POLL_ADD, LINK_TIMEOUT, READ, SEND, RECEIVE = 6, 15, 22, 26, 27  # IORING_OP_*
HARD_LINK = 1 << 3  # the next request follows even if this one fails
BY_WORKER = 1 << 4  # IOSQE_ASYNC: without a try to complete the request at once
MOST_REQUESTS = 1 << 14
"""Of one ring. The kernel's limit is twice that (IORING_MAX_ENTRIES)."""

_SYS_SETUP, _SYS_ENTER = 425, 426  # x86-64
_OFF_REQUESTS = 0x10000000
_GET_EVENTS = 1
REQUEST = struct.Struct("=BBHiQQIIQ24x")
"""struct io_uring_sqe: operation, flags, ioprio, descriptor, offset, address, length, flags of the
operation, user data."""

_RESULT_WORDS = 4  # struct io_uring_cqe: user_data (8 bytes), res, flags

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


class Ring:
    """An io_uring with room for prepared requests; only one thread may use it.

    Args:
        requests: how many requests there is room for, at most ``MOST_REQUESTS``.

    ``requests`` is their memory, REQUEST.size bytes for each place.

    Raises:
        OSError: the kernel has no io_uring, or does not permit it.
    """

    def __init__(self, requests: int) -> None:
        parameters = (ctypes.c_uint32 * 30)()  # struct io_uring_params
        self._size = 1 << max(requests - 1, 1).bit_length()
        self._descriptor = _call(_SYS_SETUP, self._size, parameters)
        submission, completion = parameters[10:20], parameters[20:30]
        size = max(submission[6] + 4 * parameters[0], completion[5] + 16 * parameters[1])
        memory = memoryview(mmap.mmap(self._descriptor, size))
        self._words, self._codes = memory.cast("I"), memory.cast("i")
        self.requests = mmap.mmap(
            self._descriptor, REQUEST.size * parameters[0], offset=_OFF_REQUESTS
        )
        # Places of the ring's fields, in words: the submission queue's tail and its array, and the
        # completion queue's head, tail and entries.
        self._submitted, self._order = submission[1] // 4, submission[6] // 4
        self._consumed, self._completed = completion[0] // 4, completion[1] // 4
        self._results, self._result_mask = completion[5] // 4, parameters[1] - 1

    def close(self) -> None:
        """End the ring; its memory stays until nothing refers to it."""
        os.close(self._descriptor)

    def prepare(
        self,
        place: int,
        operation: int,
        descriptor: int,
        address: int,
        length: int,
        *,
        flags: int = 0,
        operation_flags: int = 0,
        user_data: int = 0,
    ) -> None:
        """Write the request of that place; it stays until another one is written there."""
        REQUEST.pack_into(
            self.requests, REQUEST.size * place,
            operation, flags, 0, descriptor, 0, address, length, operation_flags, user_data,
        )  # fmt: skip

    def completed(self) -> int:
        """Return how many of the requests under way have been completed."""
        return (self._words[self._completed] - self._words[self._consumed]) & 0xFFFFFFFF

    def submit(self, places: memoryview) -> None:
        """Let the kernel process the requests of these places; return when all are completed.

        ``places`` are those of :func:`places`. ``consume`` must follow.
        """
        begin, rest = self._words[self._submitted], len(places)
        count = rest
        first = begin % self._size
        until_end = min(count, self._size - first)
        order = self._order
        self._words[order + first : order + first + until_end] = places[:until_end]
        self._words[order : order + count - until_end] = places[until_end:]
        self._words[self._submitted] = (begin + count) & 0xFFFFFFFF
        while self.completed() < count:
            rest -= _call(_SYS_ENTER, self._descriptor, rest, count, _GET_EVENTS, None, 0)

    def consume(self, count: int) -> list[tuple[int, int]]:
        """Return (user data below 2**32, result or negative errno) of requests, as they ended."""
        begin = self._words[self._consumed]
        first = begin & self._result_mask
        until_end = min(count, self._result_mask + 1 - first)
        ended = [*self._ended(first, until_end), *self._ended(0, count - until_end)]
        self._words[self._consumed] = (begin + count) & 0xFFFFFFFF
        return ended

    def _ended(self, first: int, count: int) -> Iterator[tuple[int, int]]:
        """Return (user data, result) of entries of the completion queue."""
        begin = self._results + _RESULT_WORDS * first
        end = begin + _RESULT_WORDS * count
        users, codes = self._words[begin:end:_RESULT_WORDS], self._codes[begin + 2 : end : 4]
        return zip(users.tolist(), codes.tolist(), strict=True)


def places(numbers: Iterable[int]) -> memoryview:
    """Return numbers of places as :meth:`Ring.submit` takes them."""
    return memoryview(array("I", numbers))


def _call(number: int, *arguments: Any) -> int:
    result: int = _libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"io_uring: {os.strerror(code)}")
    return result

"""Lets the flows of an entry begin each of their rounds together.

A flow that is ready for its next round arrives. When all have arrived, an event wakes each flow's
thread, and ``release_ns`` says when the round begins.
"""

from __future__ import annotations

import os
import threading

_BARRIERS: dict[int, Barrier] = {}
"""Of the bed of this process, by the number of the flow entry."""


class Barrier:
    """The flows of an entry that begin rounds together."""

    def __init__(self) -> None:
        self.release_ns = 0
        self._members: set[Member] = set()
        self._arrived: set[Member] = set()
        self._lock = threading.Lock()

    def add(self, member: Member) -> None:
        """Take a further flow, before traffic begins."""
        self._members.add(member)

    def arrive(self, member: Member, next_ns: int) -> None:
        """Note that a flow is ready; the last one begins the round at ``next_ns``."""
        with self._lock:
            self._arrived.add(member)
            self._release(next_ns)

    def leave(self, member: Member, next_ns: int) -> None:
        """Wait for a flow no more, because its connection has ended."""
        with self._lock:
            self._members.discard(member)
            self._arrived.discard(member)
            self._release(next_ns)

    def _release(self, next_ns: int) -> None:
        if self._members and self._arrived == self._members:
            self.release_ns = next_ns
            for arrived in self._arrived:
                os.eventfd_write(arrived.descriptor, 1)
            self._arrived.clear()


class Member:
    """A flow at the barrier of its entry; its descriptor is readable when a round begins."""

    def __init__(self, number: int) -> None:
        self.descriptor = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self.barrier = _BARRIERS.setdefault(number, Barrier())
        self.barrier.add(self)

    def fileno(self) -> int:
        """Return the descriptor, for a reactor."""
        return self.descriptor

    def take(self) -> None:
        """Let the descriptor be unreadable until the next round."""
        os.eventfd_read(self.descriptor)

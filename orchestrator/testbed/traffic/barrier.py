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
        # In the order of the flows: that of a set of objects follows their addresses, which
        # tracing moves, and whoever is woken first requests first.
        self._members: dict[Member, bool] = {}
        self._lock = threading.Lock()

    def add(self, member: Member) -> None:
        """Take a further flow, before traffic begins."""
        self._members[member] = False

    def arrive(self, member: Member, next_ns: int) -> None:
        """Note that a flow is ready; the last one begins the round at ``next_ns``."""
        with self._lock:
            self._members[member] = True
            self._release(next_ns)

    def leave(self, member: Member, next_ns: int) -> None:
        """Wait for a flow no more, because its connection has ended."""
        with self._lock:
            self._members.pop(member, None)
            self._release(next_ns)

    def _release(self, next_ns: int) -> None:
        if self._members and all(self._members.values()):
            self.release_ns = next_ns
            for member in self._members:
                self._members[member] = False
                os.eventfd_write(member.descriptor, 1)


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

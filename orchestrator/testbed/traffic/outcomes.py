"""Notes how the connections of a flow begin and end, for the fact "outcome"."""

from __future__ import annotations

import errno
import socket
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from typing import TypedDict

    class Report(TypedDict):
        """The values of the fact "outcome"; see protocol.facts.Outcome."""

        begun: int
        connected: bool
        going_on: int
        ended_ns: int | None
        failures: list[tuple[int, int, int, bool]]


ONLY = 0
"""The key of the connection of a flow with a single one."""

_NEVER_NS = -1


class _OpenConnection:
    """A connection that has begun and not ended."""

    def __init__(self, begun_ns: int) -> None:
        self.begun_ns = begun_ns
        self.connected = False
        self.stopped_ns: int | None = None


class Outcomes:
    """How the connections of one flow have begun and ended; any thread may call it.

    A connection has a key, such as its client's port. Times count from the start of traffic. What
    is reported of a connection that has ended or failed before is ignored, so both of its ends may
    report.
    """

    def __init__(self) -> None:
        self._open: dict[int, _OpenConnection] = {}
        self._failures: list[tuple[int, int, int, bool]] = []
        self._ended_ns: int | None = None
        self._begun, self._connected = 0, False
        self._lock = threading.Lock()

    def begins(self, key: int, time_ns: int) -> None:
        """Note that a connection has begun to connect."""
        with self._lock:
            self._open[key] = _OpenConnection(time_ns)
            self._begun += 1

    def connected(self, key: int) -> None:
        """Note that a connection has been established."""
        with self._lock:
            if key in self._open:
                self._open[key].connected = self._connected = True

    def ended(self, key: int, time_ns: int) -> None:
        """Note that a connection has ended, with all its data delivered."""
        with self._lock:
            if self._open.pop(key, None) is not None:
                self._note_end(time_ns)

    def failed(self, key: int, time_ns: int, code: int) -> None:
        """Note that a connection has failed with that errno.

        If the flow was stopped before, its rest is no part of the flow. It has ended then.
        """
        with self._lock:
            known = self._open.pop(key, None)
            if known is None:
                return
            if known.stopped_ns is None:
                self._failures.append((known.begun_ns, time_ns, code, known.connected))
            else:
                self._note_end(known.stopped_ns)

    def stopped(self, time_ns: int, key: int | None = None) -> None:
        """Note that the flow passes no more data to a connection, or to all of them.

        A connection that nobody has answered is given up.
        """
        with self._lock:
            for connection in list(self._open) if key is None else [key]:
                known = self._open.get(connection)
                if known is None:
                    continue
                if known.connected:
                    known.stopped_ns = time_ns
                else:
                    del self._open[connection]
                    self._failures.append((known.begun_ns, time_ns, 0, False))

    def report(self) -> Report:
        """Return the values of the fact "outcome", with the connections that are still open."""
        with self._lock:
            going_on = 0
            for known in self._open.values():
                if known.stopped_ns is not None:
                    self._note_end(known.stopped_ns)
                elif known.connected:
                    going_on += 1
                else:
                    self._failures.append((known.begun_ns, _NEVER_NS, 0, False))
            return {
                "begun": self._begun,
                "connected": self._connected,
                "going_on": going_on,
                "ended_ns": self._ended_ns,
                "failures": self._failures,
            }

    def _note_end(self, time_ns: int) -> None:
        self._ended_ns = max(time_ns, self._ended_ns or time_ns)


def error_of(connection: socket.socket, known: int | None = None) -> int:
    """Return the errno with which the kernel ended a connection.

    The kernel reports it once. ``known`` is what an earlier system call reported, if any did.
    """
    code: int = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    return code or known or errno.ECONNRESET

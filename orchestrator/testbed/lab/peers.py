"""What the two ends of a flow of programs tell each other, through the controller.

A client starts when the server on another machine is ready, and each program ends with the other.
An end tells the controller, which passes it on to the agent of the other end.
"""

from __future__ import annotations

import os
import threading

from orchestrator.protocol.programs import SIGNALS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_BYTES = 16


class Peer:
    """The other end of a flow, on another machine. Its descriptor is readable when it has told.

    Args:
        tell: takes a signal, one of ``programs.SIGNALS``, to the other end.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.tell = tell
        self._read, self._write = os.pipe()

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._read

    def take(self) -> list[str]:
        """Return the signals that have come since the last call; wait for one if there is none."""
        return [SIGNALS[code] for code in os.read(self._read, _MOST_BYTES)]

    def told(self, signal: str) -> None:
        """Take a signal of the other end. Any thread may call it."""
        os.write(self._write, bytes([SIGNALS.index(signal)]))


class Peers:
    """The other ends of all flows, by the flows' numbers in the whole run.

    Args:
        say: sends (flow, signal) to the controller.
    """

    def __init__(self, say: Callable[[int, str], None]) -> None:
        self._say = say
        self._peers: dict[int, Peer] = {}
        self._lock = threading.Lock()

    def of(self, flow: int) -> Peer:
        """Return the other end of a flow."""
        with self._lock:
            if flow not in self._peers:
                self._peers[flow] = Peer(lambda signal: self._say(flow, signal))
            return self._peers[flow]

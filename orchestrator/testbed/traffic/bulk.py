"""The built-in engine of bulk flows: all flows run in one process, with a thread for each end.

It needs little CPU time at any rate. One `send` passes a megabyte to the kernel. One `recv` with
MSG_TRUNC discards up to 64 MiB without copying. Sockets stay open until the bed ends, so that their
final counters can be sampled.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import socket

from orchestrator.protocol.engines import SUBFLOW
from orchestrator.protocol.reports.outcomes import NETWORK_ERRORS
from orchestrator.testbed.kernel import mptcp, system
from orchestrator.testbed.traffic import FlowEngine
from orchestrator.testbed.traffic.outcomes import ONLY
from orchestrator.testbed.traffic.sockets import is_multipath, listen, make_socket, window_of

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from orchestrator.protocol.engine_parameters import BulkParameters
    from orchestrator.protocol.specification import FlowSpec
    from orchestrator.testbed.bed import Bed
    from orchestrator.testbed.traffic import EngineClass, Services
    from orchestrator.testbed.traffic.sockets import ReceiveWindow

CHUNK_BYTES = 1 << 20
_READ_BYTES = 64 << 20
_MSG_TRUNC, _MSG_WAITALL = 0x20, 0x100

_recv = ctypes.CDLL(None, use_errno=True).recv
_recv.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_recv.restype = ctypes.c_ssize_t
_chunk = memoryview(bytes(CHUNK_BYTES))


class BulkFlow(FlowEngine):
    """One greedy flow from ``source`` to ``sink``, until its stop time or its number of bytes."""

    def __init__(self, bed: Bed, spec: FlowSpec, services: Services) -> None:
        super().__init__(spec, services)
        parameters: BulkParameters = spec["parameters"]
        self._size_bytes = parameters["bytes"]
        self._destination = (bed.address(spec["sink"]), spec["port"])
        self._listener: socket.socket | None = None
        self._sender: socket.socket | None = None
        self._receiver: socket.socket | None = None
        self._origin_ns = 0
        self._is_stopped = False
        if bed.holds(spec["sink"]):
            self._listener = listen(bed, spec, spec["sink"])
        if bed.holds(spec["source"]):
            with bed.enter(spec["source"]):
                self._sender = make_socket(spec)
                self._sender.bind((bed.address(spec["source"]), spec["client_port"]))

    def multipath_counters(self) -> tuple[list[int], list[int]] | None:
        """Return the counters of sender and receiver; None of a flow that is no Multipath TCP."""
        if not is_multipath(self.spec):
            return None
        return mptcp.counters(self._sender), mptcp.counters(self._receiver)

    def start(self, origin_ns: int) -> None:
        """Start a thread for each end; the sender connects at its start time."""
        self._origin_ns = origin_ns
        if self._listener is not None:
            system.start_thread(self._receive, self._listener)
        if self._sender is not None:
            system.start_thread(self._send, self._sender)

    def stop(self) -> None:
        """End the sender's data; the kernel still delivers what it has queued.

        The caller keeps the stop time, because a blocked send cannot watch the clock.
        """
        if self._sender is not None:
            self.outcomes.stopped(self._now_ns(), ONLY)
            self._is_stopped = True
            with contextlib.suppress(OSError):
                self._sender.shutdown(socket.SHUT_WR)

    def _now_ns(self) -> int:
        return system.monotonic_ns() - self._origin_ns

    def _send(self, sender: socket.socket) -> None:
        system.Timer().sleep_until(self._origin_ns + self.spec["start_ns"])
        self.outcomes.begins(ONLY, self.spec["start_ns"])
        remaining = self._size_bytes
        try:
            sender.connect(self._destination)
            self.outcomes.connected(ONLY)
            while remaining is None or remaining > 0:
                sent = sender.send(_chunk[:remaining])
                remaining = None if remaining is None else remaining - sent
            sender.shutdown(socket.SHUT_WR)
            sender.recv(1)  # until the connection breaks: the receiver sends nothing
        except OSError as error:
            # A send that ``stop`` interrupts has EPIPE, and the receiver reads on.
            if not (self._is_stopped and error.errno == errno.EPIPE):
                self._broke("sender", error)

    def _receive(self, listener: socket.socket) -> None:
        self._receiver, _peer = listener.accept()
        if self._sender is None:  # it is on another machine
            self.outcomes.begins(ONLY, self._now_ns())
            self.outcomes.connected(ONLY)
        try:
            read_to_end(self._receiver, window_of(self.spec))
            self.outcomes.ended(ONLY, self._now_ns())
        except OSError as error:
            self._broke("receiver", error)

    def _broke(self, end: str, error: OSError) -> None:
        """Note an error of the network, or report any other one."""
        if error.errno in NETWORK_ERRORS:
            self.outcomes.failed(ONLY, self._now_ns(), error.errno)
        else:
            self.services.problem(f"{end}: {error.strerror}")


class Subflow(FlowEngine):
    """A further subflow of a bulk flow's connection of Multipath TCP.

    The kernel opens and fills it. It is sampled, and the connection's first flow does all else.
    """

    def __init__(self, _bed: Bed, spec: FlowSpec, services: Services) -> None:
        super().__init__(spec, services)

    def start(self, origin_ns: int) -> None:
        """Do nothing: the connection begins with its first subflow."""


def read_to_end(receiver: socket.socket, window: ReceiveWindow | None) -> int:
    """Read and discard data until the other end has sent all; return the number of bytes.

    ``window`` limits the window that the socket may advertise, None does not.

    Raises:
        OSError: the connection broke.
    """
    if window is not None:
        window.connected(receiver)
        receiver.recv(1, socket.MSG_PEEK)  # wait for the first segment
        window.hold(receiver)
    flags = _MSG_TRUNC | _MSG_WAITALL
    total = 0
    while True:
        count: int = _recv(receiver.fileno(), None, _READ_BYTES, flags)
        if count == 0:
            return total
        if count < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        total += count


ENGINES: dict[str, EngineClass] = {"builtin": BulkFlow, SUBFLOW: Subflow}

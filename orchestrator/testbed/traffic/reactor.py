"""The event loop of a flow: one thread waits for sockets and absolute times, and calls back.

Each wake-up costs one system call, however many connections the flow has. Sockets are watched
edge-triggered (EPOLLET), so a callback has to read everything that has arrived.
"""

from __future__ import annotations

import errno
import heapq
import itertools
import select
import socket
import threading
import traceback

from orchestrator.protocol.reports.outcomes import NETWORK_ERRORS
from orchestrator.testbed.kernel import system

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Callable

    from orchestrator.testbed.bed import Bed
    from orchestrator.testbed.traffic import Services
    from orchestrator.testbed.traffic.sockets import ReceiveWindow

CLOSED, FAILED = select.EPOLLRDHUP, select.EPOLLERR
"""The other end sends nothing more; the connection is broken."""
INCOMING = select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLET
EVERYTHING = INCOMING | select.EPOLLOUT

_MOST_EVENTS = 256
_LOW_WATER_BYTES, _SMALL_BYTES = 16_384, 1448
_MOST_BYTES = 1 << 20
_READ_FLAGS = socket.MSG_TRUNC | socket.MSG_DONTWAIT

_zeros = memoryview(bytes(_MOST_BYTES))
_discarded = bytearray(_MOST_BYTES)


class Reactor:
    """Calls back in one thread, inside the network namespace of ``host``.

    Args:
        bed: the built network.
        host: name of the host whose sockets the callbacks open.
        services: receives a report when a callback fails; no callback is called after that.
    """

    def __init__(self, bed: Bed, host: str, services: Services) -> None:
        self._namespace_fd = bed.host(host).namespace_fd
        self._services = services
        self._poll = select.epoll()
        self._timer = system.Timer()
        self._poll.register(self._timer.fd, select.EPOLLIN)
        # Both by file descriptor.
        self._calls: dict[int, Callable[[int], None]] = {}
        self._listeners: dict[int, tuple[socket.socket, Callable[[socket.socket, int], None]]] = {}
        self._due: list[tuple[int, int, Callable[..., None], tuple[int, ...]]] = []
        self._order = itertools.count()
        self._armed_ns: int | None = None
        self._is_over = False
        self._lock = threading.Lock()
        self._origin_ns = 0

    def start(self, origin_ns: int) -> None:
        """Start the thread; all times count from ``origin_ns``."""
        self._origin_ns = origin_ns
        threading.Thread(target=self._run, daemon=True).start()

    def now_ns(self) -> int:
        """Return the time since traffic began."""
        return system.monotonic_ns() - self._origin_ns

    def at(self, time_ns: int, call: Callable[..., None], *arguments: int) -> None:
        """Call at that time; calls for the same time happen in the order of their requests."""
        heapq.heappush(self._due, (time_ns, next(self._order), call, arguments))

    def watch(
        self, connection: socket.socket, call: Callable[[int], None], events: int = EVERYTHING
    ) -> None:
        """Call with the events whenever some occur at the socket, until it is closed."""
        descriptor = connection.fileno()
        self._calls[descriptor] = call
        self._poll.register(descriptor, events)

    def wait_for(self, connection: socket.socket, events: int) -> None:
        """Watch for these events from now on."""
        self._poll.modify(connection.fileno(), events)

    def watch_listener(
        self, listener: socket.socket, call: Callable[[socket.socket, int], None]
    ) -> None:
        """Call with (socket, peer's port) of each accepted connection."""
        self._listeners[listener.fileno()] = listener, call
        self._poll.register(listener, select.EPOLLIN)

    def watch_descriptor(self, descriptor: int, call: Callable[[], None]) -> None:
        """Call whenever that descriptor, which is no socket's, becomes readable."""
        self._calls[descriptor] = lambda _events: call()
        self._poll.register(descriptor, select.EPOLLIN | select.EPOLLET)

    def close(self, connection: socket.socket) -> None:
        """Close a watched socket."""
        del self._calls[connection.fileno()]
        connection.close()

    def finish(self, call: Callable[[], None]) -> None:
        """Call once, while no other callback runs; then call nothing more and end the thread."""
        with self._lock:
            self._calls, self._listeners, self._due = {}, {}, []
            self._is_over = True
            call()

    def _run(self) -> None:
        try:
            system.enter(self._namespace_fd)
            while True:
                self._arm()
                ready = self._poll.poll(maxevents=_MOST_EVENTS)
                with self._lock:
                    if self._is_over:  # or sockets that stay ready would occupy the CPU
                        return
                    self._handle(ready)
        except Exception as error:  # noqa: BLE001 - or the run would go on without its traffic
            traceback.print_exc()
            self._services.problem(f"{type(error).__name__}: {error}")

    def _arm(self) -> None:
        first_ns = self._due[0][0] if self._due else None
        if first_ns is not None and first_ns != self._armed_ns:
            self._timer.arm(self._origin_ns + first_ns)
            self._armed_ns = first_ns

    def _handle(self, ready: list[tuple[int, int]]) -> None:
        for descriptor, events in ready:
            on_events = self._calls.get(descriptor)
            if on_events is not None:  # an earlier callback may have closed the socket
                on_events(events)
        # These callbacks open sockets, which can reuse descriptors of events above.
        for descriptor, _events in ready:
            if descriptor == self._timer.fd:
                self._call_due()
            elif descriptor in self._listeners:
                listener, on_accepted = self._listeners[descriptor]
                connection, (_address, port) = listener.accept()
                on_accepted(connection, port)

    def _call_due(self) -> None:
        now_ns = self.now_ns()
        while self._due and self._due[0][0] <= now_ns:
            _time_ns, _order, call, arguments = heapq.heappop(self._due)
            call(*arguments)
        self._armed_ns = None
        if not self._due:  # otherwise arming it again has the same effect
            self._timer.take()


class Outgoing:
    """Data, all of them zeros, that still have to be passed to a socket.

    ``connection`` may be set later, but before there is anything to send.
    """

    def __init__(self, connection: socket.socket | None = None, size_bytes: int = 0) -> None:
        self.connection = connection
        self.remaining_bytes = size_bytes
        self.error: int | None = None

    def send(self) -> bool:
        """Pass as many bytes as the kernel accepts; return whether none remain.

        ``error`` has the errno of a broken connection afterwards. An event reports that later.
        """
        while self.remaining_bytes:
            assert self.connection is not None, "there is something to send"
            most_bytes = min(self.remaining_bytes, _MOST_BYTES)
            try:
                sent = self.connection.send(_zeros[:most_bytes], socket.MSG_DONTWAIT)
            except OSError as error:
                self.error = _expected(error)
                return False
            self.remaining_bytes -= sent
            if sent < most_bytes:
                return False
        return True


class Incoming:
    """Bytes that still have to be read from a socket, and are discarded.

    The kernel reports data only when 16 kB or all remaining bytes have arrived (SO_RCVLOWAT). So a
    large transfer does not cost two system calls for each segment. ``window`` limits the window
    that the socket may advertise, None does not. With a limit, the socket is read after each
    segment.
    """

    def __init__(self, size_bytes: int = 0, window: ReceiveWindow | None = None) -> None:
        self.remaining_bytes, self.received_bytes = size_bytes, 0
        self.error: int | None = None
        self._connection: socket.socket | None = None
        self._window = window
        self._low_water_bytes = 1

    def read_from(self, connection: socket.socket) -> None:
        """Read from that socket from now on."""
        self._connection = connection
        if self._window is not None:
            self._window.connected(connection)
        self._set_low_water()

    def expect(self, size_bytes: int) -> None:
        """Expect so many further bytes, and count ``received_bytes`` from zero."""
        self.remaining_bytes, self.received_bytes = size_bytes, 0
        self._set_low_water()

    def _set_low_water(self) -> None:
        if self._connection is None or self._window is not None:
            return
        is_small = self.remaining_bytes <= _SMALL_BYTES
        low_water_bytes = 1 if is_small else min(self.remaining_bytes, _LOW_WATER_BYTES)
        if low_water_bytes != self._low_water_bytes:
            self._low_water_bytes = low_water_bytes
            self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, low_water_bytes)

    def read(self) -> bool:
        """Read what has arrived; return whether no bytes remain.

        ``error`` has the errno of a broken connection afterwards. An event reports that later.
        """
        while self.remaining_bytes and self._connection is not None:
            most_bytes = min(self.remaining_bytes, _MOST_BYTES)
            try:
                count = self._connection.recv_into(_discarded, most_bytes, _READ_FLAGS)
            except OSError as error:
                self.error = _expected(error)
                return False
            if count and self._window is not None:
                self._window.hold(self._connection)
            self.remaining_bytes -= count
            self.received_bytes += count
            if count < most_bytes:
                if self.remaining_bytes < self._low_water_bytes:
                    self._set_low_water()
                return False
        return not self.remaining_bytes


def _expected(error: OSError) -> int | None:
    """Return the errno of a broken socket; None of one that is full or empty.

    Raises:
        OSError: any other error.
    """
    if error.errno in NETWORK_ERRORS:
        return error.errno
    if error.errno != errno.EAGAIN:
        raise error
    return None

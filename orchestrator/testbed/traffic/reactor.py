"""One thread of a flow: waits for its sockets and for absolute times, and calls back.

However many connections a flow has, it costs one waiting system call whenever something happens.
Sockets are watched by their edges: a callback has to take all there is.
"""

import errno
import heapq
import itertools
import select
import socket
import threading
import traceback

from orchestrator.testbed.kernel import system
from orchestrator.testbed.traffic.sockets import BROKEN, hold_window

CLOSED, FAILED = select.EPOLLRDHUP, select.EPOLLERR
"""The other end sends nothing more; the connection is broken."""
INCOMING = select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLET
EVERYTHING = INCOMING | select.EPOLLOUT

_MOST_EVENTS = 256
_LUMP_BYTES, _SMALL_BYTES = 16_384, 1448
_MOST_BYTES = 1 << 20
_TAKE_FLAGS = socket.MSG_TRUNC | socket.MSG_DONTWAIT

_nothing = memoryview(bytes(_MOST_BYTES))
_taken = bytearray(_MOST_BYTES)


class Reactor:
    """Calls back in one thread inside the namespace of ``host``.

    Args:
        bed: the built network.
        host: name of the host whose sockets the callbacks open.
        services: told when a callback fails, after which none is called any more.
    """

    def __init__(self, bed, host, services):
        self._namespace_fd = bed.host(host).namespace_fd
        self._services = services
        self._poll = select.epoll()
        self._timer = system.Timer()
        self._poll.register(self._timer.fd, select.EPOLLIN)
        self._calls, self._listeners = {}, {}
        self._due, self._order = [], itertools.count()
        self._armed_ns = None
        self._lock = threading.Lock()
        self._origin_ns = 0

    def start(self, origin_ns):
        """Start the thread; all times count from ``origin_ns``."""
        self._origin_ns = origin_ns
        threading.Thread(target=self._run, daemon=True).start()

    def now_ns(self):
        """Return the time."""
        return system.monotonic_ns() - self._origin_ns

    def at(self, time_ns, call, *arguments):
        """Call at that time; what is due together is called in the order of asking."""
        heapq.heappush(self._due, (time_ns, next(self._order), call, arguments))

    def watch(self, connection, call, events=EVERYTHING):
        """Call with the events whenever something happens to the socket, until it is closed."""
        descriptor = connection.fileno()
        self._calls[descriptor] = call
        self._poll.register(descriptor, events)

    def wait_for(self, connection, events):
        """From now on call with these events."""
        self._poll.modify(connection.fileno(), events)

    def watch_listener(self, listener, call):
        """Call with (socket, peer's port) of each connection that comes in."""
        self._listeners[listener.fileno()] = listener, call
        self._poll.register(listener, select.EPOLLIN)

    def close(self, connection):
        """Close a watched socket."""
        del self._calls[connection.fileno()]
        connection.close()

    def finish(self, call):
        """Call once while no other callback runs, and none after."""
        with self._lock:
            self._calls, self._listeners, self._due = {}, {}, []
            call()

    def _run(self):
        try:
            system.enter(self._namespace_fd)
            while True:
                self._arm()
                ready = self._poll.poll(maxevents=_MOST_EVENTS)
                with self._lock:
                    self._handle(ready)
        except Exception as error:  # noqa: BLE001 - or the run would go on without its traffic
            traceback.print_exc()
            self._services.problem(f"{type(error).__name__}: {error}")

    def _arm(self):
        first_ns = self._due[0][0] if self._due else None
        if first_ns is not None and first_ns != self._armed_ns:
            self._timer.arm(self._origin_ns + first_ns)
            self._armed_ns = first_ns

    def _handle(self, ready):
        for descriptor, events in ready:
            call = self._calls.get(descriptor)
            if call is not None:  # else closed by what came before it
                call(events)
        # What opens sockets comes last: their descriptors may be those of events still waiting.
        for descriptor, _events in ready:
            if descriptor == self._timer.fd:
                self._call_due()
            elif descriptor in self._listeners:
                listener, call = self._listeners[descriptor]
                connection, (_address, port) = listener.accept()
                call(connection, port)

    def _call_due(self):
        now_ns = self.now_ns()
        while self._due and self._due[0][0] <= now_ns:
            _time_ns, _order, call, arguments = heapq.heappop(self._due)
            call(*arguments)
        self._armed_ns = None
        if not self._due:  # else it is armed anew, which has the same effect
            self._timer.take()


class Outgoing:
    """Bytes of nothing that still have to be handed to a socket, once there is one."""

    def __init__(self, connection=None, size_bytes=0):
        self.connection = connection
        self.left_bytes = size_bytes

    def send(self):
        """Hand over what the kernel takes; return whether nothing is left."""
        while self.left_bytes:
            most_bytes = min(self.left_bytes, _MOST_BYTES)
            try:
                sent = self.connection.send(_nothing[:most_bytes], socket.MSG_DONTWAIT)
            except OSError as error:
                _pass_over(error)
                return False
            self.left_bytes -= sent
            if sent < most_bytes:
                return False
        return True


class Incoming:
    """Bytes that still have to come out of a socket, once there is one; thrown away unseen.

    The kernel says that something came only when 16 kB or the rest are there, so that a
    large transfer does not cost two system calls a segment. ``window_bytes`` is the largest window
    that the socket may tell, None for any; to be held it takes a look at each segment.
    """

    def __init__(self, size_bytes=0, window_bytes=None):
        self.left_bytes, self.came_bytes = size_bytes, 0
        self._connection, self._window_bytes = None, window_bytes
        self._lump_bytes = 1

    def come_from(self, connection):
        """Take them out of that socket from now on."""
        self._connection = connection
        self._set_lump()

    def expect(self, size_bytes):
        """Wait for so many bytes more; ``came_bytes`` begins anew."""
        self.left_bytes, self.came_bytes = size_bytes, 0
        self._set_lump()

    def _set_lump(self):
        if self._connection is None or self._window_bytes is not None:
            return
        lump_bytes = 1 if self.left_bytes <= _SMALL_BYTES else min(self.left_bytes, _LUMP_BYTES)
        if lump_bytes != self._lump_bytes:
            self._lump_bytes = lump_bytes
            self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, lump_bytes)

    def take(self):
        """Take what has come; return whether nothing is left to come."""
        while self.left_bytes and self._connection is not None:
            most_bytes = min(self.left_bytes, _MOST_BYTES)
            try:
                count = self._connection.recv_into(_taken, most_bytes, _TAKE_FLAGS)
            except OSError as error:
                _pass_over(error)
                return False
            if count and self._window_bytes is not None:
                hold_window(self._connection, self._window_bytes)
            self.left_bytes -= count
            self.came_bytes += count
            if count < most_bytes:
                if self.left_bytes < self._lump_bytes:
                    self._set_lump()
                return False
        return not self.left_bytes


def _pass_over(error):
    """Return when the socket is full, empty or broken, of which an event will tell."""
    if error.errno != errno.EAGAIN and error.errno not in BROKEN:
        raise error

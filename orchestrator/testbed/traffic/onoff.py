"""A greedy sender that is on and off: over one connection that pauses, or a new one each time.

While on, the kernel is handed a step of data whenever less than half of it waits to be sent: it
never runs short, and when the sender goes off at most a step and a half are still to be sent for
the first time. A step is what the narrowest link sends in 2 ms, which is two of the bursts in which
a paced sender takes it (tcp_tso_autosize() in net/ipv4/tcp_output.c), and eight segments at least.
"""

import random
import select
import socket
import struct
import threading

from orchestrator.protocol.random_quantities import ALWAYS_NS, periods
from orchestrator.testbed.traffic.bulk import take_all
from orchestrator.testbed.traffic.reactor import CLOSED, Outgoing, Reactor
from orchestrator.testbed.traffic.sockets import (
    BROKEN,
    Connector,
    congestion_of,
    listen,
    window_of,
)

_WRITABLE = select.EPOLLOUT
_TCP_NOTSENT_LOWAT = 25
_STEP_S, _LEAST_STEP_BYTES = 0.002, 8 * 1448
_MOST_STEP_BYTES = 1 << 20
_BYTES_RECEIVED = struct.Struct("=128xQ")  # of struct tcp_info


class OnOffFlow:
    """Greedy data from ``source`` to ``sink`` while on.

    Parameters: those of ``periods``; "reconnect", whether each period has a connection of its own,
    which is then a transfer from the call to connect() to the end of the data at the receiver;
    "period_bytes", the most that is sent in each period, or None; "path_rate_bps", of the narrowest
    link, or None.
    """

    def __init__(self, bed, spec, services):
        self.spec, self.services = spec, services
        self.parameters = spec["parameters"]
        end = spec["source"] if bed.holds(spec["source"]) else spec["sink"]
        self.reactor = Reactor(bed, end, services)
        self.sends, self._receiver = bed.holds(spec["source"]), None
        if bed.holds(spec["sink"]):
            self._listener = listen(bed, spec, spec["sink"])
            self._receiver = Receiver(self)
        self._connector = Connector(bed, spec, spec["source"], spec["sink"])
        self._periods = periods(random.Random(spec["seed"]), self.parameters)
        rate_bps = self.parameters["path_rate_bps"] or 0
        step_bytes = max(int(_STEP_S * rate_bps / 8), _LEAST_STEP_BYTES)
        self.step_bytes = min(step_bytes, _MOST_STEP_BYTES)
        self._sender = None  # of the current period, or of all
        self._duration_ns = bed.spec["duration_ns"]
        self._senders, self._stopped = 0, False

    def start(self, origin_ns):
        """Start one thread that sends and one that receives."""
        if self.sends:
            self._plan_next()
            if self.spec["stop_ns"] is not None:
                self.reactor.at(self.spec["stop_ns"], self._cut)
        if self._receiver is not None:
            threading.Thread(target=self._receiver.run, args=(self._listener,), daemon=True).start()
        self.reactor.start(origin_ns)

    def stop(self):
        """Do nothing: the flow's own thread knows the time."""

    def finish(self):
        """Note the connections that have not ended by the end of the run."""
        self.reactor.finish(self._finish)

    def _finish(self):
        if self._receiver is not None:
            self._receiver.finish()

    def _plan_next(self):
        begin_ns, end_ns = next(self._periods, (None, None))
        if begin_ns is not None:
            start_ns = self.spec["start_ns"]
            self.reactor.at(start_ns + begin_ns, self._on, start_ns + begin_ns, start_ns + end_ns)

    def _on(self, begin_ns, end_ns):
        if self._stopped or begin_ns >= self._duration_ns:
            return
        if self._sender is None or self.parameters["reconnect"]:
            client, port = self._connector.open()
            self._expect(port, begin_ns)
            self._sender = Sender(self, client, self._senders == 0)
            self._senders += 1
        self._sender.turn_on(self.parameters["period_bytes"])
        self.reactor.at(end_ns, self._off)

    def _expect(self, port, begin_ns):
        """Let the receiver know of a connection: here, or on the machine that it is on."""
        if self._receiver is not None:
            self._receiver.expect(port, begin_ns)
        elif self.parameters["reconnect"]:
            self.services.transfer_begins(port, begin_ns)

    def _off(self):
        if not self._stopped and self._sender is not None:
            self._sender.turn_off(for_good=self.parameters["reconnect"])
            self._plan_next()

    def _cut(self):
        self._stopped = True
        if self._sender is not None:
            self._sender.turn_off(for_good=True)


class Sender:
    """The sending end of one connection."""

    def __init__(self, flow, client, is_first):
        self._flow, self._client, self._is_first = flow, client, is_first
        self._outgoing = Outgoing(client)
        self._left_bytes, self._is_shut = 0, False
        client.setsockopt(socket.IPPROTO_TCP, _TCP_NOTSENT_LOWAT, flow.step_bytes)
        flow.reactor.watch(client, self._ready, CLOSED)

    def turn_on(self, size_bytes):
        """Send so much, or what there is time for when it is None, from now on."""
        self._left_bytes = ALWAYS_NS if size_bytes is None else size_bytes
        if self._client is not None:
            self._flow.reactor.wait_for(self._client, _WRITABLE | CLOSED)

    def turn_off(self, for_good):
        """Hand nothing more to the kernel; the connection stays unless ``for_good``."""
        self._left_bytes = self._outgoing.left_bytes = 0
        if self._client is None:
            return
        self._flow.reactor.wait_for(self._client, CLOSED)
        if for_good and not self._is_shut:
            self._is_shut = True
            self._client.shutdown(socket.SHUT_WR)

    def _ready(self, events):
        if events & ~_WRITABLE:
            self._flow.reactor.close(self._client)
            self._client = None
            return
        if self._is_first:
            self._is_first = False
            self._flow.services.congestion(congestion_of(self._client))
        if self._left_bytes and self._outgoing.left_bytes == 0:
            self._outgoing.left_bytes = min(self._flow.step_bytes, self._left_bytes)
            self._left_bytes -= self._outgoing.left_bytes
        self._outgoing.send()
        if not self._left_bytes and not self._outgoing.left_bytes:
            self.turn_off(for_good=self._flow.parameters["reconnect"])


class Receiver:
    """The receiving ends: each is read by a thread of its own, in one system call for 64 MB."""

    def __init__(self, flow):
        self._flow = flow
        self._lock = threading.Lock()
        self._begun_ns, self._open = {}, {}  # by the client's port
        self._window_bytes = window_of(flow.spec)
        self._is_over = False

    def expect(self, port, begin_ns):
        """Take note of a connection that is about to come from that port."""
        with self._lock:
            self._begun_ns[port] = begin_ns

    def run(self, listener):
        """Take connections for ever."""
        while True:
            connection, (_address, port) = listener.accept()
            self._open[port] = connection
            threading.Thread(target=self._take, args=(connection, port), daemon=True).start()

    def _take(self, connection, port):
        try:
            size_bytes = take_all(connection, self._window_bytes)
            end_ns = self._flow.reactor.now_ns()
        except OSError as error:
            if error.errno not in BROKEN:
                self._flow.services.problem(f"receiver: {error.strerror}")
            return
        if self._flow.parameters["reconnect"]:  # else sampled to the end, as long as it is open
            with self._lock:
                begin_ns = self._begun_ns.pop(port, None)
                if not self._is_over:
                    self._note(port, begin_ns, end_ns, size_bytes)
                self._open.pop(port).close()

    def _note(self, port, begin_ns, end_ns, size_bytes):
        """Note a connection as a transfer; of one that begins on another machine only its end."""
        if self._flow.sends:
            self._flow.services.transfer(begin_ns, end_ns, size_bytes)
        else:
            self._flow.services.transfer_ends(port, end_ns, size_bytes)

    def finish(self):
        """Note the connections that have not ended, with the bytes that have come."""
        with self._lock:
            self._is_over = True
            ports = dict(self._begun_ns) if self._flow.sends else dict.fromkeys(self._open)
            for port, begin_ns in ports.items():
                if self._flow.parameters["reconnect"]:
                    self._note(port, begin_ns, -1, self._came_bytes(port))

    def _came_bytes(self, port):
        if port not in self._open:
            return 0
        told = self._open[port].getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        return _BYTES_RECEIVED.unpack_from(told)[0]


ENGINES = {"onoff": OnOffFlow}

"""Greedy TCP that is on and off: over one connection that pauses, or over a new one each time.

While on, the sender passes one step of data to the kernel whenever less than half a step is unsent.
So the kernel always has data to send. When the sender goes off, at most one and a half steps are
unsent. A step is what the narrowest link sends in 2 ms, but at least eight segments. That is two of
the bursts that a paced sender sends (tcp_tso_autosize() in net/ipv4/tcp_output.c).
"""

from __future__ import annotations

import random
import select
import socket
import struct
import threading

from orchestrator.protocol.links.random_quantities import ALWAYS_NS, periods
from orchestrator.protocol.reports.outcomes import NETWORK_ERRORS
from orchestrator.testbed.traffic import FlowEngine
from orchestrator.testbed.traffic.bulk import read_to_end
from orchestrator.testbed.traffic.outcomes import error_of
from orchestrator.testbed.traffic.reactor import CLOSED, FAILED, Outgoing, Reactor
from orchestrator.testbed.traffic.sockets import (
    ConnectFailed,
    Connector,
    congestion_of,
    listen,
    shut,
    window_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from orchestrator.protocol.engine_parameters import OnOffParameters
    from orchestrator.protocol.specification import FlowSpec
    from orchestrator.testbed.bed import Bed
    from orchestrator.testbed.traffic import EngineClass, Services

_WRITABLE = select.EPOLLOUT
_TCP_NOTSENT_LOWAT = 25
_STEP_S, _LEAST_STEP_BYTES = 0.002, 8 * 1448
_MOST_STEP_BYTES = 1 << 20
_BYTES_RECEIVED = struct.Struct("=128xQ")  # of struct tcp_info


class OnOffFlow(FlowEngine):
    """Greedy data from ``source`` to ``sink`` while on.

    With "reconnect", each connection is a transfer. It lasts from the call to connect() until the
    receiver has read the end of the data.
    """

    def __init__(self, bed: Bed, spec: FlowSpec, services: Services) -> None:
        super().__init__(spec, services)
        self.parameters: OnOffParameters = spec["parameters"]
        end = spec["source"] if bed.holds(spec["source"]) else spec["sink"]
        self.reactor = Reactor(bed, end, services)
        self.sends = bed.holds(spec["source"])
        self._receiver: Receiver | None = None
        if bed.holds(spec["sink"]):
            self._receiver = Receiver(self, listen(bed, spec, spec["sink"]))
        self._connector = Connector(bed, spec, spec["source"], spec["sink"])
        self._periods = periods(random.Random(spec["seed"]), self.parameters)
        rate_bps = self.parameters["path_rate_bps"] or 0
        step_bytes = max(int(_STEP_S * rate_bps / 8), _LEAST_STEP_BYTES)
        self.step_bytes = min(step_bytes, _MOST_STEP_BYTES)
        self._sender: Sender | None = None  # of the current period, or of all periods
        self._duration_ns = bed.spec["duration_ns"]
        self._senders, self._stopped = 0, False

    def start(self, origin_ns: int) -> None:
        """Start a thread that sends and one that receives."""
        if self.sends:
            self._plan_next()
            if self.spec["stop_ns"] is not None:
                self.reactor.at(self.spec["stop_ns"], self._cut)
        if self._receiver is not None:
            threading.Thread(target=self._receiver.run, daemon=True).start()
        self.reactor.start(origin_ns)

    def finish(self) -> None:
        """Record the connections that have not ended by the end of the run, and how others did."""
        self.reactor.finish(self._note_incomplete)
        super().finish()

    def _note_incomplete(self) -> None:
        if self._receiver is not None:
            self._receiver.finish()

    def _plan_next(self) -> None:
        period = next(self._periods, None)
        if period is not None:
            begin_ns, end_ns = (self.spec["start_ns"] + time_ns for time_ns in period)
            self.reactor.at(begin_ns, self._turn_on, begin_ns, end_ns)

    def _turn_on(self, begin_ns: int, end_ns: int) -> None:
        if self._stopped or begin_ns >= self._duration_ns:
            return
        if self._sender is None or self.parameters["reconnect"]:
            self._connect(begin_ns)
        if self._sender is not None:
            self._sender.turn_on(self.parameters["period_bytes"])
        self.reactor.at(end_ns, self._turn_off)

    def _connect(self, begin_ns: int) -> None:
        """Begin a connection. If the kernel refuses at once, the next period tries again."""
        self._sender = None
        try:
            client, port = self._connector.open()
        except ConnectFailed as error:
            self.outcomes.begins(error.port, begin_ns)
            self.outcomes.failed(error.port, begin_ns, error.code)
            return
        self.outcomes.begins(port, begin_ns)
        self._expect(port, begin_ns)
        self._sender = Sender(self, client, port, self._senders == 0)
        self._senders += 1

    def failed(self, port: int, code: int) -> None:
        """Note that a connection failed with that errno."""
        self.outcomes.failed(port, self.reactor.now_ns(), code)
        if self._receiver is not None:
            self._receiver.forget(port)

    def _expect(self, port: int, begin_ns: int) -> None:
        """Announce a connection to the receiver, on this machine or another one."""
        if self._receiver is not None:
            self._receiver.expect(port, begin_ns)
        elif self.parameters["reconnect"]:
            self.services.transfer_begins(port, begin_ns)

    def _turn_off(self) -> None:
        if not self._stopped:
            if self._sender is not None:
                self._sender.turn_off(for_good=self.parameters["reconnect"])
            self._plan_next()

    def _cut(self) -> None:
        self._stopped = True
        self.outcomes.stopped(self.reactor.now_ns())
        if self._sender is not None:
            self._sender.turn_off(for_good=True)


class Sender:
    """The sending end of one connection."""

    def __init__(self, flow: OnOffFlow, client: socket.socket, port: int, is_first: bool) -> None:
        self._flow, self._port, self._is_first = flow, port, is_first
        self._is_connected = False
        self._client: socket.socket | None = client
        self._outgoing = Outgoing(client)
        self._remaining_bytes, self._is_shut = 0, False
        client.setsockopt(socket.IPPROTO_TCP, _TCP_NOTSENT_LOWAT, flow.step_bytes)
        flow.reactor.watch(client, self._ready, CLOSED)

    def turn_on(self, size_bytes: int | None) -> None:
        """Send so many bytes from now on, or without a limit when it is None."""
        self._remaining_bytes = ALWAYS_NS if size_bytes is None else size_bytes
        if self._client is not None:
            self._flow.reactor.wait_for(self._client, _WRITABLE | CLOSED)

    def turn_off(self, for_good: bool) -> None:
        """Pass nothing more to the kernel; with ``for_good``, end the connection's data."""
        self._remaining_bytes = self._outgoing.remaining_bytes = 0
        if self._client is None:
            return
        self._flow.reactor.wait_for(self._client, CLOSED)
        if for_good and not self._is_shut:
            self._is_shut = True
            if not self._is_connected:  # which gives it up
                self._flow.outcomes.stopped(self._flow.reactor.now_ns(), self._port)
            shut(self._client)

    def _ready(self, events: int) -> None:
        assert self._client is not None, "its socket is ready"
        if events & ~_WRITABLE:
            if events & FAILED:
                self._flow.failed(self._port, error_of(self._client, self._outgoing.error))
            self._flow.outcomes.ended(self._port, self._flow.reactor.now_ns())
            self._flow.reactor.close(self._client)
            self._client = None
            return
        if not self._is_connected:
            self._is_connected = True
            self._flow.outcomes.connected(self._port)
        if self._is_first:
            self._is_first = False
            self._flow.services.congestion(congestion_of(self._client))
        if self._remaining_bytes and self._outgoing.remaining_bytes == 0:
            self._outgoing.remaining_bytes = min(self._flow.step_bytes, self._remaining_bytes)
            self._remaining_bytes -= self._outgoing.remaining_bytes
        self._outgoing.send()
        if not self._remaining_bytes and not self._outgoing.remaining_bytes:
            self.turn_off(for_good=self._flow.parameters["reconnect"])


class Receiver:
    """The receiving ends. A thread reads each of them, up to 64 MB in one system call."""

    def __init__(self, flow: OnOffFlow, listener: socket.socket) -> None:
        self._flow, self._listener = flow, listener
        self._lock = threading.Lock()
        # Both by the client's port.
        self._begun_ns: dict[int, int] = {}
        self._open: dict[int, socket.socket] = {}
        # Of connections whose senders failed; nobody tells their kernel that they are over.
        self._left: list[socket.socket] = []
        self._window = window_of(flow.spec)
        self._is_over = False

    def expect(self, port: int, begin_ns: int) -> None:
        """Remember when the connection from that client port began."""
        with self._lock:
            self._begun_ns[port] = begin_ns

    def run(self) -> None:
        """Accept connections for ever."""
        while True:
            connection, (_address, port) = self._listener.accept()
            if not self._flow.sends:  # its sender is on another machine
                self._flow.outcomes.begins(port, self._flow.reactor.now_ns())
                self._flow.outcomes.connected(port)
            with self._lock:
                self._open[port] = connection
            threading.Thread(target=self._read, args=(connection, port), daemon=True).start()

    def _read(self, connection: socket.socket, port: int) -> None:
        try:
            size_bytes = read_to_end(connection, self._window)
            end_ns = self._flow.reactor.now_ns()
        except OSError as error:
            if error.errno not in NETWORK_ERRORS:
                self._flow.services.problem(f"receiver: {error.strerror}")
            elif self._open.get(port) is connection:
                self._flow.outcomes.failed(port, self._flow.reactor.now_ns(), error.errno)
            return
        with self._lock:
            if self._open.get(port) is not connection:  # its sender has failed
                return
            self._flow.outcomes.ended(port, end_ns)
            # A single connection stays open, so that it can be sampled until the end.
            if self._flow.parameters["reconnect"]:
                begin_ns = self._begun_ns.pop(port, None)
                if not self._is_over:
                    self._note(port, begin_ns, end_ns, size_bytes)
                self._open.pop(port).close()

    def forget(self, port: int) -> None:
        """Record the transfer of a connection whose sender failed; another may get its port."""
        with self._lock:
            begin_ns = self._begun_ns.pop(port, None)
            if self._flow.parameters["reconnect"] and begin_ns is not None and not self._is_over:
                self._note(port, begin_ns, -1, self._received_bytes(port))
            if port in self._open:
                self._left.append(self._open.pop(port))

    def _note(self, port: int, begin_ns: int | None, end_ns: int, size_bytes: int) -> None:
        """Record a transfer, or only its end if it began on another machine."""
        if begin_ns is None:
            self._flow.services.transfer_ends(port, end_ns, size_bytes)
        else:
            self._flow.services.transfer(begin_ns, end_ns, size_bytes)

    def finish(self) -> None:
        """Record the connections that have not ended, with the bytes that have arrived."""
        with self._lock:
            self._is_over = True
            begun_ns: dict[int, int | None] = (
                dict(self._begun_ns) if self._flow.sends else dict.fromkeys(self._open)
            )
            for port, begin_ns in begun_ns.items():
                if self._flow.parameters["reconnect"]:
                    self._note(port, begin_ns, -1, self._received_bytes(port))

    def _received_bytes(self, port: int) -> int:
        if port not in self._open:
            return 0
        info = self._open[port].getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        received_bytes: int = _BYTES_RECEIVED.unpack_from(info)[0]
        return received_bytes


ENGINES: dict[str, EngineClass] = {"onoff": OnOffFlow}

"""Flows with several connections: when connections begin, both ends of each, and their end."""

from __future__ import annotations

import abc
import random
import socket

from orchestrator.protocol.links.random_quantities import draw
from orchestrator.testbed.traffic import FlowEngine
from orchestrator.testbed.traffic.outcomes import error_of
from orchestrator.testbed.traffic.reactor import CLOSED, FAILED, INCOMING, Reactor
from orchestrator.testbed.traffic.sockets import (
    ConnectFailed,
    Connector,
    congestion_of,
    listen,
    shut,
)

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Callable, Sequence

    from orchestrator.protocol.engine_parameters import ConnectionsTraffic
    from orchestrator.protocol.specification import FlowSpec
    from orchestrator.testbed.bed import Bed
    from orchestrator.testbed.traffic import Services
    from orchestrator.testbed.traffic.reactor import Incoming, Outgoing

_RETRY_NS = 1_000_000_000
"""After a connection that the kernel refused at once, the next one waits for as long as TCP does
before it repeats a SYN (RFC 6298)."""


class ConnectionsFlow(FlowEngine, abc.ABC):
    """Connections from one host to another, which begin at given or random times, or in turn.

    Times are drawn from a random generator of their own. So the sizes do not depend on how long
    connections take.

    Args:
        bed, spec, services: those of every engine.
        client, server: names of the hosts that connect and that listen.
    """

    def __init__(
        self, bed: Bed, spec: FlowSpec, services: Services, client: str, server: str
    ) -> None:
        super().__init__(spec, services)
        self._schedule: ConnectionsTraffic = spec["parameters"]
        self.connects, self.accepts = bed.holds(client), bed.holds(server)
        self.reactor = Reactor(bed, client if self.connects else server, services)
        if self.accepts:
            self.reactor.watch_listener(listen(bed, spec, server), self._accepted)
        self._connector = Connector(bed, spec, client, server)
        self._times = random.Random(f"{spec['seed']}:times")
        self._in_turn = (
            self._schedule["arrivals_per_s"] is None
            and "every_ns" not in self._schedule
            and "times_ns" not in self._schedule
        )
        self._duration_ns = bed.spec["duration_ns"]
        self._begun, self._stopped = 0, False
        # Both by the client's port.
        self._connections: dict[int, Connection] = {}
        self._servers: dict[int, ServerEnd] = {}

    @abc.abstractmethod
    def new_connection(
        self, client: socket.socket, port: int, start_ns: int, number: int
    ) -> Connection:
        """Return the flow's n-th connection, whose client has begun to connect from ``port``."""

    def new_server_end(self, server: socket.socket, port: int) -> ServerEnd:
        """Return the server's end of a connection whose client is on another machine.

        Raises:
            NotImplementedError: this engine needs both ends in one bed.
        """
        raise NotImplementedError("both ends of the flow have to be on one machine")

    def start(self, origin_ns: int) -> None:
        """Start the flow's thread."""
        if self.connects:
            first_ns = self.spec["start_ns"]
            if "times_ns" in self._schedule:
                first_ns += self._schedule["times_ns"][0]
            elif self._schedule["arrivals_per_s"] is not None:
                first_ns += self._interval_ns()
            self.reactor.at(first_ns, self._begin, first_ns)
            if self.spec["stop_ns"] is not None:
                self.reactor.at(self.spec["stop_ns"], self._cut)
        self.reactor.start(origin_ns)

    def finish(self) -> None:
        """Record what is not complete at the end of the run, and how connections ended."""
        self.reactor.finish(self._note_incomplete)
        super().finish()

    def _interval_ns(self) -> int:
        arrivals_per_s = self._schedule["arrivals_per_s"]
        if arrivals_per_s is None:
            return self._schedule["every_ns"]
        return int(self._times.expovariate(arrivals_per_s / 10**9))

    def _begin(self, time_ns: int) -> None:
        over = self._stopped or time_ns >= self._duration_ns
        if over or self._begun == self._schedule["number"]:
            return
        try:
            client, port = self._connector.open()
        except ConnectFailed as error:
            self.outcomes.begins(error.port, time_ns)
            self.outcomes.failed(error.port, time_ns, error.code)
            self._plan_next(_RETRY_NS)
        else:
            self.outcomes.begins(port, time_ns)
            self._connections[port] = self.new_connection(client, port, time_ns, self._begun)
        self._begun += 1
        if "times_ns" in self._schedule:
            if self._begun < len(self._schedule["times_ns"]):
                next_ns = self.spec["start_ns"] + self._schedule["times_ns"][self._begun]
                self.reactor.at(next_ns, self._begin, next_ns)
        elif not self._in_turn:
            next_ns = time_ns + self._interval_ns()
            self.reactor.at(next_ns, self._begin, next_ns)

    def _plan_next(self, least_ns: int = 0) -> None:
        """Where connections begin one after another, begin the next one after the gap."""
        if self._in_turn:
            gap = self._schedule["gap"]
            gap_ns = 0 if gap is None else draw(self._times, gap)
            next_ns = self.reactor.now_ns() + max(gap_ns, least_ns)
            self.reactor.at(next_ns, self._begin, next_ns)

    def _accepted(self, server: socket.socket, port: int) -> None:
        if not self.connects:
            self.outcomes.begins(port, self.reactor.now_ns())
            self.outcomes.connected(port)
            self._servers[port] = self.new_server_end(server, port)
        elif port in self._connections:
            self._connections[port].accepted(server)
        else:
            server.close()  # the client has given up

    def _cut(self) -> None:
        self._stopped = True
        self.outcomes.stopped(self.reactor.now_ns())
        for connection in list(self._connections.values()):
            connection.cut()

    def _note_incomplete(self) -> None:
        for connection in self._connections.values():
            connection.note_incomplete()
        for server_end in self._servers.values():
            server_end.note_incomplete()

    def ended(self, port: int) -> None:
        """Forget a connection; without a Poisson process, begin the next one after the gap.

        It has ended well unless ``outcomes`` knows better.
        """
        self.outcomes.ended(port, self.reactor.now_ns())
        if not self.connects:
            del self._servers[port]
            return
        del self._connections[port]
        self._plan_next()

    def failed(self, port: int, code: int) -> None:
        """Note that a connection failed with that errno; ``ended`` is called next."""
        self.outcomes.failed(port, self.reactor.now_ns(), code)


class ServerEnd(abc.ABC):
    """The server's end of a connection whose client is on another machine."""

    @abc.abstractmethod
    def note_incomplete(self) -> None:
        """Record the transfer with the bytes that have been read."""


class Connection(abc.ABC):
    """Both ends of one connection; a derived class says what they send.

    ``streams`` are all data that its ends send and read.
    """

    streams: Sequence[Outgoing | Incoming] = ()

    def __init__(
        self, flow: ConnectionsFlow, client: socket.socket, port: int, number: int
    ) -> None:
        self.flow, self._port = flow, port
        self._first = number == 0
        self.client: socket.socket | None = client
        self.server: socket.socket | None = None
        self.is_connected = False
        flow.reactor.watch(client, self._at_client)

    @abc.abstractmethod
    def client_ready(self) -> None:
        """Continue after an event at the client's socket, such as the end of the server's data."""

    @abc.abstractmethod
    def server_ready(self) -> None:
        """Continue after an event at the server's socket, such as the end of the client's data."""

    @abc.abstractmethod
    def sender(self) -> socket.socket | None:
        """Return the end that sends the flow's data; None while it does not exist."""

    @abc.abstractmethod
    def cut(self) -> None:
        """Pass no more data to the kernel."""

    @abc.abstractmethod
    def note_incomplete(self) -> None:
        """Record the current transfer, if there is one, with the bytes that have been read."""

    def accepted(self, server: socket.socket) -> None:
        """Begin to use the server's end of the connection."""
        self.server = server
        self.flow.reactor.watch(server, self._at_server, INCOMING)
        self._note_sender()

    def abandon(self) -> None:
        """Close both ends."""
        self.note_incomplete()
        self._close_client()
        self._close_server()
        self.flow.ended(self._port)

    def shut(self) -> None:
        """End the sender's data; the kernel still delivers what it has queued."""
        sender = self.sender()
        assert sender is not None, "only a connected sender is shut"
        shut(sender)

    def _at_client(self, events: int) -> None:
        self._note_failure(events, self.client)
        if not events & FAILED and not self.is_connected:
            self.is_connected = True
            self.flow.outcomes.connected(self._port)
            self._note_sender()
        if self.is_connected:
            self.client_ready()
        self._after(events, self._close_client)

    def _at_server(self, events: int) -> None:
        self._note_failure(events, self.server)
        self.server_ready()
        self._after(events, self._close_server)

    def _note_failure(self, events: int, end: socket.socket | None) -> None:
        if events & FAILED and end is not None:
            known = [stream.error for stream in self.streams if stream.error is not None]
            self.flow.failed(self._port, error_of(end, known[0] if known else None))

    def _after(self, events: int, close: Callable[[], None]) -> None:
        if events & FAILED:
            self.abandon()
        elif events & CLOSED:
            self.note_incomplete()
            close()
            if self.client is None and self.server is None:
                self.flow.ended(self._port)

    def _close_client(self) -> None:
        if self.client is not None:
            self.flow.reactor.close(self.client)
            self.client = None

    def _close_server(self) -> None:
        if self.server is not None:
            self.flow.reactor.close(self.server)
            self.server = None

    def _note_sender(self) -> None:
        """Record the congestion control of the flow's first sender, as soon as it exists."""
        if self._first and (sender := self.sender()) is not None:
            self._first = False
            self.flow.services.congestion(congestion_of(sender))

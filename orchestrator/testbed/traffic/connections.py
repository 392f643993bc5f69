"""What flows of many connections have in common: arrivals, both ends of each, stop and end."""

import abc
import random
import socket

from orchestrator.protocol.random_quantities import draw
from orchestrator.testbed.traffic.reactor import CLOSED, FAILED, INCOMING, Reactor
from orchestrator.testbed.traffic.sockets import Connector, congestion_of, listen


class ConnectionsFlow:
    """Connections from one host to the other that begin by a Poisson process or one after another.

    Parameters: "arrivals_per_s" of a Poisson process, None for one after another with "gap" between
    them (a quantity of ns, see random_quantities.py, or None); "number" of connections, or None.
    Whatever is drawn of time comes from a generator of its own, so that what is sent does not
    depend on how long it takes.

    Args:
        bed, spec, services: as of every engine.
        client, server: names of the hosts.
        make: returns a new Connection of (flow, socket, port, time_ns, number).
        take: returns what serves a connection whose client is on another machine, of (flow, socket,
            port); None where both ends have to be in one bed.
    """

    def __init__(self, bed, spec, services, client, server, make, take=None):
        self.spec, self.services = spec, services
        self.parameters = spec["parameters"]
        self._make, self._take = make, take
        self.connects, self.accepts = bed.holds(client), bed.holds(server)
        self.reactor = Reactor(bed, client if self.connects else server, services)
        if self.accepts:
            self.reactor.watch_listener(listen(bed, spec, server), self._accepted)
        self._connector = Connector(bed, spec, client, server)
        self._times = random.Random(f"{spec['seed']}:times")
        self._duration_ns = bed.spec["duration_ns"]
        self._begun, self._stopped = 0, False
        self._open = {}  # by the client's port

    def start(self, origin_ns):
        """Start the flow's thread."""
        if self.connects:
            first_ns = self.spec["start_ns"]
            if self.parameters["arrivals_per_s"] is not None:
                first_ns += self._interval_ns()
            self.reactor.at(first_ns, self._arrive, first_ns)
            if self.spec["stop_ns"] is not None:
                self.reactor.at(self.spec["stop_ns"], self._cut)
        self.reactor.start(origin_ns)

    def stop(self):
        """Do nothing: the flow's own thread knows the time."""

    def finish(self):
        """Note what is not complete at the end of the run."""
        self.reactor.finish(self._note_open)

    def _interval_ns(self):
        return int(self._times.expovariate(self.parameters["arrivals_per_s"] / 10**9))

    def _arrive(self, time_ns):
        over = self._stopped or time_ns >= self._duration_ns
        if over or self._begun == self.parameters["number"]:
            return
        client, port = self._connector.open()
        self._open[port] = self._make(self, client, port, time_ns, self._begun)
        self._begun += 1
        if self.parameters["arrivals_per_s"] is not None:
            next_ns = time_ns + self._interval_ns()
            self.reactor.at(next_ns, self._arrive, next_ns)

    def _accepted(self, server, port):
        if not self.connects:
            self._open[port] = self._take(self, server, port)
        elif port in self._open:
            self._open[port].accepted(server)
        else:
            server.close()  # its client has given up

    def _cut(self):
        self._stopped = True
        for connection in list(self._open.values()):
            connection.cut()

    def _note_open(self):
        for connection in self._open.values():
            connection.note_incomplete()

    def ended(self, port):
        """Forget a connection; the next begins after the gap, unless it arrives by itself."""
        del self._open[port]
        if self.connects and self.parameters["arrivals_per_s"] is None:
            gap = self.parameters["gap"]
            next_ns = self.reactor.now_ns() + (0 if gap is None else draw(self._times, gap))
            self.reactor.at(next_ns, self._arrive, next_ns)


class Connection(abc.ABC):
    """Both ends of one connection; what goes over it is for the derived class to say."""

    def __init__(self, flow, client, port, number):
        self.flow, self._port = flow, port
        self._first = number == 0
        self.client, self.server = client, None
        self.is_connected = False
        flow.reactor.watch(client, self._at_client)

    @abc.abstractmethod
    def client_ready(self):
        """Go on after something happened to the client's end, be it the other's end of data."""

    @abc.abstractmethod
    def server_ready(self):
        """Go on after something happened to the server's end, be it the other's end of data."""

    @abc.abstractmethod
    def sender(self):
        """Return the end whose data the flow is about, None while it is not there."""

    @abc.abstractmethod
    def cut(self):
        """Hand nothing more to the kernel."""

    @abc.abstractmethod
    def note_incomplete(self):
        """Note the transfer that is under way, if any, with the bytes that were taken."""

    def accepted(self, server):
        """Take the other end of the connection."""
        self.server = server
        self.flow.reactor.watch(server, self._at_server, INCOMING)
        self._note_sender()

    def abandon(self):
        """Close both ends."""
        self.note_incomplete()
        self._close_client()
        self._close_server()
        self.flow.ended(self._port)

    def shut(self, sender):
        """Let the other end know that nothing more comes; what the kernel has still goes there."""
        sender.shutdown(socket.SHUT_WR)

    def _at_client(self, events):
        if not events & FAILED and not self.is_connected:
            self.is_connected = True
            self._note_sender()
        if self.is_connected:
            self.client_ready()
        self._after(events, self._close_client)

    def _at_server(self, events):
        self.server_ready()
        self._after(events, self._close_server)

    def _after(self, events, close):
        if events & FAILED:
            self.abandon()
        elif events & CLOSED:
            self.note_incomplete()
            close()
            if self.client is None and self.server is None:
                self.flow.ended(self._port)

    def _close_client(self):
        if self.client is not None:
            self.flow.reactor.close(self.client)
            self.client = None

    def _close_server(self):
        if self.server is not None:
            self.flow.reactor.close(self.server)
            self.server = None

    def _note_sender(self):
        """Say what the flow's first connection shows of its sender, as soon as it is there."""
        if self._first and self.sender() is not None:
            self._first = False
            self.flow.services.congestion(congestion_of(self.sender()))

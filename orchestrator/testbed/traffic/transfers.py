"""Transfers of given sizes, each over a connection of its own."""

import random

from orchestrator.protocol.random_quantities import draw
from orchestrator.testbed.traffic.connections import Connection, ConnectionsFlow
from orchestrator.testbed.traffic.reactor import (
    CLOSED,
    FAILED,
    INCOMING,
    Incoming,
    Outgoing,
)
from orchestrator.testbed.traffic.sockets import window_of

_ENDLESS = 1 << 62


class TransfersFlow(ConnectionsFlow):
    """``source`` connects to ``sink`` and sends; ``sink`` closes when it has everything.

    Parameters: those of ConnectionsFlow, and "sizes", quantities of bytes (see
    random_quantities.py) that transfers have in turn. A transfer lasts from the call to connect()
    to the last byte out of the receiver's socket.
    """

    def __init__(self, bed, spec, services):
        super().__init__(bed, spec, services, spec["source"], spec["sink"], Transfer, Taking)
        self._sizes = random.Random(f"{spec['seed']}:sizes")

    def size_bytes(self, number):
        """Draw the size of that transfer."""
        sizes = self.parameters["sizes"]
        return max(1, draw(self._sizes, sizes[number % len(sizes)]))


class Transfer(Connection):
    """One transfer."""

    def __init__(self, flow, client, port, start_ns, number):
        super().__init__(flow, client, port, number)
        self._start_ns = start_ns
        self._size_bytes = flow.size_bytes(number)
        self._outgoing = Outgoing(client, self._size_bytes)
        self._incoming = Incoming(self._size_bytes, window_of(flow.spec))
        self._noted = not flow.accepts
        if self._noted:  # by the machine on which it ends
            flow.services.transfer_begins(port, start_ns)

    def sender(self):
        """Return the client, once it is connected."""
        return self.client if self.is_connected else None

    def accepted(self, server):
        """Take the receiver's end."""
        self._incoming.come_from(server)
        super().accepted(server)

    def client_ready(self):
        """Hand over what the kernel takes."""
        if self._outgoing.left_bytes and self._outgoing.send():
            self.shut(self.client)

    def server_ready(self):
        """Take what has come; the transfer is complete with its last byte."""
        if self._incoming.left_bytes and self._incoming.take():
            self._note(self.flow.reactor.now_ns(), self._size_bytes)

    def cut(self):
        """Send no more than what the kernel has."""
        if not self.is_connected:
            self.abandon()
        elif self._outgoing.left_bytes:
            self._outgoing.left_bytes = 0
            self.shut(self.client)

    def note_incomplete(self):
        """Note the transfer with the bytes that were taken, unless it has been noted."""
        self._note(-1, self._incoming.came_bytes)

    def _note(self, end_ns, size_bytes):
        if not self._noted:
            self._noted = True
            self.flow.services.transfer(self._start_ns, end_ns, size_bytes)


class Taking:
    """The receiver of one transfer whose sender is on another machine, which alone knows its size.

    It is complete when the sender's data end.
    """

    def __init__(self, flow, server, port):
        self._flow, self._server, self._port = flow, server, port
        self._incoming = Incoming(_ENDLESS, window_of(flow.spec))
        self._incoming.come_from(server)
        flow.reactor.watch(server, self._ready, INCOMING)

    def _ready(self, events):
        self._incoming.take()
        if events & (CLOSED | FAILED):
            self._note(-1 if events & FAILED else self._flow.reactor.now_ns())
            self._flow.reactor.close(self._server)
            self._flow.ended(self._port)

    def note_incomplete(self):
        """Note what has come."""
        self._note(-1)

    def _note(self, end_ns):
        self._flow.services.transfer_ends(self._port, end_ns, self._incoming.came_bytes)


ENGINES = {"transfers": TransfersFlow}

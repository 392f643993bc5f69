"""Transfers of given sizes, each over a connection of its own."""

from __future__ import annotations

import random

from orchestrator.protocol.links.random_quantities import draw
from orchestrator.testbed.traffic.connections import Connection, ConnectionsFlow, ServerEnd
from orchestrator.testbed.traffic.outcomes import error_of
from orchestrator.testbed.traffic.reactor import (
    CLOSED,
    FAILED,
    INCOMING,
    Incoming,
    Outgoing,
)
from orchestrator.testbed.traffic.sockets import window_of

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    import socket

    from orchestrator.protocol.engine_parameters import TransfersParameters
    from orchestrator.protocol.specification import FlowSpec
    from orchestrator.testbed.bed import Bed
    from orchestrator.testbed.traffic import EngineClass, Services

_ENDLESS = 1 << 62


class TransfersFlow(ConnectionsFlow):
    """``source`` connects to ``sink`` and sends; ``sink`` closes when it has read everything.

    A transfer lasts from the call to connect() until the receiver has read the last byte.
    """

    def __init__(self, bed: Bed, spec: FlowSpec, services: Services) -> None:
        super().__init__(bed, spec, services, spec["source"], spec["sink"])
        parameters: TransfersParameters = spec["parameters"]
        self._sizes = parameters["sizes"]
        self._random = random.Random(f"{spec['seed']}:sizes")

    def new_connection(
        self, client: socket.socket, port: int, start_ns: int, number: int
    ) -> Transfer:
        """Return a transfer with a size drawn for it."""
        size_bytes = max(1, draw(self._random, self._sizes[number % len(self._sizes)]))
        return Transfer(self, client, port, start_ns, number, size_bytes)

    def new_server_end(self, server: socket.socket, port: int) -> TransferReceiver:
        """Return the receiver of a transfer whose sender is on another machine."""
        return TransferReceiver(self, server, port)


class Transfer(Connection):
    """One transfer, and the receiver's end of it if that is on this machine."""

    def __init__(
        self,
        flow: TransfersFlow,
        client: socket.socket,
        port: int,
        start_ns: int,
        number: int,
        size_bytes: int,
    ) -> None:
        super().__init__(flow, client, port, number)
        self._start_ns = start_ns
        self._size_bytes = size_bytes
        self._outgoing = Outgoing(client, size_bytes)
        self._incoming = Incoming(size_bytes, window_of(flow.spec))
        self.streams = (self._outgoing, self._incoming)
        self._noted = not flow.accepts
        if self._noted:  # by the machine on which it ends
            flow.services.transfer_begins(port, start_ns)

    def sender(self) -> socket.socket | None:
        """Return the client; None until it is connected."""
        return self.client if self.is_connected else None

    def accepted(self, server: socket.socket) -> None:
        """Begin to use the receiver's end."""
        self._incoming.read_from(server)
        super().accepted(server)

    def client_ready(self) -> None:
        """Pass data to the kernel, as much as it accepts."""
        if self._outgoing.remaining_bytes and self._outgoing.send():
            self.shut()

    def server_ready(self) -> None:
        """Read what has arrived; the last byte completes the transfer."""
        if self._incoming.remaining_bytes and self._incoming.read():
            self._note(self.flow.reactor.now_ns(), self._size_bytes)

    def cut(self) -> None:
        """Send only what the kernel already has."""
        if not self.is_connected:
            self.abandon()
        elif self._outgoing.remaining_bytes:
            self._outgoing.remaining_bytes = 0
            self.shut()

    def note_incomplete(self) -> None:
        """Record the transfer with the bytes that have been read, unless it has been recorded."""
        self._note(-1, self._incoming.received_bytes)

    def _note(self, end_ns: int, size_bytes: int) -> None:
        if not self._noted:
            self._noted = True
            self.flow.services.transfer(self._start_ns, end_ns, size_bytes)


class TransferReceiver(ServerEnd):
    """The receiver of a transfer whose sender is on another machine.

    Only the sender knows the size: the transfer is complete when the sender ends its data.
    """

    def __init__(self, flow: TransfersFlow, server: socket.socket, port: int) -> None:
        self._flow, self._server, self._port = flow, server, port
        self._incoming = Incoming(_ENDLESS, window_of(flow.spec))
        self._incoming.read_from(server)
        flow.reactor.watch(server, self._ready, INCOMING)

    def _ready(self, events: int) -> None:
        self._incoming.read()
        if events & FAILED:
            self._flow.failed(self._port, error_of(self._server, self._incoming.error))
        if events & (CLOSED | FAILED):
            self._note(-1 if events & FAILED else self._flow.reactor.now_ns())
            self._flow.reactor.close(self._server)
            self._flow.ended(self._port)

    def note_incomplete(self) -> None:
        """Record the transfer's end with the bytes that have been read."""
        self._note(-1)

    def _note(self, end_ns: int) -> None:
        self._flow.services.transfer_ends(self._port, end_ns, self._incoming.received_bytes)


ENGINES: dict[str, EngineClass] = {"transfers": TransfersFlow}

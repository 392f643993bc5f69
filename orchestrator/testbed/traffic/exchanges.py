"""Requests and responses over persistent connections: web sessions, or one endless exchange."""

from __future__ import annotations

import random

from orchestrator.protocol.links.random_quantities import draw
from orchestrator.testbed.traffic.barrier import Member
from orchestrator.testbed.traffic.connections import Connection, ConnectionsFlow
from orchestrator.testbed.traffic.reactor import EVERYTHING, Incoming, Outgoing
from orchestrator.testbed.traffic.sockets import window_of

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    import socket

    from orchestrator.protocol.engine_parameters import ExchangesParameters
    from orchestrator.protocol.specification import FlowSpec, QuantitySpec
    from orchestrator.testbed.bed import Bed
    from orchestrator.testbed.traffic import EngineClass, Services

ENDLESS = 1 << 62


class ExchangesFlow(ConnectionsFlow):
    """``sink`` connects to ``source`` and sends requests; the responses are the flow's data.

    Each connection has a random generator of its own. A page is a transfer. It lasts from its first
    request until the client has read the last byte of its last response. Where the number of pages
    is limited, a connection's first page begins with the call to connect().
    """

    def __init__(self, bed: Bed, spec: FlowSpec, services: Services) -> None:
        super().__init__(bed, spec, services, spec["sink"], spec["source"])
        self.parameters: ExchangesParameters = spec["parameters"]
        self._rounds = self.parameters.get("rounds")
        self._member: Member | None = None
        self._waiting: Session | None = None
        self._begun_rounds = 0
        if self._rounds is not None:
            self._jitter = random.Random(f"{spec['seed']}:jitter")
            self._member = Member(self._rounds["entry"])
            self.reactor.watch_descriptor(self._member.descriptor, self._begin_round)

    def await_round(self, session: Session) -> bool:
        """Let a session's next page begin with a round; return False where there are none."""
        if self._member is None or self._rounds is None:
            return False
        if self._begun_rounds == self._rounds["number"]:
            return True  # the connection stays as it is
        self._waiting = session
        self._begun_rounds += 1
        gap = self._rounds["gap"]
        gap_ns = 0 if gap is None else draw(self._jitter, gap)
        self._member.barrier.arrive(self._member, self.reactor.now_ns() + gap_ns)
        return True

    def _begin_round(self) -> None:
        assert self._member is not None, "or nothing wakes this"
        assert self._rounds is not None, "or it would be no member"
        self._member.take()
        session, self._waiting = self._waiting, None
        if session is not None:
            jitter = self._rounds["jitter"]
            next_ns = self._member.barrier.release_ns
            next_ns += 0 if jitter is None else draw(self._jitter, jitter)
            self.reactor.at(next_ns, session.begin_page, next_ns)

    def ended(self, port: int) -> None:
        """Forget a connection; the other flows of a round no longer wait for this one."""
        if self._member is not None:
            self._member.barrier.leave(self._member, self.reactor.now_ns())
        super().ended(port)

    def new_connection(
        self, client: socket.socket, port: int, start_ns: int, number: int
    ) -> Session:
        """Return a session of the flow."""
        return Session(self, client, port, start_ns, number)


class Session(Connection):
    """One connection, from its first request until the server closes after the last response."""

    def __init__(
        self, flow: ExchangesFlow, client: socket.socket, port: int, start_ns: int, number: int
    ) -> None:
        super().__init__(flow, client, port, number)
        self._flow, self._parameters = flow, flow.parameters
        self._random = random.Random(f"{flow.spec['seed']}:{number}")
        self._requests, self._responses = Outgoing(client), Outgoing()
        self._request, self._response = Incoming(), Incoming(0, window_of(flow.spec))
        self.streams = (self._requests, self._responses, self._request, self._response)
        self._response.read_from(client)
        pages = self._parameters["pages"]
        self._pages = ENDLESS if pages is None else self._draw(pages)
        self._page_ns = None if pages is None else start_ns  # start of the current page
        self._has_begun = self._is_shut = False
        self._objects = self._page_bytes = self._response_bytes = 0

    def _draw(self, quantity: QuantitySpec) -> int:
        return max(1, draw(self._random, quantity))

    def sender(self) -> socket.socket | None:
        """Return the server; None while it does not exist."""
        return self.server

    def accepted(self, server: socket.socket) -> None:
        """Begin to use the server's end, and wait for the first request."""
        self._responses.connection = server
        self._request.read_from(server)
        super().accepted(server)

    def client_ready(self) -> None:
        """Request the first object once connected, and the next one after each response."""
        if not self._has_begun:
            self._has_begun = True
            first_ns = self.flow.reactor.now_ns() if self._page_ns is None else self._page_ns
            if not self._flow.await_round(self):
                self.begin_page(first_ns)
        self._requests.send()
        if self._response.remaining_bytes and self._response.read():
            self._end_object()

    def server_ready(self) -> None:
        """Answer a request that has arrived; close after the last response."""
        if self._request.remaining_bytes and self._request.read():
            self._responses.remaining_bytes = self._response_bytes
        if not self._responses.remaining_bytes:
            return
        if not self._responses.send():
            assert self.server is not None, "its socket is ready"
            self.flow.reactor.wait_for(self.server, EVERYTHING)
        elif self._pages == self._objects == 1:
            self._shut_server()

    def cut(self) -> None:
        """Send only what the kernel already has."""
        if self.server is None:
            self.abandon()
        else:
            self._responses.remaining_bytes = 0
            self._shut_server()

    def note_incomplete(self) -> None:
        """Record the current page with the bytes that have been read."""
        if self._page_ns is not None:
            self._note(self._page_ns, -1, self._page_bytes + self._response.received_bytes)

    def _shut_server(self) -> None:
        if not self._is_shut:
            self._is_shut = True
            self.shut()

    def begin_page(self, time_ns: int) -> None:
        """Request the first object of the next page."""
        if self.client is not None:
            self._page_ns, self._page_bytes = time_ns, 0
            self._objects = self._draw(self._parameters["objects"])
            self._send_request()

    def _send_request(self) -> None:
        self._requests.remaining_bytes = self._draw(self._parameters["request"])
        self._response_bytes = self._draw(self._parameters["response"])
        self._request.expect(self._requests.remaining_bytes)
        self._response.expect(self._response_bytes)
        self._requests.send()

    def _end_object(self) -> None:
        self._page_bytes += self._response_bytes
        self._objects -= 1
        if self._objects:
            self._send_request()
            return
        now_ns = self.flow.reactor.now_ns()
        assert self._page_ns is not None, "the object belongs to a page"
        self._note(self._page_ns, now_ns, self._page_bytes)
        self._pages -= 1
        if self._pages and not self._flow.await_round(self):
            think = self._parameters["think"]
            next_ns = now_ns + (0 if think is None else draw(self._random, think))
            self.flow.reactor.at(next_ns, self.begin_page, next_ns)

    def _note(self, start_ns: int, end_ns: int, size_bytes: int) -> None:
        self.flow.services.transfer(start_ns, end_ns, size_bytes)
        self._page_ns = None


ENGINES: dict[str, EngineClass] = {"exchanges": ExchangesFlow}

"""Requests and responses over persistent connections: web sessions, or one long exchange."""

import random

from orchestrator.protocol.random_quantities import draw
from orchestrator.testbed.traffic.connections import Connection, ConnectionsFlow
from orchestrator.testbed.traffic.reactor import EVERYTHING, Incoming, Outgoing
from orchestrator.testbed.traffic.sockets import window_of

ENDLESS = 1 << 62


class ExchangesFlow(ConnectionsFlow):
    """``sink`` connects to ``source`` and asks; the responses are the flow's data.

    Parameters: those of ConnectionsFlow; "request" and "response", quantities of bytes (see
    random_quantities.py); "objects" of a page, each asked for when the one before has come, and
    "pages" of a connection, quantities, the latter None for no end; "think", between pages, a
    quantity of ns or None. Each connection draws from a generator of its own.

    A page is a transfer, from its first request to the last byte of its last response out of the
    client's socket; the first one of a connection with an end, from the call to connect().
    """

    def __init__(self, bed, spec, services):
        super().__init__(bed, spec, services, spec["sink"], spec["source"], Session)


class Session(Connection):
    """One connection, from its first request until the server closes behind the last response."""

    def __init__(self, flow, client, port, start_ns, number):
        super().__init__(flow, client, port, number)
        self._draws = random.Random(f"{flow.spec['seed']}:{number}")
        self._requests, self._responses = Outgoing(client), Outgoing()
        self._asked, self._coming = Incoming(), Incoming(0, window_of(flow.spec))
        self._coming.come_from(client)
        endless = flow.parameters["pages"] is None
        self._pages = ENDLESS if endless else self._draw("pages")
        self._page_ns = None if endless else start_ns  # of the page under way
        self._has_begun = self._is_shut = False
        self._objects = self._page_bytes = self._response_bytes = 0

    def _draw(self, name):
        return max(1, draw(self._draws, self.flow.parameters[name]))

    def sender(self):
        """Return the server, once it is there."""
        return self.server

    def accepted(self, server):
        """Take the server's end, and wait for the first request."""
        self._responses.connection = server
        self._asked.come_from(server)
        super().accepted(server)

    def client_ready(self):
        """Ask for the first object once connected, and for the next when one has come."""
        if not self._has_begun:
            self._has_begun = True
            first_ns = self.flow.reactor.now_ns() if self._page_ns is None else self._page_ns
            self._begin_page(first_ns)
        self._requests.send()
        if self._coming.left_bytes and self._coming.take():
            self._object_came()

    def server_ready(self):
        """Answer a request that has come; close behind the last response."""
        if self._asked.left_bytes and self._asked.take():
            self._responses.left_bytes = self._response_bytes
        if not self._responses.left_bytes:
            return
        if not self._responses.send():
            self.flow.reactor.wait_for(self.server, EVERYTHING)
        elif self._pages == self._objects == 1:
            self._shut_server()

    def cut(self):
        """Send no more than what the kernel has."""
        if self.server is None:
            self.abandon()
        else:
            self._responses.left_bytes = 0
            self._shut_server()

    def note_incomplete(self):
        """Note the page under way with the bytes that were taken."""
        if self._page_ns is not None:
            self._note(-1, self._page_bytes + self._coming.came_bytes)

    def _shut_server(self):
        if not self._is_shut:
            self._is_shut = True
            self.shut(self.server)

    def _begin_page(self, time_ns):
        if self.client is not None:
            self._page_ns, self._page_bytes = time_ns, 0
            self._objects = self._draw("objects")
            self._ask()

    def _ask(self):
        self._requests.left_bytes = self._draw("request")
        self._response_bytes = self._draw("response")
        self._asked.expect(self._requests.left_bytes)
        self._coming.expect(self._response_bytes)
        self._requests.send()

    def _object_came(self):
        self._page_bytes += self._response_bytes
        self._objects -= 1
        if self._objects:
            self._ask()
            return
        now_ns = self.flow.reactor.now_ns()
        self._note(now_ns, self._page_bytes)
        self._pages -= 1
        if self._pages:
            think = self.flow.parameters["think"]
            next_ns = now_ns + (0 if think is None else draw(self._draws, think))
            self.flow.reactor.at(next_ns, self._begin_page, next_ns)

    def _note(self, end_ns, size_bytes):
        self.flow.services.transfer(self._page_ns, end_ns, size_bytes)
        self._page_ns = None


ENGINES = {"exchanges": ExchangesFlow}

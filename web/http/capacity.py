"""A WSGI server in which idle connections do not keep a new client out.

waitress stops accepting at a number of connections, so idle ones would block the dashboard. This
server always accepts. When it has CONNECTIONS, it closes the one that has waited longest since its
last finished answer and has no request in progress.
"""

from __future__ import annotations

import socket
import time
from typing import Any, cast

from flask import Flask
from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError, TransferEncodingNotImplemented
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher

from web.http.streams import MOST_STREAMS, STREAMS, Streams

THREADS = 4 + MOST_STREAMS
"""Four for pages, and one for each stream of a run in progress."""

CONNECTIONS = 200
"""Most connections at a time. With their files they are well below the usual limit of 1024
descriptors."""

PATIENCE_S = 20
"""Time limit for a whole request to arrive, for the next one on an open connection, and for a
client that reads nothing of an answer."""

CLEANUP_S = 2
"""Time between checks for connections that have waited too long."""

HEADER_BYTES = 16 * 1024
BODY_BYTES = 1024
"""Limit of bodies, which are read and ignored, unless the application has a limit of its own."""


class Parser(HTTPRequestParser):
    """Reads a request. One that cannot be read is a bad request, not an error of the server."""

    def parse_header(self, header_plus: bytes) -> None:
        """Read the request line and the headers."""
        try:
            super().parse_header(header_plus)
        except TransferEncodingNotImplemented as error:  # would be 501
            raise ParsingError(str(error)) from error
        except ValueError as error:  # of urllib: waitress would close without an answer
            raise ParsingError("Bad URI") from error


class Channel(HTTPChannel):
    """One connection with the time since when it waits for its client."""

    parser_class = Parser

    def __init__(self, *arguments: Any, **more: Any) -> None:
        self.waits_since = time.monotonic()
        super().__init__(*arguments, **more)

    def service(self) -> None:
        """Answer one request."""
        super().service()
        self.waits_since = time.monotonic()

    @property
    def is_idle(self) -> bool:
        """Whether no request is in progress and the connection is not being closed."""
        return not self.requests and not self.will_close

    @property
    def is_taking(self) -> bool:
        """Whether the client has read some of a waiting answer recently."""
        return bool(self.total_outbufs_len) and time.time() - self.last_activity < PATIENCE_S


class Server(TcpWSGIServer):
    """Serves an application; ``run()`` returns after an interrupt."""

    channel_class = Channel

    def handle_accept(self) -> None:
        """Accept a connection, and begin to close another one if there are too many."""
        channels = self._channels()
        if sum(not channel.will_close for channel in channels) >= CONNECTIONS:
            idle = [channel for channel in channels if channel.is_idle]
            if idle:
                min(idle, key=lambda channel: channel.waits_since).will_close = True
        super().handle_accept()

    def _channels(self) -> list[Channel]:
        return list(cast("dict[int, Channel]", self.active_channels).values())

    def maintenance(self, now: float) -> None:
        """Close connections that have waited too long, even if they send slowly."""
        del now  # seconds since 1970, which may jump
        before = time.monotonic() - PATIENCE_S
        for channel in self._channels():
            if channel.is_idle and channel.waits_since < before and not channel.is_taking:
                channel.will_close = True


class Dispatcher(ThreadedTaskDispatcher):
    """The server's threads. Streams end first when they stop."""

    def __init__(self, streams: Streams) -> None:
        super().__init__()
        self._streams = streams

    def shutdown(self, cancel_pending: bool = True, timeout: int = 5) -> bool:
        """End the threads; return whether all have ended."""
        self._streams.stopping.set()
        ended: bool = super().shutdown(cancel_pending, timeout)
        return ended


def make_server(app: Flask, listener: socket.socket) -> Server:
    """Return a server of the application on a listening socket."""
    settings = Adjustments(
        sockets=[listener],
        threads=THREADS,
        ident=None,
        clear_untrusted_proxy_headers=True,
        # Closing takes a round of the loop, in which further connections may come.
        connection_limit=CONNECTIONS + 50,
        cleanup_interval=CLEANUP_S,
        max_request_header_size=HEADER_BYTES,
        max_request_body_size=app.config["MAX_CONTENT_LENGTH"] or BODY_BYTES,
        log_socket_errors=False,
        asyncore_use_poll=True,  # select() ends at descriptor 1023
    )
    dispatcher = Dispatcher(app.config[STREAMS])
    dispatcher.set_thread_count(THREADS)
    where = (listener.family, listener.type, listener.proto, listener.getsockname())
    return Server(app, {}, True, listener, dispatcher, settings, bind_socket=False, sockinfo=where)

"""Idle and slow connections never keep a further visitor out."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from results.store.store import Store
from web import create_app
from web.http import capacity

MANY = 2 * capacity.CONNECTIONS
SOON_S = capacity.PATIENCE_S / 2
"""A visitor is served before an idle connection runs out of time, so that none is waited for."""
PARTIAL = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: "


@pytest.fixture
def port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of a running dashboard over an empty store."""
    with Store(tmp_path / "runs.db"):
        pass
    with socket.create_server(("127.0.0.1", 0)) as listener:
        number = listener.getsockname()[1]
        server = capacity.make_server(create_app(tmp_path / "runs.db"), listener)
        thread = threading.Thread(target=server.run)
        thread.start()
        yield number
        server.task_dispatcher.shutdown()
        for channel in list(server._map.values()):  # type: ignore[attr-defined]
            channel.close()
        thread.join(10)
    assert not thread.is_alive()


def visit(port: int) -> float:
    """Ask for a page over a new connection; return the seconds that took."""
    began = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SOON_S)
    with contextlib.closing(connection):
        connection.request("GET", "/")
        answer = connection.getresponse()
        assert answer.status == 200
        assert b"No runs yet" in answer.read()
    return time.monotonic() - began


def connect(port: int, stack: ExitStack) -> socket.socket:
    return stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5))


def is_closed(connection: socket.socket) -> bool:
    """Whether the server has closed a connection that it owes no answer."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


def test_idle_connections(port: int) -> None:
    with ExitStack() as stack:
        held = [connect(port, stack) for _ in range(MANY)]
        assert visit(port) < SOON_S
        assert is_closed(held[0])  # the oldest made room
        held[-1].sendall(b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert held[-1].recv(12) == b"HTTP/1.1 404"  # a late one is served


def test_slow_requests(port: int) -> None:
    with ExitStack() as stack:
        held = [connect(port, stack) for _ in range(MANY)]
        for connection in held:
            with contextlib.suppress(OSError):
                connection.sendall(PARTIAL)
        assert visit(port) < SOON_S
        for connection in held:
            with contextlib.suppress(OSError):
                connection.sendall(b"a")
        assert visit(port) < SOON_S


@pytest.mark.slow
def test_a_request_has_to_arrive_in_time(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "PATIENCE_S", 0.5)
    with ExitStack() as stack:
        connection = connect(port, stack)
        connection.sendall(PARTIAL)
        connection.settimeout(0.2)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:  # a byte now and then does not make it last
            with contextlib.suppress(OSError):
                connection.sendall(b"a")
            if is_closed(connection):
                break
        else:
            pytest.fail("a request without an end was kept for 10 s")


def test_what_is_sent_is_bounded(port: int) -> None:
    host = b" HTTP/1.1\r\nHost: localhost\r\n"
    for text, status in (
        (b"GET /" + host + b"X: " + b"a" * 20_000 + b"\r\n\r\n", b"431"),
        (b"GET /" + b"a" * 20_000 + host + b"\r\n", b"431"),
        (b"POST /" + host + b"Content-Length: 99999999\r\n\r\n", b"413"),
        (b"GET /" + host + b"Transfer-Encoding: gzip\r\n\r\n", b"400"),
        (b"GET http://[" + host + b"\r\n", b"400"),
    ):
        with ExitStack() as stack:
            connection = connect(port, stack)
            connection.sendall(text)
            assert connection.recv(100).split()[1] == status

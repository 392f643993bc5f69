"""Untrusted requests on a socket get an answer without a traceback, and no 5xx but 503."""

from __future__ import annotations

import logging
import random
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from results.store.store import Store
from tests.fuzz.conftest import Fuzz
from tests.support.integrity import held, overwritten
from tests.support.stores import restore
from web import create_app
from web.http import capacity

CORPUS = Path(__file__).parents[1] / "data/fuzz/requests"
METHODS = ["GET", "GET", "GET", "HEAD", "POST", "OPTIONS", "TRACE", "CONNECT", "get", "", "G\0T"]
WORDS = [
    b"", b"%00", b"%0d%0a", b"%ff", b"%c0%af", b"..", b"//", b"/./", b"?", b"#", b";", b"%", b"%zz",
    b"\xff\xfe", b"\x00", b"\x1b[2J", b"a" * 300, b"1e999", b"nan", b"-1", b"99999999999999999999",
    b"%F0%9F%90%8D", b"<script>", b"' OR 1=1", b"last", b"&", b"=", b"+", b"from=1", b"to=0",
]  # fmt: skip
PATHS = [
    b"/", b"/?page=%s", b"/runs?q=%s&where=%s&status=ok&sort=%s&page=1", b"/runs/%s",
    b"/experiments/%s?metric=%s&x=%s", b"/experiments/fuzz/figure.svg?by=%s", b"/compare?run=%s",
    b"/diff?run=%s&run=%s",
    b"/export.csv?run=%s", b"/runs/%s/console.txt",
    b"/runs/%s/document.json",
    b"/api/runs", b"/api/runs/%s", b"/api/runs/%s/tcp?flow=0&endpoint=receiver&fields=rtt_us",
    b"/api/runs/%s/queues?queue=0&from=0&to=1&points=100", b"/api/runs/%s/goodput?points=10",
    b"/static/app.js", b"/static/%s", b"/%s", b"http://localhost/%s", b"*",
]  # fmt: skip
HEADERS = [
    b"Host: localhost", b"Host: %s", b"Host: 127.0.0.1:%s", b"Content-Length: %s",
    b"Transfer-Encoding: %s", b"Transfer-Encoding: chunked", b"Expect: 100-continue",
    b"Range: bytes=%s", b"If-Modified-Since: %s", b"If-None-Match: %s", b"Cookie: %s=%s",
    b"Authorization: Bearer %s", b"Authorization: %s", b"X-Forwarded-Host: %s", b"Accept: %s",
    b"Connection: %s", b"Content-Type: %s", b"%s: %s", b" %s", b"Forwarded: %s", b"Upgrade: %s",
]  # fmt: skip


class Errors(logging.Handler):
    """Keeps what the server or the application logs as an error."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(logging.Formatter().format(record))


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return restore(tmp_path / "runs.db")


@pytest.fixture(params=["open", "with a token"])
def served(request: pytest.FixtureRequest, db: Path) -> Iterator[tuple[int, Errors]]:
    """The port of a dashboard, and its logged errors."""
    app = create_app(db, None if request.param == "open" else "a-token_of.16~or-more")
    errors = Errors()
    loggers = [logging.getLogger("waitress"), app.logger]
    for logger in loggers:
        logger.addHandler(errors)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = capacity.make_server(app, listener)
        thread = threading.Thread(target=server.run)
        thread.start()
        yield listener.getsockname()[1], errors
        server.task_dispatcher.shutdown()
        for channel in list(server._map.values()):  # type: ignore[attr-defined]
            channel.close()
        thread.join(10)
    for logger in loggers:
        logger.removeHandler(errors)
    assert not thread.is_alive()


def filled(draw: random.Random, template: bytes, ids: list[bytes]) -> bytes:
    """Return the template with random words in its places."""
    while b"%s" in template:
        word = draw.choice(ids) if draw.random() < 0.5 else draw.choice(WORDS)
        template = template.replace(b"%s", word.replace(b"%s", b""), 1)
    return template


def drawn(draw: random.Random, ids: list[bytes], corpus: list[bytes]) -> bytes:
    """Return a request, or bytes that resemble one."""
    if draw.random() < 0.1:
        request = draw.choice(corpus)
    else:
        method, path = draw.choice(METHODS).encode(), filled(draw, draw.choice(PATHS), ids)
        lines = [b"%s %s HTTP/1.%d" % (method, path, draw.choice([0, 1]))]
        if draw.random() < 0.8:
            lines.append(b"Host: localhost")
        lines += [filled(draw, draw.choice(HEADERS), ids) for _ in range(draw.randrange(4))]
        request = b"\r\n".join(lines) + b"\r\n\r\n" + draw.randbytes(draw.choice([0, 0, 0, 9]))
    for _ in range(draw.choice([0, 0, 1, 3])):
        place = draw.randrange(len(request))
        request = request[:place] + draw.choice(WORDS) + request[place + draw.randrange(4) :]
    return request


def answered(port: int, request: bytes) -> bytes:
    """Return the answer, until the server closes the connection or sends nothing more."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        received = b""
        try:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(65536):
                received += part
        except ConnectionError:
            pass  # it closes what it will not read
        return received


def test_any_request_gives_a_valid_answer(fuzz: Fuzz, served: tuple[int, Errors], db: Path) -> None:
    port, errors = served
    with Store.open_read_only(db) as store:
        ids = [row.id.encode() for row in store.list_runs()]
    corpus = [file.read_bytes() for file in sorted(CORPUS.iterdir())]
    statuses: set[bytes] = set()
    content = db.read_bytes()
    places = held(content)
    for draw in fuzz:
        if draw.random() < 0.02:  # the next requests meet a damaged store, or the whole one again
            for left in db.parent.glob("runs.db-*"):
                left.unlink()
            damaged = draw.random() < 0.5
            number = draw.randrange(1000)
            db.write_bytes(overwritten(content, places, number) if damaged else content)
        request = drawn(draw, ids, corpus)
        answer = answered(port, request)
        assert not errors.found, (request, errors.found)
        assert b"Traceback" not in answer, request
        if answer:
            assert answer.startswith(b"HTTP/1."), (request, answer[:100])
            status = answer.split()[1]
            statuses.add(status)
            assert status[:1] in (b"1", b"2", b"3", b"4") or status == b"503", (request, answer)
    assert {b"400", b"404", b"405"} <= statuses or b"401" in statuses

"""Who may ask the dashboard what, and where it listens."""

from __future__ import annotations

import contextlib
import gc
import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from waitress.server import BaseWSGIServer

from orchestrator.errors import UsageError
from results.store.store import Store
from web import create_app, serve, server
from web.http import capacity, security

TOKEN = "a-token_of.16~or-more"


@pytest.fixture
def db(tmp_path: Path) -> Path:
    with Store(tmp_path / "runs.db"):
        pass
    return tmp_path / "runs.db"


@pytest.fixture
def client(db: Path) -> FlaskClient:
    return create_app(db).test_client()


@pytest.fixture
def guarded(db: Path) -> FlaskClient:
    return create_app(db, TOKEN, hosts=["lab7"]).test_client()


@pytest.mark.parametrize("url", ["/", "/nowhere", "/api/runs", "/static/style.css"])
def test_every_answer_has_the_headers(client: FlaskClient, url: str) -> None:
    with client.get(url) as answer:
        headers = answer.headers
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'self';")
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == ("no-cache" if "static" in url else "no-store")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_nothing_can_be_changed(client: FlaskClient, method: str) -> None:
    for url in ("/", "/api/runs", "/nowhere"):
        assert client.open(url, method=method).status_code == 405


def test_head_is_answered(client: FlaskClient) -> None:
    answer = client.head("/")
    assert (answer.status_code, answer.data) == (200, b"")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8080", "127.0.0.1:8080", "[::1]:8080"])
def test_own_hosts_are_answered(client: FlaskClient, host: str) -> None:
    assert client.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "192.0.2.7", "lab7", "localhost.evil", "", "a b"],
)
def test_rebound_hosts_are_refused(client: FlaskClient, host: str) -> None:
    answer = client.get("/", headers={"Host": host})
    assert answer.status_code == 400
    assert "No runs yet" not in answer.text


@pytest.mark.parametrize(
    ("host", "status"),
    [("192.0.2.7:8080", 200), ("lab7:8080", 200), ("[2001:db8::7]", 200), ("evil.example", 400)],
)
def test_hosts_with_a_token(guarded: FlaskClient, host: str, status: int) -> None:
    headers = {"Host": host, "Authorization": f"Bearer {TOKEN}"}
    assert guarded.get("/", headers=headers).status_code == status


@pytest.mark.parametrize("url", ["/", "/api/runs", "/runs/x", "/nowhere", "/?token=wrong"])
def test_nothing_without_the_token(guarded: FlaskClient, url: str) -> None:
    answer = guarded.get(url)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].lower().startswith("bearer")
    assert answer.is_json == url.startswith("/api/")
    assert "Content-Security-Policy" in answer.headers


@pytest.mark.parametrize("given", ["Bearer wrong", "Bearer", f"Basic {TOKEN}", "Bearer ü", TOKEN])
def test_wrong_authorization(guarded: FlaskClient, given: str) -> None:
    assert guarded.get("/", headers={"Authorization": given}).status_code == 401


def test_token_in_the_header(guarded: FlaskClient) -> None:
    assert guarded.get("/", headers={"Authorization": f"bearer {TOKEN}"}).status_code == 200


def test_token_in_the_address_becomes_a_cookie(guarded: FlaskClient) -> None:
    answer = guarded.get(f"/?q=a+b&token={TOKEN}&status=ok")
    assert answer.status_code == 302
    assert answer.headers["Location"] == "/?q=a+b&status=ok"
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert TOKEN not in cookie
    assert guarded.get("/").status_code == 200


def test_token_never_leads_to_another_host(guarded: FlaskClient) -> None:
    url = f"/?token={TOKEN}"
    answer = guarded.get(url, environ_overrides={"PATH_INFO": "//evil.example/"})
    assert answer.headers["Location"] == "/evil.example/"


def test_cookie_of_another_token_is_none(db: Path, guarded: FlaskClient) -> None:
    other = create_app(db, "another-token-of-this-sort").test_client()
    set_cookie = other.get("/?token=another-token-of-this-sort").headers["Set-Cookie"]
    assert guarded.get("/", headers={"Cookie": set_cookie.partition(";")[0]}).status_code == 401


def test_style_needs_no_token(guarded: FlaskClient) -> None:
    with guarded.get("/static/style.css") as answer:
        assert answer.status_code == 200


@pytest.mark.parametrize("token", ["", "short", "sixteen letters or so", "ümlauts-are-not-allowed"])
def test_weak_tokens_are_refused(db: Path, token: str) -> None:
    with pytest.raises(UsageError, match="16 or more"):
        create_app(db, token)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
def test_beyond_loopback_needs_a_token(db: Path, host: str) -> None:
    with pytest.raises(UsageError, match="--token"):
        serve(db, host, 0)


def test_an_address_that_cannot_be_had(db: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"127.0.0.1:{port}.*--port"):
            serve(db, "127.0.0.1", port)
    with pytest.raises(UsageError, match="no-such-host"):
        serve(db, "no-such-host.invalid", 0)
    with pytest.raises(UsageError, match="1 to 65535"):
        serve(db, "127.0.0.1", 70_000)


def test_address_to_open() -> None:
    with server.listen("localhost", 0, None) as listener:
        port = listener.getsockname()[1]
        assert server.address(listener, None) == f"http://127.0.0.1:{port}/"
    with server.listen("0.0.0.0", 0, TOKEN) as listener:
        port = listener.getsockname()[1]
        assert server.address(listener, TOKEN) == (
            f"http://{socket.gethostname()}:{port}/?token={TOKEN}"
        )


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "localhost."])
def test_localhost_needs_no_look_up(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    """A root without /etc/hosts has no entry for it; here the resolver takes numbers only."""
    resolve = socket.getaddrinfo

    def of_numbers(name: str, port: int, *, flags: int, **others: Any) -> list[Any]:
        return resolve(name, port, flags=flags | socket.AI_NUMERICHOST, **others)

    monkeypatch.setattr(socket, "getaddrinfo", of_numbers)
    with server.listen(host, 0, None) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"
    with pytest.raises(UsageError, match=r"cannot listen on localhost\.example"):
        server.listen("localhost.example", 0, None)


@contextlib.contextmanager
def serving(db: Path, monkeypatch: pytest.MonkeyPatch, said: Callable[[], str]) -> Iterator[str]:
    """Serve as the command does, and give the address that it says."""
    started: list[BaseWSGIServer] = []
    ready = threading.Event()
    run = BaseWSGIServer.run

    def announce(one: BaseWSGIServer) -> None:
        started.append(one)
        ready.set()
        run(one)

    monkeypatch.setattr(BaseWSGIServer, "run", announce)
    thread = threading.Thread(target=serve, args=(db, "127.0.0.1", 0))
    thread.start()
    try:
        assert ready.wait(10)
        yield said().split()[-1].removeprefix("http://").rstrip("/")
    finally:
        started[0].task_dispatcher.shutdown()
        # The loop ends with its last channel; closing them is what Ctrl-C leads to as well.
        for channel in list(started[0]._map.values()):  # type: ignore[attr-defined]
            channel.close()
        thread.join(10)
    assert not thread.is_alive()


def test_serves_and_says_where(
    db: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(db, monkeypatch, lambda: capsys.readouterr().err) as host:
        connection = http.client.HTTPConnection(host, timeout=10)
        with contextlib.closing(connection):
            connection.request("GET", "/")
            answer = connection.getresponse()
            assert answer.status == 200
            assert b"No runs yet" in answer.read()
            assert answer.getheader("Server") is None


@pytest.mark.slow
def test_the_first_answer_does_not_wait_for_what_is_loaded_ahead(
    db: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made, loading, go_on = threading.Event(), threading.Event(), threading.Event()
    make = capacity.make_server

    def make_server(app: Flask, listener: socket.socket) -> BaseWSGIServer:
        found = make(app, listener)
        assert not loading.wait(0.2)
        made.set()
        return found

    def load_ahead(_app: Flask) -> None:
        loading.set()
        go_on.wait(10)

    monkeypatch.setattr(server, "make_server", make_server)
    monkeypatch.setattr(server, "load_ahead", load_ahead)
    with serving(db, monkeypatch, lambda: capsys.readouterr().err) as host:
        connection = http.client.HTTPConnection(host, timeout=5)
        with contextlib.closing(connection):
            connection.request("GET", "/")
            assert connection.getresponse().status == 200
        assert loading.is_set()
        go_on.set()
    assert made.is_set()


@pytest.mark.slow
def test_what_is_loaded_ahead_is_left_alone_by_the_collector(db: Path) -> None:
    gc.unfreeze()
    app = create_app(db)
    try:
        server.load_ahead(app)
        assert gc.get_freeze_count() > 1000
        assert not any(one is app for one in gc.get_objects())
    finally:
        gc.unfreeze()


def test_nothing_is_loaded_for_a_port_in_use(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_arguments: object) -> None:
        raise AssertionError("this comes after the server is made")

    for name in ("create_app", "make_server", "load_ahead"):
        monkeypatch.setattr(server, name, never)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"127.0.0.1:{port}"):
            serve(db, "127.0.0.1", port)


@pytest.mark.parametrize(
    ("host", "ours"),
    [
        ("localhost.", True),
        ("127.8.9.10:1", True),
        ("[::1]", True),
        ("10.0.0.1", False),
    ],
)
def test_host_names(host: str, ours: bool) -> None:
    assert security.host_is_ours(host, {"localhost"}, addresses=False) is ours

"""What strangers send, and what guests said, does no harm in the dashboard."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from werkzeug.test import EnvironBuilder, run_wsgi_app

from orchestrator.cli import web as command
from orchestrator.errors import UsageError
from results.store.store import Store
from tests.support.recordings import head
from tests.support.run import orchestrator
from web import create_app, read_token

TOKEN = "a-token_of.16~or-more"
NASTY = "</script><script>alert(1)</script> \x1b]0;title\x07 \x9b2J \u202eright\u2066\u200b \"'&<b>"

HOSTS = [
    "a..b", ".localhost", "localhost..", "[::1", "[::1]]", "[", "]", "[]", "[fe80::1%eth0]",
    "[v1.x]", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:999999", "localhost:80:80", "@", "/", "a b",
    "\t", "\x7f",
    "\xfc", "xn--a", "xn--" + "a" * 80, "a" * 5000, "." * 64, "localhost/x", "user@localhost",
    "localhost#", "localhost?", "127.1", "0x7f.1", "::1", "%6c", "localhost,localhost",
]  # fmt: skip


@pytest.fixture
def db(tmp_path: Path) -> Path:
    with Store(tmp_path / "runs.db") as store:
        run = head(scenario=NASTY, description=NASTY, experiment=NASTY,
                   variant={NASTY: NASTY}, scenario_text=NASTY)  # fmt: skip
        store.fail(store.begin(run), NASTY, console=NASTY, log=NASTY)
    return tmp_path / "runs.db"


@pytest.fixture
def client(db: Path) -> FlaskClient:
    return create_app(db).test_client()


@pytest.mark.parametrize("path", ["/", "/runs/last", "/api/runs", "/static/style.css", "/x"])
def test_no_host_header_is_too_much(db: Path, path: str) -> None:
    for app in (create_app(db), create_app(db, TOKEN)):
        for host in HOSTS:
            # Not the test client, which fails on some of them itself.
            environment = EnvironBuilder(path).get_environ() | {"HTTP_HOST": host}
            parts, status, _headers = run_wsgi_app(app, environment, buffered=True)
            assert status.partition(" ")[0] in ("400", "401", "404"), host
            assert b"alert(1)" not in b"".join(parts)


def test_a_request_without_a_host(client: FlaskClient) -> None:
    assert client.get("/", environ_overrides={"HTTP_HOST": ""}).status_code == 400


def test_a_refused_host_is_named_harmlessly(client: FlaskClient) -> None:
    answer = client.get("/", environ_overrides={"HTTP_HOST": "<b>\x1b"})
    assert answer.status_code == 400
    assert "&lt;b&gt;␛ is not a name of this dashboard" in answer.text


@pytest.mark.parametrize(
    "page",
    [
        "/",
        "/runs",
        "/runs/last",
        "/runs?q=" + "%1b%3Cscript%3E",
        "/runs/%1b%3Cb%3E",
        "/experiments/%1b%3Cb%3E",
        "/experiments/x?metric=%3Cscript%3E",
    ],
)
def test_texts_of_a_guest_are_shown_and_not_obeyed(client: FlaskClient, page: str) -> None:
    answer = client.get(page, follow_redirects=True)
    text = answer.text
    assert "<script>" not in text
    assert "<b>" not in text
    for character in "\x1b\x07\x9b\u202e\u2066\u200b":
        assert character not in text
    if page == "/runs/last":
        assert "&lt;/script&gt;&lt;script&gt;alert(1)" in text
        assert "␛]0;title␇" in text
        assert "‹U+202E›right" in text


def test_a_token_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")
    file.chmod(0o600)
    assert read_token(file) == TOKEN
    file.chmod(0o640)
    with pytest.raises(UsageError, match=r"others have access to it \(mode 0640\); chmod 600"):
        read_token(file)
    file.chmod(0o600)
    for text in ("", "one\ntwo\n", "x" * 2000):
        file.write_text(text)
        with pytest.raises(UsageError, match="must hold one line"):
            read_token(file)


def test_a_token_is_no_link_fifo_or_folder(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "token").chmod(0o600)
    (tmp_path / "link").symlink_to(tmp_path / "token")
    os.mkfifo(tmp_path / "fifo", 0o600)
    for name in ("link", "none"):
        with pytest.raises(UsageError, match="cannot be read"):
            read_token(tmp_path / name)
    for name in ("fifo", "."):
        with pytest.raises(UsageError, match="not a regular file"):
            read_token(tmp_path / name)


def test_a_token_comes_from_the_file_or_the_environment(
    db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[tuple[str | None, bool]] = []
    monkeypatch.setattr("web.serve", lambda *wanted: served.append(wanted[3:5]))
    file = tmp_path / "token"
    file.write_text(TOKEN)
    file.chmod(0o600)
    options = ["web", "--db", str(db)]
    assert orchestrator(*options).exit_code == 0
    monkeypatch.setenv(command.TOKEN_VARIABLE, "another-of-16-or-more")
    assert orchestrator(*options).exit_code == 0
    assert orchestrator(*options, "--token-file", str(file)).exit_code == 0
    assert orchestrator(*options, "--token-file", str(file), "--edit").exit_code == 0
    assert served == [
        (None, False),
        ("another-of-16-or-more", False),
        (TOKEN, False),
        (TOKEN, True),
    ]
    refused = orchestrator(*options, "--token", "of-the-command-line")
    assert refused.exit_code == 2
    assert "of-the-command-line" not in refused.stderr
    monkeypatch.setenv(command.TOKEN_VARIABLE, "")
    assert "is empty: set a token" in orchestrator(*options).stderr

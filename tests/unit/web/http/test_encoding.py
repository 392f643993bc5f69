"""Bytes that are not UTF-8 are refused on every page and on every address of the API."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from urllib.parse import quote

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import EnvironBuilder, run_wsgi_app

from results.store.store import Store
from tests.support.editing import ORIGIN, form
from tests.web import synthetic
from web import create_app

TOKEN = "a-token_of.16~or-more"
PART = re.compile(r"<[^>]*>")
BYTES = ("%ff", "%fe", "%c3", "%c3%28", "%ed%a0%80", "%c0%af", "\xff", "\xfc=1")
"""No beginning, half a character, a surrogate, an overlong form, and bytes as they are."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    path = tmp_path_factory.mktemp("encoding") / "runs.db"
    return path, synthetic.fill(path)


@pytest.fixture(scope="module")
def apps(store: tuple[Path, dict[str, str]]) -> list[Flask]:
    """A dashboard that only reads, one with a token, and one that writes."""
    path = store[0]
    return [create_app(path), create_app(path, TOKEN), create_app(path, edit=True)]


def rules() -> list[str]:
    """Return the addresses of an application with all of its parts."""
    return sorted({one.rule for one in create_app(Path("none"), edit=True).url_map.iter_rules()})


def paths(rule: str) -> Iterator[str]:
    """Yield paths of an address as WSGI has them, each with a part that is not UTF-8."""
    texts, most = PART.split(rule), len(PART.findall(rule))
    for at in range(most):
        parts = ["\xff" if place == at else "x" for place in range(most)]
        yield "".join(map("".join, zip_longest(texts, parts, fillvalue="")))
    yield f"{rule.rstrip('/')}/\xc3"


def ask(app: Flask, path: str, query: str = "", **more: str) -> tuple[int, str]:
    """Return status and text; the test client cannot send such a path."""
    environ = EnvironBuilder("/").get_environ()
    environ |= {"PATH_INFO": path, "QUERY_STRING": query, **more}
    parts, status, _headers = run_wsgi_app(app, environ, buffered=True)
    return int(status.partition(" ")[0]), b"".join(parts).decode()


def require_refusal(path: str, status: int, text: str, where: str) -> None:
    """Require a clear 400, as JSON below /api/."""
    assert status == 400, path
    if path.startswith("/api/"):
        error = json.loads(text)["error"]
        assert (error["status"], error["title"]) == (400, "Bad Request")
        text = error["message"]
    assert f"{where} has bytes that are not UTF-8, in " in text
    assert "%C3%BC" in text


@pytest.mark.slow
@pytest.mark.parametrize("rule", rules())
def test_no_address_takes_a_query_that_is_not_utf_8(apps: list[Flask], rule: str) -> None:
    path = PART.sub("x", rule)
    for app in apps:
        for given in BYTES:
            for query in (f"q={given}", f"most=1&where={given}", f"{given}=1"):
                require_refusal(path, *ask(app, path, query), "the query")


@pytest.mark.parametrize("rule", rules())
def test_no_address_takes_a_part_that_is_not_utf_8(apps: list[Flask], rule: str) -> None:
    for path in paths(rule):
        require_refusal(path, *ask(apps[-1], path), "the address")


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", ["/tagging", "/runs/{}/remarks", "/experiments/quickstart/remarks"]
)
@pytest.mark.parametrize("given", BYTES)
def test_no_form_takes_a_text_that_is_not_utf_8(
    store: tuple[Path, dict[str, str]], page: str, given: str
) -> None:
    run = store[1]["ok"]
    client = create_app(store[0], edit=True).test_client()
    data = form(client, f"/runs/{run}", do="note", run=run)
    body = "&".join(f"{name}={value}" for name, value in data.items()) + f"&text={given}"
    answer = client.post(
        page.format(run), data=body.encode("latin-1"), headers=ORIGIN,
        content_type="application/x-www-form-urlencoded",
    )  # fmt: skip
    require_refusal(page, answer.status_code, answer.text, "the form")
    with Store.open_read_only(store[0]) as opened:
        assert not opened.remarks()


@pytest.mark.parametrize("text", ["ü", "日本", "\U0001f600", "100%", "%zz", "a+b", ""])
def test_other_texts_are_taken(store: tuple[Path, dict[str, str]], text: str) -> None:
    client: FlaskClient = create_app(store[0]).test_client()
    assert client.get(f"/runs?q={quote(text)}").status_code == 200
    assert client.get(f"/api/runs?q={quote(text)}").status_code == 200
    assert client.get(f"/runs/{quote(text)}-").status_code == 404
    assert ask(client.application, "/runs", f"q={text}".encode().decode("latin-1"))[0] == 200


def test_the_error_shows_the_part_and_no_more(store: tuple[Path, dict[str, str]]) -> None:
    app = create_app(store[0])
    _status, text = ask(app, "/api/runs", "q=cubic+seed&where=%fe&most=2")
    message = json.loads(text)["error"]["message"]
    assert message.startswith("the query has bytes that are not UTF-8, in where=%FE: ")
    assert len(ask(app, "/api/runs", "q=" + "%ff" * 3000)[1]) < 400

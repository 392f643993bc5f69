"""Notes and tags that pages write, and what is refused."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from orchestrator.errors import UsageError
from results.store.parts import notes
from results.store.store import Store
from tests.support.editing import ORIGIN, client, form, store
from tests.support.run import orchestrator
from web import create_app, server
from web.pages import editing

pytestmark = pytest.mark.slow

__all__ = ["client", "store"]


@pytest.fixture
def run(store: tuple[Path, dict[str, str]]) -> str:
    return store[1]["ok"]


def post(client: FlaskClient, run: str, **fields: object) -> TestResponse:
    page = f"/runs/{run}"
    return client.post(f"{page}/remarks", data=form(client, page, **fields), headers=ORIGIN)


def remarks(store: tuple[Path, dict[str, str]]) -> dict[str, notes.Remarks]:
    with Store.open_read_only(store[0]) as opened:
        return opened.remarks()


def test_a_run_gets_and_loses_tags_and_notes(
    client: FlaskClient, store: tuple[Path, dict[str, str]], run: str
) -> None:
    before = remarks(store).get(run, notes.Remarks())
    answer = post(client, run, do="tag", tag="paper")
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/runs/{run}")
    post(client, run, do="note", text="two\r\nlines <b>")
    after = remarks(store)[run]
    assert set(after.tags) - set(before.tags) == {"paper"}
    assert after.notes[-1].text == "two\nlines <b>"
    page = client.get(f"/runs/{run}").text
    assert "lines &lt;b&gt;" in page
    assert 'aria-label="Remove tag paper"' in page
    post(client, run, do="untag", tag="paper")
    post(client, run, do="unnote", number=after.notes[-1].number)
    assert remarks(store).get(run, notes.Remarks()) == before


def test_an_experiment_means_all_of_its_runs(
    client: FlaskClient, store: tuple[Path, dict[str, str]]
) -> None:
    page = client.get("/experiments/quickstart").headers.get("Location", "")
    assert "added to or removed from each of" in client.get(page).text
    url = f"{page}/remarks"
    for fields in ({"do": "tag", "tag": "all"}, {"do": "note", "text": "said of all"}):
        answer = client.post(url, data=form(client, page, **fields), headers=ORIGIN)
        assert answer.headers["Location"] == page
    tagged = {run for run, one in remarks(store).items() if "all" in one.tags}
    assert len(tagged) > 1
    assert tagged == {
        run for run, one in remarks(store).items() if [n for n in one.notes if "of all" in n.text]
    }
    # Only those runs that have the tag lose it.
    post(client, min(tagged), do="untag", tag="all")
    again = form(client, page, do="untag", tag="all")
    assert client.post(url, data=again, headers=ORIGIN).status_code == 303
    assert not [run for run, one in remarks(store).items() if "all" in one.tags]
    answer = client.post(url, data=again, headers=ORIGIN)
    assert answer.status_code == 400
    assert "has the tag all" in answer.text


def test_ticked_runs_are_tagged_together(
    client: FlaskClient, store: tuple[Path, dict[str, str]]
) -> None:
    chosen = [store[1]["ok"], store[1]["failed"]]
    assert 'formaction="/tagging"' in client.get("/runs").text
    page = "/tagging?" + "&".join(f"run={run}" for run in chosen)
    data = form(client, page, do="tag", tag="both", run=chosen)
    answer = client.post("/tagging", data=data, headers=ORIGIN)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/runs")
    assert {run for run, one in remarks(store).items() if "both" in one.tags} == set(chosen)
    assert client.get("/tagging").status_code == 400
    assert client.get("/tagging?run=nowhere").status_code == 404


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"do": "tag", "tag": "two words"}, "is no tag"),
        ({"do": "tag", "tag": "none"}, "is no tag"),
        ({"do": "note", "text": "x" * (notes.MOST_CHARACTERS + 1)}, "1 to 10000 characters"),
        ({"do": "note", "text": "\x1b[2J"}, "control characters"),
        ({"do": "untag", "tag": "absent"}, "has no tag absent"),
        ({"do": "unnote", "number": "99"}, "has no note 99"),
        ({"do": "unnote", "number": "-1"}, "whole number"),
        ({"do": "remove"}, "is not one of tag, untag, note, unnote"),
        ({"do": "tag", "tag": "a", "number": "1"}, "no parameter number"),
    ],
)
def test_errors_are_those_of_the_command_line(
    client: FlaskClient,
    store: tuple[Path, dict[str, str]],
    run: str,
    fields: dict[str, str],
    said: str,
) -> None:
    before = remarks(store)
    answer = post(client, run, **fields)
    assert answer.status_code == 400
    assert said in answer.text
    assert f'href="/runs/{run}">Back to the page' in answer.text
    assert remarks(store) == before


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://localhost:81"}, 403),
        ({"Origin": "https://localhost"}, 403),
        ({**ORIGIN, "Sec-Fetch-Site": "cross-site"}, 403),
        ({**ORIGIN, "Sec-Fetch-Site": "same-site"}, 403),
        ({**ORIGIN, "Sec-Fetch-Site": "none"}, 403),
        ({"Host": "evil.example", "Origin": "http://evil.example"}, 400),
        ({**ORIGIN, "Content-Type": "text/plain"}, 415),
        ({**ORIGIN, "Content-Type": "multipart/form-data; boundary=x"}, 415),
        ({**ORIGIN, "Sec-Fetch-Site": "same-origin"}, 303),
    ],
)
def test_forged_requests_are_refused(
    client: FlaskClient,
    store: tuple[Path, dict[str, str]],
    run: str,
    headers: dict[str, str],
    status: int,
) -> None:
    data = form(client, f"/runs/{run}", do="tag", tag="forged")
    body = "&".join(f"{name}={value}" for name, value in data.items())
    usual = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = client.post(f"/runs/{run}/remarks", data=body, headers=usual | headers)
    assert answer.status_code == status
    tagged = run in remarks(store) and "forged" in remarks(store)[run].tags
    assert tagged is (status == 303)


def test_the_token_belongs_to_the_cookie(
    client: FlaskClient, store: tuple[Path, dict[str, str]], run: str
) -> None:
    url, page = f"/runs/{run}/remarks", f"/runs/{run}"
    answer = client.get(page)
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    data = form(client, page, do="tag", tag="forged")
    assert "Set-Cookie" not in client.get(page).headers
    for wrong in ("", "0" * 64, "ü"):
        wrong_data = {**data, "form_token": wrong}
        assert client.post(url, data=wrong_data, headers=ORIGIN).status_code == 403
    # Neither without a cookie nor with that of another session.
    app = client.application
    for given in ("", "orchestrator_edit_80=" + "A" * 43, "orchestrator_edit_80=short"):
        other = app.test_client(use_cookies=False)
        answer = other.post(url, data=data, headers={**ORIGIN, "Cookie": given})
        assert answer.status_code == 403
    # A token of an earlier process has another key.
    later = create_app(store[0], edit=True).test_client(use_cookies=False)
    given = cookie.partition(";")[0]
    assert later.post(url, data=data, headers={**ORIGIN, "Cookie": given}).status_code == 403
    assert not [one for one in remarks(store).values() if "forged" in one.tags]


def test_bodies_and_rates_are_bounded(
    monkeypatch: pytest.MonkeyPatch, store: tuple[Path, dict[str, str]], run: str
) -> None:
    monkeypatch.setattr(editing, "BURST", 3)
    monkeypatch.setattr(editing, "PERIOD_S", 1000.0)
    client = create_app(store[0], edit=True).test_client()
    assert post(client, run, do="note", text="x" * editing.MOST_BYTES).status_code == 413
    answers = [post(client, run, do="tag", tag="often") for _ in range(5)]
    assert [answer.status_code for answer in answers] == [303, 303, 303, 429, 429]
    assert answers[-1].headers["Retry-After"] == "1"


def test_a_rate_allows_a_burst_and_then_one_each_period() -> None:
    rate = editing.ChangeLimit(3, 1.0)
    assert [rate.take(10.0) for _ in range(4)] == [0, 0, 0, 1]
    assert rate.take(10.5) == 0.5
    assert rate.take(11.0) == 0
    assert [rate.take(99.0) for _ in range(4)] == [0, 0, 0, 1]


def test_no_lock_is_held_between_requests(
    client: FlaskClient, store: tuple[Path, dict[str, str]], run: str
) -> None:
    post(client, run, do="tag", tag="one")
    other = sqlite3.connect(store[0], timeout=0, isolation_level=None)
    try:
        other.execute("BEGIN EXCLUSIVE")  # at once, or "database is locked"
    finally:
        other.close()


def test_a_second_change_does_not_wait_for_long(client: FlaskClient, run: str) -> None:
    data = form(client, f"/runs/{run}", do="tag", tag="late")
    with client.application.config[editing.TURN]:
        answer = client.post(f"/runs/{run}/remarks", data=data, headers=ORIGIN)
    assert answer.status_code == 429


@pytest.mark.parametrize("url", ["/", "/runs", "/runs/last", "/api/runs", "/static/style.css"])
def test_other_addresses_take_no_form(client: FlaskClient, url: str) -> None:
    assert client.post(url, headers=ORIGIN).status_code == 405
    assert client.put("/tagging", headers=ORIGIN).status_code == 405


def test_without_the_option_nothing_is_written(
    client: FlaskClient, store: tuple[Path, dict[str, str]], run: str
) -> None:
    data = form(client, f"/runs/{run}", do="tag", tag="forged")
    reading = create_app(store[0]).test_client()
    for url in (f"/runs/{run}/remarks", "/tagging", "/experiments/quickstart/remarks"):
        assert reading.post(url, data=data, headers=ORIGIN).status_code == 405
    assert reading.get("/tagging").status_code == 404
    for page in ("/runs", f"/runs/{run}"):
        answer = reading.get(page)
        assert "Set-Cookie" not in answer.headers
        assert 'method="post"' not in answer.text
        assert "/tagging" not in answer.text


def test_a_token_does_not_open_other_hosts(store: tuple[Path, dict[str, str]]) -> None:
    token = "a-token_of.16~or-more"
    client = create_app(store[0], token, hosts=["lab7"], edit=True).test_client()
    own = {"Authorization": f"Bearer {token}"}
    assert client.get("/", headers=own).status_code == 200
    assert client.post("/tagging", headers=ORIGIN).status_code == 401
    for host in ("lab7", "192.0.2.7"):
        assert client.get("/", headers=own | {"Host": host}).status_code == 400


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_editing_is_for_loopback(tmp_path: Path, host: str) -> None:
    with pytest.raises(UsageError, match=r"--edit is refused.*ssh -L"):
        server.listen(host, 0, "a-token_of.16~or-more", edit=True)
    done = orchestrator("web", "--edit", "--host", host, "--db", str(tmp_path / "none.db"))
    assert done.exit_code == 2
    assert "--edit is refused" in done.stderr

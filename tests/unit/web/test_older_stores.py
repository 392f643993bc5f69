"""What ``web --edit`` says of a store of an older schema, which its first change migrates."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask import Flask

from results.database import newest
from results.store import Store
from tests.unit.cli.test_run import orchestrator
from tests.unit.stores import restore
from tests.unit.web.test_editing import ORIGIN, form
from web import create_app, server

SAID = f"has schema 9. The next change makes it schema {newest()}"


@pytest.fixture
def older(tmp_path: Path) -> Path:
    return restore("schema-9.sql", tmp_path / "runs.db")


def test_the_first_change_is_announced_beside_each_form_and_told(older: Path) -> None:
    told: list[str] = []
    client = create_app(older, edit=True, tell=told.append).test_client()
    with Store.open_read_only(older) as store:
        run = store.list_runs()[0].id
    before = older.read_bytes()
    experiment = client.get("/").text.partition('href="/experiments/')[2].partition('"')[0]
    pages = [f"/runs/{run}", f"/tagging?run={run}", f"/experiments/{experiment}"]
    for page in pages:
        assert SAID in client.get(page).text, page
    assert older.read_bytes() == before
    assert told == []
    data = form(client, pages[0], do="tag", tag="paper")
    assert client.post(f"{pages[0]}/remarks", data=data, headers=ORIGIN).status_code == 303
    assert f"the schema 9 of the file becomes {newest()}" in told[0]
    assert f"the schema is {newest()} now" in told[-1]
    number = len(told)
    for page in pages:
        assert "The next change" not in client.get(page).text, page
    data = form(client, pages[0], do="untag", tag="paper")
    assert client.post(f"{pages[0]}/remarks", data=data, headers=ORIGIN).status_code == 303
    assert len(told) == number


def test_the_command_says_it_at_its_start(older: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.serve", lambda *_given: None)
    before = older.read_bytes()
    assert SAID in orchestrator("web", "--edit", "--db", str(older)).stderr
    assert "schema" not in orchestrator("web", "--db", str(older)).stderr
    assert older.read_bytes() == before
    with Store(older):
        pass
    assert "schema" not in orchestrator("web", "--edit", "--db", str(older)).stderr


def test_the_server_tells_on_standard_error(
    older: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Ended:
        """A server that makes one change and ends."""

        def __init__(self, app: Flask, _listener: object) -> None:
            self.app = app

        def run(self) -> None:
            client, page = self.app.test_client(), f"/runs/{run}"
            data = form(client, page, do="tag", tag="paper")
            assert client.post(f"{page}/remarks", data=data, headers=ORIGIN).status_code == 303

    with Store.open_read_only(older) as store:
        run = store.list_runs()[0].id
    monkeypatch.setattr(server, "make_server", Ended)
    server.serve(older, port=0, edit=True)
    assert f"the schema 9 of the file becomes {newest()}" in capsys.readouterr().err

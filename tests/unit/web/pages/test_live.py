"""The stream of a run in progress."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.errors import StoreError
from results.store import live as live_files
from results.store.store import Store
from tests.support.api_contract import STATE
from tests.web import synthetic
from web import create_app
from web.http.streams import MOST_STREAMS
from web.pages import live


@pytest.fixture
def run(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    db = tmp_path / "runs.db"
    with Store(db) as store:
        run_id = store.begin(synthetic.HEAD)
    live_files.write(db, run_id, STATE)
    yield db, run_id
    live_files.remove(db, run_id)


@pytest.mark.slow
def test_the_stream_ends_with_the_run(run: tuple[Path, str]) -> None:
    db, run_id = run
    answer = create_app(db).test_client().get(f"/runs/{run_id}/live")
    assert answer.mimetype == "text/event-stream"
    assert answer.headers["Cache-Control"] == "no-store"
    parts = (part.decode() for part in answer.iter_encoded())
    state = json.dumps(STATE.document())
    assert [next(parts) for _ in range(3)][2] == f"event: state\ndata: {state}\n\n"
    with Store(db) as store:
        store.fail(run_id, "why")
    live_files.remove(db, run_id)
    assert [part for part in parts if part.startswith("event")] == ["event: end\ndata: {}\n\n"]


@pytest.mark.slow
def test_a_store_that_cannot_be_read_for_a_while_ends_no_stream(
    run: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    db, run_id = run
    monkeypatch.setattr(live, "_CHECK_S", 0.0)
    tries: list[Path] = []

    def busy_once(path: Path) -> Store:
        tries.append(path)
        if len(tries) == 1:
            raise StoreError(f"{path}: cannot read the results database: database is locked")
        return opened(path)

    opened = Store.open_read_only
    monkeypatch.setattr(Store, "open_read_only", busy_once)
    found = live.events(db, run_id, threading.Event())
    assert [next(found) for _ in range(3)][2].startswith("event: state\n")
    with Store(db) as store:
        store.fail(run_id, "why")
    assert [part for part in found if part.startswith("event")] == ["event: end\ndata: {}\n\n"]


def test_the_page_of_a_running_run_names_its_stream(run: tuple[Path, str]) -> None:
    db, name = run
    assert (
        f'data-stream="/runs/{name}/live"' in create_app(db).test_client().get(f"/runs/{name}").text
    )


def test_streams_are_limited_and_freed(run: tuple[Path, str]) -> None:
    db, run_id = run
    client = create_app(db).test_client()
    opened = [client.get(f"/runs/{run_id}/live") for _ in range(MOST_STREAMS)]
    refused = client.get(f"/runs/{run_id}/live")
    assert refused.status_code == 503
    assert "close one of them" in refused.text
    opened[0].close()
    with client.get(f"/runs/{run_id}/live") as again:
        assert again.status_code == 200
    for one in opened[1:]:
        one.close()


def test_streams_end_when_the_server_stops(run: tuple[Path, str]) -> None:
    db, run_id = run
    stopping = threading.Event()
    found = live.events(db, run_id, stopping)
    next(found)
    stopping.set()
    assert len(list(found)) == 2  # what is ready already


@pytest.mark.slow
def test_a_stream_has_an_end(run: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "LONGEST_S", 0.6)
    assert not any("end" in part for part in live.events(*run, threading.Event()))


def test_wrong_addresses_are_refused(run: tuple[Path, str]) -> None:
    db, run_id = run
    client = create_app(db).test_client()
    assert client.get("/runs/none/live").status_code == 404
    assert client.get(f"/runs/{run_id}/live?x=1").status_code == 400
    assert client.post(f"/runs/{run_id}/live").status_code == 405
    assert create_app(db, "a" * 20).test_client().get(f"/runs/{run_id}/live").status_code == 401

"""The dashboard shows UDP flows and transfers, which have no window."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask.testing import FlaskClient

from results.store import Store
from tests.unit.results.test_datagrams import mixed
from tests.unit.results.test_recordings import head
from web import create_app


@pytest.fixture
def run_id(tmp_path: Path) -> str:
    with Store(tmp_path / "runs.db") as store:
        run_id = store.begin(head())
        store.finish(run_id, mixed(), 1.0)
    return run_id


@pytest.fixture
def client(tmp_path: Path) -> FlaskClient:
    return create_app(tmp_path / "runs.db").test_client()


def test_the_page_has_a_table_for_each(client: FlaskClient, run_id: str) -> None:
    page = client.get(f"/runs/{run_id}").text
    flows, datagrams = page.split('<table id="datagrams">')
    datagrams, transfers = datagrams.split('<table id="transfers">')
    assert "not connected" not in flows
    assert "UDP" in flows
    assert "(cbr)" in flows
    assert '<th scope="row">u</th>' in datagrams
    assert '<th scope="row">a</th>' not in datagrams
    assert '<th scope="row">w</th>' in transfers
    assert "FCT mean</abbr>" in flows


def test_a_run_of_tcp_alone_shows_neither(client: FlaskClient, tmp_path: Path) -> None:
    with Store(tmp_path / "runs.db") as store:
        made = mixed()
        made.datagrams, made.transfers = made.datagrams[:0], made.transfers[:0]
        made.flows = made.flows[:1]
        store.finish(store.begin(head()), made, 1.0)
    page = client.get("/runs/last", follow_redirects=True).text
    assert 'id="flows"' in page
    for part in ('id="datagrams"', 'id="transfers"', "FCT"):
        assert part not in page


def test_series_of_udp_are_its_goodput_and_no_window(client: FlaskClient, run_id: str) -> None:
    answer = client.get(f"/api/runs/{run_id}/goodput?flow=u").get_json()
    (flow,) = answer["flows"]
    assert flow["source"] == "receiver"
    assert sum(flow["goodput_bps"]) * answer["bin_s"] / 8 == pytest.approx(500)
    (flow,) = client.get(f"/api/runs/{run_id}/tcp?flow=u").get_json()["flows"]
    assert (flow["samples"], flow["time_s"]) == (0, [])

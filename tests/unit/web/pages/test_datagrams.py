"""The dashboard shows UDP flows and transfers, which have no window."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from results.store.store import Store
from tests.support.datagrams import mixed
from tests.support.recordings import datagrams, head, transfers
from web import create_app
from web.api import curves


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


def test_the_page_says_how_a_connection_failed(client: FlaskClient, tmp_path: Path) -> None:
    with Store(tmp_path / "runs.db") as store:
        made = mixed()
        dead = replace(
            made.flows[0], outcome="timed_out", ended_s=3.25, errno=110, failed_s=(3.25,)
        )
        made.flows = [dead, *made.flows[1:]]
        run_id = store.begin(head())
        store.finish(run_id, made, 1.0)
    page = client.get(f"/runs/{run_id}").text
    assert page.count("timed_out at 3.25 s (ETIMEDOUT)") == 1
    (document,) = client.get(f"/api/runs/{run_id}").get_json()["runs"]
    (flow, *others) = document["flows"]
    assert (flow["outcome"], flow["ended_s"], flow["errno"]) == ("timed_out", 3.25, 110)
    assert flow["connections_failed"] == document["metrics"]["connections_failed"] == 1
    assert {other["outcome"] for other in others} == {"ended"}


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


def test_delays_and_loss_of_udp_over_time(client: FlaskClient, tmp_path: Path) -> None:
    made = mixed()
    made.datagrams = datagrams([{"time_s": one, "flow": 1, **counters} for one, counters in (
        (0.0, {"delay_min_ns": -1, "delay_max_ns": -1}),
        (1.0, sample(100, 100, 1.0, 8, 12)),
        (2.0, sample(200, 150, 1.5, 9, 30)),
        (3.0, sample(200, 150, 1.5, -1, -1)),
        (4.0, sample(300, 250, 2.5, 10, 10)),
    )])  # fmt: skip
    with Store(tmp_path / "runs.db") as store:
        run = store.begin(head())
        store.finish(run, made, 1.0)
    answer = client.get(f"/api/runs/{run}/datagrams?points=10").get_json()
    (flow,) = answer["flows"]  # of UDP flows only, unless named
    assert (flow["name"], flow["samples"], answer["bin_s"]) == ("u", 4, 1.0)
    assert flow["time_s"] == [0.5, 1.5, 2.5, 3.5]
    assert flow["fields"]["loss_ratio"] == [0, 0.5, None, 0]
    assert flow["fields"]["one_way_delay_s"] == [0.01, 0.01, None, 0.01]
    assert flow["low"]["one_way_delay_s"] == [0.008, 0.009, None, 0.01]
    assert flow["high"]["one_way_delay_s"] == [0.012, 0.03, None, 0.01]
    delay, loss = (flow["summary"][name] for name in ("one_way_delay_s", "loss_ratio"))
    assert (delay["min"], delay["mean"], delay["max"]) == (0.008, pytest.approx(0.01), 0.03)
    assert loss["mean"] == pytest.approx(50 / 300)
    (part,) = client.get(f"/api/runs/{run}/datagrams?points=10&from=2&to=4").get_json()["flows"]
    assert (part["time_s"], part["fields"]["loss_ratio"]) == ([2.5, 3.5], [None, 0])
    (tcp,) = client.get(f"/api/runs/{run}/datagrams?flow=a").get_json()["flows"]
    assert (tcp["samples"], tcp["time_s"]) == (0, [])


def sample(expected: int, came: int, delays_s: float, low_ms: int, high_ms: int) -> dict[str, int]:
    """Return counters of a UDP flow; -1 for a delay stands for no packet."""
    delays = {"delay_min_ns": low_ms, "delay_max_ns": high_ms}
    return {
        "sent_packets": expected, "expected_packets": expected, "received_packets": came,
        "delay_sum_ns": round(delays_s * 1e9),
        **{name: -1 if ms < 0 else ms * 10**6 for name, ms in delays.items()},
    }  # fmt: skip


def test_completion_times_have_a_distribution(client: FlaskClient, run_id: str) -> None:
    (flow,) = client.get(f"/api/runs/{run_id}/transfers").get_json()["flows"]
    assert (flow["name"], flow["transfers"], flow["completed"]) == ("w", 3, 2)
    assert (flow["fct_s"], flow["share"]) == ([1, 2], [0.5, 1])
    (flow,) = client.get(f"/api/runs/{run_id}/transfers?flow=w&from=4").get_json()["flows"]
    assert (flow["transfers"], flow["fct_s"], flow["share"]) == (1, [2], [1])
    (flow,) = client.get(f"/api/runs/{run_id}/transfers?flow=w&to=3").get_json()["flows"]
    assert (flow["transfers"], flow["completed"], flow["fct_s"]) == (0, 0, [])


def test_many_completion_times_are_thinned_to_their_quantiles(
    client: FlaskClient, tmp_path: Path
) -> None:
    made = mixed()
    made.transfers = transfers([(2, 1.0, 1.0 + one / 100, 100) for one in range(1, 2001)])
    with Store(tmp_path / "runs.db") as store:
        run = store.begin(head())
        store.finish(run, made, 1.0)
    (flow,) = client.get(f"/api/runs/{run}/transfers?flow=w").get_json()["flows"]
    assert len(flow["fct_s"]) == len(flow["share"]) == curves.MOST_TIMES
    assert flow["fct_s"][-2:] == [19.99, 20]
    for time_s, share in zip(flow["fct_s"], flow["share"], strict=True):
        assert share == pytest.approx(time_s / 20)

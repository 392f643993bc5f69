"""The JSON API of the dashboard."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient

from orchestrator.recording.model import RECEIVER
from results.documents import run_document
from results.runs import listing
from results.store.store import Store
from tests.web import synthetic
from web import create_app
from web.charts import series
from web.http import query

CLOSE_WAIT = 8  # include/net/tcp_states.h
WHOLE_RUN = query.TimeRange(None, None, 1000)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    path = tmp_path_factory.mktemp("web") / "runs.db"
    return path, synthetic.fill(path)


@pytest.fixture
def client(store: tuple[Path, dict[str, str]]) -> FlaskClient:
    return create_app(store[0]).test_client()


@pytest.fixture
def base(store: tuple[Path, dict[str, str]]) -> str:
    return f"/api/runs/{store[1]['ok']}"


def get(client: FlaskClient, url: str) -> Any:
    answer = client.get(url)
    assert answer.status_code == 200, answer.text
    assert answer.mimetype == "application/json"

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(answer.text, parse_constant=refuse)


def test_documents_are_the_store_s(
    client: FlaskClient, store: tuple[Path, dict[str, str]], base: str
) -> None:
    with Store.open_read_only(store[0]) as opened:
        assert get(client, "/api/runs") == json.loads(
            json.dumps(run_document.list_document(listing.read(opened)))
        )
        document = json.loads(json.dumps(run_document.of_ids(opened, [store[1]["ok"]])))
    assert get(client, base) == document


def test_runs_come_in_pages(client: FlaskClient, store: tuple[Path, dict[str, str]]) -> None:
    ids = list(store[1].values())[::-1]
    collected = []
    for first in range(0, len(ids) + 2, 2):
        answer = get(client, f"/api/runs?first={first}&most=2")
        assert (answer["found"], answer["total"], answer["first"]) == (len(ids), len(ids), first)
        collected += [run["id"] for run in answer["runs"]]
    assert collected == ids
    failed = get(client, "/api/runs?where=status%3Dfailed&where=repetition%3E%3D0")
    assert [run["id"] for run in failed["runs"]] == [store[1]["failed"]]
    assert failed["found"] == 1
    ordered = get(client, "/api/runs?sort=id")["runs"]
    assert [run["id"] for run in ordered] == sorted(ids)


@pytest.mark.parametrize(
    "query",
    ["most=0", "most=1001", "first=-1", "first=x", "where=nothing%3D1", "sort=nothing", "page=2",
     "status=nothing", "&".join(["where=seed%3D1"] * 21)],
)  # fmt: skip
def test_a_wrong_page_of_runs_is_a_clear_error(client: FlaskClient, query: str) -> None:
    answer = client.get(f"/api/runs?{query}")
    assert answer.status_code == 400
    assert answer.get_json()["error"]["message"]


def test_tcp_gives_every_flow_and_null_for_infinite(client: FlaskClient, base: str) -> None:
    answer = get(client, f"{base}/tcp")
    assert [flow["name"] for flow in answer["flows"]] == ["westwood", "reno"]
    flow = answer["flows"][0]
    assert flow["samples"] == len(flow["time_s"]) == 601
    assert set(flow["fields"]) == {"snd_cwnd_segments", "snd_ssthresh_segments", "rtt_us"}
    assert flow["fields"]["snd_ssthresh_segments"][0] is None
    assert flow["fields"]["snd_cwnd_segments"][0] == 10


def test_tcp_is_thinned_and_keeps_extremes(client: FlaskClient, base: str) -> None:
    whole = get(client, f"{base}/tcp?flow=reno&fields=rtt_us&points=20000")["flows"][0]
    thin = get(client, f"{base}/tcp?flow=reno&fields=rtt_us&points=40")["flows"][0]
    assert len(thin["time_s"]) <= 42
    values = thin["fields"]["rtt_us"]
    assert max(values) == max(whole["fields"]["rtt_us"]) == thin["summary"]["rtt_us"]["max"]
    assert min(values) == min(whole["fields"]["rtt_us"])
    assert thin["samples"] == whole["samples"] == 600
    assert thin["time_s"] == sorted(set(thin["time_s"]))
    assert thin["summary"] == whole["summary"]


def test_bins_have_the_extremes_of_all_samples(client: FlaskClient, base: str) -> None:
    url = f"{base}/tcp?flow=reno&fields=snd_cwnd_segments,snd_ssthresh_segments&from=10&to=60"
    whole = get(client, f"{url}&points=20000")["flows"][0]
    flow = get(client, f"{url}&bins=20")["flows"][0]
    assert (flow["bin_s"], len(flow["time_s"]), flow["time_s"][0]) == (2.5, 20, 11.25)
    assert (flow["samples"], flow["summary"]) == (whole["samples"], whole["summary"])
    for key, summary in (("low", "min"), ("high", "max")):
        extremes = [segment for segment in flow[key]["snd_cwnd_segments"] if segment is not None]
        pick = min if summary == "min" else max
        assert pick(extremes) == whole["summary"]["snd_cwnd_segments"][summary]
    mean = np.mean(flow["fields"]["snd_cwnd_segments"])
    assert mean == pytest.approx(whole["summary"]["snd_cwnd_segments"]["mean"], rel=0.01)
    (queue,) = get(client, f"{base}/queues?queue=0&fields=drops&bins=50")["queues"]
    assert queue["high"]["drops"][-1] == queue["summary"]["drops"]["max"] > 0


def test_few_samples_come_as_they_are_not_as_bins(client: FlaskClient, base: str) -> None:
    url = f"{base}/tcp?flow=reno&fields=rtt_us&from=20&to=30"
    assert get(client, f"{url}&bins=50")["flows"] == get(client, url)["flows"]


def test_part_of_the_time_has_one_sample_beyond_each_edge(client: FlaskClient, base: str) -> None:
    flow = get(client, f"{base}/tcp?flow=0&from=20.05&to=20.45&fields=rtt_us")["flows"][0]
    assert flow["name"] == "westwood"
    assert flow["time_s"] == pytest.approx([20.0, 20.1, 20.2, 20.3, 20.4, 20.5])
    assert flow["samples"] == 4
    inside = flow["fields"]["rtt_us"][1:-1]
    assert flow["summary"]["rtt_us"]["mean"] == pytest.approx(np.mean(inside))


def test_receiver_and_any_stored_field(client: FlaskClient, base: str) -> None:
    url = f"{base}/tcp?endpoint=receiver&flow=reno&fields=bytes_received,time_ns&points=10"
    flow = get(client, url)["flows"][0]
    assert flow["fields"]["time_ns"] == pytest.approx([time * 1e9 for time in flow["time_s"]])
    assert flow["fields"]["bytes_received"][-1] > 0


def test_queues_are_the_bottleneck_s_unless_named(client: FlaskClient, base: str) -> None:
    queues = get(client, f"{base}/queues")["queues"]
    assert [queue["name"] for queue in queues] == [
        "bottleneck:forward:queue",
        "bottleneck:reverse:queue",
    ]
    assert queues[0]["limit_packets"] == synthetic.LIMIT_PACKETS
    assert queues[0]["summary"]["backlog_packets"]["max"] > 90
    assert queues[1]["samples"] == 0
    assert queues[1]["summary"]["drops"]["max"] is None
    (one,) = get(client, f"{base}/queues?queue=access:forward:delay")["queues"]
    assert one["delay_s"] == 0.01


def test_queue_delay_is_that_of_the_rate_of_its_time(tmp_path: Path) -> None:
    recording = synthetic.recording()
    steps = ((0.0, synthetic.RATE_BPS), (30.0, synthetic.RATE_BPS // 2))
    recording.queues[0] = replace(recording.queues[0], rate_steps=steps)
    with Store(tmp_path / "runs.db") as store:
        run_id = store.begin(synthetic.HEAD)
        store.finish(run_id, recording, 1.0)
    client = create_app(tmp_path / "runs.db").test_client()
    url = f"/api/runs/{run_id}/queues?points=20000"
    queue = get(client, url)["queues"][0]
    assert queue["rate_steps"] == [list(step) for step in steps]
    rows = zip(queue["time_s"], *(queue["fields"][name] for name in ("backlog_bytes",
               "queue_delay_s")), strict=True)  # fmt: skip
    for time_s, backlog, delay_s in rows:
        if not 29.8 < time_s < 30:  # there a part leaves at either rate
            rate_bps = synthetic.RATE_BPS / (1 if time_s < 30 else 2)
            assert delay_s == pytest.approx(backlog * 8 / rate_bps)


def test_goodput_adds_up_to_the_metric(client: FlaskClient, base: str) -> None:
    answer = get(client, f"{base}/goodput?from=10&to=60&points=100")
    document = get(client, base)["runs"][0]
    assert answer["bin_s"] == 0.5
    for flow, known in zip(answer["flows"], document["flows"], strict=True):
        assert flow["source"] == "receiver"
        assert len(flow["time_s"]) == 100
        assert np.mean(flow["goodput_bps"]) == pytest.approx(known["goodput_bps"], rel=1e-6)


def test_goodput_bins_are_never_finer_than_the_samples(client: FlaskClient, base: str) -> None:
    answer = get(client, f"{base}/goodput?from=20&to=21&points=1000&flow=reno")
    assert answer["bin_s"] == pytest.approx(0.1)
    assert len(answer["flows"][0]["time_s"]) == 10


def test_goodput_falls_back_to_the_sender(tmp_path: Path) -> None:
    recording = synthetic.recording()
    recording.tcp = recording.tcp[recording.tcp["endpoint"] == 0]
    with Store(tmp_path / "runs.db") as opened:
        run = opened.begin(synthetic.HEAD)
        opened.finish(run, recording, wall_s=1.0)
    flow = get(create_app(tmp_path / "runs.db").test_client(), f"/api/runs/{run}/goodput")["flows"][
        0
    ]
    assert flow["source"] == "sender"
    assert max(flow["goodput_bps"]) > 1e6


def test_goodput_over_time_counts_the_bytes_of_the_metric(tmp_path: Path) -> None:
    # The FIN of a flow that ends counts as a byte in tcpi_bytes_received, but it is no data.
    recording = synthetic.recording()
    ended = (recording.tcp["endpoint"] == RECEIVER) & (recording.tcp["time_ns"] >= 55_000_000_000)
    recording.tcp["state"][ended] = CLOSE_WAIT
    for flow in range(2):
        rows = np.flatnonzero(ended & (recording.tcp["flow"] == flow))
        recording.tcp["bytes_received"][rows] = recording.tcp["bytes_received"][rows[0]] + 1
    with Store(tmp_path / "runs.db") as opened:
        run = opened.begin(synthetic.HEAD)
        opened.finish(run, recording, wall_s=1.0)
        known = run_document.of_ids(opened, [run])["runs"][0]["flows"]
        charted = [series.received(opened.load(run), flow, WHOLE_RUN) for flow in range(2)]
    span_s = synthetic.HEAD.duration_s - synthetic.HEAD.warmup_s
    for counter, metrics in zip(charted, known, strict=True):
        first = counter.bytes[counter.time_s == synthetic.HEAD.warmup_s]
        assert counter.bytes[-1] - first == pytest.approx(
            metrics["goodput_bps"] * span_s / 8, rel=1e-12
        )


def test_run_without_samples_has_empty_answers(
    client: FlaskClient, store: tuple[Path, dict[str, str]]
) -> None:
    for kind, key in (("tcp", "flows"), ("queues", "queues"), ("goodput", "flows")):
        assert get(client, f"/api/runs/{store[1]['running']}/{kind}")[key] == []


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("tcp?flow=renoo", "westwood, reno"),
        ("tcp?flow=2", "westwood, reno"),
        ("tcp?flow=" + "9" * 5000, "westwood, reno"),
        ("tcp?fields=cwnd", "snd_cwnd_segments"),
        ("tcp?fields=rtt_us;drop table runs", "snd_cwnd_segments"),
        ("tcp?endpoint=middle", "sender, receiver"),
        ("tcp?from=now", "from=12.5"),
        ("tcp?from=nan", "from=12.5"),
        ("tcp?to=1e99", "to=12.5"),
        ("tcp?from=5&to=5", "is not before"),
        ("tcp?points=1", "from 10 to 20000"),
        ("tcp?points=20001", "from 10 to 20000"),
        ("tcp?points=-5", "from 10 to 20000"),
        ("tcp?points=" + "9" * 5000, "from 10 to 20000"),
        ("tcp?queue=x", "flow, endpoint, fields, from, to, points, bins"),
        ("tcp?bins=9", "from 10 to 2000"),
        ("queues?bins=2001", "from 10 to 2000"),
        ("datagrams?flow=x", "westwood, reno"),
        ("transfers?points=100", "flow, from, to"),
        ("queues?queue=x", "bottleneck:forward:queue"),
        ("queues?fields=rtt_us", "backlog_packets"),
        ("goodput?fields=rtt_us", "flow, from, to, points"),
    ],
)
def test_wrong_parameters_name_what_is_valid(
    client: FlaskClient, base: str, wrong: str, hint: str
) -> None:
    answer = client.get(f"{base}/{wrong}")
    assert answer.status_code == 400
    error = answer.get_json()["error"]
    assert error["status"] == 400
    assert hint in error["message"]


def test_unknown_is_json_here(client: FlaskClient) -> None:
    for url in ("/api/runs/nope", "/api/runs/nope/tcp", "/api/nowhere"):
        answer = client.get(url)
        assert answer.status_code == 404
        assert answer.get_json()["error"]["status"] == 404


def test_an_rtt_of_0_is_no_sample(tmp_path: Path) -> None:
    recorded = synthetic.recording()
    recorded.tcp["rtt_us"][recorded.tcp["time_ns"] < 2 * 10**9] = 0
    with Store(tmp_path / "runs.db") as store:
        run = store.begin(synthetic.HEAD)
        store.finish(run, recorded, wall_s=1.0)
    client = create_app(tmp_path / "runs.db").test_client()
    (flow,) = get(client, f"/api/runs/{run}/tcp?flow=0&fields=rtt_us&to=4")["flows"]
    early = [time_s < 2 for time_s in flow["time_s"]]
    assert any(early)
    assert [value is None for value in flow["fields"]["rtt_us"]] == early
    assert flow["summary"]["rtt_us"]["min"] > 0

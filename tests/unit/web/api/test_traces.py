"""The API of stored traces: what happened, and what pictures of a trace show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from orchestrator.protocol.reports import trace_records as records
from orchestrator.recording.trace import Capture, Trace
from results.store.store import Store
from tests.support.trace_rows import MS, state, step, told, trace, traced_run
from web import create_app


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A store with a run that has three traces, and one that has none."""
    path = tmp_path_factory.mktemp("traces") / "runs.db"
    part = Trace(Capture(0, 10**9, frozenset({"acks", "tcp", "drops"})))
    bare = Trace(Capture(0, 10**9, frozenset({"packets"}), flows=("a",)))
    with Store(path) as opened:
        return path, traced_run(opened, told(), part, bare), traced_run(opened)


@pytest.fixture
def client(store: tuple[Path, str, str]) -> FlaskClient:
    return create_app(store[0]).test_client()


@pytest.fixture
def get(client: FlaskClient, store: tuple[Path, str, str]) -> Any:
    def ask(address: str, status: int = 200) -> Any:
        answer = client.get(f"/api/runs/{store[1]}/{address}")
        assert answer.status_code == status, answer.text
        return answer.json

    return ask


def test_what_happened_is_told_by_the_longest_trace(get: Any) -> None:
    whole = get("moments")
    assert (whole["traces"], whole["windows"], whole["found"]) == ([1], [[0.0, 10.0]], 2)
    assert [moment["kind"] for moment in whole["moments"]] == ["full queue", "fast recovery"]
    full = whole["moments"][0]
    assert (full["time_s"], full["until_s"], full["flow"], full["trace"]) == (0.003, None, "a", 1)
    assert full["text"] == (
        "the queue of bottleneck:forward was full (100 packets); 1 data packet of a was lost"
    )
    assert get("moments?trace=2")["windows"] == [[0.0, 1.0]]
    assert get("moments?trace=3")["traces"] == []


def test_moments_are_chosen_by_kind_flow_and_time_and_counted_without(get: Any) -> None:
    chosen = get("moments?kind=full+queue&flow=a")
    assert (chosen["found"], chosen["kinds"]) == (1, {"full queue": 1, "fast recovery": 1})
    assert get("moments?flow=b")["found"] == 0
    # It began at 8 ms and went on until 12 ms.
    assert [one["kind"] for one in get("moments?from=0.01&to=1")["moments"]] == ["fast recovery"]
    assert [one["kind"] for one in get("moments?first=1&most=1")["moments"]] == ["fast recovery"]


def test_without_a_trace_there_is_the_command(
    client: FlaskClient, store: tuple[Path, str, str]
) -> None:
    answer = client.get(f"/api/runs/{store[2]}/moments").json
    assert answer is not None
    assert (answer["traces"], answer["moments"]) == ([], [])
    assert answer["command"] == f"orchestrator explain {store[2]} --db {store[0]}"
    page = client.get(f"/runs/{store[2]}").text
    assert f"orchestrator explain {store[2]} --db {store[0]}" in page


def test_of_a_run_in_real_time_no_command_is_shown_that_cannot_work(
    client: FlaskClient, store: tuple[Path, str, str]
) -> None:
    with Store(store[0]) as opened:
        captured = Trace(Capture(0, 10**9, frozenset({"packets"})))
        run_id = traced_run(opened, captured, backend="local")
    for address in (f"/runs/{run_id}", f"/runs/{run_id}/traces/1"):
        page = client.get(address).text
        assert "a run in real time cannot be made again with" in page.replace("A run", "a run")
        assert "orchestrator explain" not in page
        assert "orchestrator zoom" not in page
    for address in ("moments", "stories"):
        answer = client.get(f"/api/runs/{run_id}/{address}").json
        assert answer is not None
        assert answer["command"] is None


def test_pictures_of_a_trace(get: Any) -> None:
    sequence = get("traces/1/sequence?flow=a")
    assert sequence["new"]["first"] == [0, 1000, 2000]
    assert (sequence["again"]["time_s"], sequence["again"]["end"]) == ([0.009], [2000])
    assert (sequence["sacks"]["first"], sequence["acked"]) == ([2000], [0, 1000, 3000])
    assert get("traces/1/sequence?flow=b")["connections"] == 0
    queue = get("traces/1/queue")
    assert (queue["packets"], queue["lost"]["flow"]) == ([99, 100, 100, 99], ["a"])
    assert [flow["name"] for flow in queue["flows"]] == ["a", "b"]
    acks = get("traces/1/acks?from=0.005&to=0.01")
    assert acks["flows"][0]["cwnd_segments"] == [10, 11]
    rows = get("traces/1/tables/events?first=1&most=5")
    assert (rows["total"], rows["columns"]["event"]) == (2, ["congestion state"])


def test_what_a_trace_does_not_have_is_said_with_the_command(get: Any) -> None:
    lacking = get("traces/2/queue", 400)["error"]["message"]
    assert "trace 2" in lacking
    assert "--trace queue" in lacking
    assert "it has 1, 2, 3" in get("traces/9/acks", 404)["error"]["message"]
    assert "the tables are ends, acks" in get("traces/1/tables/x", 404)["error"]["message"]
    assert "trace 1 is of 0s..10s" in get("traces/1/acks?from=11", 400)["error"]["message"]


def test_the_page_of_a_trace(client: FlaskClient, store: tuple[Path, str, str]) -> None:
    run = store[1]
    assert "Packet by packet" in client.get(f"/runs/{run}/traces/1").text
    bare = client.get(f"/runs/{run}/traces/3").text
    assert "It has no acks and no queue and no tcp." in bare
    assert "--window 0s..1s --trace packets,acks,queue,tcp" in bare
    assert client.get(f"/runs/{run}/traces/9").status_code == 404
    assert client.get("/runs/last/traces/1").status_code == 302
    assert client.get(f"/runs/{run}/traces/1?x=1").status_code == 400


def test_stories_tell_what_limited_flows_and_what_cost_them_most(tmp_path: Path) -> None:
    """A segment a millisecond, a drop after 100 ms, and nothing from 110 ms to 160 ms."""
    busy = {"mss_bytes": 1000, "srtt_us": 10_000, "rto_us": 40_000, "limited_by": 1}
    acks = [
        state(at * MS, 1000 * number, 0, delivered_segments=number, **busy)
        for number, at in enumerate([*range(111), *range(160, 400)])
    ]
    acks[-1]["limited_by"] = 0
    drop = step(100 * MS, records.REFUSED, 0, 100, to_sink=1, payload_bytes=1000)
    whole = trace("acks,tcp,queue", acks=acks, links=[drop])
    part = Trace(Capture(0, 10**9, frozenset({"acks", "tcp", "drops"})))
    path = tmp_path / "runs.db"
    with Store(path) as opened:
        told_id, part_id = traced_run(opened, part, whole), traced_run(opened, part)
    client = create_app(path).test_client()
    answer = client.get(f"/api/runs/{told_id}/stories").json
    assert answer is not None
    assert answer["trace"] == 2
    first, second = answer["flows"]
    assert (first["flow"], first["limited_by"]["congestion window"]) == ("a", 1)
    (costly,) = first["costliest"]
    assert (costly["time_s"], costly["until_s"], costly["kinds"]) == (0.1, 0.16, ["full queue"])
    assert (costly["cost_bytes"], costly["level_bps"], costly["is_back"]) == (48_000, 8e6, True)
    assert (second["flow"], second["limited_by"], second["costliest"]) == ("b", None, [])
    assert "What limited each flow" in client.get(f"/runs/{told_id}").text
    none = client.get(f"/api/runs/{part_id}/stories").json
    assert none is not None
    assert (none["trace"], none["flows"]) == (None, [])
    assert none["command"] == f"orchestrator explain {part_id} --db {path}"
    assert "What limited each flow" not in client.get(f"/runs/{part_id}").text


def test_the_address_of_all_traces_leads_to_their_list(
    client: FlaskClient, store: tuple[Path, str, str]
) -> None:
    answer = client.get("/runs/last/traces")
    assert answer.status_code == 302
    address, _hash, place = answer.location.partition("#")
    assert f'id="{place}"' in client.get(address).text
    assert client.get("/runs/none/traces").status_code == 404
    assert client.get(f"/runs/{store[1]}/traces?x=1").status_code == 400

"""Queues, engines and flows' schedules do what the scenario says."""

from __future__ import annotations

from pathlib import Path

import pytest

from results.store.store import Store
from tests.guest.conftest import NEAR, Run

pytestmark = pytest.mark.guest

FRAME_BITS = 1514 * 8


def test_the_queue_limit_sets_the_largest_rtt(run: Run) -> None:
    """The slow start fills 500 packets; congestion avoidance does not within a minute."""
    largest = {}
    for packets in (20, 500):
        document = run(f"topology.bottleneck.queue.limit={packets}p")
        assert document["fidelity"]["verdict"] == "faithful"
        largest[packets] = max(flow["rtt_max_s"] for flow in document["flows"])
    expected = (500 - 20) * FRAME_BITS / 10e6
    assert largest[500] - largest[20] == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("limit", ["150kB", "60ms", "1bdp"])
def test_every_way_to_write_a_limit_gives_the_same_queue(run: Run, limit: str) -> None:
    document = run(f"topology.bottleneck.queue.limit={limit}", "duration=12s", "warmup=2s")
    assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]
    (check,) = [c for c in document["fidelity"]["checks"] if c["name"].startswith("full_queue")]
    packets = {"150kB": 150_000 // 1514, "60ms": 75_000 // 1514, "1bdp": 125_000 // 1514}[limit]
    assert check["expected"] == pytest.approx(packets * FRAME_BITS / 10e6)


def test_iperf3_and_the_built_in_end_point_agree(run: Run) -> None:
    goodput = {}
    for engine in ("builtin", "iperf3"):
        document = run(
            "flows=[{name: one, group: a, congestion: cubic, traffic: {kind: bulk, engine: "
            f"{engine}}}}}]",
            *NEAR,
            "duration=12s",
        )
        assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]
        assert document["flows"][0]["engine"] == engine
        goodput[engine] = document["flows"][0]["goodput_bps"]
    assert goodput["iperf3"] == pytest.approx(goodput["builtin"], rel=0.02)


@pytest.mark.parametrize("engine", ["builtin", pytest.param("iperf3", marks=pytest.mark.long)])
def test_flows_end_by_bytes_or_by_time_as_requested(run: Run, db: Path, engine: str) -> None:
    document = run(
        "flows=["
        f"{{name: sized, group: a, traffic: {{kind: bulk, engine: {engine}, bytes: 2097152B}}}},"
        f"{{name: timed, group: b, traffic: {{kind: bulk, engine: {engine}}}, start: 5s, stop: 9s}}"
        "]",
        *NEAR,
        "duration=12s",
        "warmup=0s",
        "measure=[{name: late, from: 10s, to: 12s}]",
    )
    sized, timed = document["flows"]
    received = sized["goodput_bps"] * 12 / 8
    size_bytes = 2_097_152  # whole blocks of iperf3, as version 3.18 counts no others
    if engine == "builtin":
        assert received == size_bytes
    else:
        with Store.open_read_only(db) as store:
            told = store.load(store.resolve("last")).provenance["engines"]["sized"]
        assert told["sent_bytes"] == size_bytes
        # Version 3.12 ends with what it still has queued. iperf3 does not count its cookie of 37
        # bytes. The kernel counts a FIN that follows all of the data as one byte.
        fin_bytes = 1 if told["received_bytes"] == size_bytes else 0
        assert received == told["received_bytes"] + 37 + fin_bytes
    assert timed["goodput_bps"] > 0
    late = document["windows"]["late"]["flows"]
    assert [flow["goodput_bps"] for flow in late] == [0, 0]


def test_flows_run_in_both_directions_on_many_hosts(run: Run) -> None:
    document = run(
        "topology.groups.a.hosts=3",
        "flows=["
        "{name: many, group: a, count: 2, congestion: cubic, traffic: {kind: bulk}},"
        "{name: back, group: b, congestion: westwood, traffic: {kind: bulk}, direction: reverse}]",
        "duration=20s",
        "warmup=5s",
    )
    assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]
    assert [flow["name"] for flow in document["flows"]] == [
        *(f"many[{number}]" for number in range(6)),
        "back",
    ]
    used = {
        link["direction"]: link["utilisation"]
        for link in document["links"]
        if link["name"] == "bottleneck"
    }
    assert used["forward"] > 0.9
    # Its ACKs share the forward queue with six flows, so it gets far from all of the link.
    assert used["reverse"] > 0.3


@pytest.mark.long
def test_eighty_hosts_of_two_groups_share_a_link(run: Run) -> None:
    document = run(
        "topology.groups.a.hosts=20", "topology.groups.b.hosts=20", "duration=12s", "warmup=2s"
    )
    assert document["status"] == "ok", document["error"]
    assert len(document["flows"]) == 40
    assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]

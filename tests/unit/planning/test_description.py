"""The JSON of ``plan``, and its estimates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.planning import plan_document
from orchestrator.planning.costs.estimate import wall_s
from orchestrator.planning.plan import RunSpec, plan
from orchestrator.scenario import load

QUICKSTART = Path(__file__).parents[3] / "scenarios" / "quickstart.yaml"


def described(*overrides: str) -> dict[str, Any]:
    return plan_document.document(plan(load(QUICKSTART, overrides)).describe())


def run(*overrides: str) -> RunSpec:
    return plan(load(QUICKSTART, overrides)).runs[0]


def test_the_quickstart_is_described() -> None:
    description = described()
    assert json.loads(json.dumps(description, allow_nan=False)) == description
    assert (description["schema"], description["experiment"]) == (1, "quickstart")
    (only,) = description["runs"]
    assert (only["variant"], only["repetition"], only["seed"]) == ({}, 0, 1)
    for name, seconds in (
        ("propagation_rtt_s", 0.1), ("base_rtt_s", 0.100096), ("segment_rtt_s", 0.1015168),
    ):  # fmt: skip
        assert [flow[name] for flow in only["flows"]] == pytest.approx([seconds] * 2, abs=1e-12)
    assert only["flows"][1]["path"] == ["b_src0:forward", "bottleneck:forward", "b_dst0:forward"]
    assert 0.1 <= only["flows"][1]["start_s"] <= 0.11
    forward = only["bottlenecks"][0]
    assert forward == {
        "name": "bottleneck:forward",
        "rate_bps": 10_000_000,
        "rate_min_bps": 10_000_000,
        "rate_max_bps": 10_000_000,
        "rate_end_bps": 10_000_000,
        "rate_changes": 0,
        "delay_s": 0.01,
        "loss": 0.0,
        "bdp_bytes": 125_000,
        "queue_kind": "droptail",
        "queue_packets": 100,
        "queue_bytes": 151_400,
        "queue_ms": 121.12,
        "queue_whole_packets": 100,
    }
    assert only["bottlenecks"][1] == {**forward, "name": "bottleneck:reverse"}


def test_a_changing_rate_and_a_policer_are_described() -> None:
    events = "events=[{at: 9s, link: bottleneck, direction: forward, rate: 2mbit}]"
    (only,) = described(
        events, "topology.groups.a.access.policer={forward: {rate: 1mbit, burst: 9kB}}"
    )["runs"]
    forward, reverse = only["bottlenecks"]
    keys = ("rate_bps", "rate_min_bps", "rate_max_bps", "rate_end_bps", "rate_changes")
    assert [forward[key] for key in keys] == [10_000_000, 2_000_000, 10_000_000, 2_000_000, 1]
    assert reverse["rate_changes"] == 0
    assert [(policer["name"], policer["rate_bps"]) for policer in only["policers"]] == [
        ("a_src0:forward", 1_000_000), ("a_dst0:forward", 1_000_000),
    ]  # fmt: skip


def test_a_queue_in_bytes_is_also_given_in_full_size_packets() -> None:
    bottleneck = described("topology.bottleneck.queue.limit=1bdp")["runs"][0]["bottlenecks"][0]
    assert bottleneck["queue_bytes"] == 125_000
    assert bottleneck["queue_packets"] == pytest.approx(82.6)
    assert bottleneck["queue_whole_packets"] == 82
    assert bottleneck["queue_ms"] == 100.0


def test_numbers_of_rows_follow_from_the_sampling_periods() -> None:
    # 2 flows x 2 ends x 600 ticks; 5 links x 2 directions x 600 ticks
    assert (run().tcp_rows, run().queue_rows) == (2400, 6_000)
    assert run("sample.tcp=10ms", "sample.queue=1s").tcp_rows == 24_000
    assert run("sample.queue=1s").queue_rows == 600
    # without a rate an access link has no queue: 4 links x 2 queues less
    access = ["topology.groups.a.access={delay: 20ms}", "topology.groups.b.access={delay: 20ms}"]
    assert run(*access).queue_rows == 2 * 600
    # where packets are impaired, their netem is sampled, too
    assert run("topology.bottleneck.loss={forward: 1%, reverse: 0%}").queue_rows == 11 * 600


def test_estimates_of_disk_and_wall_time_follow_their_formulas() -> None:
    spec = run()
    assert spec.estimated_disk_bytes == 80_000 + 30 * 2400 + 8 * 6_000
    # Three links there, three back for every second packet; four hosts; both ends of two flows
    # every 100 ms; the samples of the queues.
    packets = 10e6 * 60 / 8 / 1514
    rest_s = 1.5 + 0.03 * 4 + 40e-6 * 2400 + 13e-6 * 6_000
    assert wall_s(spec) == pytest.approx(rest_s + 1.4e-6 * 4.5 * packets)
    # a direction counts when data cross it
    assert wall_s(run("flows.reno.direction=reverse")) == pytest.approx(
        rest_s + 1.4e-6 * 4.5 * 2 * packets
    )
    # The senders are sampled for the digest at least, whatever is stored.
    assert wall_s(run("sample.tcp=1s")) == pytest.approx(wall_s(spec))
    more_s = 40e-6 * (13_200 - 2400)
    assert wall_s(run("sample.tcp=10ms")) == pytest.approx(wall_s(spec) + more_s)


def test_estimates_are_limited_by_what_flows_can_send() -> None:
    def packet_s(traffic: str, *more: str) -> float:
        flows = f"flows=[{{name: one, group: a, traffic: {traffic}}}]"
        return (wall_s(run(flows, *more)) - idle_s) / (1.4e-6 * 4.5)

    idle_s = 1.5 + 0.03 * 4 + 40e-6 * 1200 + 13e-6 * 6_000
    assert packet_s("{kind: bulk}") == pytest.approx(10e6 * 60 / 8 / 1514)
    assert packet_s("{kind: bulk, bytes: 1MB}") == pytest.approx(1e6 / 1514)
    windows = 10 * 1448 * 60 / 0.100096  # the base RTT
    assert packet_s("{kind: bulk, window: 10p}") == pytest.approx(windows / 1514)
    small = packet_s("{kind: bulk}", "tcp={mss: 1012}")
    assert small == pytest.approx(10e6 * 60 / 8 / 1066)


def test_totals_sum_up_all_runs() -> None:
    description = described("repetitions=3", "matrix={seed: [1, 2]}")
    assert len(description["runs"]) == 6
    assert description["estimated_disk_bytes"] == 6 * run().estimated_disk_bytes
    assert description["duration_s"] == 6 * 60.0
    assert description["estimated_wall_s"] == round(6 * wall_s(run()), 1)

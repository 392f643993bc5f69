"""From a scenario to runs: flows, seeds, jitter, variants and repetitions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.compile.probes import probes
from orchestrator.errors import ScenarioError
from orchestrator.planning.plan import (
    Plan,
    independent_seed,
    plan,
    repetition_seed,
    start_jitter_ns,
    validate,
)
from orchestrator.scenario import load
from orchestrator.windows import Window

QUICKSTART = Path(__file__).parents[3] / "scenarios" / "quickstart.yaml"


def planned(*overrides: str) -> Plan:
    return plan(load(QUICKSTART, overrides))


def sent_s(frame_bytes: int, *rates_mbps: float) -> float:
    """How long links of these rates together take to transmit a frame."""
    return sum(frame_bytes * 8 / (rate * 1e6) for rate in rates_mbps)


def test_the_quickstart_is_planned() -> None:
    loaded = load(QUICKSTART)
    result = plan(loaded)
    (run,) = result.runs
    assert result.experiment == run.scenario_name == "quickstart"
    assert plan(loaded, "mine").experiment == "mine"
    assert (run.seed, run.repetition, run.variant) == (1, 0, {})
    assert (run.duration_s, run.warmup_s) == (60.0, 10.0)
    assert (run.sample_tcp_s, run.sample_queue_s, run.windows) == (0.1, 0.1, ())
    assert (run.scenario_text, run.scenario_sha256) == (loaded.text, loaded.sha256)
    westwood, reno = run.flows
    assert (westwood.name, westwood.group, westwood.congestion) == ("westwood", "a", "westwood")
    assert (westwood.source, westwood.sink, westwood.port) == ("a_src0", "a_dst0", 5001)
    assert (reno.source, reno.sink, reno.port) == ("b_src0", "b_dst0", 5002)
    assert (reno.engine, reno.bytes, reno.stop_s, reno.parameters) == ("builtin", None, None, {})
    for flow in run.flows:
        # Each way leads over the bottleneck at 10 Mbit/s and two links at 100 Mbit/s.
        assert flow.propagation_rtt_s == 0.1
        assert flow.base_rtt_s == 0.1 + sent_s(50, 10, 100, 100) * 2
        segment_s = 0.1 + sent_s(1514, 10, 100, 100) + sent_s(66, 10, 100, 100)
        assert flow.segment_rtt_s == pytest.approx(segment_s, abs=1e-12)
    assert reno.path == ("b_src0:forward", "bottleneck:forward", "b_dst0:forward")
    assert reno.ack_path == ("b_dst0:reverse", "bottleneck:reverse", "b_src0:reverse")


def test_planning_twice_gives_the_same() -> None:
    assert planned() == planned()


def test_a_flow_entry_becomes_a_flow_for_each_host_and_count() -> None:
    (run,) = planned("topology.groups.a.hosts=2", "flows.westwood.count=2").runs
    assert [(flow.name, flow.source, flow.port) for flow in run.flows] == [
        ("westwood[0]", "a_src0", 5001),
        ("westwood[1]", "a_src0", 5002),
        ("westwood[2]", "a_src1", 5003),
        ("westwood[3]", "a_src1", 5004),
        ("reno", "b_src0", 5005),
    ]
    assert [flow.sink for flow in run.flows[:4]] == ["a_dst0", "a_dst0", "a_dst1", "a_dst1"]


def test_reverse_flows_go_from_the_sink_to_the_source() -> None:
    (run,) = planned("flows.reno.direction=reverse").runs
    reno = run.flows[1]
    assert (reno.source, reno.sink) == ("b_dst0", "b_src0")
    assert reno.path == ("b_dst0:reverse", "bottleneck:reverse", "b_src0:reverse")
    assert reno.ack_path == ("b_src0:forward", "bottleneck:forward", "b_dst0:forward")
    assert reno.propagation_rtt_s == 0.1


def test_the_rtts_of_a_flow_have_the_rates_of_each_direction() -> None:
    rates = "topology.bottleneck.rate={forward: 10mbit, reverse: 1mbit}"
    forward, reverse = planned(rates, "flows.reno.direction=reverse").runs[0].flows
    small_s = sent_s(50, 10, 100, 100) + sent_s(50, 1, 100, 100)
    segment_s = sent_s(1514, 10, 100, 100) + sent_s(66, 1, 100, 100)
    back_s = sent_s(1514, 1, 100, 100) + sent_s(66, 10, 100, 100)
    assert forward.propagation_rtt_s == reverse.propagation_rtt_s == 0.1
    assert forward.base_rtt_s == reverse.base_rtt_s == pytest.approx(0.1 + small_s, abs=1e-12)
    assert forward.segment_rtt_s == pytest.approx(0.1 + segment_s, abs=1e-12)
    assert reverse.segment_rtt_s == pytest.approx(0.1 + back_s, abs=1e-12)


def test_a_datagram_is_answered_by_one_of_its_size() -> None:
    cbr = "flows.reno={name: reno, group: b, traffic: {kind: cbr, rate: 1mbit}}"
    flow = planned(cbr).runs[0].flows[1]
    datagrams_s = 0.1 + 2 * sent_s(1514, 10, 100, 100)
    assert flow.segment_rtt_s == pytest.approx(datagrams_s, abs=1e-12)


def test_links_without_a_rate_add_nothing_to_the_rtts() -> None:
    access = [f"topology.groups.{name}.access={{delay: 20ms}}" for name in "ab"]
    flow = planned(*access).runs[0].flows[0]
    assert flow.base_rtt_s == pytest.approx(0.1 + 2 * sent_s(50, 10), abs=1e-12)


def test_the_base_rtt_is_that_of_the_probe() -> None:
    (run,) = planned("topology.bottleneck.rate={forward: 3mbit, reverse: 7mbit}").runs
    trips = {
        (trip["source"], trip["frame_bytes"]): trip["expected_ns"]
        for trip in probes(run)["round_trips"]
    }
    assert {(flow.source, 50): flow.base_rtt_s * 1e9 for flow in run.flows} == pytest.approx(
        {place: expected_ns for place, expected_ns in trips.items() if place[1] == 50}
    )
    full_ns = (0.1 + sent_s(1514, 3, 7, *[100] * 4)) * 1e9
    assert trips["a_src0", 1514] == trips["b_src0", 1514] == pytest.approx(full_ns, abs=6)


def test_engine_bytes_and_stop_reach_the_plan() -> None:
    (run,) = planned(
        "flows.reno.traffic={kind: bulk, engine: iperf3, bytes: 3.2MB}", "flows.reno.stop=30s"
    ).runs
    assert (run.flows[1].engine, run.flows[1].bytes) == ("iperf3", 3_200_000)
    assert run.flows[1].stop_s == 30.0


def test_windows_reach_the_plan() -> None:
    (run,) = planned(
        "measure=[{name: quiet, from: 0s, to: 1.5s}, {name: b, from: 1s, to: 2s}]"
    ).runs
    assert run.windows == (Window("quiet", 0.0, 1.5), Window("b", 1.0, 2.0))


def test_jitter_is_drawn_from_the_seed_as_documented() -> None:
    # captured: a change here gives every stored run another digest
    draws = [1_688_000, 6_661_000, 3_736_000, 8_844_000]
    assert [start_jitter_ns(1, index, 0.01) for index in range(4)] == draws
    assert [flow.start_s for flow in planned().runs[0].flows] == [0.001688, 0.106661]


def test_jitter_is_whole_microseconds_spread_over_its_range() -> None:
    draws = [start_jitter_ns(7, index, 0.01) for index in range(2000)]
    assert all(draw % 1000 == 0 and 0 <= draw <= 10_000_000 for draw in draws)
    assert sum(draws) / len(draws) == pytest.approx(5_000_000, rel=0.05)
    assert len(set(draws)) > 1700
    assert {start_jitter_ns(7, index, 2e-6) for index in range(100)} == {0, 1000, 2000}
    assert {start_jitter_ns(7, index, 0.0) for index in range(100)} == {0}


def test_jitter_depends_on_seed_and_place_and_not_on_names() -> None:
    first = [flow.start_s for flow in planned().runs[0].flows]
    renamed = planned("name=other", "flows.westwood.name=x", "flows.reno.name=y").runs[0]
    assert [flow.start_s for flow in renamed.flows] == first
    assert [flow.start_s for flow in planned("seed=2").runs[0].flows] != first
    assert [flow.start_s for flow in planned("start_jitter=0ms").runs[0].flows] == [0.0, 0.1]


def test_repetitions_have_seeds_of_their_own() -> None:
    runs = planned("repetitions=3", "seed=5").runs
    assert [run.repetition for run in runs] == [0, 1, 2]
    assert [run.seed for run in runs] == [repetition_seed(5, number) for number in range(3)]
    assert runs[0].seed == 5
    assert runs[0].flows[0].start_s != runs[1].flows[0].start_s
    assert runs[0].network is runs[1].network
    assert planned("seed=5").runs[0].flows == runs[0].flows


def test_seeds_of_repetitions_are_distinct_and_stable() -> None:
    assert repetition_seed(1, 1) == 1182975095516770249  # captured
    seeds = {repetition_seed(seed, number) for seed in range(50) for number in range(50)}
    assert len(seeds) == 50 * 50
    assert all(0 <= seed < 2**63 for seed in seeds)


MATRIX = "matrix={flows.reno.congestion: [reno, vegas], topology.bottleneck.rate: [5mbit]}"


def test_variants_may_have_seeds_of_their_own() -> None:
    runs = planned("repetitions=2", "seeds=independent", MATRIX).runs
    assert [run.repetition for run in runs] == [0, 1, 0, 1]
    assert len({run.seed for run in runs}) == 4
    assert all(0 <= run.seed < 2**63 for run in runs)
    assert runs[0].flows[0].start_s != runs[2].flows[0].start_s
    more = planned("repetitions=3", "seeds=independent", MATRIX.replace("[reno,", "[bic, reno,"))
    reno = [run for run in more.runs if run.variant["flows.reno.congestion"] == "reno"]
    assert [run.seed for run in reno[:2]] == [run.seed for run in runs[:2]]
    other = planned("repetitions=2", "seeds=independent", "seed=2", MATRIX).runs
    assert not {run.seed for run in other} & {run.seed for run in runs}
    assert independent_seed(1, {"b": "x", "a": 1}, 0) == independent_seed(1, {"a": 1, "b": "x"}, 0)


def test_a_run_is_the_same_whoever_chose_its_seed() -> None:
    own = planned("seeds=independent", MATRIX).runs[0]
    alone = planned(f"seed={own.seed}", MATRIX).runs[0]
    assert own.resolved == alone.resolved
    assert own.flows == alone.flows
    assert own.experiment_sha256 != alone.experiment_sha256


def test_variants_share_their_seeds() -> None:
    runs = planned(
        "repetitions=2",
        "matrix={flows.reno.congestion: [reno, vegas], topology.bottleneck.rate: [5mbit]}",
    ).runs
    assert [(run.variant["flows.reno.congestion"], run.repetition) for run in runs] == [
        ("reno", 0),
        ("reno", 1),
        ("vegas", 0),
        ("vegas", 1),
    ]
    assert [run.seed for run in runs[:2]] == [run.seed for run in runs[2:]]
    assert runs[2].flows[1].congestion == "vegas"
    assert runs[0].network.links[0].forward.rate_bps == 5_000_000


def test_the_resolved_scenario_gives_the_same_run(tmp_path: Path) -> None:
    runs = planned(
        "repetitions=2",
        "matrix={flows.reno.congestion: [reno, vegas], seed: [3]}",
        "measure=[{name: w, from: 1s, to: 2s}]",
        "topology.bottleneck.loss={forward: 0.1%, reverse: 0}",
        "topology.bottleneck.queue.limit=1.5bdp(min)",
        "flows.westwood.stop=20s",
    ).runs
    for run in runs:
        file = tmp_path / "again.yaml"
        file.write_text(json.dumps(run.resolved))
        (again,) = plan(load(file)).runs
        assert again.seed == run.seed
        assert (again.flows, again.network, again.windows) == (run.flows, run.network, run.windows)
        assert again.resolved == run.resolved


@pytest.mark.slow
def test_too_many_flows_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as refused:
        planned("flows.westwood.count=10000", "flows.reno.count=2")
    (fault,) = refused.value.faults
    assert (fault.line, fault.column) == (16, 5)
    assert fault.message == "10002 flows; 10000 are allowed"
    with pytest.raises(ScenarioError) as refused:
        planned("flows.westwood.count=9000", "repetitions=200")
    (fault,) = refused.value.faults
    assert str(fault) == (
        "--set repetitions=200:1:13: more than 1000000 flows in all runs together"
    )


def test_validate_returns_what_loading_and_planning_find(tmp_path: Path) -> None:
    assert validate(QUICKSTART) == []
    assert [fault.column for fault in validate(QUICKSTART, ["seed=x"])] == [6]
    assert [fault.column for fault in validate(QUICKSTART, ["topology.bottleneck.queue.limit=1ms"])]
    assert len(validate(tmp_path / "missing.yaml")) == 1


def test_repetitions_draw_new_round_trips_and_variants_the_same() -> None:
    groups = (
        "topology.groups=[{name: a, hosts: 3, rtt: {from: 30ms, to: 90ms, drawn: true}, "
        "access: {rate: 100mbit}}, {name: b, access: {delay: 20ms}}]"
    )
    asked = [groups, "repetitions=2", "matrix.flows.reno.congestion=[cubic, bic]"]
    runs = planned(*asked).runs
    trips = [[flow.base_rtt_s for flow in run.flows] for run in runs]
    assert len({trip for each in trips for trip in each}) == 3 * 2 + 1
    assert trips[0] == trips[2] != trips[1] == trips[3]
    described = planned(*asked).describe().runs
    assert [[flow.base_rtt_s for flow in run.flows] for run in described] == trips


def test_a_resolved_run_keeps_its_drawn_round_trips(
    tmp_path: Path,
) -> None:
    rtt = "topology.groups.a={name: a, rtt: {from: 30ms, to: 90ms, drawn: true}, access: {}}"
    run = planned(rtt, "repetitions=3").runs[2]
    again = tmp_path / "again.yaml"
    again.write_text(json.dumps(run.resolved))
    (same,) = plan(load(again)).runs
    assert (same.flows, same.network) == (run.flows, run.network)

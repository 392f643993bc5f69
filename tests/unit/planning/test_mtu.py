"""The MTU of links: sizes of queues, segments and probes, routes of hosts, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.compile.testbed_spec import bed_spec
from orchestrator.errors import ScenarioError
from orchestrator.kinds.tcp import RTAX_ADVMSS, RTAX_MTU
from orchestrator.network import Channel
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec, guest_memory_bytes
from orchestrator.scenario import load

SCENARIOS = Path(__file__).parents[3] / "scenarios"
QUICKSTART = SCENARIOS / "quickstart.yaml"
JUMBO = ("topology.bottleneck.mtu=9000", "topology.groups.a.access.mtu=9000",
         "topology.groups.b.access.mtu=9000")  # fmt: skip
RING = """\
version: 1
name: ring
duration: 12s
topology:
  kind: custom
  hosts: [left, right, third]
  routers: [r1, r2, r3]
  links:
    - {between: [left, r1], delay: 1ms, mtu: 9000}
    - {name: short, between: [r1, r2], delay: 10ms, rate: 10mbit, mtu: 9000, queue: {limit: 50p}}
    - {name: long-1, between: [r1, r3], delay: 20ms, rate: 10mbit, mtu: LONG, queue: {limit: 50p}}
    - {name: long-2, between: [r3, r2], delay: 20ms, rate: 10mbit, mtu: 9000}
    - {between: [r2, right], delay: 1ms, mtu: 9000}
    - {between: [r3, third], delay: 1ms, mtu: THIRD}
  groups:
    - {name: across, sources: [left], sinks: [right]}
    - {name: other, sources: [left], sinks: [third]}
"""


def planned(*overrides: str, scenario: Path = QUICKSTART) -> RunSpec:
    (run,) = plan(load(scenario, overrides)).runs
    return run


def forward(run: RunSpec) -> Channel:
    (link,) = (link for link in run.network.links if link.name == "bottleneck")
    return link.forward


def limits(run: RunSpec) -> tuple[int | None, int | None]:
    queue = forward(run).queue
    assert queue is not None
    return queue.limit_packets, queue.limit_bytes


@pytest.mark.parametrize(
    ("limit", "jumbo", "small"),
    [("100p", 100, 100), ("100kB", 100_000 // 9014, 100_000 // 590),
     ("80ms", 100_000 // 9014, 100_000 // 590), ("1bdp", 125_000 // 9014, 125_000 // 590)],
)  # fmt: skip
def test_queues_are_sized_in_full_frames_of_their_link(limit: str, jumbo: int, small: int) -> None:
    red = f"topology.bottleneck.queue={{kind: fq_codel, limit: {limit}}}"
    assert limits(planned(*JUMBO, red)) == (jumbo, None)
    assert limits(planned("topology.bottleneck.mtu=576", red)) == (small, None)


@pytest.mark.parametrize("mtu", [576, 1500, 9216])
@pytest.mark.parametrize(
    ("queue", "settings"),
    [
        ("{kind: fq_codel}", {"quantum_bytes": 1}),
        ("{kind: fq_pie}", {"quantum_bytes": 1}),
        ("{kind: sfq}", {"quantum_bytes": 1}),
        ("{kind: fq}", {"quantum_bytes": 2, "initial_quantum_bytes": 10}),
    ],
)
def test_a_flow_s_turn_is_a_full_frame(mtu: int, queue: str, settings: dict[str, int]) -> None:
    found = forward(
        planned(f"topology.bottleneck.mtu={mtu}", f"topology.bottleneck.queue={queue}")
    ).queue
    assert found is not None
    values = {setting.name: setting.value for setting in found.qdisc.settings}
    for name, frames in settings.items():
        assert values[name] == frames * (mtu + 14)


@pytest.mark.parametrize(("mtu", "mss"), [(576, 536), (1500, 1460), (9000, 8960)])
def test_segments_and_probes_fit_into_the_smallest_mtu_of_a_path(mtu: int, mss: int) -> None:
    run = planned(*JUMBO, f"topology.bottleneck.mtu={mtu}")
    flow, spec = run.flows[0], bed_spec(run, 2**30)
    assert (flow.mtu_bytes, flow.segment.payload_bytes) == (mtu, mss - 12)
    assert {link["name"]: link["mtu_bytes"] for link in spec["links"]}["bottleneck"] == mtu
    burst, small = spec["probes"]["bursts"]
    assert small["frame_bytes"] == 50
    assert {each["frame_bytes"] for each in spec["probes"]["round_trips"]} == {50, mtu + 14}
    assert (burst["frame_bytes"], burst["behind_ns"]) == (mtu + 14, 800 * (mtu + 14) + 10_000_000)
    metrics = {str(RTAX_MTU): mtu}
    hosts = [host["name"] for host in spec["hosts"]]
    assert spec["route_metrics"] == ({} if mtu == 9000 else dict.fromkeys(hosts, metrics))


def test_a_given_mss_is_kept_beside_the_mtu_of_the_path() -> None:
    run = planned(*JUMBO, "topology.bottleneck.mtu=1500", "tcp={mss: 1000}")
    metrics = bed_spec(run, 2**30)["route_metrics"]["a_src0"]
    assert metrics == {str(RTAX_ADVMSS): 1000, str(RTAX_MTU): 1500}
    assert run.flows[0].segment.payload_bytes == 988


def test_each_group_has_the_mtu_of_its_path() -> None:
    run = planned("topology.bottleneck.mtu=9000", "topology.groups.a.access.mtu=9000",
                  "topology.groups.b.access.mtu=576")  # fmt: skip
    assert [flow.mtu_bytes for flow in run.flows] == [9000, 576]
    assert bed_spec(run, 2**30)["route_metrics"] == {}


def test_large_frames_need_more_memory() -> None:
    more = ("topology.bottleneck.queue.limit=10000p",)
    large = guest_memory_bytes(planned(*JUMBO, *more).network, 2)
    assert large > guest_memory_bytes(planned(*more).network, 2)


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["topology.bottleneck.mtu=575"], "must be at least 576, not `575`"),
        (["topology.bottleneck.mtu=9217"], "must be at most 9216, not `9217`"),
        (["tcp={mss: 1461}"], "an MSS of 1461 on a path with an MTU of 1500: at most 1460"),
        (["topology.bottleneck.mtu=576", "tcp={mss: 1000}"], "with an MTU of 576: at most 536"),
        (
            ["topology.bottleneck.mtu=576", "flows=[{name: u, group: a, traffic: {kind: cbr, "
             "rate: 1mbit}}]"],
            "packets of 1500B on a path with an MTU of 576: at most 576B",
        ),
        (
            ["flows=[{name: u, group: a, traffic: {kind: cbr, rate: 1mbit, packet_size: 1501B}}]"],
            "packets of 1501B on a path with an MTU of 1500: at most 1500B",
        ),
        (
            ["topology.bottleneck.mtu=9000", "topology.bottleneck.policer={rate: 10mbit, "
             "burst: 9013B}"],
            "`burst` of the policer must be at least 9014B: a full-size frame would never pass",
        ),
        (
            ["topology.bottleneck.mtu=9000", "topology.bottleneck.queue.limit=9013B"],
            "less than one full-size frame of 9014 bytes",
        ),
        (
            [*JUMBO, "flows.reno.traffic={kind: bulk, window: 4p}"],
            "4p is less than 5 segments of 8948 bytes",
        ),
        (
            ["topology.bottleneck.mtu=576", "topology.groups.a.access.mtu=576",
             "flows.westwood.traffic={kind: bulk, window: 2p}"],
            "2p is 1048 bytes, as a segment has 524, and Linux has no limit below 1152 bytes",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(overrides: list[str], said: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        planned(*overrides)
    assert said in str(caught.value)


def test_a_small_window_of_small_segments_is_valid_where_frames_may_be_large() -> None:
    run = planned(*JUMBO, "tcp={mss: 1460}", "flows.reno.traffic={kind: bulk, window: 3p}")
    assert run.flows[1].traffic_parameters["window_bytes"] == 3 * 1448


def ring(folder: Path, tail: str, long: int = 9000, third: int = 9000) -> RunSpec:
    path = folder / "ring.yaml"
    path.write_text(RING.replace("LONG", str(long)).replace("THIRD", str(third)) + tail, "utf-8")
    return planned(scenario=path)


REROUTED = "flows: [{name: tcp, group: across}]\nevents: [{at: 4s, reroute: {avoid: [short]}}]\n"


def test_a_reroute_needs_a_path_for_the_packets_of_the_old_one(tmp_path: Path) -> None:
    assert ring(tmp_path, REROUTED).flows[0].mtu_bytes == 9000
    with pytest.raises(ScenarioError) as caught:
        ring(tmp_path, REROUTED, long=1500)
    assert "the new path from left to right has an MTU of 1500, and flow `tcp` sends" in str(
        caught.value
    )


def test_flows_of_a_host_need_paths_of_one_mtu(tmp_path: Path) -> None:
    both = "flows: [{name: one, group: across}, {name: two, group: other}]\n"
    assert len(ring(tmp_path, both).flows) == 2
    with pytest.raises(ScenarioError) as caught:
        ring(tmp_path, both, third=1500)
    assert "the path of this flow has an MTU of 1500, and flow `one`, which also uses left" in str(
        caught.value
    )


def test_a_trace_has_opportunities_for_packets_of_1500_bytes(tmp_path: Path) -> None:
    (tmp_path / "trace").write_text("1\n2\n", "utf-8")
    path = tmp_path / "traced.yaml"
    text = QUICKSTART.read_text("utf-8").replace("rate: 10mbit,", "MTU, capacity: {trace: trace},")
    path.write_text(text.replace("MTU", "mtu: 576"), "utf-8")
    assert forward(planned(scenario=path)).mtu_bytes == 576
    path.write_text(text.replace("MTU", "mtu: 1501"), "utf-8")
    with pytest.raises(ScenarioError) as caught:
        planned(scenario=path)
    assert "an opportunity of a trace is for 1500 bytes of IP" in str(caught.value)

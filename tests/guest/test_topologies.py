"""Every topology in the real guest: base RTTs, capacities, and who crosses which link."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.planning.plan import plan
from orchestrator.scenario import load
from tests.guest.conftest import QUICKSTART, Run
from tests.support.failed_checks import failed_checks

pytestmark = pytest.mark.guest

TUTORIAL = QUICKSTART.parent / "tutorial"
SHORT = ("duration=6s", "warmup=2s")


def utilisation(document: dict[str, Any]) -> dict[str, float]:
    """Return the utilisation of each channel with a queue."""
    links = document["links"]
    return {f"{link['name']}:{link['direction']}": link["utilisation"] for link in links}


def require_faithful(document: dict[str, Any]) -> None:
    assert document["status"] == "ok"
    wrong = [check for check in document["fidelity"]["checks"] if check["ok"] is not True]
    assert (document["fidelity"]["verdict"], wrong) == ("faithful", [])


@pytest.mark.parametrize(
    ("name", "overrides", "full"),
    [
        ("10-rtt-spread", [], ["bottleneck:forward"]),
        ("12-rtt-split", [], ["second:forward"]),
        ("14-wired-wireless", ["topology.wireless.loss=0.01%"], []),
        ("16-satellite", [], ["satellite:forward"]),
        ("17-mixed", [], ["bottleneck:forward"]),
    ],
)
def test_every_kind_has_its_rtts_and_its_capacity(
    run: Run, name: str, overrides: list[str], full: list[str]
) -> None:
    file = TUTORIAL / f"{name}.yaml"
    document = run(*SHORT, *overrides, scenario=file)
    require_faithful(document)
    (planned,) = plan(load(file, [*SHORT, *overrides])).runs
    for flow, asked in zip(document["flows"], planned.flows, strict=True):
        assert flow["base_rtt_measured_s"] == pytest.approx(asked.base_rtt_s, abs=20e-6)
    used = utilisation(document)
    assert all(0.97 < used[channel] < 1.005 for channel in full), used


def test_cross_flows_stay_on_their_hops(run: Run) -> None:
    hops = "topology.hops.count=4"
    document = run(
        *SHORT, hops, "topology.groups.cross.each_hop=[2]", "topology.groups.inner={name: inner, "
        "enter: 4, leave: 5}", "flows=[{name: ahead, group: cross}, {name: back, group: inner, "
        "direction: reverse}]", scenario=TUTORIAL / "11-parking-lot.yaml",
    )  # fmt: skip
    require_faithful(document)
    used = utilisation(document)
    assert used["hop2:forward"] > 0.97
    assert used["hop4:reverse"] > 0.97
    assert 0.01 < used["hop2:reverse"] < 0.05  # acknowledgements
    assert 0.01 < used["hop4:forward"] < 0.05
    idle = [used[f"hop{n}:{way}"] for n in (1, 3) for way in ("forward", "reverse")]
    assert idle == [0.0] * 4


def test_each_hop_carries_the_long_flow_and_its_own(run: Run) -> None:
    document = run(*SHORT, scenario=TUTORIAL / "11-parking-lot.yaml")
    require_faithful(document)
    used = utilisation(document)
    assert all(used[f"hop{n}:{way}"] > 0.5 for n in (1, 2, 3) for way in ("forward", "reverse"))
    flows = {flow["name"]: flow for flow in document["flows"]}
    # With 50 bytes over three hops at 10 Mbit/s and two links at 100 Mbit/s, there and back.
    sending_s = 2 * (3 * 40e-6 + 2 * 4e-6)
    assert flows["c1"]["base_rtt_measured_s"] == pytest.approx(0.14 + sending_s, abs=20e-6)
    # What left a hop is what its flows received, and their share of headers.
    for hop, names in ((1, ["c1", "ahead[0]"]), (2, ["c1", "ahead[1]", "two-hops"])):
        received = sum(flows[name]["throughput_bps"] for name in names)
        assert used[f"hop{hop}:forward"] * 10e6 == pytest.approx(received, rel=0.06)


def test_flows_take_the_shorter_way_round_a_ring_and_another_back(run: Run) -> None:
    ring = TUTORIAL / "13-custom-ring.yaml"
    same = run(*SHORT, scenario=ring)
    require_faithful(same)
    # With 50 bytes over three links at 10 Mbit/s, there and back.
    expected_s = 0.022 + 2 * 3 * 40e-6
    assert same["flows"][0]["base_rtt_measured_s"] == pytest.approx(expected_s, abs=20e-6)
    used = utilisation(same)
    assert [used[f"r{n}:forward"] for n in ("1-r2", "2-r3")] == [0.0, 0.0]
    assert all(used[name] > 0.97 for name in ("r5-r1:reverse", "r4-r5:reverse", "r3-r4:reverse"))
    assert same["metrics"]["utilisation"] == pytest.approx(max(used.values()))
    # A slow way back on the shorter side: acknowledgements come round the other one.
    other = run(
        *SHORT, "topology.links.3.delay={forward: 50ms, reverse: 2ms}", scenario=ring
    )  # fmt: skip
    require_faithful(other)
    expected_s = 0.033 + (3 + 2) * 40e-6
    assert other["flows"][0]["base_rtt_measured_s"] == pytest.approx(expected_s, abs=20e-6)
    used = utilisation(other)
    assert used["r5-r1:reverse"] > 0.97
    assert 0.01 < used["r1-r2:reverse"] < 0.05
    assert (used["r1-r2:forward"], used["r3-r4:forward"]) == (0.0, 0.0)


FABRIC = """\
version: 1
name: fabric
duration: 4s
warmup: 1s
topology:
  kind: graph
  file: fabric.json
  rate: 20mbit
  delay: {attribute: delay, unit: ms}
  queue: {limit: 60p}
  routing: ecmp
  access: {rate: 50mbit, delay: 5ms}
  groups: [{name: g, from: left, to: right, hosts: 6}]
flows: [{name: f, group: g}]
events: [{at: 2s, link: left-a, delay: 3ms}]
"""
EQUAL = [("left", "a"), ("left", "b"), ("a", "right"), ("b", "right")]


def test_ecmp_spreads_flows_over_the_links_that_the_plan_says(run: Run, tmp_path: Path) -> None:
    nodes = [{"id": name} for name in ("left", "a", "b", "right")]
    edges = [{"source": a, "target": b, "delay": 2} for a, b in EQUAL]
    (tmp_path / "fabric.json").write_text(json.dumps({"nodes": nodes, "edges": edges}))
    file = tmp_path / "fabric.yaml"
    file.write_text(FABRIC)
    document = run(scenario=file)
    require_faithful(document)
    (planned,) = plan(load(file)).runs
    received = {flow["name"]: flow["throughput_bps"] for flow in document["flows"]}
    used = utilisation(document)
    for channel in ("left-a:forward", "left-b:forward", "b-right:forward"):
        crossing = [flow.name for flow in planned.flows if channel in flow.path]
        assert crossing
        total = sum(received[name] for name in crossing)
        assert used[channel] * 20e6 == pytest.approx(total, rel=0.06), channel
    assert any(flow.path[1] != flow.ack_path[2].replace("reverse", "forward")
               for flow in planned.flows)  # fmt: skip
    for flow, asked in zip(document["flows"], planned.flows, strict=True):
        assert flow["base_rtt_measured_s"] == pytest.approx(asked.base_rtt_s, abs=20e-6)


SPRAYING = """\
version: 1
name: spraying
duration: 4s
warmup: 1s
topology:
  kind: graph
  file: fabric.json
  rate: 20mbit
  delay: 2ms
  queue: {limit: 60p}
  routing: spray
  access: {rate: 100mbit, delay: 5ms}
  groups:
    - {name: g, from: left, to: right}
    - {name: h, from: left, to: far}
flows: [{name: f, group: g}, {name: one, group: h}]
"""


def spraying(folder: Path) -> Path:
    """Write the scenario: three equal paths to one router, and one path to another router."""
    nodes = [{"id": name} for name in ("left", "a", "b", "c", "right", "far")]
    links = [*EQUAL, ("left", "c"), ("c", "right"), ("left", "far")]
    edges = [{"source": a, "target": b} for a, b in links]
    (folder / "fabric.json").write_text(json.dumps({"nodes": nodes, "edges": edges}))
    file = folder / "spraying.yaml"
    file.write_text(SPRAYING)
    return file


def test_spraying_uses_all_equal_links_evenly_and_reorders(run: Run, tmp_path: Path) -> None:
    file = spraying(tmp_path)
    document = run(scenario=file)
    require_faithful(document)
    used = utilisation(document)
    shares = [used[f"left-{spine}:forward"] for spine in "abc"]
    # One flow is faster than a link, which it would not be with ECMP; and it takes all of them.
    assert document["flows"][0]["goodput_bps"] > 25e6
    assert max(shares) - min(shares) < 0.05, shares
    for flow, share_bps in zip(document["flows"], (3 * 20e6, 20e6), strict=True):
        assert flow["goodput_to_fair_share"] == pytest.approx(flow["goodput_bps"] / share_bps)
    assert used["left-far:forward"] > 0.9
    assert used["a-right:forward"] == pytest.approx(used["left-a:forward"], abs=0.02)
    assert document["flows"][0]["reorderings"] > 100
    checks = {check["name"]: check for check in document["fidelity"]["checks"]}
    choices = [name for name in checks if name.startswith("spraying ")]
    assert sorted(name.split()[1] for name in choices) == ["left", "right"]
    assert run(scenario=file)["digest"] == document["digest"]
    assert run("seed=2", scenario=file)["digest"] != document["digest"]


BIASED = """
from orchestrator.testbed.network import spray
fair = spray.program
spray.program = lambda macs, choices: fair(macs, choices + 1 if choices > 1 else 1)
"""
"""Three links get 1/4, 1/4 and 1/2 of the packets, as a filter chain would if it were wrong."""


def test_the_check_sees_links_that_get_too_much(run: Run, tmp_path: Path) -> None:
    hook = tmp_path / "hook.py"
    hook.write_text(BIASED)
    document = run(scenario=spraying(tmp_path), hook=hook)
    assert document["fidelity"]["verdict"] == "unfaithful"
    assert failed_checks(document) == {"spraying"}


def test_a_backbone_from_graphml_routes_around_a_link_that_fails(run: Run) -> None:
    document = run(
        "duration=6s", "warmup=0s", "repetitions=1", "measure=[{name: around, from: 3s, to: 6s}]",
        "events=[{at: 2s, link: Frankfurt-Munich, state: down}, {at: 2500ms, reroute: {}}]",
        scenario=TUTORIAL / "19-backbone.yaml",
    )  # fmt: skip
    require_faithful(document)
    flows = document["windows"]["around"]["flows"]
    goodputs_bps = [flow["goodput_bps"] for flow in flows]
    assert len(goodputs_bps) == 10
    assert min(goodputs_bps) > 1e6, goodputs_bps


NAMES = """\
version: 1
name: names
duration: 2s
topology:
  kind: custom
  hosts: [wires, switches, sw3, lo]
  routers: [sw2, sw1]
  links:
    - {between: [wires, sw2], delay: 1ms}
    - {between: [sw3, sw2], delay: 1ms}
    - {name: lo, between: [sw2, sw1], delay: 3ms, rate: 10mbit, queue: {limit: 20p}}
    - {between: [sw1, switches], delay: 2ms}
    - {between: [sw1, lo], delay: 2ms}
  groups:
    - {name: g, sources: [wires, sw3], sinks: [switches, lo]}
flows:
  - {name: f, group: g}
"""


def test_names_are_those_of_the_scenario(run: Run, tmp_path: Path) -> None:
    # The bed has devices and places of these names.
    file = tmp_path / "names.yaml"
    file.write_text(NAMES)
    document = run(scenario=file)
    require_faithful(document)
    # With 50 bytes over one link at 10 Mbit/s, there and back.
    assert [flow["base_rtt_measured_s"] for flow in document["flows"]] == pytest.approx(
        [0.01208, 0.01208], abs=20e-6
    )


def test_two_hosts_can_be_linked_without_a_router(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "line.yaml"
    file.write_text(
        NAMES.split("  hosts")[0]
        + "  hosts: [h, k]\n  links: [{between: [h, k], delay: 5ms, rate: 10mbit, "
        "queue: {limit: 20p}}]\n  groups: [{name: g, sources: [h], sinks: [k]}]\n"
        "flows: [{name: f, group: g}]\n"
    )
    document = run(scenario=file)
    require_faithful(document)
    assert utilisation(document)["h-k:forward"] > 0.9


@pytest.mark.parametrize("coherence", ["500ms", pytest.param("0s", marks=pytest.mark.long)])
def test_a_wlan_has_the_rate_and_loss_of_its_radio(run: Run, coherence: str) -> None:
    file = TUTORIAL / "15-wlan.yaml"
    asked = [*SHORT, f"topology.wireless.coherence={coherence}", "topology.wireless.distance_m=120"]
    document = run(*asked, scenario=file)
    require_faithful(document)
    assert {check["name"] for check in document["fidelity"]["checks"]} >= {
        "loss wireless:forward", "backlogged_rate wireless:forward",
    }  # fmt: skip
    (planned,) = plan(load(file, asked)).runs
    channel = planned.network.links[0].forward
    assert channel.rate_bps is not None
    assert 0 < document["flows"][0]["goodput_bps"] < channel.rate_bps
    again = run(*asked, scenario=file)
    assert again["digest"] == document["digest"]


def test_a_wlan_out_of_range_carries_nothing_and_the_run_is_not_unfaithful(run: Run) -> None:
    asked = [*SHORT, "topology.wireless.distance_m=5000"]
    document = run(*asked, scenario=TUTORIAL / "15-wlan.yaml")
    assert document["status"] == "ok", document["error"]
    assert document["fidelity"]["verdict"] != "unfaithful", document["fidelity"]
    assert document["flows"][0]["goodput_bps"] == 0


MULTIHOMED = """\
version: 1
name: multihomed
duration: 6s
warmup: 2s
topology:
  kind: multipath
  paths:
    - {name: wifi, rate: 20mbit, delay: 10ms}
    - {name: lte, rate: 10mbit, delay: 40ms}
flows:
  - {name: wifi, group: wifi, tcp: {initial_window: 4}}
  - {name: lte, group: lte, tcp: {initial_window: 4}}
  - {name: back, group: lte, traffic: {kind: cbr, rate: 500kbit}, direction: reverse}
  - {name: echoes, group: lte, traffic: {kind: ping, interval: 500ms}}
"""


def test_flows_of_one_machine_leave_by_the_interface_of_their_path(
    run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "multihomed.yaml"
    file.write_text(MULTIHOMED)
    document = run(scenario=file)
    require_faithful(document)
    flows = {flow["name"]: flow for flow in document["flows"]}
    assert flows["wifi"]["goodput_bps"] == pytest.approx(20e6 * 1448 / 1514, rel=0.01)
    assert flows["lte"]["goodput_bps"] == pytest.approx(10e6 * 1448 / 1514, rel=0.02)
    assert flows["back"]["one_way_delay_min_s"] == pytest.approx(0.04, abs=0.005)
    assert flows["echoes"]["echo_rtt_min_s"] > 0.08
    assert utilisation(document)["wifi:reverse"] < 0.05


def test_a_flow_alone_at_a_further_interface_is_sampled_and_its_card_is_its_own(
    run: Run, tmp_path: Path
) -> None:
    """The only socket of a machine is asked for by its address, which is that of the interface."""
    file = tmp_path / "alone.yaml"
    cards = "host: {groups: {lte: {offloads: [gro], coalesce: 50us}}}\n"
    flows = "flows:\n  - {name: alone, group: lte}\n"
    file.write_text(f"{MULTIHOMED.partition('flows:')[0]}{flows}{cards}")
    document = run(scenario=file)
    require_faithful(document)
    assert document["flows"][0]["goodput_bps"] == pytest.approx(10e6 * 1448 / 1514, rel=0.02)


def test_interfaces_whose_peer_is_the_same_host_are_told_by_their_address(
    run: Run, tmp_path: Path
) -> None:
    """One machine of two interfaces, and a server with one: a route alone could not choose."""
    file = tmp_path / "shared.yaml"
    links = [
        {"between": ["wifi", "a"], "rate": "20mbit", "delay": "5ms", "queue": {"limit": "1bdp"}},
        {"between": ["lte", "b"], "rate": "10mbit", "delay": "20ms", "queue": {"limit": "1bdp"}},
        {"between": ["a", "c"], "delay": "5ms"},
        {"between": ["b", "c"], "delay": "20ms"},
        {"between": ["c", "server"], "delay": "0ms"},
    ]
    groups = [{"name": name, "sources": [name], "sinks": ["server"]} for name in ("wifi", "lte")]
    topology = {"kind": "custom", "hosts": ["wifi", "lte", "server"], "routers": ["a", "b", "c"],
                "links": links, "groups": groups, "multihomed": [["wifi", "lte"]]}  # fmt: skip
    flows = [{"name": name, "group": name} for name in ("wifi", "lte")]
    file.write_text(json.dumps({"version": 1, "name": "shared", "duration": "6s", "warmup": "2s",
                                "topology": topology, "flows": flows}))  # fmt: skip
    document = run(scenario=file)
    require_faithful(document)
    assert [flow["base_rtt_measured_s"] for flow in document["flows"]] == pytest.approx(
        [0.02, 0.08], abs=1e-4
    )
    assert all(used > 0.98 for name, used in utilisation(document).items() if "forward" in name)

"""Machines with several interfaces: which hosts they are, and every fault at its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.compile.testbed_spec import bed_spec, interactive_spec
from orchestrator.errors import ScenarioError
from orchestrator.planning.network import network_json
from orchestrator.planning.plan import RunSpec, plan
from orchestrator.scenario import load

PATHS: dict[str, Any] = {
    "kind": "multipath",
    "hosts": 2,
    "paths": [
        {"name": "wifi", "rate": "20mbit", "delay": "10ms"},
        {"name": "lte", "rate": "10mbit", "delay": "40ms", "access": {"delay": "5ms"}},
    ],
}
FLOWS: list[dict[str, Any]] = [{"name": "one", "group": "wifi"}, {"name": "two", "group": "lte"}]


def dumbbell(*joined: list[str], **hosts: int) -> dict[str, Any]:
    return {
        "kind": "dumbbell",
        "bottleneck": {"rate": "10mbit", "delay": "10ms"},
        "access": {"delay": "1ms"},
        "groups": [{"name": name, "hosts": number} for name, number in hosts.items()],
        "multihomed": list(joined),
    }


def planned(
    tmp_path: Path, topology: dict[str, Any], flows: list[dict[str, Any]] = FLOWS, **more: Any
) -> RunSpec:
    file = tmp_path / "machines.yaml"
    document = {"version": 1, "name": "machines", "duration": "5s", **more}
    file.write_text(json.dumps({**document, "topology": topology, "flows": flows}))
    (run,) = plan(load(file)).runs
    return run


def test_each_path_is_a_group_and_its_hosts_are_interfaces(tmp_path: Path) -> None:
    run = planned(tmp_path, PATHS)
    network = run.network
    assert network.machines == (
        ("wifi_src0", "lte_src0"), ("wifi_src1", "lte_src1"),
        ("wifi_dst0", "lte_dst0"), ("wifi_dst1", "lte_dst1"),
    )  # fmt: skip
    assert network.machine("lte_dst1") == "wifi_dst1"
    assert network.interfaces("wifi_dst1") == ("wifi_dst1", "lte_dst1")
    rtts = {flow.name: flow.propagation_rtt_s for flow in run.flows}
    assert rtts == {"one[0]": 0.02, "one[1]": 0.02, "two[0]": 0.1, "two[1]": 0.1}
    spec = bed_spec(run, 10**9)
    assert {host["name"]: host.get("machine") for host in spec["hosts"]}["lte_src0"] == "wifi_src0"
    assert "machine" not in spec["hosts"][0]
    assert network_json.decode(network_json.encode(network)) == network


def test_an_interface_has_the_peers_of_its_paths_where_a_user_types_commands(
    tmp_path: Path,
) -> None:
    spec = interactive_spec(planned(tmp_path, {**PATHS, "hosts": 1}), 10**9)
    peers = {host["name"]: host["peers"] for host in spec["hosts"]}
    assert peers == {
        "wifi_src0": ["wifi_dst0"], "wifi_dst0": ["wifi_src0"],
        "lte_src0": ["lte_dst0"], "lte_dst0": ["lte_src0"],
    }  # fmt: skip
    spec = interactive_spec(planned(tmp_path, dumbbell(["a", "b"], a=1, b=1), [
        {"name": "one", "group": "a"}]), 10**9)  # fmt: skip
    assert all(len(host["peers"]) == 3 for host in spec["hosts"])


def test_any_groups_can_share_their_machines_in_the_order_of_the_hosts(tmp_path: Path) -> None:
    topology = dumbbell(["b", "a"], a=1, b=1, c=1)
    flows = [{"name": name, "group": name} for name in "abc"]
    run = planned(tmp_path, topology, flows, tcp={"initial_window": 4})
    assert run.network.machines == (("a_src0", "b_src0"), ("a_dst0", "b_dst0"))
    # What is of a machine is of each of its interfaces, and sysctls are set once.
    assert {host for host in run.hosts if run.hosts[host].metrics} == {
        "a_src0", "b_src0", "c_src0"
    }  # fmt: skip
    alone = planned(tmp_path, {**topology, "multihomed": None}, flows)
    assert alone.network.machines == ()
    assert "machines" not in network_json.encode(alone.network)


def test_a_host_that_several_groups_have_is_one_interface(tmp_path: Path) -> None:
    links = [("wifi", "r"), ("lte", "r"), ("r", "server")]
    topology = {
        "kind": "custom",
        "hosts": ["wifi", "lte", "server"],
        "routers": ["r"],
        "links": [{"between": list(ends), "delay": "1ms"} for ends in links],
        "groups": [
            {"name": name, "sources": [name], "sinks": ["server"]} for name in ("wifi", "lte")
        ],
        "multihomed": [["wifi", "lte"]],
    }
    assert planned(tmp_path, topology).network.machines == (("wifi", "lte"),)


@pytest.mark.parametrize(
    ("topology", "text"),
    [
        (dumbbell(["a", "x"], a=1, b=1), "there is no group `x`; defined: a, b"),
        (dumbbell(["a", "a"], a=1, b=1), "group `a` is given twice"),
        (dumbbell(["a", "b"], ["b", "c"], a=1, b=1, c=1), "group `b` is given twice"),
        (dumbbell(["a", "b"], a=1, b=2), "group `b` has 2 pairs of hosts, and `a`, whose"),
        (dumbbell(["a"], a=1, b=1), "at least 2"),
        (
            {**PATHS, "paths": [*PATHS["paths"][:1], PATHS["paths"][0]]},
            "path `wifi` is given twice",
        ),
        (
            {**PATHS, "paths": [{**path, "name": name} for path, name in
                                zip(PATHS["paths"], ("a", "a_1"), strict=True)]},
            "`a_1` is a node of the path `a`",
        ),
        ({**PATHS, "hosts": 501}, "more than 1000 pairs of interfaces"),
    ],
)  # fmt: skip
def test_a_fault_is_told_at_its_place(topology: dict[str, Any], text: str, tmp_path: Path) -> None:
    group = topology["groups" if "groups" in topology else "paths"][0]["name"]
    with pytest.raises(ScenarioError) as caught:
        planned(tmp_path, topology, [{"name": "one", "group": group}])
    (fault,) = caught.value.faults
    assert text in fault.message
    assert fault.column > 90


def test_flows_of_one_machine_have_one_value_of_a_setting(tmp_path: Path) -> None:
    flows = [{"name": "one", "group": "wifi", "tcp": {"sack": False}}, FLOWS[1]]
    with pytest.raises(ScenarioError, match="sack is a setting of the host wifi_src0, where flow"):
        planned(tmp_path, PATHS, flows)


def test_programs_and_labs_have_no_machines_with_several_interfaces(tmp_path: Path) -> None:
    traffic = {"kind": "program", "client": ["sleep", "1"]}
    with pytest.raises(ScenarioError, match="a program takes any of them"):
        planned(tmp_path, PATHS, [{"name": "one", "group": "wifi", "traffic": traffic}])

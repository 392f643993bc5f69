"""Scenarios with lab hosts: the shipped ones, faults at their places, and agents' documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.backends.guest import TRAITS
from orchestrator.backends.lab.agent_spec import agent_documents
from orchestrator.errors import ScenarioError, UsageError
from orchestrator.execution.runner import RunOptions, run_plan
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import LabHost, LabRouter
from orchestrator.scenario import load
from tests.guest.conftest import Quiet
from tests.support.shipped_lab import LIVE, ROUTER, planned, written

SHIPPED = Path(__file__).resolve().parents[3] / "scenarios" / "lab"

ADDRESSES = {"one": "10.1.0.1", "two": "10.2.0.2", "three": "10.2.0.3"}


def faults(folder: Path, *edits: tuple[str, str]) -> list[tuple[int, int, str]]:
    with pytest.raises(ScenarioError) as refused:
        planned(folder, *edits)
    return [(fault.line, fault.column, fault.message) for fault in refused.value.faults]


@pytest.mark.parametrize("file", sorted(SHIPPED.glob("*.yaml")), ids=lambda file: file.name)
def test_shipped_lab_scenarios_can_be_planned(file: Path) -> None:
    loaded = plan(load(file))
    assert loaded.warnings == []
    assert all(run.lab is not None for run in loaded.runs)
    described = loaded.describe().runs[0]
    assert described.flows


def test_every_host_has_its_role(tmp_path: Path) -> None:
    lab = planned(tmp_path).lab
    assert lab is not None
    assert lab.inventory == str(tmp_path / "hosts.yml")
    assert lab.hosts == (
        LabHost("one", "sender", ("eth1",), ("a_src0", "a_src1")),
        LabHost("two", "receiver", ("eth1",), ("a_dst0",)),
        LabHost("three", "receiver", ("eth2",), ("a_dst1",)),
        LabHost("four", "router", ("eth1", "eth2"), ()),
    )
    assert lab.router == LabRouter("four", "eth1", "eth2", "bottleneck")
    assert lab.offloads_off


def test_a_resolved_run_names_its_inventory_below_the_scenarios_folder(tmp_path: Path) -> None:
    resolved = planned(tmp_path).resolved
    assert resolved["lab"]["inventory"] == "hosts.yml"


Edits = list[tuple[str, str]]
FAULTS: dict[str, tuple[Edits, str, str]] = {
    "interface twice": (
        [("right: eth2", "right: eth1")], "eth1}\n",
        "must differ from `left`: each direction is emulated at an interface of its own",
    ),
    "host twice": (
        [("host: three", "host: two")], "two, interface: eth2",
        "host `two` is named already, as receivers",
    ),
    "no inventory": (
        [("inventory: hosts.yml", "inventory: none.yml")], "none.yml",
        "`{}/none.yml` cannot be read: No such file or directory",
    ),
    "bad interface": (
        [("interface: eth2", "interface: et/h2")], "et/h2",
        "`et/h2` is not the name of a network interface: use 1 to 15 characters, without blanks, "
        "`/` and `:`, and not lo",
    ),
    "no router": (
        [(ROUTER, "")], "inventory: hosts",
        "`router` is missing: name the host that emulates the bottleneck, or use the topology "
        "`live-path` for a network without emulation",
    ),
    "router of a live path": (
        [LIVE], "{host: four", "a live path is not emulated: leave `router` out",
    ),
    "more hosts than roles": (
        [("hosts: 2", "hosts: 1")], "{host: three",
        "the topology has only 1 sinks: this host would have no role",
    ),
    "access with a delay": (
        [("access: {delay: 0ms}", "access: {delay: 5ms}")], "{delay: 5ms}",
        "a_src0 is a real link of the lab, and only the router emulates: with `lab`, "
        "`delay: 0ms` is the only valid setting here",
    ),
    "several bottlenecks": (
        [("kind: dumbbell\n  bottleneck: {rate: 10mbit, delay: 10ms}",
          "kind: parking-lot\n  hops: [{rate: 10mbit, delay: 1ms}, {rate: 10mbit, delay: 1ms}]")],
        "parking-lot",
        "a lab has one router, which emulates one bottleneck, not 2: use `dumbbell` or "
        "`live-path`",
    ),
    "offloads": (
        [(ROUTER, ROUTER + "  offloads: leave\n")], "leave",
        "an emulated bottleneck needs offloads off: with them 64 KB leave as one packet",
    ),
    "policer": (
        [("delay: 10ms}", "delay: 10ms, policer: {rate: 5mbit, burst: 15kB}}")], "{rate: 5mbit",
        "`lab` does not support a policer, only a queue",
    ),
    "corruption": (
        [("delay: 10ms}", "delay: 10ms, corruption: 1%}")], "1%",
        "`lab` does not support corruption: on a forwarding host netem damages only the headers",
    ),
    "packets to lose by number, of all senders": (
        [("delay: 10ms}", "delay: 10ms, loss: {kind: list, packets: [7]}}")], "{kind: list",
        "`lab` needs a `flow` here: packets of other programs pass the router, too, and would "
        "count",
    ),
    "traffic with a shared random source": (
        [("traffic: {kind: campaign, controls: [reno, cubic], turn: 1s}",
          "congestion: reno, traffic: {kind: request-response, request: 1kB, response: 1kB}")],
        "request-response",
        "`lab` does not support request-response traffic: its two ends share a random source, "
        "and lab hosts cannot",
    ),
    "Multipath TCP": (
        [("group: a, traffic: {kind: campaign, controls: [reno, cubic], turn: 1s}",
          "congestion: reno, mptcp: {paths: [a]}")],
        "{paths: [a]}", "`lab` does not support Multipath TCP: a lab host has one path",
    ),
    "programs at a host of a machine with others": (
        [("  - {name: bulk, group: a, congestion: {name: logwestwood, parameters: "
          "{alpha_max: 64}}}\n", ""),
         ("traffic: {kind: campaign, controls: [reno, cubic], turn: 1s}",
          "congestion: reno, traffic: {kind: program, client: ['true']}")],
        "{host: one",
        "`one` plays 2 hosts, and programs run at a_src0: name a machine for each host",
    ),
    "random arrivals": (
        [("{kind: campaign, controls: [reno, cubic], turn: 1s}",
          "{kind: transfers, size: 10kB, arrivals: 5/s}")], "5/s",
        "`lab` does not support connections that arrive at random: use a `gap`",
    ),
    "an initial ssthresh": (
        [("alpha_max: 64}}", "alpha_max: 64}}, tcp: {initial_ssthresh: 20}")], "20}",
        "`lab` does not support an initial ssthresh: setting it needs one shared kernel",
    ),
    "unknown host": (
        [("host: one", "host: onee")], "onee",
        "no host `onee` in `{}/hosts.yml` (did you mean `one`?), which has 4 hosts",
    ),
    "unknown host like one that has a part": (
        [("host: one", "host: won")], "won",
        "no host `won` in `{}/hosts.yml`, which has 4 hosts",
    ),
}  # fmt: skip


def place(folder: Path, marker: str) -> tuple[int, int]:
    """Return line and column of a text in the scenario."""
    before = (folder / "lab.yaml").read_text().partition(marker)[0]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_is_reported_at_its_place(tmp_path: Path, case: str) -> None:
    edits, marker, text = FAULTS[case]
    reported = faults(tmp_path, *edits)
    assert reported[0] == (*place(tmp_path, marker), text.format(tmp_path))


def test_events_change_the_emulated_link_only(tmp_path: Path) -> None:
    event = "events: [{at: 1s, link: %s, rate: 5mbit}]\nlab:"
    assert planned(tmp_path, ("lab:", event % "bottleneck")).events
    reported = faults(tmp_path, ("access: {delay: 0ms}", "access: {delay: 0ms, rate: 1gbit}"),
                   ("\nlab:", "\n" + event % "a_src0"))  # fmt: skip
    text = "`a_src0` is a real link: an event can change only the emulated one"
    assert (*place(tmp_path, "a_src0, rate"), text) in reported


def test_a_live_path_needs_lab_hosts(tmp_path: Path) -> None:
    text = written(tmp_path, LIVE).read_text().partition("\nlab:")[0] + "\n"
    path = tmp_path / "live.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError) as refused:
        plan(load(path))
    (fault,) = refused.value.faults
    assert (fault.line, fault.column) == (5, 9)
    assert fault.message == "a live path needs lab hosts: add the section `lab`"


def test_a_live_path_has_no_bottleneck_and_no_base_rtt(tmp_path: Path) -> None:
    described = plan(load(written(tmp_path, LIVE, (ROUTER, "")))).describe().runs[0]
    assert described.bottlenecks == []
    assert [flow.base_rtt_s for flow in described.flows] == [None] * 6


class _Guest:
    """The part of a back end that is used before anything runs."""

    name, traits, unconfined = "guest", TRAITS, False


def test_a_live_path_is_for_lab_hosts_only(tmp_path: Path) -> None:
    live = plan(load(written(tmp_path, LIVE, (ROUTER, ""))))
    options: Any = RunOptions(tmp_path / "runs.db", _Guest())  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="--backend guest: the topology live-path is a real"):
        run_plan(live, options, Quiet())
    assert not (tmp_path / "runs.db").exists()


def test_each_agents_document_has_only_its_own_part(tmp_path: Path) -> None:
    run = planned(tmp_path)
    bare = {("one", "two"): 100_000, ("one", "three"): 200_000}
    documents = agent_documents(run, ADDRESSES, bare)
    assert sorted(documents) == ["four", "one", "three", "two"]
    one, two, router = documents["one"], documents["two"], documents["four"]
    assert (one["nodes"], one["interfaces"]) == (["a_src0", "a_src1"], ["eth1"])
    assert one["addresses"] == {
        "a_src0": "10.1.0.1", "a_src1": "10.1.0.1", "a_dst0": "10.2.0.2", "a_dst1": "10.2.0.3",
    }  # fmt: skip
    assert [flow["number"] for flow in one["flows"]] == [0, 1, 2, 3, 4, 5]
    assert [flow["number"] for flow in two["flows"]] == [0, 2, 4]
    assert (router["flows"], router["modules"], router["round_trips"]) == ([], [], [])
    assert (
        one["modules"]
        == two["modules"]
        == [
            {"congestion": "cubic", "parameters": {}},
            {"congestion": "logwestwood", "parameters": {"alpha_max": 64}},
            {"congestion": "reno", "parameters": {}},
        ]
    )
    (link,) = router["links"]
    assert (link["name"], link["left"], link["right"]) == ("bottleneck", "eth1", "eth2")
    forward = link["forward"]["link"]
    assert forward is not None
    assert {setting["name"]: setting["value"] for setting in forward["settings"]}[
        "rate_bps"
    ] == 10_000_000
    assert one["links"] == two["links"] == []
    assert router["sysctls"] == {}
    assert one["sysctls"]["net.ipv4.tcp_no_metrics_save"] == 1
    trips = {(each["source"], each["sink"]): each["expected_ns"] for each in one["round_trips"]}
    # The emulated link transmits 50 bytes at 10 Mbit/s in 40 us, there and back.
    assert trips == {("a_src0", "a_dst0"): 20_180_000, ("a_src1", "a_dst1"): 20_280_000}
    assert two["round_trips"] == []


def test_hosts_on_one_machine_have_the_same_tcp_settings(tmp_path: Path) -> None:
    reported = faults(
        tmp_path,
        ("groups: [", "groups: [{name: b, hosts: 1}, "),
        ("turn: 1s}}", "turn: 1s}}\n  - {name: other, group: b, tcp: {sack: false}}"),
    )
    text = "`one` plays b_src0 and a_src0, whose TCP settings differ: name a machine for each"
    assert (*place(tmp_path, "{host: one"), text) in reported

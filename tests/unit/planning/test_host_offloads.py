"""The network cards of hosts: what a scenario may ask, and what the test bed is told of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from orchestrator.compile.testbed_spec import bed_spec
from orchestrator.errors import ScenarioError
from orchestrator.execution.samples_plan import samples_plan
from orchestrator.planning.network import network_json
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.links.link import COALESCE, COALESCE_FRAMES, RING, ReceiveRing
from orchestrator.scenario import load
from tests.support.link import attributes

QUICKSTART = Path(__file__).parents[3] / "scenarios" / "quickstart.yaml"
TSO = "host.offloads=[tso]"
HOSTS = ("a_src0", "a_dst0", "b_src0", "b_dst0")


def planned(*overrides: str) -> RunSpec:
    (run,) = plan(load(QUICKSTART, overrides)).runs
    return run


LAST = 2
"""TC_LINK_CUTS_LAST."""


def cutting(document: Any) -> dict[str, int]:
    """Return when links cut super-packets, by their channels."""
    return {
        f"{link['name']}:{direction}": setting["value"]
        for link in document["links"]
        for direction in ("forward", "reverse")
        for setting in (link[direction]["link"] or {"settings": []})["settings"]
        if setting["name"] == "cuts"
    }


def faults(*overrides: str) -> list[str]:
    with pytest.raises(ScenarioError) as raised:
        plan(load(QUICKSTART, overrides))
    return [fault.message for fault in raised.value.faults]


def test_only_links_that_begin_at_a_host_cut_and_they_read_it_back() -> None:
    document = bed_spec(planned(TSO), 2**30)
    assert document["tso_hosts"] == list(HOSTS)
    assert set(cutting(document)) == {
        "a_src0:forward", "a_dst0:reverse", "b_src0:forward", "b_dst0:reverse",
    }  # fmt: skip
    (link,) = (each for each in document["links"] if each["name"] == "a_src0")
    assert link["forward"]["link"] is not None
    setting = link["forward"]["link"]["settings"][-1]
    assert setting["attribute"] == [attributes()["CUTS"]]
    assert (setting["value"], setting["expected"], setting["format"]) == (1, 1, "B")


def test_small_queues_are_a_setting_of_the_same_links_with_or_without_tso() -> None:
    links = bed_spec(planned("host.small_queues=true"), 2**30)["links"]
    assert {
        f"{link['name']}:{direction}": (setting["attribute"], setting["value"], setting["expected"])
        for link in links
        for direction in ("forward", "reverse")
        for setting in cast(Any, link)[direction]["link"]["settings"]
        if setting["name"] == "owned"
    } == dict.fromkeys(
        ("a_src0:forward", "a_dst0:reverse", "b_src0:forward", "b_dst0:reverse"),
        ([attributes()["OWNED"]], 1, 1),
    )
    both = planned("host={offloads: [tso], small_queues: true}")
    assert list(cutting(bed_spec(both, 2**30)).values()) == [LAST] * 4
    assert network_json.decode(network_json.encode(both.network)).small_queue_hosts == HOSTS


def test_the_limit_of_a_queue_that_the_scenario_gives_is_in_frames() -> None:
    access = "topology.groups.a.source_access={rate: 100mbit, delay: 20ms, queue: {limit: 20p}}"
    document = bed_spec(planned(access, "host={offloads: [tso], small_queues: true}"), 2**30)
    assert cutting(document)["a_src0:forward"] == 1
    assert cutting(document)["b_src0:forward"] == LAST


def test_a_queue_that_paces_by_sockets_is_refused_at_a_host_with_small_queues() -> None:
    access = "{rate: 100mbit, delay: 20ms, queue: {kind: QUEUE}}"
    override = f"topology.groups.a.source_access={access}"
    small = ("host.small_queues=true",)
    messages = faults(override.replace("QUEUE", "fq"), *small)
    assert [message.partition(" begins")[0] for message in messages] == ["`a_src0:forward`"]
    assert "give that link another queue" in messages[0]
    assert planned(override.replace("QUEUE", "fq_codel"), *small).network.small_queue_hosts


@pytest.mark.parametrize(
    "override",
    ["host={}", "host.offloads=[]", "host.small_queues=false", "host.coalesce=0s", "seed=1"],
)
def test_without_tso_nothing_of_it_is_in_the_specification(override: str) -> None:
    document = bed_spec(planned(override), 2**30)
    assert document == bed_spec(planned(), 2**30)
    assert ("tso_hosts" in document, cutting(document)) == (False, {})


def test_a_link_of_a_host_without_rate_and_delay_cuts_too() -> None:
    access = "topology.groups.a.access={delay: 0s}"
    document = bed_spec(planned(TSO, access), 2**30)
    assert {"a_src0:forward", "a_dst0:reverse"} <= set(cutting(document))
    (link,) = (each for each in bed_spec(planned(access), 2**30)["links"] if each["a"] == "a_src0")
    assert link["forward"]["link"] is None


def test_a_stored_network_has_the_hosts_and_one_of_before_has_none() -> None:
    network = planned(TSO).network
    form = network_json.encode(network)
    assert form["tso_hosts"] == list(HOSTS)
    assert network_json.decode(form).tso_hosts == HOSTS
    plain = network_json.encode(planned().network)
    assert "tso_hosts" not in plain
    assert network_json.decode(plain).tso_hosts == ()


def test_a_host_comes_before_its_group_and_that_before_all() -> None:
    network = planned(
        "host={offloads: [tso], groups: {a: {offloads: [], small_queues: true}}, "
        "hosts: {a_dst0: {offloads: [tso]}, b_src0: {small_queues: true}}}"
    ).network
    assert network.tso_hosts == ("a_dst0", "b_src0", "b_dst0")
    assert network.small_queue_hosts == ("a_src0", "a_dst0", "b_src0")


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("{groups: {c: {offloads: [tso]}}}", "there is no group `c`; defined: a, b"),
        ("{hosts: {a_scr0: {}}}", "there is no host `a_scr0` (did you mean `a_src0`?)"),
        ("{groups: {a: {offload: [tso]}}}", "unknown key `offload` (did you mean `offloads`?)"),
        ("{hosts: {a_src0: 3}}", "must be a mapping (keys: offloads, small_queues"),
    ],
)
def test_a_wrong_group_or_host_is_named_with_those_that_are_valid(host: str, words: str) -> None:
    (message,) = faults(f"host={host}")
    assert words in message


def test_a_fault_of_a_link_is_at_what_asked_for_its_host() -> None:
    with pytest.raises(ScenarioError) as raised:
        plan(load(QUICKSTART, (
            "host={offloads: [], hosts: {b_dst0: {offloads: [tso]}}}",
            "topology.bottleneck.corruption=0.1%",
        )))  # fmt: skip
    assert {fault.column for fault in raised.value.faults} == {48}


def test_the_offloads_of_a_group_are_an_axis(tmp_path: Path) -> None:
    file = tmp_path / "axis.yaml"
    axis = "matrix: {host.groups.a.offloads: [[], [tso]]}\n"
    file.write_text(QUICKSTART.read_text(encoding="utf-8") + axis, encoding="utf-8")
    assert [run.network.tso_hosts for run in plan(load(file)).runs] == [(), HOSTS[:2]]


def test_offloads_are_an_axis_of_one_experiment(tmp_path: Path) -> None:
    file = tmp_path / "axis.yaml"
    axis = "matrix: {host.offloads: [[], [tso]]}\n"
    file.write_text(QUICKSTART.read_text(encoding="utf-8") + axis, encoding="utf-8")
    runs = plan(load(file)).runs
    assert [run.network.tso_hosts for run in runs] == [(), HOSTS]
    assert len({run.experiment_sha256 for run in runs}) == 1


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("host.offloads=[lro]", "tso"),
        ("host.offloads=tso", "list"),
        ("host.offloads=[tso, tso]", "`tso` is given twice"),
        ("host.offload=[tso]", "offloads"),
        ("host.coalesce=50", "unit"),
        ("host.coalesce=2s", "may be 1s at most"),
        ("host.coalesce={time: 50us, frames: 0}", "1"),
        ("host={coalesce: 50us, ring: 100kB}", "p"),
        ("host={coalesce: 50us, ring: 0p}", "above zero"),
        ("host.ring=512p", "give `coalesce`, such as 50us"),
        ("host={hosts: {a_dst0: {ring: 512p}}}", "give `coalesce`"),
    ],
)
def test_a_wrong_offload_is_an_error_that_names_what_is_valid(override: str, words: str) -> None:
    assert any(words in message for message in faults(override))


def rings(*overrides: str) -> dict[str, tuple[int, int, int]]:
    """Return the settings of each receive ring by the channel that ends there."""
    found: dict[str, list[int]] = {}
    for link in bed_spec(planned(*overrides), 2**30)["links"]:
        for direction in ("forward", "reverse"):
            for setting in cast(Any, link)[direction]["link"]["settings"]:
                if setting["name"] in (COALESCE, COALESCE_FRAMES, RING):
                    found.setdefault(f"{link['name']}:{direction}", []).append(setting["value"])
    return {name: (values[0], values[1], values[2]) for name, values in found.items()}


def test_receive_rings_are_where_a_link_ends_at_a_host() -> None:
    all_ends = ("a_src0:reverse", "a_dst0:forward", "b_src0:reverse", "b_dst0:forward")
    assert rings("host.coalesce=50us") == dict.fromkeys(all_ends, (50_000, 0, 0))
    groups = "host={coalesce: 50us, ring: 512p, groups: {a: {coalesce: 0s}}, hosts: HOSTS}"
    hosts = "{b_dst0: {coalesce: {time: 1ms, frames: 64}}}"
    assert rings(groups.replace("HOSTS", hosts)) == {
        "b_src0:reverse": (50_000, 0, 512),
        "b_dst0:forward": (1_000_000, 64, 512),
    }


def test_a_frame_alone_waits_for_its_interrupt_at_both_ends() -> None:
    plain, moderated = planned(), planned("host.coalesce=50us")
    at_once = planned("host.coalesce={time: 50us, frames: 1}")
    for more_ns, run in ((100_000, moderated), (0, at_once)):
        assert run.flows[0].base_rtt_s == pytest.approx(plain.flows[0].base_rtt_s + more_ns / 1e9)
        found, before = (bed_spec(each, 2**30)["probes"]["round_trips"] for each in (run, plain))
        pairs = zip(found, before, strict=True)
        assert {a["expected_ns"] - b["expected_ns"] for a, b in pairs} == {more_ns}
    # One of several frames may wait no time at all.
    least = [samples_plan(run)["flows"][0]["least_rtt_ns"] for run in (plain, moderated)]
    assert least[0] == least[1]


def test_a_stored_network_has_its_rings_and_hosts_with_gro() -> None:
    network = planned("host={offloads: [gro], coalesce: 50us, ring: 512p}").network
    assert network.gro_hosts == HOSTS
    again = network_json.decode(network_json.encode(network))
    assert again == network
    assert again.links[1].reverse.ring == ReceiveRing(50_000, 0, 512)


POLICER = "{forward: {rate: 4mbit, burst: 30kB}}"


def test_a_policer_where_a_host_begins_is_refused(tmp_path: Path) -> None:
    text = """
version: 1
name: two
duration: 1s
host: {offloads: [tso]}
topology:
  kind: custom
  hosts: [s, r]
  routers: [x]
  links:
    - {between: [s, x], rate: 10mbit, delay: 1ms, queue: {limit: 10p}, policer: POLICER}
    - {between: [x, r], delay: 1ms}
  groups: [{name: g, sources: [s], sinks: [r]}]
flows: [{name: f, group: g}]
"""
    file = tmp_path / "two.yaml"
    file.write_text(text.replace("POLICER", POLICER), encoding="utf-8")
    with pytest.raises(ScenarioError) as raised:
        plan(load(file))
    (fault,) = raised.value.faults
    assert "`s-x:forward` begins at a host and has a policer" in fault.message
    file.write_text(text.replace("POLICER", POLICER.replace("forward", "reverse")), "utf-8")
    assert plan(load(file)).runs


@pytest.mark.parametrize(
    "corruption",
    [
        "topology.bottleneck.corruption=0.1%",
        "events=[{at: 1s, link: bottleneck, corruption: 1%}]",
    ],
)
def test_corruption_is_refused_also_by_an_event(corruption: str) -> None:
    messages = faults(TSO, corruption)
    assert messages
    assert all("corrupts packets" in message for message in messages)


FQ = ("host.qdisc=fq", "host.small_queues=true")
ACCESS, QUEUE = "topology.groups.a.access", "{kind: droptail, limit: 50p}"


def queue_of(document: Any, link: str, direction: str) -> Any:
    (found,) = (each for each in document["links"] if each["name"] == link)
    return found[direction]["queue"]


def settings(queue: Any) -> dict[str, int]:
    return {one["name"]: one["value"] for one in queue["settings"]}


def test_a_host_has_its_queueing_discipline_where_its_links_begin() -> None:
    document = bed_spec(planned(*FQ), 2**30)
    for link, direction in (("a_src0", "forward"), ("a_dst0", "reverse")):
        queue = queue_of(document, link, direction)
        assert queue["kind"] == "fq"
        asked = settings(queue)
        assert asked["pacing"] == 1
        assert (asked["limit_packets"], asked["flow_limit_packets"]) == (10_000, 100)
    assert queue_of(document, "a_src0", "reverse")["kind"] == "pfifo"
    assert planned(*FQ).network.qdisc_hosts == HOSTS


def test_limits_count_super_packets_where_they_wait_whole() -> None:
    """64 kB are 45 segments of 1448 bytes."""
    document = bed_spec(planned(*FQ, TSO), 2**30)
    asked = settings(queue_of(document, "a_src0", "forward"))
    assert (asked["limit_packets"], asked["flow_limit_packets"]) == (10_000, 100)
    assert cutting(document)["a_src0:forward"] == LAST
    document = bed_spec(planned("host.groups.a.qdisc=pfifo_fast", TSO), 2**30)
    queue = queue_of(document, "a_src0", "forward")
    assert (queue["kind"], settings(queue)["limit_packets"]) == ("pfifo", 1000)
    assert (cutting(document)["a_src0:forward"], cutting(document)["b_src0:forward"]) == (LAST, 1)
    assert settings(queue_of(document, "b_src0", "forward"))["limit_packets"] == 100_000
    document = bed_spec(planned("host.qdisc=fq_codel", TSO), 2**30)
    queue = queue_of(document, "a_src0", "forward")
    assert (queue["kind"], settings(queue)["limit_packets"]) == ("fq_codel", 460_800)
    assert cutting(document)["a_src0:forward"] == 1


def test_a_host_may_have_none_of_its_own_where_all_have_one() -> None:
    spec = planned("host.qdisc=fq_codel", "host.hosts.a_src0.qdisc=none")
    assert spec.network.qdisc_hosts == HOSTS[1:]
    document = bed_spec(spec, 2**30)
    assert queue_of(document, "a_src0", "forward")["kind"] == "pfifo"
    assert queue_of(document, "b_src0", "forward")["kind"] == "fq_codel"


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["host.qdisc=fq"], "`fq` paces packets by their sockets"),
        (
            ["host.qdisc=fq_codel", f"{ACCESS}={{rate: 1gbit, delay: 1ms, queue: {QUEUE}}}"],
            "has a `queue` of its own",
        ),
        (["host.qdisc=fq_codel", f"{ACCESS}={{delay: 1ms}}"], "has no rate"),
        (["host.qdisc=sfq"], "valid: none, pfifo_fast, fq_codel, fq"),
    ],
)
def test_a_queueing_discipline_that_cannot_be_is_refused(
    overrides: list[str], message: str
) -> None:
    assert any(message in fault for fault in faults(*overrides))

"""How lists of packets to lose reach the test bed: at the beginning, and by events."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orchestrator.compile.testbed_spec import bed_spec
from orchestrator.planning.plan import plan
from orchestrator.scenario import load

QUICKSTART = Path(__file__).parents[3] / "scenarios" / "quickstart.yaml"
LIST = "{kind: list, packets: [3, 5-6]}"
PACKED = "03000000030000000500000006000000"
NO_LIST = ("", 0, 0)


def spec(*overrides: str) -> Any:
    (run,) = plan(load(QUICKSTART, overrides)).runs
    return bed_spec(run, 2**30)


def values(settings: Any) -> tuple[Any, ...]:
    names = [setting["name"] for setting in settings]
    assert names == ["lost_packets", "lost_packets_port", "lost_packets_data_only"]
    return tuple(setting["value"] for setting in settings)


def link_steps(found: Any) -> list[Any]:
    return [step for step in found["planned_steps"] if step["do"] == "link"]


def test_a_list_is_no_part_of_the_link_until_traffic_begins() -> None:
    found = spec(f"topology.bottleneck.loss={{forward: {LIST}, reverse: 0}}")
    forward, reverse = found["links"][0]["forward"], found["links"][0]["reverse"]
    assert values(forward["chosen"]) == (PACKED, 0, 0)
    assert "chosen" not in reverse
    assert forward["link"] is not None
    names = [setting["name"] for setting in forward["link"]["settings"]]
    assert names == ["model", "rate_bps", "delay_ns", "granted", "bypass"]
    assert not link_steps(found)


def test_the_netem_behind_a_list_has_the_delay_and_loses_nothing() -> None:
    channel = spec(f"topology.bottleneck.loss={LIST}")["links"][0]["forward"]
    assert channel["netem"] is not None
    found = {setting["name"]: setting["value"] for setting in channel["netem"]["settings"]}
    assert (found["loss_q32"], found["delay_ns"]) == (0, 10_000_000)


def test_a_flow_is_known_by_the_port_of_its_listener() -> None:
    chosen = "{kind: list, packets: [3, 5-6], flow: westwood, count: data}"
    found = spec(f"topology.bottleneck.loss={chosen}")
    (flow,) = [each for each in found["flows"] if each["name"] == "westwood"]
    others = {each["port"] for each in found["flows"] if each["name"] != "westwood"}
    ports = {each["client_port"] for each in found["flows"]} | others
    assert flow["port"] not in ports
    for direction in (found["links"][0]["forward"], found["links"][0]["reverse"]):
        assert values(direction["chosen"]) == (PACKED, flow["port"], 1)


def test_an_event_sets_replaces_and_ends_a_list() -> None:
    events = (
        f"[{{at: 1s, link: bottleneck, direction: forward, loss: {LIST}}},"
        "{at: 2s, link: bottleneck, direction: forward, loss: {kind: list, packets: [9]}},"
        "{at: 3s, link: bottleneck, direction: forward, delay: 11ms},"
        "{at: 4s, link: bottleneck, direction: forward, loss: 1%},"
        "{at: 5s, link: bottleneck, direction: forward, loss: 2%}]"
    )
    found = spec(f"events={events}")
    assert "chosen" not in found["links"][0]["forward"]
    assert [
        (step["time_ns"], step["event"], step["channel"], values(step["settings"]))
        for step in link_steps(found)
    ] == [
        (10**9, 0, "bottleneck:forward", (PACKED, 0, 0)),
        (2 * 10**9, 1, "bottleneck:forward", ("0900000009000000", 0, 0)),
        (4 * 10**9, 3, "bottleneck:forward", NO_LIST),
    ]


def test_a_repeated_event_counts_anew_each_time() -> None:
    event = f"{{at: 1s, every: 1s, until: 3s, link: bottleneck, direction: forward, loss: {LIST}}}"
    steps = link_steps(spec(f"events=[{event}]"))
    assert [step["time_ns"] for step in steps] == [10**9, 2 * 10**9, 3 * 10**9]

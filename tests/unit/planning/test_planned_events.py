"""Events in the plan: states, routes, and the test bed's steps."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.compile.ideal_tcp import max_min
from orchestrator.compile.testbed_spec import bed_spec
from orchestrator.decode.event_log import event_provenance, rate_steps
from orchestrator.errors import ScenarioError
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec, at_most, guest_memory_bytes
from orchestrator.protocol.links.random_quantities import periods
from orchestrator.protocol.reports.facts import Timeline
from orchestrator.scenario import load
from tests.support.events import run

QUICKSTART = Path(__file__).parents[3] / "scenarios" / "quickstart.yaml"


def steps(spec: RunSpec) -> list[dict[str, Any]]:
    return [dict(step) for step in bed_spec(spec, 2**30)["planned_steps"]]


def settings(step: dict[str, Any]) -> dict[str, Any]:
    return {setting["name"]: setting["value"] for setting in step["settings"]}


def test_one_event_changes_several_things_in_both_directions(tmp_path: Path) -> None:
    spec = run(tmp_path, "{at: 4s, link: r1-r2, rate: 5mbit, delay: 20ms, queue: {limit: 30p}}")
    (event,) = spec.events
    assert set(event.channels) == {"r1-r2:forward", "r1-r2:reverse"}
    channel = event.channels["r1-r2:reverse"].channel
    assert (channel.rate_bps, channel.delay_s) == (5_000_000, 0.02)
    assert channel.queue is not None
    assert channel.queue.limit_packets == 30
    assert event.requested == {
        "link": "r1-r2", "rate": "5mbit", "delay": "20ms", "queue": {"limit": "30p"},
    }  # fmt: skip
    found = [(step["time_ns"], step["channel"], step["do"], settings(step)) for step in steps(spec)]
    assert found == [
        (4_000_000_000, f"r1-r2:{direction}", *change)
        for direction in ("forward", "reverse")
        for change in (
            ("link", {"rate_bps": 5_000_000}),
            ("queue", {"limit_packets": 30}),
            ("link", {"delay_ns": 20_000_000}),
        )
    ]
    assert {step["event"] for step in steps(spec)} == {0}


def test_later_events_build_on_earlier_ones(tmp_path: Path) -> None:
    spec = run(
        tmp_path,
        "{at: 6s, link: r1-r2, direction: forward, queue: {limit: 20p}}",
        "{at: 4s, link: r1-r2, direction: forward, rate: 5mbit}",
    )
    assert [event.time_ns for event in spec.events] == [4_000_000_000, 6_000_000_000]
    last = spec.events[1].channels["r1-r2:forward"].channel
    assert (last.rate_bps, last.queue.limit_packets if last.queue else None) == (5_000_000, 20)
    assert rate_steps(spec) == {"r1-r2:forward": ((0.0, 10_000_000), (4.0, 5_000_000))}


def test_of_two_rates_at_one_time_the_last_counts(tmp_path: Path) -> None:
    both = [
        f"{{at: 4s, link: up, rate: {rate}, direction: reverse}}" for rate in ("1mbit", "2mbit")
    ]
    assert rate_steps(run(tmp_path, *both))["up:reverse"] == ((0.0, 5_000_000), (4.0, 2_000_000))


def test_a_stored_run_can_be_planned_again(tmp_path: Path) -> None:
    spec = run(
        tmp_path,
        "{at: 1s, every: 2s, until: 6s, link: [r1-r2, up], rate: 4mbit, loss: 1%, delay: 9ms}",
        "{at: 2s, link: r1-r2, queue: {limit: 20p}, state: up, reroute: true}",
        "{at: 3s, reroute: {via: [r3], avoid: [r1-r2], flows: [two], direction: forward}}",
    )
    again = tmp_path / "again.yaml"
    again.write_text(json.dumps(spec.resolved), encoding="utf-8")
    (same,) = plan(load(again)).runs
    assert same.events == spec.events
    assert bed_spec(same, 2**30) == bed_spec(spec, 2**30)


def test_events_are_overridden_and_varied_by_their_place() -> None:
    events = "events=[{at: 1s, link: bottleneck, rate: 5mbit}]"
    runs = plan(load(QUICKSTART, [events, "matrix.events.0.rate=[1mbit, 2mbit]"])).runs
    rates = [each.events[0].channels["bottleneck:forward"].channel.rate_bps for each in runs]
    assert rates == [1_000_000, 2_000_000]
    (late,) = plan(load(QUICKSTART, [events, "events.0.at=3s"])).runs
    assert late.events[0].time_ns == 3 * 10**9


def test_an_event_repeats_until_its_end(tmp_path: Path) -> None:
    spec = run(
        tmp_path,
        "{at: 1s, every: 4s, until: 13s, link: r1-r2, state: down}",
        "{at: 2s, every: 4s, link: r1-r2, state: up}",
    )
    times = [(event.time_ns // 10**9, event.requested["state"]) for event in spec.events]
    assert times == [
        (1, "down"), (2, "up"), (5, "down"), (6, "up"), (9, "down"), (10, "up"), (13, "down"),
        (14, "up"), (18, "up"),
    ]  # fmt: skip
    own = [step for step in steps(spec) if step["channel"] == "r1-r2:forward"]
    assert [settings(step)["loss_q32"] for step in own] == [2**32 - 1, 0] * 4
    assert own[-1]["event"] == 7  # the last event changes nothing


def test_a_link_on_hold_sends_nothing_and_loses_nothing(tmp_path: Path) -> None:
    spec = run(
        tmp_path,
        "{at: 1s, link: r1-r2, direction: forward, state: hold}",
        "{at: 2s, link: r1-r2, direction: forward, state: hold, rate: 5mbit}",
        "{at: 3s, link: r1-r2, direction: forward, state: up}",
    )
    assert not spec.network.links[0].forward.loses
    own = [(step["time_ns"] // 10**9, step["do"], settings(step)) for step in steps(spec)]
    assert own == [
        (1, "link", {"held": 1}), (2, "link", {"rate_bps": 5_000_000}),
        (3, "link", {"held": 0}),
    ]  # fmt: skip
    changed = ((0.0, 10_000_000), (1.0, 0), (3.0, 5_000_000))
    assert rate_steps(spec)["r1-r2:forward"] == changed


def test_only_a_link_that_is_up_is_a_way_round(tmp_path: Path) -> None:
    spec = run(tmp_path, "{at: 1s, link: r1-r2, state: hold, reroute: true}")
    assert not any("r1-r2" in name for route in spec.events[0].routes.values() for name in route)
    assert spec.events[0].routes


def test_a_link_with_pauses_of_its_own_cannot_be_put_on_hold(tmp_path: Path) -> None:
    (tmp_path / "link.trace").write_text("1\n2\n")
    overrides = [
        "topology.bottleneck.capacity={trace: link.trace}",
        "topology.bottleneck.rate=null",
        "events=[{at: 1s, link: bottleneck, direction: forward, state: hold}]",
    ]
    file = tmp_path / "held.yaml"
    file.write_text(QUICKSTART.read_text())
    with pytest.raises(ScenarioError, match="its own pauses: it cannot be put on hold"):
        plan(load(file, overrides))


def test_a_channel_whose_loss_changes_has_a_netem_from_the_beginning(tmp_path: Path) -> None:
    events = (
        "{at: 4s, link: up, loss: 1%}",
        "{at: 5s, link: up, delay: 5ms, direction: forward}",
        "{at: 6s, link: a-r1, state: down, direction: forward}",
    )
    spec = run(tmp_path, *events)
    first = spec.network.links[0]
    assert first.forward.loses
    assert not first.reverse.loses
    links = bed_spec(spec, 2**30)["links"]
    assert (links[0]["forward"]["netem"] is None, links[0]["reverse"]["netem"]) == (False, None)
    netems = (links[3]["forward"]["netem"], links[3]["reverse"]["netem"])
    names = [[setting["name"] for setting in netem["settings"]] for netem in netems if netem]
    assert ["rate_bytes_per_s" in name for name in names] == [True, False]
    # The delay is netem's from the beginning, so netem's changes.
    (delay,) = [step for step in steps(spec) if step["event"] == 1]
    assert (delay["do"], settings(delay)["delay_ns"]) == ("netem", 5_000_000)


def test_a_channel_whose_delay_changes_has_its_delay_in_the_link(tmp_path: Path) -> None:
    spec = run(tmp_path, "{at: 4s, link: down, delay: 5ms, direction: forward}")
    assert spec.network.links[4].forward.delay_changes
    channel = bed_spec(spec, 2**30)["links"][4]["forward"]
    assert channel["netem"] is None
    assert channel["link"] is not None
    assert settings(dict(channel["link"]))["delay_ns"] == 20_000_000
    (step,) = steps(spec)
    assert (step["do"], step["event"], settings(step)) == ("link", 0, {"delay_ns": 5_000_000})


def test_a_loss_models_clock_begins_with_the_event_and_stops_with_the_next(tmp_path: Path) -> None:
    model = "{kind: two-state, good: 100ms, bad: 100ms, bad_loss: 10%}"
    events = (
        f"{{at: 4s, link: r1-r2, direction: forward, loss: {model}}}",
        "{at: 6s, link: r1-r2, direction: forward, state: down}",
        "{at: 7s, link: r1-r2, direction: forward, state: up}",
        "{at: 8s, link: r1-r2, direction: forward, loss: 1%}",
    )
    timeline = steps(run(tmp_path, *events))
    assert timeline == steps(run(tmp_path, *events))
    ticks = [step["time_ns"] / 1e9 for step in timeline if "event" not in step]
    assert len(ticks) > 5
    assert all(4 <= tick < 6 or 7 <= tick < 8 for tick in ticks)
    assert settings(timeline[-1])["loss_q32"] == pytest.approx(0.01 * 2**32, abs=2)


def test_an_impairment_is_replaced_as_a_whole_and_can_end(tmp_path: Path) -> None:
    events = (
        "{at: 4s, link: r1-r2, direction: forward, jitter: {spread: 1ms, distribution: normal}}",
        "{at: 5s, link: r1-r2, direction: forward, reordering: {probability: 10%, gap: 3}}",
        "{at: 6s, link: r1-r2, direction: forward, jitter: 2ms, duplication: 1%}",
        "{at: 7s, link: r1-r2, direction: forward, jitter: 0s, reordering: 0%, corruption: 2%}",
        "{at: 8s, link: r1-r2, direction: forward, duplication: 0%, corruption: 0%}",
    )
    spec = run(tmp_path, *events)
    timeline = [settings(step) for step in steps(spec)]
    assert [set(each) for each in timeline] == [
        {"jitter_ns", "jitter_table"},
        {"reorder_gap_packets", "reorder_q32", "reorder_correlation_q32"},
        {"jitter_ns", "jitter_table", "duplicate_q32"},
        {"jitter_ns", "reorder_gap_packets", "reorder_q32", "reorder_correlation_q32",
         "corrupt_q32", "corrupt_correlation_q32"},
        {"duplicate_q32", "corrupt_q32", "corrupt_correlation_q32"},
    ]  # fmt: skip
    # The kernel keeps a table: the uniform distribution that comes after is one, too.
    table = np.frombuffer(bytes.fromhex(timeline[2]["jitter_table"]), "<i2")
    assert (len(table), table.min(), table.max()) == (4096, -8190, 8190)
    assert set(np.diff(table).tolist()) == {4}
    ended = {**timeline[3], **timeline[4]}
    assert {ended[name] for name in ended if name != "corrupt_q32"} == {0}
    link = bed_spec(spec, 2**30)["links"][2]
    forward, reverse = link["forward"]["netem"], link["reverse"]["netem"]
    assert forward is not None
    begin = {setting["name"]: setting["value"] for setting in forward["settings"]}
    assert begin["corrupt_q32"] == 0  # so that hosts send what a checksum can find
    assert reverse is None


def test_keep_order_follows_the_current_jitter(tmp_path: Path) -> None:
    spec = run(
        tmp_path,
        "{at: 4s, link: up, direction: forward, jitter: {spread: 1ms, keep_order: true}}",
        "{at: 5s, link: up, direction: forward, jitter: 1ms}",
        "{at: 6s, link: up, direction: forward, delay: 30ms}",
        "{at: 7s, link: up, direction: forward, jitter: 0s}",
    )
    told = [settings(step).get("rate_bytes_per_s") for step in steps(spec)]
    assert told == [None, 0, None, 2**62]  # at first as a delay that changes wants it


def test_a_correlated_jitters_clock_begins_with_its_event(tmp_path: Path) -> None:
    jitter = "{spread: 1ms, correlation: 100ms}"
    spec = run(
        tmp_path,
        f"{{at: 4s, link: r1-r2, direction: forward, jitter: {jitter}}}",
        "{at: 6s, link: r1-r2, direction: forward, jitter: 0s}",
        f"{{at: 8s, link: r1-r2, direction: forward, jitter: {jitter}}}",
    )
    ticks = [(step["time_ns"] / 1e9, settings(step)["jitter_ns"]) for step in steps(spec)
             if "event" not in step]  # fmt: skip
    first = [jitter_ns for time_s, jitter_ns in ticks if 4 <= time_s < 6]
    later = [jitter_ns for time_s, jitter_ns in ticks if time_s >= 8]
    assert len(first) + len(later) == len(ticks)
    assert min(len(first), len(later)) > 5
    assert first[:5] != later[:5]


def test_a_reroute_changes_the_rules_of_the_switches_on_the_path(tmp_path: Path) -> None:
    spec = run(
        tmp_path, "{at: 4s, reroute: {avoid: [r1-r2], groups: [g]}}", "{at: 5s, reroute: {}}"
    )
    away, back = spec.events
    assert away.routes == {
        ("a", "b"): ("a-r1:forward", "up:forward", "down:forward", "r2-b:forward"),
        ("b", "a"): ("r2-b:reverse", "down:reverse", "up:reverse", "a-r1:reverse"),
    }
    assert back.routes["a", "b"] == ("a-r1:forward", "r1-r2:forward", "r2-b:forward")
    first, second = steps(spec)
    assert [list(rule.values()) for rule in first["rules"]] == [
        ["r1", "a", "b", "up"], ["r3", "a", "b", "down"], ["r2", "a", "b", "r2-b"],
        ["r2", "b", "a", "down"], ["r3", "b", "a", "up"], ["r1", "b", "a", "a-r1"],
    ]  # fmt: skip
    assert sorted(second["rules"], key=str) == sorted(
        ({**rule, "link": None} for rule in first["rules"]), key=str
    )


def test_routes_follow_current_delays_via_and_one_direction(tmp_path: Path) -> None:
    spec = run(
        tmp_path,
        "{at: 4s, link: r1-r2, delay: 100ms, reroute: true}",
        "{at: 5s, reroute: {via: [r2], avoid: [up], direction: reverse, groups: [h]}}",
    )
    assert len(spec.events[0].routes) == 4
    assert all("up" in " ".join(route) for route in spec.events[0].routes.values())
    assert spec.events[1].routes == {("d", "c"): ("r2-d:reverse", "r1-r2:reverse", "c-r1:reverse")}


def test_memory_and_buffers_grow_with_the_rates_and_delays_of_events(tmp_path: Path) -> None:
    plain = run(tmp_path, "{at: 4s, link: r1-r2, state: up}")
    grown = run(tmp_path, "{at: 4s, link: r1-r2, rate: 1gbit, delay: 500ms}")
    network = at_most(grown.network, grown.events)
    assert network.links[2].forward.rate_bps == 10**9
    assert guest_memory_bytes(network, 1) > guest_memory_bytes(plain.network, 1) + 100 * 2**20
    buffers = [int(str(bed_spec(each, 2**30)["sysctls"]["net.ipv4.tcp_rmem"]).split()[2])
               for each in (plain, grown)]  # fmt: skip
    assert buffers[0] < buffers[1]


def test_provenance_has_requested_and_applied_times(tmp_path: Path) -> None:
    spec = run(tmp_path, "{at: 4s, reroute: {avoid: [up]}}", "{at: 5s, link: up, state: down}")
    timeline: Timeline = {
        "fact": "timeline", "steps": 1, "due": 1, "late_ns": {}, "events": [(1, 5_000_000_042)],
        "granted_frames": 0, "impairments": {}, "netem_changes": {},
    }  # fmt: skip
    assert event_provenance(spec, timeline) == [
        {"time_s": 4.0, "applied_s": 4.0, "reroute": {"avoid": ["up"]}},
        {"time_s": 5.0, "applied_s": 5.000000042, "link": "up", "state": "down"},
    ]


def test_rates_are_shared_max_min_fairly() -> None:
    # Bertsekas and Gallager, Data Networks, figure 6.20: one long flow and short ones
    left = {"x": 3.0, "y": 1.0, "z": 2.0}
    paths = {0: ("x", "y", "z"), 1: ("y",), 2: ("x",), 3: ("z", "unlimited"), 4: ("unlimited",)}
    assert max_min(left, paths) == {0: 0.5, 1: 0.5, 2: 2.5, 3: 1.5}
    assert max_min({"x": 0.0}, {0: ("x",)}) == {0: 0.0}
    assert max_min({}, {0: ("x",)}) == {}


def ideal(*overrides: str) -> list[tuple[float, str, str, int]]:
    told = (
        "flows=[{name: one, group: a, congestion: idealtcp}, {name: two, group: b, start: 5s,"
        " stop: 8s}, {name: udp, group: b, traffic: {kind: cbr, rate: 4mbit}, start: 2s, stop: 4s}]"
    )
    (spec,) = plan(load(QUICKSTART, [told, "start_jitter=0s", "duration=20s", *overrides])).runs
    return [
        (step["time_ns"] / 1e9, step["host"], step["name"].removeprefix("net.ipv4.idealtcp_"),
         step["value"])
        for step in steps(spec) if step["do"] == "sysctl"
    ]  # fmt: skip


def payload(rate_bps: float, payload_bytes: int = 1448, frame_bytes: int = 1514) -> int:
    return int(rate_bps * (payload_bytes / frame_bytes))


def test_ideal_tcp_gets_its_share_of_the_bandwidth_left_by_udp() -> None:
    assert ideal() == [
        (0.0, "a_src0", "rate_bps", payload(10e6)), (0.0, "a_src0", "rtt_us", 100_000),
        (2.0, "a_src0", "rate_bps", payload(6e6)), (4.0, "a_src0", "rate_bps", payload(10e6)),
        (5.0, "a_src0", "rate_bps", payload(5e6)), (8.0, "a_src0", "rate_bps", payload(10e6)),
    ]  # fmt: skip


def test_ideal_tcps_settings_follow_events() -> None:
    found = ideal(
        "events=[{at: 3s, link: bottleneck, rate: 5mbit, delay: 20ms},"
        " {at: 10s, link: bottleneck, state: down}]"
    )
    assert (3.0, "a_src0", "rate_bps", payload(1e6)) in found
    assert (3.0, "a_src0", "rtt_us", 120_000) in found
    assert (10.0, "a_src0", "rate_bps", 1) in found


def test_ideal_tcp_keeps_settings_that_the_scenario_gives() -> None:
    given = "flows.one.congestion={name: idealtcp, parameters: {rate_bps: 5mbit}}"
    found = ideal(given.replace("rate_bps", "idealtcp_rate_bps"))
    assert {name for _time, _host, name, _value in found} == {"rtt_us"}


def test_ideal_tcp_follows_random_periods_as_the_bed_draws_them() -> None:
    period = "{distribution: exponential, mean: 200ms}"
    on_off = f"flows.udp.traffic={{kind: onoff-udp, rate: 4mbit, on: {period}, off: {period}}}"
    found = ideal(on_off, "flows.two.start=15s", "flows.two.stop=16s")
    assert found == ideal(on_off, "flows.two.start=15s", "flows.two.stop=16s")
    rates = [value for time_s, _h, name, value in found if name == "rate_bps" and 2 < time_s < 4]
    assert len(rates) > 3
    assert set(rates) == {payload(10e6), payload(6e6)}


def test_ideal_tcp_leaves_poisson_traffic_its_mean_rate_until_its_last_packet() -> None:
    traffic = "flows.udp.traffic={{kind: poisson, rate: 4mbit, bytes: {}}}"
    alone = ("flows.two.start=15s", "flows.two.stop=16s")

    def changes(size: str) -> list[tuple[float, int]]:
        found = ideal(traffic.format(size), *alone)
        return [(time_s, value) for time_s, _h, name, value in found if name == "rate_bps"][:3]

    busy, idle = payload(6e6), payload(10e6)
    assert changes("1GB") == [(0.0, idle), (2.0, busy), (4.0, idle)]
    # 100 gaps of 3.028 ms on average.
    begin, busy_from, idle_from = changes("147200B")
    assert (begin, busy_from, idle_from[1]) == ((0.0, idle), (2.0, busy), idle)
    assert 2.2 < idle_from[0] < 2.45
    assert idle_from[0] != 2.3028


@pytest.mark.parametrize(
    ("options", "payload_bytes", "frame_bytes"),
    [
        ("{mss: 1012}", 1000, 1066),
        ("{mss: 1012, timestamps: false}", 1012, 1066),
        ("{timestamps: false}", 1460, 1514),
    ],
)
def test_ideal_tcps_bandwidth_counts_the_payload_of_its_segments(
    options: str, payload_bytes: int, frame_bytes: int
) -> None:
    found = ideal(f"flows.one.tcp={options}")
    assert found[0] == (0.0, "a_src0", "rate_bps", payload(10e6, payload_bytes, frame_bytes))
    assert found[2][3] == payload(6e6, payload_bytes, frame_bytes)


def test_ideal_tcp_shares_with_an_on_off_flow_only_while_that_is_on() -> None:
    on_off = "flows.two.traffic={kind: onoff, intervals: [[0s, 1s], [1500ms, 9s]]}"
    rates = [found for found in ideal(on_off) if found[2] == "rate_bps" and found[0] >= 5]
    assert [(time_s, value) for time_s, _host, _name, value in rates] == [
        (5.0, payload(5e6)), (6.0, payload(10e6)), (6.5, payload(5e6)), (8.0, payload(10e6)),
    ]  # fmt: skip


def test_ideal_tcps_settings_use_the_periods_that_the_bed_draws() -> None:
    period = "{distribution: exponential, mean: 200ms}"
    on_off = f"flows.two.traffic={{kind: onoff, on: {period}, off: {period}}}"
    times = [found[0] for found in ideal(on_off) if found[2] == "rate_bps" and 5 <= found[0] < 8]
    told = "flows=[{name: one, group: a}, {name: two, group: b}]"
    (spec,) = plan(load(QUICKSTART, [told, on_off])).runs
    flow = bed_spec(spec, 2**30)["flows"][1]
    drawn = periods(random.Random(flow["seed"]), flow["parameters"])
    edges = [5 + time_ns / 1e9 for span in itertools.islice(drawn, 30) for time_ns in span]
    assert times == pytest.approx([edge for edge in edges if edge < 8], abs=1e-9)
    assert len(times) > 5

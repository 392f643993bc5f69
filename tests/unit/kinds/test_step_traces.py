"""Traces of delays and losses: what a file says, where a run begins in it, and what it changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.compile.schedule import planned_steps
from orchestrator.errors import ScenarioError
from orchestrator.execution.samples_plan import samples_plan
from orchestrator.network import Channel, Steps
from orchestrator.planning.network import network_json
from orchestrator.planning.network_at_end import network_at_end
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec, at_most
from orchestrator.scenario import load

DELAYS = "time_ms,delay_ms\n0,10\n100,30\n300,20\n"
LOSSES = "time_s,loss_percent\n0,0\n1,50\n1.5,0\n2,10\n"
LINK = "delay: {trace: delay.csv}"

MS = 1_000_000


def write(folder: Path, link: str, more: str = "", topology: str = "dumbbell") -> Path:
    (folder / "delay.csv").write_text(DELAYS)
    (folder / "loss.csv").write_text(LOSSES)
    file = folder / "x.yaml"
    file.write_text(f"""\
version: 1
name: traced
duration: 1s
topology:
  kind: {topology}
  bottleneck: {{rate: 10mbit, queue: {{limit: 50p}}, {link}}}
  access: {{delay: 1ms}}
  groups: [{{name: g}}]
flows: [{{name: one, group: g}}]
{more}""")
    return file


def planned(folder: Path, link: str = LINK, more: str = "", *sets: str) -> RunSpec:
    return plan(load(write(folder, link, more), sets)).runs[0]


def faults(folder: Path, link: str = LINK, more: str = "") -> list[str]:
    with pytest.raises(ScenarioError) as refused:
        planned(folder, link, more)
    return [f"{fault.line}:{fault.column}: {fault.message}" for fault in refused.value.faults]


def bottleneck(run: RunSpec) -> Channel:
    return run.network.links[0].forward


def steps(run: RunSpec, direction: str = "forward") -> list[tuple[int, str, Any]]:
    """Return (ms, kind of step, value) of the steps of one direction of the bottleneck."""
    return [
        (step["time_ns"] // MS, step["do"], step["settings"][0]["value"])
        for step in planned_steps(run)
        if step["do"] in ("link", "netem") and step["channel"] == f"bottleneck:{direction}"
    ]


def test_a_delay_follows_its_trace_and_repeats(tmp_path: Path) -> None:
    run = planned(tmp_path)
    assert bottleneck(run).delay_s == 0.01
    assert run.flows[0].propagation_rtt_s == pytest.approx(0.024)
    # The last value lasts as long as the one before it: 200 ms, so the trace repeats after 500 ms.
    expected = [(100, "link", 30 * MS), (300, "link", 20 * MS), (500, "link", 10 * MS),
                (600, "link", 30 * MS), (800, "link", 20 * MS)]  # fmt: skip
    assert steps(run) == steps(run, "reverse") == expected


def test_offset_scale_and_repeat(tmp_path: Path) -> None:
    once = planned(tmp_path, "delay: {trace: delay.csv, repeat: false, offset: 250ms, scale: 2}")
    assert bottleneck(once).delay_s == 0.06
    assert steps(once) == [(50, "link", 40 * MS)]
    late = planned(tmp_path, "delay: {trace: delay.csv, offset: 1600ms}")  # 100 ms into the trace
    assert bottleneck(late).delay_s == 0.03
    assert steps(late)[0] == (200, "link", 20 * MS)
    beyond = planned(tmp_path, "delay: {trace: delay.csv, repeat: false, offset: 9s}")
    assert (bottleneck(beyond).delay_s, steps(beyond)) == (0.02, [])


def test_a_random_offset_is_of_the_seed_the_link_and_the_direction(tmp_path: Path) -> None:
    link = "delay: {trace: delay.csv, offset: random}"

    def offsets(*sets: str) -> list[int]:
        found = planned(tmp_path, link, "", *sets).network.links[0]
        traces = (found.forward.delay_trace, found.reverse.delay_trace)
        return [trace.offset_ns for trace in traces if trace is not None]

    first = offsets()
    assert first == offsets()
    assert first[0] != first[1]
    assert all(offset % MS == 0 and 0 <= offset < 500 * MS for offset in first)
    assert offsets("seed=2") != first
    both = plan(load(write(tmp_path, link, "repetitions: 2\n"))).runs
    assert bottleneck(both[0]).delay_trace != bottleneck(both[1]).delay_trace


def test_a_loss_follows_its_trace(tmp_path: Path) -> None:
    link = "delay: 5ms, loss: {forward: {trace: loss.csv, offset: 900ms}, reverse: 0%}"
    run = planned(tmp_path, link)
    model = bottleneck(run).loss
    assert model is not None
    assert (model.kind, model.state_losses) == ("steps", (0, 0.5, 0.1))
    assert model.mean == pytest.approx((0.5 * 0.5 + 0.5 * 0.1) / 2.5)
    assert [time for time, _do, _value in steps(run)] == [100, 600]
    stored = network_json.encode(run.network)
    assert network_json.encode(network_json.decode(stored)) == stored
    assert run.resolved["topology"]["bottleneck"]["loss"]["forward"]["trace"] == "loss.csv"
    assert set(run.files) == {"loss.csv"}


def test_both_traces_change_the_netem_of_one_channel(tmp_path: Path) -> None:
    link = f"{LINK}, loss: {{trace: loss.csv, offset: 800ms}}"
    found = {(time, do) for time, do, _value in steps(planned(tmp_path, link))}
    assert found == {(t, "netem") for t in (100, 200, 300, 500, 600, 700, 800)}


def test_the_rest_of_the_program_knows_a_delay_by_a_trace(tmp_path: Path) -> None:
    run = planned(tmp_path)
    (flow,) = samples_plan(run)["flows"]
    least_ns = 2 * (10 + 2) * MS
    assert flow["least_rtt_ns"] == pytest.approx(least_ns, abs=100_000)
    assert at_most(run.network, run.events).links[0].forward.delay_s == 0.03
    assert network_at_end(run).links[0].forward.delay_s == 0.02
    again = network_json.decode(network_json.encode(run.network))
    assert again == run.network
    (same,) = plan(load(_resolved(tmp_path, run))).runs
    assert same.network == run.network


def _resolved(folder: Path, run: RunSpec) -> Path:
    file = folder / "again.yaml"
    file.write_text(json.dumps(run.resolved))
    return file


HEAD = "time_ms,delay_ms\n"
NOT_NUMBERS = "must be two numbers, zero or more"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "delay.csv:1: the first line must name the columns: one of time_s, time_ms"),
        ("time_ms,loss\n0,0\n", "delay.csv:1: the first line must name the columns"),
        ("0,10\n1,20\n", "delay.csv:1: the first line must name the columns"),
        (HEAD, "`delay.csv` has 0 steps; 1 to 100000 are allowed"),
        (HEAD + "0,1\n" * 100_001, "has 100001 steps"),
        (HEAD + "5,1\n", "delay.csv:2: the first time must be 0"),
        (HEAD + "0,1\n0.9,2\n", "delay.csv:3: must be 1 ms or more after the line"),
        (HEAD + "0,1\n9,-2\n", f"delay.csv:3: {NOT_NUMBERS}, not `9,-2`"),
        (HEAD + "0,1,2\n", f"delay.csv:2: {NOT_NUMBERS}, not `0,1,2`"),
        (HEAD + "0,secret\n", f"delay.csv:2: {NOT_NUMBERS}"),
        ("time_ms,delay_s\n0,601\n", "delay.csv:2: a delay may be 600s at most"),
        ("time_s,delay_s\n0,1\n1e9,1\n", "delay.csv:3: a time may be 30 days at most"),
    ],
)
def test_what_is_no_trace_is_a_fault_with_its_line(
    tmp_path: Path, content: str, words: str
) -> None:
    file = write(tmp_path, LINK)
    (tmp_path / "delay.csv").write_text(content)
    with pytest.raises(ScenarioError) as refused:
        load(file)
    messages = [fault.message for fault in refused.value.faults]
    assert words in messages[0]
    assert "secret" not in messages[0]


BURSTS = "loss: {kind: gilbert-elliott, to_bad: 1%, to_good: 10%}"
STEPS = "delay: 1ms, loss: {{kind: steps, steps: {}}}"


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ("delay: {trace: none.csv}", "none.csv"),
        ("delay: {trace: delay.csv, offset: -1s}", "a time must not be negative"),
        ("delay: {trace: delay.csv, scale: 0}", "must be above 0.0"),
        ("delay: {trace: delay.csv, scales: 1}", "unknown key `scales`"),
        ("delay: 1ms, loss: {trace: loss.csv, scale: 3}", "the largest loss 1.5: above 1"),
        (f"{LINK}, jitter: 11ms", "reaches 11ms below the delay of 10ms"),
        (f"{LINK}, {BURSTS}", "a trace is not supported with gilbert-elliott loss"),
        (STEPS.format("[[1s, 1%]]"), "the first time of `steps` must be 0s"),
        (STEPS.format("[[0s, 1%], [0s, 2%]]"), "must be after the one before"),
        (STEPS.format("[[0s, 1%], [2s, 2%]], period: 2s"), "`period` must be longer"),
    ],
)
def test_what_does_not_fit_is_a_fault(tmp_path: Path, link: str, words: str) -> None:
    found = faults(tmp_path, link)
    assert words in found[0], found


@pytest.mark.parametrize(
    ("link", "change", "words"),
    [
        (LINK, "delay: 5ms", "10:47: the delay of bottleneck:forward follows its trace"),
        ("delay: 1ms", "loss: {trace: loss.csv}", "an event cannot begin a trace of losses"),
        (LINK, BURSTS, "at which netem resets gilbert-elliott loss"),
    ],
)
def test_events_leave_traces_alone(tmp_path: Path, link: str, change: str, words: str) -> None:
    (found, *_) = faults(tmp_path, link, f"events: [{{at: 500ms, link: bottleneck, {change}}}]")
    assert words in found


def test_an_rtt_needs_a_constant_delay(tmp_path: Path) -> None:
    file = write(tmp_path, LINK)
    text = (
        file.read_text()
        .replace("  access: {delay: 1ms}\n", "")
        .replace("{name: g}", "{name: g, rtt: 90ms}")
    )
    file.write_text(text)
    with pytest.raises(ScenarioError, match="over a delay that follows a trace"):
        load(file)


def test_steps_change_only_where_the_value_does() -> None:
    found = Steps("", "", ((0, 1.0), (5, 1.0), (7, 2.0)), period_ns=9, offset_ns=6)
    assert found.first == 1.0
    assert list(found.changes(22)) == [
        (1, 2.0),
        (3, 1.0),
        (10, 2.0),
        (12, 1.0),
        (19, 2.0),
        (21, 1.0),
    ]
    assert (found.last(1), found.last(2), found.last(3)) == (1.0, 2.0, 2.0)
    assert found.per_s == pytest.approx(3e9 / 9)

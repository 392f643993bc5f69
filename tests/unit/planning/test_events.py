"""Events in a scenario: valid forms, and every fault at its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import Fault, ScenarioError
from orchestrator.kinds.files.capacity import read_trace
from orchestrator.network import Trace
from orchestrator.planning.plan import plan, validate
from orchestrator.scenario import load
from tests.support.events import HEAD, run, written

FIRST_LINE = HEAD.count("\n") + 1


FAULTS = {
    "{at: 4s, link: ^r1-r3, rate: 5mbit}": (
        "there is no link `r1-r3` (did you mean `r1-r2`?); defined: r1-r2, up, down, a-r1, "
    ),
    "{at: 4s, link: a-r1, rate: ^5mbit}": (
        "a-r1:forward has no rate: give the link a rate, or change the other direction"
    ),
    "{at: 4s, link: down, queue: ^{limit: 5p}}": ("down:forward has no queue in the scenario"),
    "{at: 4s, link: r1-r2, queue: {limit: ^50kB}}": (
        "the queue of r1-r2:forward counts packets (pfifo): an event cannot change that"
    ),
    "{at: 4s, link: r1-r2, queue: {kind: ^codel}}": (
        "the queue of r1-r2:forward is droptail: an event changes its parameters, not its kind"
    ),
    "{at: 4s, link: r1-r2, queue: {limt: ^5p}}": (
        "unknown key `limt` (did you mean `limit`?); valid keys: kind, limit"
    ),
    "{at: 4s, link: r1-r2, queue: {limit: ^5}}": ("`5`: a queue limit needs a unit"),
    "{at: 4s, link: up, queue: ^{min: 50p}}": ("max of 45420 bytes is below min of 75700 bytes"),
    "{at: 4s, link: r2-b, delay: ^100us}": (
        "the jitter of r2-b:forward reaches 1ms below the delay"
    ),
    "{at: 4s, link: r1-r2, jitter: ^11ms}": (
        "the jitter of r1-r2:forward reaches 11ms below the delay"
    ),
    "{at: 4s, link: up, loss: {kind: gilbert-elliott, mean_loss: 1%, mean_burst: 3}, "
    "jitter: ^{spread: 1ms, correlation: 1s}}": (
        "correlated jitter and gilbert-elliott loss exclude each other on up:forward"
    ),
    "{at: 4s, link: r1-r2, delay: 0s, reordering: ^1%}": (
        "r1-r2:forward has no delay: reordering needs one"
    ),
    "{at: 4s, link: r1-r2, jitter: ^{spread: 1ms, correlation: 10us}}": (
        "has about 1600000 states until the end; at most 200000 are allowed"
    ),
    "{at: 4s, link: r1-r2, duplication: ^100%}": ("`100%`: a probability must be below 100%"),
    "{at: ^20s, link: r1-r2, rate: 5mbit}": ("must be before the end at 20s"),
    "^{link: r1-r2, rate: 5mbit}": ("`at` is missing"),
    "^{at: 4s, link: r1-r2}": (
        "nothing changes: give one or more of rate, delay, loss, jitter, reordering, duplication, "
    ),
    "^{at: 4s, rate: 5mbit}": ("the key of the kind of event is missing; valid: link, reroute"),
    "{at: 4s, link: r1-r2, ^rat: 5mbit}": ("unknown key `rat` (did you mean `rate`?); valid"),
    "{at: 4s, link: r1-r2, rate: 5mbit, direction: ^up}": ("`up` is not valid; valid: both, "),
    "{at: 4s, link: ^[], rate: 5mbit}": ("must have at least 1 item"),
    "{at: 4s, link: r1-r2, rate: 1mbit, until: ^5s}": (
        "`until` ends a repetition, so it needs `every`"
    ),
    "{at: 4s, link: r1-r2, rate: 1mbit, every: 1s, until: ^3s}": (
        "must be after the first time, 4s"
    ),
    "{at: 4s, link: r1-r2, rate: 1mbit, every: 1s, until: ^30s}": (
        "must not be after the end at 20s"
    ),
    "{at: 0s, link: r1-r2, rate: 1mbit, every: ^1us}": (
        "this event takes effect 20000000 times; all events together may take effect 100000 "
    ),
    "{at: 4s, link: r1-r2, state: ^broken}": ("`broken` is not valid; valid: up, down, hold"),
    "{at: 4s, link: [r1-r2, up], state: down, reroute: ^true}": (
        "no path from a to b over links that are up and not avoided"
    ),
    "{at: 4s, reroute: {avoid: [^x]}}": ("there is no link `x`; defined: r1-r2, up, down"),
    "{at: 4s, reroute: ^{avoid: [r1-r2, up]}}": ("no path from a to b over links that are up"),
    "{at: 4s, reroute: {via: [^r9]}}": ("there is no router `r9`; defined: r1, r2, r3"),
    "{at: 4s, reroute: {via: ^[r3, r1]}}": ("the path from a to b would pass r1 twice"),
    "{at: 4s, reroute: {groups: [^i]}}": ("there is no group `i`; defined: g, h"),
    "{at: 4s, reroute: {flows: [^on]}}": ("there is no flow `on` (did you mean `one`?)"),
    "{at: 4s, reroute: {flows: ^[one]}}": (
        "flow `three` also runs between a and b, and a switch matches packets by their hosts"
    ),
    "{at: 4s, reroute: ^{groups: [g], flows: [one]}}": ("give `flows` or `groups`, not both"),
    "{at: 4s, reroute: ^all}": (
        "must be a mapping (keys: avoid, via, flows, groups, direction), not `all`"
    ),
    "^7": ("must be a mapping with the key of one kind of event (link, reroute), not `7`"),
}
"""Events with a mark where the fault is, and how its message begins."""


@pytest.mark.parametrize("event", FAULTS)
def test_a_fault_is_reported_at_its_place(tmp_path: Path, event: str) -> None:
    faults = validate(written(tmp_path, event.replace("^", "")))
    column = len("  - ") + event.index("^") + 1
    assert [(fault.line, fault.column) for fault in faults] == [(FIRST_LINE, column)], faults
    assert faults[0].message.startswith(FAULTS[event])


def test_several_faults_are_reported_at_once(tmp_path: Path) -> None:
    faults = validate(
        written(tmp_path, "{at: 1s, link: x, state: up}", "{at: 2s, link: y, state: up}")
    )
    assert [fault.line for fault in faults] == [FIRST_LINE, FIRST_LINE + 1]


def test_reroutes_need_time_in_between(tmp_path: Path) -> None:
    (fault,) = validate(
        written(tmp_path, "{at: 1s, reroute: {avoid: [r1-r2]}}", "{at: 1009ms, reroute: {}}")
    )
    assert fault.message == "changes of routes must be at the same time or at least 10ms apart"
    run(tmp_path, "{at: 1s, reroute: {avoid: [r1-r2]}}", "{at: 1010ms, reroute: {}}")


def test_a_trace_is_read_from_the_scenarios_folder_and_its_hash_is_kept(tmp_path: Path) -> None:
    (tmp_path / "cell.trace").write_text("1\n1\n3\n4\n", encoding="ascii")
    path = written(tmp_path, "{at: 1s, link: up, delay: 1ms}")
    text = path.read_text(encoding="utf-8").replace("rate: 10mbit", "capacity: {trace: cell.trace}")
    path.write_text(text, encoding="utf-8")
    (spec,) = plan(load(path)).runs
    channel = spec.network.links[2].forward
    assert channel.rate_bps == 4 * 1504 * 8 * 1000 // 4
    assert channel.trace is not None
    assert channel.trace.opportunities == ((1, 2), (3, 1), (4, 1))
    pinned = spec.resolved["topology"]["links"][2]["capacity"]
    assert pinned == {"trace": "cell.trace", "sha256": channel.trace.sha256}
    (tmp_path / "cell.trace").write_text("1\n2\n", encoding="ascii")
    path.write_text(text.replace("cell.trace", f"cell.trace, sha256: {channel.trace.sha256}"))
    (fault,) = validate(path)
    assert "has the SHA-256" in fault.message


def trace_fault(folder: Path, content: str) -> str:
    path = folder / "bad.trace"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match="bad") as caught:
        read_trace(path)
    return str(caught.value).replace(str(folder), "")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "`/bad.trace` lasts 0 ms: its last line, which is its length, must be above 0"),
        ("0\n0\n", "`/bad.trace` lasts 0 ms: its last line, which is its length, must be above 0"),
        ("1\nx\n", "/bad.trace:2: must be whole milliseconds, digits and nothing else"),
        ("1\n-2\n", "/bad.trace:2: must be whole milliseconds, not `-2`"),
        ("1\n\n3\n", "/bad.trace:2: must be whole milliseconds, digits and nothing else"),
        ("1.5\n", "/bad.trace:1: must be whole milliseconds, not `1.5`"),
        ("5\n3\n", "/bad.trace:2: 3 is before 5 of the line above"),
        ("9" * 20, "/bad.trace:1: must be 2592000000 ms at most"),
        ("7\n" * 9000, "/bad.trace:8001: more than 8000 in one millisecond"),
    ],
)
def test_a_bad_line_of_a_trace_is_reported_by_its_number(
    tmp_path: Path, content: str, message: str
) -> None:
    assert trace_fault(tmp_path, content) == message


def test_a_missing_trace_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be read: No such file"):
        read_trace(tmp_path / "none")


def test_a_trace_repeats_from_its_last_time() -> None:
    trace = Trace("", "", 4, ((0, 1), (1, 2), (4, 3)))
    assert list(trace.until(9)) == [(0, 1), (1, 2), (4, 4), (5, 2), (8, 4), (9, 2)]
    assert list(trace.until(8))[-1] == (8, 4)
    assert list(trace.until(0)) == [(0, 1)]


def faults_of(path: Path) -> list[Fault]:
    with pytest.raises(ScenarioError) as caught:
        plan(load(path))
    return caught.value.faults


def test_a_wireless_link_accepts_no_rate_but_any_impairment() -> None:
    wlan = Path(__file__).parents[3] / "scenarios" / "tutorial" / "15-wlan.yaml"
    event = "{at: 1s, link: wireless, jitter: 100us}"
    with pytest.raises(ScenarioError) as caught:
        plan(
            load(
                wlan,
                ["topology.wireless.delay=1ms", "events=[{at: 1s, link: wireless, rate: 1mbit}]"],
            )
        )
    assert (
        caught.value.faults[0].message
        == "the rate of wireless:forward follows the model of its topology"
    )
    (spec,) = plan(load(wlan, ["topology.wireless.delay=1ms", f"events=[{event}]"])).runs
    assert spec.events[0].channels["wireless:reverse"].channel.jitter is not None


def test_a_link_with_a_trace_accepts_no_rate(tmp_path: Path) -> None:
    (tmp_path / "cell.trace").write_text("1\n", encoding="ascii")
    path = written(tmp_path, "{at: 1s, link: r1-r2, rate: 1mbit}")
    text = path.read_text(encoding="utf-8").replace("rate: 10mbit", "capacity: {trace: cell.trace}")
    path.write_text(text, encoding="utf-8")
    (fault,) = faults_of(path)
    assert fault.message == "the rate of r1-r2:forward follows its trace"

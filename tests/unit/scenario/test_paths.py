"""Paths of the matrix and of --set that lead nowhere: what is meant by them."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from orchestrator.errors import Fault, ScenarioError
from orchestrator.scenario import load

QUICKSTART = Path(__file__).parents[3] / "scenarios" / "quickstart.yaml"

MEANT = {
    ("bottleneck.queue.limit", "50p"): "`topology.bottleneck.queue.limit`",
    ("topology.bottleneck.limit", "50p"): "`topology.bottleneck.queue.limit`",
    ("queue.limit", "50p"): "`topology.bottleneck.queue.limit`",
    ("Topology.Bottleneck.Rate", "5mbit"): "`topology.bottleneck.rate`",
    ("bottleneck.bandwidth", "5mbit"): "`topology.bottleneck.rate`",
    ("topology.bottleneck.latency", "5ms"): "`topology.bottleneck.delay`",
    ("buffer", "50p"): "`topology.bottleneck.queue.limit`",
    ("reno.congestion", "vegas"): "`flows.reno.congestion`",
    ("reno.cca", "vegas"): "`flows.reno.congestion`",
    ("flows.congestion", "vegas"): "`flows.westwood.congestion` or `flows.reno.congestion`",
    ("congestion", "vegas"): "`flows.westwood.congestion` or `flows.reno.congestion`",
    # keys that the file does not give
    ("bottleneck.loss", "1%"): "`topology.bottleneck.loss`",
    ("flows.count", "2"): "`flows.westwood.count` or `flows.reno.count`",
    ("westwood.stop", "30s"): "`flows.westwood.stop`",
}


def refused(tmp_path: Path, matrix: str) -> list[Fault]:
    file = tmp_path / "swept.yaml"
    file.write_text(QUICKSTART.read_text() + f"matrix: {matrix}\n")
    with pytest.raises(ScenarioError) as error:
        load(file)
    return error.value.faults


@pytest.mark.parametrize(("path", "value"), MEANT)
def test_a_wrong_path_of_the_matrix_gets_the_one_that_is_meant(
    tmp_path: Path, path: str, value: str
) -> None:
    (fault,) = refused(tmp_path, f"{{{path}: [{value}]}}")
    assert (fault.line, fault.column) == (18, 10)
    assert f" (did you mean {MEANT[path, value]}?)" in fault.message


@pytest.mark.parametrize(("path", "value"), MEANT)
def test_a_wrong_path_of_set_gets_the_one_that_is_meant(path: str, value: str) -> None:
    with pytest.raises(ScenarioError) as error:
        load(QUICKSTART, [f"{path}={value}"])
    (fault,) = error.value.faults
    assert fault.file == f"--set {path}={value}"
    assert f" (did you mean {MEANT[path, value]}?)" in fault.message
    for meant in re.findall("`([^`]+)`", MEANT[path, value]):
        load(QUICKSTART, [f"{meant}={value}"])


CUSTOM = """\
version: 1
name: custom
duration: 3s
topology:
  kind: custom
  hosts: [a, b]
  routers: [r1, r2]
  links:
    - {between: [a, r1], delay: 1ms}
    - {name: core, between: [r1, r2], delay: 10ms, rate: 10mbit, queue: {limit: 100p}}
    - {between: [r2, b], delay: 1ms}
  groups: [{name: g, sources: [a], sinks: [b]}]
flows: [{name: f, group: g}]
"""


@pytest.mark.parametrize(
    ("text", "change"),
    [
        (CUSTOM, ("  hosts:", "  bottleneck: {rate: 5mbit, delay: 1ms}\n  hosts:")),
        (CUSTOM, ("flows:", "bottleneck: {rate: 5mbit, delay: 1ms}\nflows:")),
        (
            CUSTOM,
            ("flows:", "events: [{at: 1s, link: core, loss: {forward: 1%, reverse: 0}}]\nflows:"),
        ),
        (CUSTOM, ("flows:", "loss: {forward: 1%, sideways: 0}\nflows:")),
        (CUSTOM, ("queue: {limit: 100p}", "queue: {limit: {forward: 9p, reverse: 9p}}")),
        (CUSTOM, ("delay: 10ms,", "dealy: 10,")),
    ],
)
def test_what_would_not_be_valid_is_not_suggested(
    tmp_path: Path, text: str, change: tuple[str, str]
) -> None:
    file = tmp_path / "wrong.yaml"
    assert change[0] in text
    file.write_text(text.replace(*change))
    with pytest.raises(ScenarioError) as error:
        load(file)
    assert "did you mean" not in str(error.value)


def test_a_misplaced_key_gets_the_places_where_its_value_is_valid(tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(CUSTOM + "stop: 2s\n")
    with pytest.raises(ScenarioError) as error:
        load(file)
    assert "unknown key `stop` (did you mean `flows.f.stop`?)" in str(error.value)
    file.write_text(CUSTOM + "stop: 9s\n")  # longer than the run
    with pytest.raises(ScenarioError) as error:
        load(file)
    assert "did you mean" not in str(error.value)


QUEUE = "kind: droptail, limit: 100p"
RENO = "congestion: reno, traffic: {kind: bulk}"
EVENT = "events: [{at: 1s, link: bottleneck, "


@pytest.mark.parametrize(
    ("old", "new", "wrong", "word"),
    [
        (QUEUE, "kind: taildrop, limit: 100p", "taildrop", "droptail"),
        (QUEUE, "kind: coddel, target: 5ms", "coddel", "codel"),
        (QUEUE, "kind: taildrop, target: 5ms", "taildrop", None),
        (QUEUE, "kind: droptail, buffer: 100p", "buffer", "limit"),
        (QUEUE, "kind: droptail, limits: 100", "limits", None),
        (RENO, "congestion: newreno, traffic: {kind: bulk}", "newreno", "reno"),
        (RENO, "congestion: {name: cubik}, traffic: {kind: bulk}", "cubik", "cubic"),
        (RENO, "congestion: {name: cubik, parameters: {beta: 3}}", "cubik", None),
        (RENO, "congestion: reno, traffic: {kind: bulks}", "bulks", "bulk"),
        (RENO, "congestion: reno, traffic: {kind: onoff-tcp, bytes: 1MB}", "onoff-tcp", None),
        ("kind: dumbbell", "kind: dumbell", "dumbell", "dumbbell"),
        ("kind: dumbbell", "kind: parkinglot", "parkinglot", None),
        ("sample:", f"{EVENT}bandwidth: 5mbit}}]\nsample:", "bandwidth", "rate"),
        ("sample:", f"{EVENT}raet: 5mbit}}]\nsample:", "raet", "rate"),
        ("sample:", f"{EVENT}latency: x}}]\nsample:", "latency", None),
        ("start: 100ms", "direction: reversed", "reversed", "reverse"),
        ("start: 100ms", "tcp: {profile: newren}", "newren", "newreno"),
    ],
)
def test_a_word_for_a_kind_a_control_or_a_key_is_suggested_only_where_it_is_valid(
    tmp_path: Path, old: str, new: str, wrong: str, word: str | None
) -> None:
    text = QUICKSTART.read_text()
    at = text.rindex(old)
    file = tmp_path / "wrong.yaml"
    file.write_text(text[:at] + new + text[at + len(old) :])
    with pytest.raises(ScenarioError, match=f"`{wrong}`") as error:
        load(file)
    found = set(re.findall(r"did you mean `([^`]+)`", str(error.value)))
    assert found == ({word} - {None})
    if word is not None:
        file.write_text(text[:at] + new.replace(wrong, word) + text[at + len(old) :])
        load(file)


def test_included_values_get_it_too(tmp_path: Path) -> None:
    (fault,) = refused(tmp_path, "{include: [{bottleneck.rate: 1mbit}]}")
    assert (fault.line, fault.column) == (18, 21)
    assert "did you mean `topology.bottleneck.rate`?" in fault.message


@pytest.mark.parametrize("path", ["nothing", "flows.nobody.count", "a..b", "..", "matrix.x"])
def test_nothing_is_suggested_where_nothing_is_close(path: str) -> None:
    with pytest.raises(ScenarioError) as error:
        load(QUICKSTART, [f"{path}=1"])
    assert "did you mean" not in str(error.value)


def test_a_closer_key_of_the_same_mapping_is_suggested_alone(tmp_path: Path) -> None:
    (fault,) = refused(tmp_path, "{topology.bottleneck.queue.limits: [1p]}")
    assert fault.message == "unknown key `limits` (did you mean `limit`?); valid keys: kind, limit"


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ("{seed: 3}", "`seed` must be a list, not `3`: write `[3]`"),
        (
            "{topology: {bottleneck: {queue: {limit: [1p, 2p]}}}}",
            "`topology` must be a list, not a mapping: write the path with dots, such as "
            "`topology.bottleneck.queue.limit`",
        ),
        ("{seed: }", "`seed` must be a list, not nothing"),
    ],
)
def test_an_axis_that_is_no_list_is_told_how_to_be_one(
    tmp_path: Path, matrix: str, message: str
) -> None:
    assert [fault.message for fault in refused(tmp_path, matrix)] == [message]


def test_a_large_scenario_is_searched_in_little_time(tmp_path: Path) -> None:
    groups = ", ".join(f"{{name: g{i}, access: {{delay: 1ms}}}}" for i in range(300))
    file = tmp_path / "large.yaml"
    file.write_text(
        "version: 1\nname: large\nduration: 1s\n"
        "topology: {kind: dumbbell, bottleneck: {rate: 1mbit, delay: 1ms}, "
        f"groups: [{groups}]}}\n"
        "flows: [{name: one, group: g0}]\nmatrix: {access.jiter: [1ms]}\n"
    )
    with pytest.raises(ScenarioError, match=r"unknown key `access`; valid keys"):
        load(file)


def test_many_unknown_keys_are_reported_in_little_time(tmp_path: Path) -> None:
    """The trials of keys in other mappings are bounded for all keys together."""
    keys = ", ".join(f"zq{i}x: 1" for i in range(500))
    groups = ", ".join(f"{{name: g{i}, rtt: 9ms}}" for i in range(200))
    file = tmp_path / "many.yaml"
    file.write_text(
        f"version: 1\nname: many\nduration: 1s\nsample: {{{keys}}}\n"
        "topology: {kind: dumbbell, bottleneck: {rate: 1mbit, delay: 1ms}, "
        f"groups: [{groups}]}}\nflows: [{{name: one, group: g0}}]\n"
    )
    begin = time.process_time()
    with pytest.raises(ScenarioError, match="and 480 more") as error:
        load(file)
    assert error.value.faults[0].message == "unknown key `zq0x`; valid keys: tcp, queue, counters"
    assert error.value.faults[-1].message == "unknown key `zq499x`"
    assert time.process_time() - begin < 20

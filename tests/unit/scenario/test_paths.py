"""Paths of the matrix and of --set that lead nowhere: what is meant by them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from orchestrator.errors import Fault, ScenarioError
from orchestrator.scenario import load

QUICKSTART = Path(__file__).parents[3] / "scenarios" / "quickstart.yaml"

MEANT = {
    "bottleneck.queue.limit": "`topology.bottleneck.queue.limit`",
    "topology.bottleneck.limit": "`topology.bottleneck.queue.limit`",
    "queue.limit": "`topology.bottleneck.queue.limit`",
    "Topology.Bottleneck.Rate": "`topology.bottleneck.rate`",
    "bottleneck.bandwidth": "`topology.bottleneck.rate`",
    "topology.bottleneck.latency": "`topology.bottleneck.delay`",
    "buffer": "`topology.bottleneck.queue.limit`",
    "reno.congestion": "`flows.reno.congestion`",
    "reno.cca": "`flows.reno.congestion`",
    "flows.congestion": "`flows.westwood.congestion` or `flows.reno.congestion`",
    "congestion": "`flows.westwood.congestion` or `flows.reno.congestion`",
    # keys that the file does not give
    "bottleneck.loss": "`topology.bottleneck.loss`",
    "flows.count": "`flows.westwood.count` or `flows.reno.count`",
    "a.rtt": "`topology.groups.a.rtt`",
}


def refused(tmp_path: Path, matrix: str) -> list[Fault]:
    file = tmp_path / "swept.yaml"
    file.write_text(QUICKSTART.read_text() + f"matrix: {matrix}\n")
    with pytest.raises(ScenarioError) as error:
        load(file)
    return error.value.faults


@pytest.mark.parametrize("path", MEANT)
def test_a_wrong_path_of_the_matrix_gets_the_one_that_is_meant(tmp_path: Path, path: str) -> None:
    (fault,) = refused(tmp_path, f"{{{path}: [1, 2]}}")
    assert (fault.line, fault.column) == (18, 10)
    assert f" (did you mean {MEANT[path]}?)" in fault.message


@pytest.mark.parametrize("path", MEANT)
def test_a_wrong_path_of_set_gets_the_one_that_is_meant(path: str) -> None:
    with pytest.raises(ScenarioError) as error:
        load(QUICKSTART, [f"{path}=1"])
    (fault,) = error.value.faults
    assert fault.file == f"--set {path}=1"
    assert f" (did you mean {MEANT[path]}?)" in fault.message


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
    with pytest.raises(ScenarioError, match="unknown key `zq499x`; valid keys: tcp, queue"):
        load(file)
    assert time.process_time() - begin < 20

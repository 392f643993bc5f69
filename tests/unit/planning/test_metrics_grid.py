"""The metrics' grid of a run: its smallest base RTT as traffic starts, whatever it samples."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.compile.testbed_spec import bed_spec
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.scenario import load

ROOT = Path(__file__).parents[3]
MS = 1_000_000
FLOWS = """\
version: 1
name: grid
description: The metrics' grid.
duration: 10s
warmup: 1s
topology:
  kind: dumbbell
  bottleneck: {rate: 10mbit, delay: BOTTLENECK, queue: {limit: 40p}}
  groups:
    - {name: near, access: {rate: 100mbit, delay: ACCESS}}
    - {name: far, access: {rate: 100mbit, delay: 10ms}}
flows:
"""
TCP = "  - {name: GROUP, group: GROUP, congestion: reno}\n"


def run(folder: Path, text: str, *overrides: str) -> RunSpec:
    file = folder / "grid.yaml"
    file.write_text(text)
    return plan(load(file, overrides)).runs[0]


def scenario(flows: str, bottleneck: str = "5ms", access: str = "3ms") -> str:
    return (FLOWS + flows).replace("BOTTLENECK", bottleneck).replace("ACCESS", access)


def tcp(group: str) -> str:
    return TCP.replace("GROUP", group)


@pytest.mark.parametrize(
    ("bottleneck", "access", "grid_ms"),
    [
        ("5ms", "3ms", 22),  # 22.096 ms
        ("100us", "100us", 1),  # 0.696 ms: the least grid
        ("80ms", "3ms", 100),  # 172 ms: the most
    ],
)
def test_the_grid_is_the_smallest_base_rtt(
    tmp_path: Path, bottleneck: str, access: str, grid_ms: int
) -> None:
    text = scenario(tcp("far") + tcp("near"), bottleneck, access)
    assert run(tmp_path, text).grid_ns == grid_ms * MS


def test_the_grid_is_that_of_the_start_whatever_is_sampled_and_changes(tmp_path: Path) -> None:
    events = "events:\n  - {at: 2s, link: bottleneck, delay: 1ms}\n"
    for sample in ("1ms", "1s"):
        planned = run(tmp_path, scenario(tcp("near")) + events, f"sample.tcp={sample}")
        assert planned.grid_ns == 22 * MS
        assert bed_spec(planned, 2**30)["sample"]["grid_ns"] == 22 * MS


def test_only_tcp_flows_with_one_connection_at_a_time_count(tmp_path: Path) -> None:
    cbr = "  - {name: cbr, group: near, traffic: {kind: cbr, rate: 1mbit}}\n"
    web = "  - {name: web, group: near, congestion: reno, traffic: {kind: web, load: 5%}}\n"
    assert run(tmp_path, scenario(cbr + web)).grid_ns is None
    assert run(tmp_path, scenario(cbr + web + tcp("far"))).grid_ns == 50 * MS


def test_a_live_path_has_a_grid_of_its_own() -> None:
    path = ROOT / "scenarios" / "lab"
    live = [file for file in sorted(path.glob("*.yaml")) if "live" in file.read_text()]
    grids = {plan(load(file)).runs[0].grid_ns for file in live}
    assert grids == {10 * MS}

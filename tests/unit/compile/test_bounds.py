"""Bounds of what a run may write and how long it may take."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.compile import bounds
from orchestrator.compile.testbed_spec import bed_spec
from orchestrator.planning.costs.estimate import wall_s
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.reports.records import COUNTER_ROW
from orchestrator.scenario import load
from tests.support.hostile_texts import CAPTURED

ROOT = Path(__file__).resolve().parents[3]
MIB = 2**20


def run_of(scenario: str, *overrides: str) -> RunSpec:
    return plan(load(ROOT / "scenarios" / scenario, overrides)).runs[0]


def test_captured_files_are_far_below_their_bounds() -> None:
    allowed = bounds.of(run_of("quickstart.yaml")).file_bytes
    for path in CAPTURED.iterdir():
        if path.name in allowed:
            assert 10 * path.stat().st_size < allowed[path.name]


@pytest.mark.parametrize(
    ("scenario", "duration", "file", "wrote_bytes"),
    [
        # As guests wrote them, when these bounds were made.
        ("tutorial/10-rtt-spread.yaml", "20s", "tcp.bin", 5_464_172),
        ("tutorial/10-rtt-spread.yaml", "20s", "queue.bin", 4_044_040),
        ("tutorial/41-udp-pareto.yaml", "30s", "datagrams.bin", 1_011_360),
        ("tutorial/62-web.yaml", "20s", "tcp.bin", 2_638_040),
        ("tutorial/62-web.yaml", "20s", "facts.jsonl", 61_042),
    ],
)
def test_real_runs_write_less_than_a_fifth(
    scenario: str, duration: str, file: str, wrote_bytes: int
) -> None:
    allowed = bounds.of(run_of(scenario, f"duration={duration}", "warmup=1s")).file_bytes
    assert 5 * wrote_bytes < allowed[file]


def test_bounds_follow_what_a_run_samples() -> None:
    seldom, often = run_of("quickstart.yaml"), run_of("quickstart.yaml", "sample.tcp=1ms")
    few, many = bounds.of(seldom), bounds.of(often)
    assert many.file_bytes["tcp.bin"] > few.file_bytes["tcp.bin"]
    assert many.file_bytes["queue.bin"] == few.file_bytes["queue.bin"]
    assert few.total_bytes == sum(few.file_bytes.values()) < 200 * MIB
    assert few.file_bytes["progress"] == MIB


def test_counters_of_hosts_have_a_period_only_where_the_scenario_has_one() -> None:
    plain, fine = run_of("quickstart.yaml"), run_of("quickstart.yaml", "sample.counters=10ms")
    assert "counters_ns" not in bed_spec(plain, 2**30)["sample"]
    assert bed_spec(fine, 2**30)["sample"]["counters_ns"] == 10_000_000
    assert (plain.counter_readings, fine.counter_readings) == (0, 4 * 6000)
    assert fine.estimated_disk_bytes > plain.estimated_disk_bytes
    assert wall_s(fine) > wall_s(plain)
    allowed = bounds.of(fine).file_bytes["counters.bin"]
    written = COUNTER_ROW.size * 145_573  # as a guest wrote
    assert 5 * written < allowed
    assert bounds.of(plain).file_bytes["counters.bin"] < 2 * MIB


def test_each_flow_of_programs_is_counted_at_both_of_its_hosts() -> None:
    fine = run_of("quickstart.yaml", "sample.counters=10ms")
    flows = tuple(replace(flow, engine="program") for flow in fine.flows)
    more = (
        bounds.of(replace(fine, flows=flows)).file_bytes["counters.bin"]
        - bounds.of(fine).file_bytes["counters.bin"]
    )
    assert more > 6000 * 2 * len(flows) * 4 * COUNTER_ROW.size


def test_the_time_limit_of_a_run_follows_its_estimate_or_the_option() -> None:
    run = run_of("quickstart.yaml")
    assert bounds.of(run).wall_s == pytest.approx(1800 + 20 * wall_s(run))
    assert bounds.of(run, real_time=True).wall_s == pytest.approx(1800 + 20 * run.duration_s)
    assert bounds.of(run, 90.0).wall_s == 90.0

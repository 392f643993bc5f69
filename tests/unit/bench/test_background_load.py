"""A measurement says how much CPU time others took meanwhile."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench.background_load import CpuTimes, between, cpu_times, told

TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def process(proc: Path, number: int, parent: int, ticks: tuple[int, int, int, int]) -> None:
    """Write the file of a process whose name has spaces and a parenthesis."""
    (proc / str(number)).mkdir()
    times = " ".join(map(str, ticks))
    (proc / str(number) / "stat").write_text(
        f"{number} (a ) b) S {parent} 0 0 0 0 0 0 0 0 0 {times} 0 0 1 0 {number * 10} 0 0\n"
    )


def test_others_are_all_but_the_measurement_and_what_started_it(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text("cpu  100 20 30 999 888 4 5 60 70 80\ncpu0 1 1 1 1 1 1 1 1\n")
    process(tmp_path, 1, 0, (1, 2, 400, 800))
    process(tmp_path, 20, 1, (5, 5, 5, 5))
    process(tmp_path, 30, 20, (7, 7, 7, 7))
    process(tmp_path, 40, 1, (10, 20, 40, 80))
    found = cpu_times(tmp_path, own=30)
    assert found.others_s == pytest.approx({(1, 10): 3 * TICK_S, (40, 400): 150 * TICK_S})
    assert found.stolen_s == pytest.approx(60 * TICK_S)


def test_this_process_is_not_among_the_others() -> None:
    found = cpu_times()
    numbers = {number for number, _start in found.others_s}
    assert os.getpid() not in numbers
    assert numbers


def test_a_process_counts_from_its_start_or_from_that_of_the_measurement() -> None:
    before = CpuTimes(100.0, {(4, 1): 50.0, (5, 1): 9.0}, stolen_s=1.0)
    after = CpuTimes(110.0, {(4, 1): 52.0, (6, 2): 3.0, (5, 7): 1.0}, stolen_s=2.0)
    assert between(before, after) == {"processes": 0.6, "hypervisor": 0.1}


@pytest.mark.parametrize(
    ("processes", "hypervisor", "end"),
    [
        (0.02, 0.01, "the machine was idle."),
        (0.6, 0.0, "the times may be too long."),
        (0.0, 0.3, "the times may be too long."),
    ],
)
def test_much_time_of_others_is_told(processes: float, hypervisor: float, end: str) -> None:
    text = told({"processes": processes, "hypervisor": hypervisor})
    assert f"used {processes:g} CPUs, and the hypervisor took {hypervisor:g}: {end}" in text

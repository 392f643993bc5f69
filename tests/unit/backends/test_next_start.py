"""When the next guest boots: as soon as the traffic takes no longer than the start took."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from orchestrator.backends.guest.next_start import NextStart

Report = tuple[float, str, float]
"""Wall time, phase and seconds of traffic."""


def begun(reports: Sequence[Report], duration_s: float = 20.0) -> list[float]:
    """Return the wall times at which the next run was let begin."""
    now_s, times = [0.0], []
    start = NextStart(duration_s, lambda: times.append(now_s[0]), lambda: now_s[0])
    for now_s[0], phase, simulated_s in reports:
        start.update(phase, simulated_s)
    return times


def traffic(start_s: float, speed: float, duration_s: float = 20.0) -> list[Report]:
    """Return reports every 100 ms of a guest that simulates ``speed`` seconds in a second."""
    reports: list[Report] = [(start_s / 2, "setup", 0.0)]
    now_s = simulated_s = 0.0
    while simulated_s < duration_s:
        simulated_s = min(speed * now_s, duration_s)
        reports.append((start_s + now_s, "traffic", simulated_s))
        now_s += 0.1
    return reports


@pytest.mark.parametrize(("speed", "expected_s"), [(20.0, 1.0), (5.0, 4.0)])
def test_it_is_a_start_before_the_end(speed: float, expected_s: float) -> None:
    assert begun(traffic(0.5, speed)) == [pytest.approx(expected_s, abs=0.11)]


def test_it_is_once() -> None:
    reports = [*traffic(0.5, speed=20.0), (9.0, "traffic", 20.0), (9.1, "done", 20.0)]
    assert len(begun(reports)) == 1


def test_no_speed_is_known_at_the_first_report_of_traffic() -> None:
    assert begun([(0.4, "setup", 0.0), (0.5, "traffic", 0.0)]) == []
    assert begun([(0.4, "setup", 0.0), (0.5, "traffic", 19.9)]) == []


def test_it_is_not_before_there_is_traffic() -> None:
    assert begun([(0.1, "boot", 0.0), (0.3, "setup", 0.0), (0.5, "probes", 0.0)]) == []


def test_a_guest_without_progress_is_not_about_to_end() -> None:
    stuck = [(0.5 + 0.1 * step, "traffic", 1.0) for step in range(100)]
    assert begun([(0.4, "traffic", 0.0), *stuck][2:]) == []

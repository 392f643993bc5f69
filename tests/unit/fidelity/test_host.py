"""What is judged otherwise on a real machine, and the machine itself."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.fidelity import (
    check_base_rtt,
    check_burst,
    check_events,
    check_host,
    check_rate,
    judge,
)
from orchestrator.recording.model import Check
from tests.support.checks import FRAME_NS, burst, evidence, only, quiet, sample, small, ticks, trip

MS = 1_000_000


def host(
    p99_ms: float = 0.1, max_ms: float = 1.0, node: str = "one", **shares: float
) -> dict[str, Any]:
    """The fact of a quiet machine, unless told otherwise; shares of its CPU, the rest is idle."""
    second = {"own": 0.1, "others": 0.01, "softirq": 0.05, "steal": 0.0, "pressure": None, **shares}
    return {
        "fact": "host", "node": node, "cpu": 1, "cpus": 2, "wakeups": 2000,
        "late_ns": {"median": 60_000, "p99": p99_ms * MS, "max": max_ms * MS},
        "seconds": [{"late_ns": late_ms * MS, **second} for late_ms in (0.2, max_ms)],
    }  # fmt: skip


QUIET, SLOW = host(), host(p99_ms=4, max_ms=20)


def found(fact: dict[str, Any]) -> dict[str, Check]:
    return {check.name: check for check in check_host.check(evidence([fact]))}


def test_a_quiet_machine_is_good_and_a_guest_is_not_judged() -> None:
    assert [check.ok for check in found(QUIET).values()] == [True, True, True]
    assert list(check_host.check(evidence([]))) == []


@pytest.mark.parametrize(
    ("fact", "name", "ok", "said"),
    [
        (host(p99_ms=1.01), "scheduling_delay", None, "wakes the run up too late"),
        (host(p99_ms=49), "scheduling_delay", None, "wakes the run up too late"),
        (host(p99_ms=51), "scheduling_delay", False, "the latest, 1 ms, in second 1"),
        (host(others=0.5), "host_load", None, "busy with other things than the run"),
        (host(steal=0.3), "host_load", None, "0.3 of it taken by the machine below"),
        (host(own=0.8, softirq=0.15), "run_load", None, "too slow for this scenario"),
    ],
)
def test_a_slow_or_busy_machine_says_why(
    fact: dict[str, Any], name: str, ok: bool | None, said: str
) -> None:
    checks = found(fact)
    assert checks[name].ok is ok
    assert said in checks[name].detail
    assert [check.ok for other, check in checks.items() if other != name] == [True, True]


def test_of_several_machines_each_is_named() -> None:
    checks = check_host.check(evidence([QUIET, host(node="two")]))
    names = [check.name for check in checks]
    assert names[::3] == ["scheduling_delay one", "scheduling_delay two"]


@pytest.mark.parametrize(
    ("fact", "measured_ms", "ok"),
    [
        (QUIET, 101.5, True),  # six delays of 0.25 ms
        (QUIET, 101.6, False),
        (SLOW, 101.6, None),
        (SLOW, 100 + 1.52 + 6 * 20 + 1, False),
    ],
)
def test_a_base_rtt_is_excused_by_a_slow_machine_only(
    fact: dict[str, Any], measured_ms: float, ok: bool | None
) -> None:
    check = only(check_base_rtt.check(evidence([fact, trip(int(measured_ms * MS))])))
    assert check.ok is ok
    assert ("scheduling_delay" in check.detail) == (ok is None)


@pytest.mark.parametrize(
    ("fact", "longer", "rate_ok"),
    [(QUIET, 0.009, True), (QUIET, 0.02, False), (SLOW, 0.02, None), (SLOW, -0.9, None)],
)
def test_a_rate_before_traffic(fact: dict[str, Any], longer: float, rate_ok: bool | None) -> None:
    slower = burst(gap_ns=round(FRAME_NS * (1 + longer)))
    rate, _delay = check_burst.check(evidence([fact, slower]))
    assert rate.ok is rate_ok


def test_the_serialisation_of_small_frames_is_not_judged_in_real_time() -> None:
    probe = small(10_040_000, 10_040_000)
    assert list(check_burst.check(evidence([QUIET, probe]))) == []
    assert only(check_burst.check(evidence([probe]))).ok is False


def test_of_several_bursts_one_may_be_held_up() -> None:
    rounds = [burst()["passed"] for _round in range(3)]
    for number, passed in enumerate(rounds):
        for frame in passed:
            frame[0] = number
    rounds[1][-1][3] += 50 * MS
    probe = {**burst(came=300), "passed": [*rounds[0], *rounds[1], *rounds[2]], "came": 400}
    _rate, delay = check_burst.check(evidence([QUIET, probe]))
    assert delay.ok is True
    _rate, delay = check_burst.check(evidence([probe]))  # in virtual time nothing halts
    assert delay.ok is False


@pytest.mark.parametrize(
    ("fact", "share", "ok"),
    [(QUIET, 0.995, True), (QUIET, 0.93, False), (SLOW, 0.93, None), (SLOW, 0.85, False)],
)
def test_a_rate_under_backlog(fact: dict[str, Any], share: float, ok: bool | None) -> None:
    rows = ticks(10e6 * share, backlog=135_000)
    check = only(check_rate.check(evidence([fact], rows)))
    assert check.ok is ok


@pytest.mark.parametrize(("fact", "ok"), [(QUIET, False), (SLOW, None)])
def test_a_late_event(fact: dict[str, Any], ok: bool | None) -> None:
    late = {"fact": "timeline", "due": 1, "steps": 1, "late_ns": {"rate": 5 * MS}}
    _applied, lateness = check_events.check(evidence([fact, late]))
    assert lateness.ok is ok


def test_a_doubt_makes_the_run_doubtful() -> None:
    told = [
        *quiet(),
        {"fact": "channels", "at": "end", "channels": {}, "differences": []},
        {"fact": "namespaces", "at": "end", "values": {}},
    ]
    samples = [sample(0, number) for number in range(3)]
    assert judge(evidence([*told, QUIET], samples))[0] == "faithful"
    assert judge(evidence([*told, host(others=0.3)], samples))[0] == "doubtful"

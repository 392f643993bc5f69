"""The rate of a queue in windows of time, on readings made up for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.execution.samples_plan import samples_plan
from orchestrator.fidelity import check_rate, check_rate_windows
from orchestrator.fidelity.evidence import Evidence
from orchestrator.planning.plan import plan
from orchestrator.recording.model import QUEUE_DTYPE, QueueRecord
from orchestrator.recording.readings import READING_DTYPE, document, from_document, needed
from orchestrator.scenario import load
from tests.support.checks import QUICKSTART, only

PERIOD_NS = 50_000_000
FRAME_BYTES = 1514
OPPORTUNITY_BYTES = 1504
TRACE = Path(__file__).resolve().parents[3] / "scenarios" / "tutorial" / "53-capacity-trace.yaml"


def evidence(
    rate_bps: Callable[[float], float],
    backlog_bytes: int = 100_000,
    overrides: tuple[str, ...] = (),
    steps: tuple[tuple[float, int], ...] = (),
    bottleneck: bool = True,
) -> Evidence:
    """Return evidence about a queue that sends at that rate for 15 s, read every 50 ms."""
    (run,) = plan(load(QUICKSTART, ("duration=15s", "warmup=2s", *overrides))).runs
    queues = [
        QueueRecord(
            "q", "bottleneck", "forward", "queue", "droptail", bottleneck, rate_bps=10_000_000,
            rate_steps=steps,
        )
    ]  # fmt: skip
    times_ns = np.arange(0, 15_000_000_001, PERIOD_NS)
    rows = np.zeros(len(times_ns), READING_DTYPE)
    rows["time_ns"], rows["backlog_bytes"] = times_ns, backlog_bytes
    sent = [rate_bps(time_ns / 1e9) * PERIOD_NS / 8e9 for time_ns in times_ns]
    rows["bytes"] = np.cumsum([0, *sent[:-1]]).astype(np.int64) // FRAME_BYTES * FRAME_BYTES
    return Evidence(
        run.network, [], [], queues, np.zeros(0, QUEUE_DTYPE), plan=samples_plan(run), readings=rows
    )


@pytest.mark.parametrize("bottleneck", [True, False])
def test_a_right_rate_passes_whether_the_queue_is_of_a_bottleneck_or_not(bottleneck: bool) -> None:
    check = only(check_rate_windows.check(evidence(lambda _time: 10e6, bottleneck=bottleneck)))
    assert (check.name, check.ok) == ("rate_window bottleneck:forward", True)


def test_a_rate_that_is_low_for_2_s_fails_and_its_window_is_named() -> None:
    low = evidence(lambda time_s: 8e6 if 6 <= time_s < 8 else 10e6)
    check = only(check_rate_windows.check(low))
    assert (check.ok, check.expected) == (False, 10e6)
    assert check.measured == pytest.approx(8e6, rel=0.01)
    assert check.detail.startswith(("from 6 s on", "from 7 s on"))


@pytest.mark.parametrize(("rate_bps", "ok"), [(9.85e6, False), (10.15e6, False), (9.96e6, True)])
def test_the_tolerance_of_a_second_is_half_a_percent_and_a_frame(rate_bps: float, ok: bool) -> None:
    found = evidence(lambda time_s: rate_bps if 6 <= time_s < 7 else 10e6)
    check = only(check_rate_windows.check(found))
    assert check.ok is ok
    assert check.tolerance == pytest.approx(50_000 + FRAME_BYTES * 8)


def test_a_rate_that_changes_is_compared_with_what_the_link_could_carry() -> None:
    steps = ((0.0, 10_000_000), (6.3, 4_000_000))
    right = evidence(lambda time_s: 10e6 if time_s < 6.3 else 4e6, steps=steps)
    assert only(check_rate_windows.check(right)).ok is True
    late = evidence(lambda time_s: 10e6 if time_s < 6.5 else 4e6, steps=steps)
    assert only(check_rate_windows.check(late)).ok is False


def test_a_slow_link_has_longer_windows() -> None:
    slow = evidence(
        lambda _time: 200e3, overrides=("topology.bottleneck.rate=200kbit",), backlog_bytes=60_000
    )
    check = only(check_rate_windows.check(slow))
    assert check.ok is True
    assert "windows of 7 s" in check.detail


def test_a_trace_is_compared_by_its_opportunities() -> None:
    """Readings between two opportunities do not blur the capacity."""
    (run,) = plan(load(TRACE, ["repetitions=1"])).runs
    (name, channel) = next(
        (f"{link.name}:{direction}", one)
        for link in run.network.links
        for direction, one in (("forward", link.forward), ("reverse", link.reverse))
        if one.trace is not None
    )
    assert channel.trace is not None
    link, _, direction = name.rpartition(":")
    end_ms = round(run.duration_s * 1000)
    granted = dict(channel.trace.until(end_ms))
    times_ms = np.arange(0, end_ms + 1, 7)
    rows = np.zeros(len(times_ms), READING_DTYPE)
    rows["time_ns"], rows["backlog_bytes"] = times_ms * 1_000_000, 500_000
    frames = np.cumsum([granted.get(time_ms, 0) for time_ms in range(end_ms + 1)])
    rows["bytes"] = frames[times_ms] * OPPORTUNITY_BYTES
    record = QueueRecord("q", link, "forward" if direction == "forward" else "reverse", "queue",
                         "droptail", True, rate_bps=channel.rate_bps)  # fmt: skip
    whole = Evidence(
        run.network, [], [], [record], np.zeros(0, QUEUE_DTYPE), plan=samples_plan(run),
        readings=rows,
    )  # fmt: skip
    check = only(check_rate_windows.check(whole))
    assert check.ok is True
    assert check.measured == pytest.approx(check.expected)
    rows["bytes"] = rows["bytes"] * 4 // 5
    assert only(check_rate_windows.check(replace(whole, readings=rows))).ok is False


def test_a_queue_that_may_have_run_empty_is_not_judged() -> None:
    assert not list(check_rate_windows.check(evidence(lambda _time: 5e6, backlog_bytes=50_000)))
    dropped = evidence(lambda _time: 10e6, overrides=("topology.bottleneck.queue.kind=codel",))
    assert dropped.readings is not None
    dropped.readings["drops"] = np.arange(len(dropped.readings)) * 30
    assert not list(check_rate_windows.check(dropped))


def test_runs_without_readings_are_judged_by_their_samples_as_before() -> None:
    whole = evidence(lambda _time: 10e6)
    assert whole.readings is not None
    samples = np.zeros(len(whole.readings), QUEUE_DTYPE)
    for name in READING_DTYPE.names or ():
        samples[name] = whole.readings[name]
    old = replace(whole, queue_samples=samples, readings=None)
    assert not list(check_rate_windows.check(old))
    assert only(check_rate.check(old)) == only(check_rate.check(whole))


def test_the_doubt_about_a_changing_rate_is_that_of_the_readings() -> None:
    steps = ((0.0, 10_000_000), (6.3, 4_000_000))
    short = evidence(lambda _time: 10e6, backlog_bytes=4 * FRAME_BYTES, steps=steps)
    check = only(check_rate.check(short))
    assert check.ok is None
    assert check.detail.startswith("packets waited at 100% of the readings")


def test_readings_are_stored_and_read_back_without_those_of_idle_queues() -> None:
    readings = evidence(lambda _time: 10e6).readings
    assert readings is not None
    idle = readings.copy()
    idle["queue"], idle["backlog_bytes"] = 1, FRAME_BYTES
    queues = [
        QueueRecord("q", "bottleneck", "forward", "queue", "droptail", True),
        QueueRecord("r", "bottleneck", "reverse", "queue", "droptail", True),
    ]
    both = np.concatenate([readings, idle])
    assert (needed(both, queues) == readings).all()
    policer = replace(queues[1], role="policer")
    assert len(needed(both, [queues[0], policer])) == len(both)
    assert (from_document(document(both), 2) == both).all()
    for place, value in ((("queue",), 2), (("bytes", 3), 0.5), (("drops", 0), True)):
        form = document(readings)
        target: Any = form[0]
        for key in place[:-1]:
            target = target[key]
        target[place[-1]] = value
        with pytest.raises(ValueError, match=r"readings have|no queue of the run"):
            from_document(form, 2)

"""Traces of a link's capacity in the plan, and what passes at rates that change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest

from orchestrator.decode.event_log import rate_steps
from orchestrator.network import Hop
from orchestrator.planning.description import describe_bottleneck
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.recording.capacity import Capacity
from orchestrator.scenario import load
from tests.support.events import written


def traced(tmp_path: Path, times_ms: Iterable[int]) -> RunSpec:
    """Return a run whose link r1-r2 follows a trace."""
    lines = "".join(f"{time_ms}\n" for time_ms in times_ms)
    (tmp_path / "cell.trace").write_text(lines, encoding="ascii")
    path = written(tmp_path, "{at: 1s, link: up, delay: 1ms}")
    text = path.read_text(encoding="utf-8").replace("rate: 10mbit", "capacity: {trace: cell.trace}")
    path.write_text(text.replace("duration: 20s", "duration: 3s"), encoding="utf-8")
    (spec,) = plan(load(path)).runs
    return spec


def test_a_traces_rates_are_means_of_20_ms(tmp_path: Path) -> None:
    steps = rate_steps(traced(tmp_path, (1, 1, 19, 50)))["r1-r2:forward"]
    frame_bps = 1504 * 8 * 50
    assert steps[:5] == (
        (0.0, 3 * frame_bps), (0.02, 0), (0.04, 3 * frame_bps), (0.06, frame_bps),
        (0.1, 3 * frame_bps),
    )  # fmt: skip

    assert float(Capacity(steps).bits(0.0, 3.0)) == pytest.approx(
        (4 * 60 - 1) * 1504 * 8
    )  # one is at the end


@pytest.mark.parametrize(
    ("times_ms", "rate_mbps"),
    [
        (range(1, 101), 12.032),  # one every millisecond
        ([0, *range(1, 100), 100], 12.152),  # 101 in 100 ms
        (sorted([*range(1, 101)] * 3), 36.096),
        ([number * 12 // 5 for number in range(1, 501)], 5.013),  # rounded down
        ([5, 10, 15, 20], 2.4064),
    ],
)
def test_an_even_trace_has_a_constant_rate(
    tmp_path: Path, times_ms: Sequence[int], rate_mbps: float
) -> None:
    spec = traced(tmp_path, times_ms)
    (link,) = [one for one in spec.network.links if one.name == "r1-r2"]
    channel = link.forward
    assert channel.rate_bps == pytest.approx(rate_mbps * 1e6, rel=1e-4)
    assert "r1-r2:forward" not in rate_steps(spec)
    described = describe_bottleneck(Hop(link, "forward"), spec.flows)
    assert described.rate_changes == 0
    assert described.rate_min_bps == described.rate_max_bps == channel.rate_bps


@pytest.mark.parametrize("times_ms", [(1, 1, 19, 50), (1, 2, 3, 4, 8), (1, 2, 3, 6, 7, 8, 9)])
def test_an_uneven_trace_has_no_constant_rate(tmp_path: Path, times_ms: Sequence[int]) -> None:
    spec = traced(tmp_path, times_ms)
    assert len(rate_steps(spec)["r1-r2:forward"]) > 1


STEPS = Capacity([(0.0, 10), (1.0, 0), (2.0, 40)])


def test_capacity_is_integrated() -> None:
    assert float(STEPS.bits(0.5, 2.5)) == 5 + 0 + 20
    assert float(STEPS.bits(1.2, 1.8)) == 0
    assert list(STEPS.bits(np.array([0.0, 3.0]), np.array([1.0, 4.0]))) == [10, 40]
    assert Capacity([(0.0, 10)]).bits(1.0, 3.0) == 20


def test_a_backlog_drains_at_the_rates_of_its_time() -> None:
    times, backlogs = np.array([0.0, 0.5, 1.5, 3.0, 1.5]), np.array([10.0, 25.0, 40.0, 4.0, 0.0])
    assert list(STEPS.drain_s(times, backlogs)) == [1.0, 2.0, 1.5, pytest.approx(0.1), 0.0]
    assert list(Capacity([(0.0, 10)]).drain_s(times[:1], backlogs[:1])) == [1.0]
    ended = Capacity([(0.0, 10), (1.0, 0)])
    assert list(ended.drain_s(np.array([0.5]), np.array([10.0]))) == [np.inf]

"""The delta-fair convergence time, against values computed by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.recording.model import FlowRecord
from results import metrics
from results.metrics.convergence import time_to_converge_s
from results.records.model import WHOLE
from tests.support.metrics_flows import Data, receiver, sender
from tests.support.recordings import Rows, flow

LATE = flow("late", start_s=4.0)


def sampled(index: int, size: Callable[[float], float], from_s: float = 0.0) -> Rows:
    """Sample a flow's receiver ten times a second, up to the end of the run at 10 s."""
    times = [tenth / 10 for tenth in range(round(from_s * 10), 101)]
    return [{"flow": index, **receiver(time_s, int(size(time_s)))} for time_s in times]


def found(rows: Rows, *flows: FlowRecord, window: str = WHOLE) -> Any:
    computed = metrics.compute(Data(rows, flows=flows))[window]
    assert all("convergence_time_s" not in each for each in computed.flows)
    return computed.run["convergence_time_s"]


def steady(time_s: float) -> float:
    """1 MB/s from the beginning."""
    return time_s * 1e6


def joining(at_s: float) -> Callable[[float], float]:
    """Return the bytes of a flow that begins at 4 s with 0.1 MB/s and has 1 MB/s from a time on."""

    def size(time_s: float) -> float:
        slow_s = min(time_s, at_s) - 4.0
        return max(slow_s, 0) * 1e5 + max(time_s - at_s, 0) * 1e6

    return size


def test_the_time_is_from_the_latest_start_to_the_first_fair_second() -> None:
    """The share within [0.45, 0.55] needs 0.818 MB in a second."""
    rows = [*sampled(0, steady), *sampled(1, joining(6.0), 4.0)]
    assert found(rows, flow("a"), LATE) == pytest.approx(1.8)  # from 5.8 s: 0.02 + 0.8 MB
    slow = [*sampled(0, steady), *sampled(1, joining(7.5), 4.0)]
    assert found(slow, flow("a"), LATE) == pytest.approx(3.3)


@pytest.mark.parametrize(("ratio", "expected"), [(1.22, 0.0), (1.23, None), (0.82, 0.0)])
def test_shares_are_fair_up_to_a_tenth_of_an_equal_share(
    ratio: float, expected: float | None
) -> None:
    """0.55 / 0.45 is 1.222."""
    rows = [*sampled(0, steady), *sampled(1, lambda time_s: steady(time_s) * ratio)]
    assert found(rows, flow("a"), flow("b")) == expected


def test_each_of_many_flows_needs_its_share() -> None:
    """The share of 0.3 of the sum needs 0.857 MB in a second."""
    rows = [*sampled(0, steady), *sampled(1, steady), *sampled(2, joining(6.0), 4.0)]
    third = flow("c", start_s=4.0)
    assert found(rows, flow("a"), flow("b"), third) == pytest.approx(1.9)


def test_flows_that_started_before_the_span_count_from_its_beginning() -> None:
    def turn(time_s: float) -> float:
        return min(time_s, 5.0) * 1e5 + max(time_s - 5.0, 0) * 1e6

    rows = [*sampled(0, steady), *sampled(1, turn)]
    assert found(rows, flow("a"), flow("b")) == pytest.approx(2.8)  # 4.8 s less 2 s of warm-up
    assert found(rows, flow("a"), flow("b"), window="quiet") is None


def test_an_interval_has_ten_round_trips() -> None:
    """In 2 s from 5.6 s on there are 1.64 MB of one and 2 MB of the other: a share of 0.4505."""
    rows = [*sampled(0, steady), *sampled(1, joining(6.0), 4.0)]
    far = flow("late", start_s=4.0, base_rtt_s=0.2)
    assert found(rows, flow("a"), far) == pytest.approx(1.6)


def test_a_real_network_has_no_known_links() -> None:
    rows = [*sampled(0, steady), *sampled(1, steady)]
    assert found(rows, flow("a", path=()), flow("b", path=())) == 0.0


@pytest.mark.parametrize(
    "other",
    [
        flow("web", traffic="web"),
        flow("elsewhere", path=("other:forward",)),
        flow("after", start_s=10.0),
        flow("just-before", start_s=9.5),
    ],
    ids=lambda other: other.name,
)
def test_flows_that_cannot_converge_have_no_time(other: FlowRecord) -> None:
    assert found([*sampled(0, steady), *sampled(1, steady)], flow("a"), other) is None


def test_a_flow_without_goodput_has_no_time() -> None:
    assert found(sampled(0, steady), flow("a")) is None
    assert found(sampled(0, steady), flow("a"), flow("unseen")) is None
    idle = [*sampled(0, lambda _: 0), *sampled(1, lambda _: 0)]
    assert found(idle, flow("a"), flow("b")) is None


def test_a_flow_that_ended_before_the_other_began_has_no_time() -> None:
    rows = [
        *({"flow": 0, **receiver(t, int(min(t, 3) * 1e6))} for t in (0.0, 2.0, 3.0)),
        *({"flow": 0, **sender(t)} for t in (0.0, 2.0, 3.0)),
        *sampled(1, joining(4.0), 4.0),
    ]
    assert found(rows, flow("a", stop_s=3.0), LATE) is None


def test_flows_that_do_not_converge_had_a_time_for_it() -> None:
    rows = [*sampled(0, steady), *sampled(1, joining(20.0), 4.0)]
    data = Data(rows, flows=(flow("a"), LATE))
    span = metrics.spans(data)[WHOLE]
    assert metrics.compute(data)[WHOLE].run["convergence_time_s"] is None
    assert time_to_converge_s(data, span) == 6.0
    assert time_to_converge_s(Data(rows[:101], flows=(flow("a"),)), span) is None

"""The sentence that says what happened in a run, made of what `explain` found."""

from __future__ import annotations

from orchestrator.application.stored.explanation import Explanation, FlowStory
from orchestrator.evaluation import reasons
from results.traces.moments import Moment
from results.traces.stories.costs import CostlyEvent
from results.traces.stories.time_limits import TimeLimits


def moment(time_ns: int, kind: str) -> Moment:
    return Moment(time_ns, 0, kind, "it happened")


def explanation(limits: TimeLimits | None, costliest: list[CostlyEvent]) -> Explanation:
    moments = [moment(2, "timeout"), moment(5, "drops"), moment(9, "drops")]
    return Explanation(
        "run-1", 1, (0, 10), {"flow": moments}, {"flow": FlowStory(limits, costliest)},
        {"flow": 1}, {},
    )  # fmt: skip


def test_it_has_the_limit_the_events_and_the_costliest_one() -> None:
    limits = TimeLimits({"congestion window": 0.9, "application": 0.1}, "samples")
    event = CostlyEvent(2_500_000_000, 3_000_000_000, True, 2_000_000, 1e7, [0, 1], 1)
    assert reasons.sentence(explanation(limits, [event])) == (
        "run run-1, flow flow: limited by the congestion window for 90% of its time; "
        "drops: 2, timeout: 1; what cost most goodput began at 2.500 s (timeout, drops), "
        "1.9 MiB behind"
    )


def test_a_flow_without_tcp_and_without_costs_has_its_events() -> None:
    assert reasons.sentence(explanation(None, [])) == "run run-1, flow flow: drops: 2, timeout: 1"

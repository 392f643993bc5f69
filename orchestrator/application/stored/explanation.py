"""An explanation of what happened to flows, and its JSON document by the models of the contract."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from results.contract import traces as contract
from results.contract.base import SCHEMA
from results.traces.comparing import Difference
from results.traces.moments import Moment
from results.traces.stories.costs import CostlyEvent
from results.traces.stories.rates import FlowRates
from results.traces.stories.time_limits import TimeLimits


@dataclass(frozen=True)
class FlowStory:
    """What is told of a flow and a whole run: what limited its sender, and what cost it most.

    ``limits`` is None of a flow without TCP.
    """

    limits: TimeLimits | None
    costliest: Sequence[CostlyEvent]


@dataclass(frozen=True)
class FlowComparison:
    """What one of two flows suffered that the other did not; a flow is (run, name)."""

    first: tuple[str, str]
    second: tuple[str, str]
    difference: Difference


@dataclass(frozen=True)
class Explanation:
    """What happened to each flow in a window, in the order of time.

    ``trace`` is the number of the stored trace that shows it. ``stories`` are of the whole run, by
    flow, and empty for a part of it. ``rates`` are of the window, by flow. ``against`` is the same
    of another run, and ``comparisons`` are of its flows, or of the two that were named. ``shorter``
    is the one of both runs whose end ends the window, where the other is longer. ``several`` says
    why flows that were named are not compared: they are more than two.
    """

    run_id: str
    trace: int
    window_ns: tuple[int, int]
    flows: Mapping[str, Sequence[Moment]]
    stories: Mapping[str, FlowStory]
    base_rtts_ns: Mapping[str, int]
    rates: Mapping[str, FlowRates]
    against: Explanation | None = None
    comparisons: Sequence[FlowComparison] = ()
    shorter: str | None = None
    several: str | None = None

    def document(self) -> dict[str, Any]:
        """Return the JSON contract."""
        return _explanation(self).document()


def _explanation(explanation: Explanation) -> contract.Explanation:
    against = explanation.against
    return contract.Explanation.model_construct(
        schema_=SCHEMA,
        run=explanation.run_id,
        trace=explanation.trace,
        from_ns=explanation.window_ns[0],
        to_ns=explanation.window_ns[1],
        flows=[
            _flow(name, moments, explanation.stories.get(name), explanation.rates[name])
            for name, moments in explanation.flows.items()
        ],
        against=None if against is None else _explanation(against),
        comparisons=[_comparison(comparison) for comparison in explanation.comparisons],
    )


def _flow(
    name: str, moments: Sequence[Moment], story: FlowStory | None, rates: FlowRates
) -> contract.ExplainedFlow:
    limits = None if story is None else story.limits
    return contract.ExplainedFlow.model_construct(
        flow=name,
        counts=dict(Counter(moment.kind for moment in moments)),
        moments=[_moment(moment) for moment in moments],
        limited_by=None if limits is None else limits.shares,
        limits_shown_by=None if limits is None else limits.shown_by,
        paced_share=None if limits is None else limits.paced_share,
        goodput_bps=rates.goodput_bps,
        cwnd_mean_segments=rates.cwnd_mean_segments,
        costliest=None
        if story is None
        else [
            contract.CostlyEvent.model_construct(**(vars(event) | {"moments": list(event.moments)}))
            for event in story.costliest
        ],
    )


def _comparison(comparison: FlowComparison) -> contract.ComparedFlows:
    found = comparison.difference
    first, second = (
        contract.FlowOfRun.model_construct(run=run, flow=flow)
        for run, flow in (comparison.first, comparison.second)
    )
    return contract.ComparedFlows.model_construct(
        first=first,
        second=second,
        counts={kind: list(counts) for kind, counts in found.counts.items()},
        only_first=[_moment(moment) for moment in found.only_first],
        only_second=[_moment(moment) for moment in found.only_second],
        kinds={
            kind: [contract.KindSummary.model_construct(**vars(summary)) for summary in both]
            for kind, both in found.kinds.items()
        },
    )


def _moment(moment: Moment) -> contract.Moment:
    return contract.Moment.model_construct(
        time_ns=moment.time_ns,
        until_ns=moment.until_ns,
        kind=moment.kind,
        text=moment.text,
        numbers=moment.numbers,
        evidence=moment.evidence,
    )

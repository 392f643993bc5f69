"""The JSON document of where two runs part, by the models of the contract."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from results.comparison.runs import DifferingValue
from results.contract import differences as contract
from results.contract.base import SCHEMA
from results.contract.comparisons import Differing
from results.traces.difference.model import RunDifference, RunSide
from results.traces.difference.traced_events import TracedEvent


def document(difference: RunDifference) -> dict[str, Any]:
    """Return the JSON contract."""
    return contract.RunDifference.model_construct(
        schema_=SCHEMA,
        identical=difference.identical,
        set_up=_differing(difference.set_up),
        time_ns=difference.time_ns,
        kind=difference.kind,
        differs=_differing(difference.differing),
        equal=None if difference.equal is None else dict(difference.equal),
        equal_until_ns=difference.equal_until_ns,
        runs=[_run(side) for side in difference.sides],
        in_kind_time_ns=difference.in_kind_time_ns,
        in_kind_until_ns=difference.in_kind_until_ns,
    ).document()


def _differing(values: Sequence[DifferingValue]) -> list[Differing]:
    return [Differing.model_construct(path=each.path, values=list(each.values)) for each in values]


def _run(side: RunSide) -> contract.PartingRun:
    return contract.PartingRun.model_construct(
        id=side.run_id,
        digest=side.digest,
        end_ns=side.end_ns,
        trace=side.trace,
        event=None if side.there is None else _event(side.there),
        next=[_event(event) for event in side.following],
        in_kind=None if side.in_kind is None else _event(side.in_kind),
    )


def _event(event: TracedEvent) -> contract.PartingEvent:
    return contract.PartingEvent.model_construct(**vars(event))

"""The JSON document of a plan, by the models of the contract."""

from __future__ import annotations

from typing import Any

from orchestrator.planning.chosen_losses import ChosenLossDescription
from orchestrator.planning.costs.learning import Estimate
from orchestrator.planning.description import (
    BottleneckDescription,
    CaptureDescription,
    FlowDescription,
    PlanDescription,
    PolicerDescription,
    RunDescription,
)
from orchestrator.repetitions import RepetitionRule
from orchestrator.scenario.variants.matrix import VariantCounts
from results.contract import plans as contract
from results.contract.base import SCHEMA
from results.matrix import axis_document
from results.records.model import RunEvent


def document(description: PlanDescription) -> dict[str, Any]:
    """Return the JSON contract of ``plan``."""
    rule, counts = description.repetition_rule, description.matrix
    return contract.Plan.model_construct(
        schema_=SCHEMA,
        experiment=description.experiment,
        scenario=description.scenario,
        repetition_rule=None if rule is None else _rule(rule),
        matrix=None if counts is None else _counts(counts),
        axes=[axis_document.axis(axis) for axis in description.axes],
        duration_s=description.duration_s,
        estimated_wall_s=description.estimated_wall_s,
        estimated_disk_bytes=description.estimated_disk_bytes,
        runs=[_run(run) for run in description.runs],
        warnings=[
            contract.PlanWarning.model_construct(where=warning.where, message=warning.message)
            for warning in description.warnings
        ],
    ).document()


def origin(estimate: Estimate) -> contract.EstimateOrigin:
    """Return where an estimate comes from."""
    return contract.EstimateOrigin.model_construct(source=estimate.source, runs=estimate.runs)


def _rule(rule: RepetitionRule) -> contract.RepetitionRule:
    return contract.RepetitionRule.model_construct(**vars(rule))


def _counts(counts: VariantCounts) -> contract.MatrixCounts:
    return contract.MatrixCounts.model_construct(**vars(counts))


def _run(run: RunDescription) -> contract.PlannedRun:
    return contract.PlannedRun.model_construct(
        variant=dict(run.variant),
        repetition=run.repetition,
        seed=run.seed,
        duration_s=run.duration_s,
        warmup_s=run.warmup_s,
        estimated_wall_s=run.estimated_wall_s,
        estimated_from=origin(run.estimated_from),
        estimated_disk_bytes=run.estimated_disk_bytes,
        flows=[_flow(flow) for flow in run.flows],
        events=[_event(event) for event in run.events],
        bottlenecks=[_bottleneck(bottleneck) for bottleneck in run.bottlenecks],
        chosen_losses=[_losses(losses) for losses in run.chosen_losses],
        policers=[_policer(policer) for policer in run.policers],
        capture=None if run.capture is None else _capture(run.capture),
    )


def _flow(flow: FlowDescription) -> contract.PlannedFlow:
    lists = {"path": list(flow.path), "sprayed": list(flow.sprayed)}
    values = vars(flow) | {"parameters": dict(flow.parameters)} | lists
    return contract.PlannedFlow.model_construct(**values)


def _event(event: RunEvent) -> contract.PlannedEvent:
    return contract.PlannedEvent.model_construct(time_s=event.time_s).beside(event.requested)


def _bottleneck(bottleneck: BottleneckDescription) -> contract.PlannedBottleneck:
    return contract.PlannedBottleneck.model_construct(**vars(bottleneck))


def _losses(losses: ChosenLossDescription) -> contract.PlannedLosses:
    return contract.PlannedLosses.model_construct(**vars(losses))


def _capture(capture: CaptureDescription) -> contract.PlannedCapture:
    lists = {name: list(getattr(capture, name)) for name in ("trace", "flows", "links")}
    return contract.PlannedCapture.model_construct(**(vars(capture) | lists))


def _policer(policer: PolicerDescription) -> contract.PlannedPolicer:
    return contract.PlannedPolicer.model_construct(**vars(policer))

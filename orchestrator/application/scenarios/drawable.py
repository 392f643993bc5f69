"""Finds figures of a scenario that its runs will not be able to draw, before the runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from orchestrator.errors import Fault, ScenarioError, UsageError
from results.figures import _style
from results.figures._drawing import drawn
from results.figures._planned import (
    PlannedFlow,
    PlannedStudy,
    PlannedVariant,
    any_fields,
    flow_record,
    queue_record,
)
from results.figures._traced import TracedLater
from results.figures.time import TimeFigure
from results.matrix.axes import key
from results.matrix.entries import entry_of

if TYPE_CHECKING:
    from orchestrator.planning.description import Plan
    from orchestrator.planning.runspec import RunSpec
    from orchestrator.scenario import LoadedScenario
    from results.figures import FigureSpec
    from results.figures._planned import QueueRecord


def require(loaded: LoadedScenario, planned: Plan) -> None:
    """Draw each figure of the scenario from runs that have every value that is possible.

    ``planned`` is the scenario's plan.

    Raises:
        ScenarioError: a figure cannot be drawn, at its line and column.
    """
    if not loaded.scenario.figures:
        return
    faults = list(_faults(loaded, _variants(loaded, planned)))
    if faults:
        raise ScenarioError(faults)


def _faults(loaded: LoadedScenario, variants: list[PlannedVariant]) -> Iterator[Fault]:
    for index, figure in enumerate(loaded.scenario.figures):
        reason = _refusal(loaded.scenario.name, figure, variants)
        if reason is not None:
            position = loaded.mark(("figures", index))
            yield position.fault(f"the figure {figure.file} cannot be drawn: {reason}")


def _refusal(name: str, figure: FigureSpec, variants: list[PlannedVariant]) -> str | None:
    try:
        with _style.applied():
            drawn(figure, PlannedStudy(name, variants))
            figure.require_names()
    except TracedLater:  # what its lines are called is known when it is drawn
        return None
    except UsageError as error:
        return str(error)
    return None


def _variants(loaded: LoadedScenario, planned: Plan) -> list[PlannedVariant]:
    """Return the variants of the plan, with as many repetitions as the scenario may make."""
    by_variant: dict[str, list[RunSpec]] = {}
    for run in planned.runs:
        by_variant.setdefault(key(run.variant), []).append(run)
    rule = loaded.scenario.repetitions.rule is not None
    most = loaded.scenario.repetitions.most
    fields = _fields(loaded.scenario.figures)
    return [
        PlannedVariant(
            runs[0].variant, most if rule else len(runs), runs[0].duration_s, runs[0].warmup_s,
            list(_flows(runs[0], fields)), list(_queues(runs[0], fields)),
            [window.name for window in runs[0].windows], runs[0].capture,
        )
        for runs in by_variant.values()
    ]  # fmt: skip


def _fields(figures: Sequence[FigureSpec]) -> list[str]:
    """Return the fields of algorithms and queues that panels name: known only after a run."""
    panels = [name for figure in figures if isinstance(figure, TimeFigure) for name in figure.panel]
    parted = [name.partition(".") for name in panels]
    return [field for source, _dot, field in parted if source in ("algorithm", "statistic")]


def _flows(run: RunSpec, fields: Sequence[str]) -> Iterator[PlannedFlow]:
    for flow in run.flows:
        record = flow_record(
            flow.name, flow.transport, flow.traffic, flow.path, flow.shown or any_fields(fields)
        )
        entry = entry_of(flow.name, flow.traffic, run.resolved)
        ends = flow.traffic != "bulk" or flow.bytes is not None
        yield PlannedFlow(entry, record, flow.transport == "tcp" and ends)


def _queues(run: RunSpec, fields: Sequence[str]) -> Iterator[QueueRecord]:
    for link in run.network.links:
        for channel, forward in ((link.forward, True), (link.reverse, False)):
            if channel.queue is not None:
                yield queue_record(
                    link.name,
                    forward,
                    channel.queue.kind,
                    channel.is_bottleneck,
                    any_fields(fields),
                )

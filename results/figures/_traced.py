"""Keys of figures that are drawn from a stored trace of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from pydantic import Field

from orchestrator.errors import UsageError
from orchestrator.protocol.reports.trace_records import WANTED
from orchestrator.protocol.units import nanoseconds
from orchestrator.recording.trace import Capture, Trace
from results.figures._run import RunFigure
from results.store.parts.traces import TraceHead
from results.traces.choice import TraceNeed, window_of
from results.traces.pictures import needs

if TYPE_CHECKING:
    from results.figures._planned import PlannedRun
    from results.figures._study import Study
    from results.store.stored import StoredRun


class TracedLater(Exception):
    """A planned run has no trace yet, and its `capture` makes one that shows the figure."""


class Traced(NamedTuple):
    """A trace of a run, and the part of it to draw, in seconds since the start of traffic."""

    run: StoredRun
    number: int
    trace: Trace
    span_s: tuple[float, float]


def trace_number() -> Any:
    """Return the key ``trace``."""
    return Field(
        default=None,
        ge=1,
        description="number of the stored trace; when not given, the smallest one that shows the "
        "time from `from` to `to`, or without these the newest one",
    )


def traced(
    figure: RunFigure,
    study: Study,
    number: int | None,
    need: TraceNeed,
    tables: Sequence[str],
) -> Traced:
    """Return the trace that a figure is drawn from, with these tables.

    Raises:
        UsageError: no trace shows it; the message has the command that makes one.
        TracedLater: the run is planned, and will have such a trace.
        StoreError: the trace cannot be read.
    """
    run = figure.run(study)
    if figure.model_fields_set & {"from_", "to"}:
        from_s, to_s = figure.span_s(run)
        need = replace(need, window_ns=(nanoseconds(from_s), nanoseconds(to_s)))
    if study.is_planned:
        _require_capture(figure, cast("PlannedRun", run).variant.capture, number, need)
        raise TracedLater
    head = needs.trace_for(run, need, number)
    begin_ns, end_ns = need.window_ns or window_of(head)
    return Traced(run, head.number, needs.read(run, head, tables), (begin_ns / 1e9, end_ns / 1e9))


def _require_capture(
    figure: RunFigure, capture: Capture | None, number: int | None, need: TraceNeed
) -> None:
    """Raise UsageError unless the trace that a scenario's `capture` makes shows a figure."""
    kind = figure.kind  # type: ignore[attr-defined]
    fix = (
        f"leave the figure out here, and draw it by `orchestrator plot {kind}` after "
        "`orchestrator zoom`"
    )
    if capture is None:
        kinds = ", ".join((*need.kinds, *need.one_of[:1]))
        raise UsageError(
            "it is drawn from a trace, and the scenario has no `capture` that makes one; "
            f"give `capture: {{trace: [{kinds}]}}`, or {fix}"
        )
    if number not in (None, 1):
        raise UsageError(f"trace: a new run has only trace 1, that of `capture`; {fix}")
    if lack := need.lacks(TraceHead(1, "", capture, None, {}, 0)):
        wanted = {*capture.kinds, *need.kinds}
        if not wanted.intersection(need.one_of):
            wanted |= {*need.one_of[:1]}
        change = "change `capture`"
        if wanted > capture.kinds:
            listed = ", ".join(name for name in WANTED if name in wanted)
            change = f"give `capture: {{trace: [{listed}]}}`, with its other keys as they are"
        raise UsageError(
            f"the trace that `capture` makes does not show it: {lack}; {change}, or {fix}"
        )

"""Keys of figures that are drawn from a stored trace of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import Field

from orchestrator.errors import UsageError
from orchestrator.protocol.units import nanoseconds
from orchestrator.recording.trace import Trace
from results.figures._run import RunFigure
from results.traces.pictures import needs
from results.traces.pictures.needs import TraceNeed

if TYPE_CHECKING:
    from results.figures._study import Study
    from results.store.stored import StoredRun


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
        StoreError: the trace cannot be read.
    """
    run = figure.run(study)
    if study.is_planned:
        raise UsageError(
            "it is drawn from a trace, which a run has after `orchestrator zoom`; leave it out "
            f"here, and draw it by `orchestrator plot {figure.kind}` then"  # type: ignore[attr-defined]
        )
    if figure.model_fields_set & {"from_", "to"}:
        from_s, to_s = figure.span_s(run)
        need = replace(need, window_ns=(nanoseconds(from_s), nanoseconds(to_s)))
    head = needs.trace_for(run, need, number)
    begin_ns, end_ns = need.window_ns or needs.window_of(head)
    return Traced(run, head.number, needs.read(run, head, tables), (begin_ns / 1e9, end_ns / 1e9))

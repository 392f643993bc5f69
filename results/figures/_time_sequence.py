"""The time-sequence plot of a connection at its sender, as tcptrace draws it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from orchestrator.errors import UsageError
from results.figures import _labels
from results.figures._canvas import Canvas
from results.figures._frame import set_scale
from results.figures._run import BY_FLOW, MOST_POINTS, RunFigure
from results.figures._style import LINES
from results.figures._traced import Traced, traced
from results.traces.choice import TraceNeed
from results.traces.pictures import thinning
from results.traces.pictures.time_sequence import (
    SOURCES,
    TABLES,
    Spans,
    TimeSequence,
    time_sequence,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from results.figures._study import Study

MOST_SPANS = 1500
"""Of more segments, those of a bin are drawn as one; it is about half a pixel at 300 dpi."""

_ROOM = 0.05
"""Part of the height above and below what is sent. The window's end may be far above it."""

_SENT, _ACKED, _EDGE, _SACKED, _AGAIN = (
    "black",
    LINES[2].color,
    LINES[4].color,
    LINES[7].color,
    "#C8102E",
)


def draw_segments(figure: RunFigure, number: int | None, canvas: Canvas, study: Study) -> None:
    """Draw the segments of one flow.

    Raises:
        UsageError: it is not of one flow of TCP, or no stored trace shows it.
    """
    run = figure.run(study)
    tcp = [flow for flow in figure.flows(run) if run.flows[flow].transport == "tcp"]
    if len(tcp) != 1:
        names = ", ".join(run.flows[flow].name for flow in tcp[:10])
        raise UsageError(
            f"segments are of one flow of TCP: choose one of {names} {BY_FLOW}"
            if tcp
            else "segments are of a flow of TCP, and there is none"
        )
    name = run.flows[tcp[0]].name
    shown = traced(figure, study, number, TraceNeed(("acks",), SOURCES, flows=(name,)), TABLES)
    made = time_sequence(shown.run, shown.trace, tcp[0])
    if made is None:
        raise UsageError(f"no ACK came to {name} in trace {shown.number} of run {run.id}")
    _note(study, shown, made)
    panel = canvas.panel()
    handles = _draw(panel, shown, made)
    title = _labels.with_unit("Sequence number", _scaled(panel, shown, made))
    panel.set_ylabel(figure.y_label if figure.y_label is not None else title)
    figure.label_time(panel, run)
    panel.set_xlim(*shown.span_s)
    canvas.legend(list(handles.values()), list(handles))


def _note(study: Study, shown: Traced, made: TimeSequence) -> None:
    if not made.has_sacks:
        study.note(f"no blocks of SACK: trace {shown.number} has no packets")
    if made.connections > 1:
        source, sink = made.ports
        study.note(
            f"one of {made.connections} connections, that with most ACKs: from port {source} to "
            f"{sink}"
        )


def _draw(panel: Axes, shown: Traced, made: TimeSequence) -> dict[str, Any]:
    """Draw all in bytes; return handles by name, in the order of tcptrace's documents."""
    handles: dict[str, Any] = {}
    lines = {"acknowledged": (made.acked, _ACKED), "receive window": (made.edge, _EDGE)}
    for name, (values, colour) in lines.items():
        chosen = thinning.steps(made.time_s, [values], *shown.span_s, MOST_POINTS)
        (handles[name],) = panel.step(
            made.time_s[chosen], values[chosen], where="post", color=colour, linewidth=0.8
        )
    kinds = {
        "sent": (made.new, _SENT, 1.2), "SACK": (made.sacks, _SACKED, 0.8),
        "sent again": (made.again, _AGAIN, 1.4),
    }  # fmt: skip
    for name, (spans, colour, width) in kinds.items():
        drawn = thinning.merged(spans, *shown.span_s, MOST_SPANS)
        if len(drawn.time_s):
            handles[name] = panel.vlines(
                drawn.time_s, drawn.first, drawn.end, colors=colour, linewidth=width, zorder=3
            )
    return handles


def _scaled(panel: Axes, shown: Traced, made: TimeSequence) -> str:
    """Let the axis reach over what is sent and acknowledged; return its unit."""
    from matplotlib.ticker import FuncFormatter

    inside = thinning.steps(made.time_s, [made.acked], *shown.span_s, MOST_POINTS)
    parts: list[Spans] = [made.new, made.again, made.sacks]
    seen = [part.of((part.time_s >= shown.span_s[0]) & (part.time_s <= shown.span_s[1]))
            for part in parts]  # fmt: skip
    ends = np.concatenate([made.acked[inside], *(part.end for part in seen)])
    least = np.concatenate([made.acked[inside], *(part.first for part in seen)])
    low, high = float(least.min()), float(ends.max())
    room = (high - low) * _ROOM or 1.0
    panel.set_ylim(max(low - room, 0.0) if low >= 0 else low - room, high + room)
    divisor, unit = _labels.scale("bytes", [low, high])
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _at: f"{value / divisor:g}"))
    set_scale(panel.yaxis, "bytes", 1.0)
    return unit

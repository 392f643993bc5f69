"""A link's queue packet by packet, from a stored trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from orchestrator.errors import UsageError
from results.figures import _labels
from results.figures._canvas import Canvas, line
from results.figures._frame import set_scale
from results.figures._run import MOST_POINTS, RunFigure
from results.figures._style import LINES, OTHER_AREA, OTHER_MARK
from results.figures._traced import Traced, trace_number, traced
from results.traces.choice import TraceNeed
from results.traces.columns import channel_names
from results.traces.pictures import thinning
from results.traces.pictures.needs import channel_of
from results.traces.pictures.occupancy import TABLES, Occupancy, QueuePoints, occupancy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from results.figures._study import Study

_MARKS: dict[str, dict[str, Any]] = {
    "dropped": {"marker": "x", "markersize": 3.2, "markeredgewidth": 0.8},
    "marked with CE": {"marker": "o", "markersize": 2.6, "markeredgewidth": 0.7, "mfc": "none"},
}


class QueueFigure(RunFigure):
    """A link's queue packet by packet: who waits in it, and what it drops and marks.

    The line is the number of packets that wait, after each step of a packet. Of many steps it is
    their upper edge, without short dips. The areas are the packets of each flow, over each other.
    Crosses are packets that the queue dropped or the link lost, circles packets that it marked with
    CE. They have the colour of their flow. It needs a stored trace of `queue`:
    `orchestrator zoom RUN --window FROM..TO --trace queue`.
    """

    kind: Literal["queue"] = Field(description="a link's queue packet by packet, from a trace")
    link: str | None = Field(
        default=None,
        description="a link, or a direction of it such as `core:forward`; the first bottleneck "
        "when not given",
    )
    trace: int | None = trace_number()

    def draw(self, canvas: Canvas, study: Study) -> None:
        """Draw the queue."""
        run = self.run(study)
        channel = channel_of(run, self.link)
        need = TraceNeed(("queue",), channels=(channel,))
        shown = traced(self, study, self.trace, need, TABLES)
        made = occupancy(shown.trace, channel_names(run).index(channel))
        if not len(made.time_s):
            raise UsageError(
                f"no packet came to the queue of {channel} in trace {shown.number} of run {run.id}"
            )
        flows = self._drawn(shown, made)
        panel = canvas.panel()
        handles = self._stack(panel, shown, made, flows)
        handles |= self._points(panel, shown, made, flows)
        set_scale(panel.yaxis, "1", 1.0)
        panel.set_ylim(bottom=0)
        panel.set_ylabel(self.y_label if self.y_label is not None else "Queue (packets)")
        self.label_time(panel, run)
        panel.set_xlim(*shown.span_s)
        canvas.legend(list(handles.values()), list(handles))

    def _drawn(self, shown: Traced, made: Occupancy) -> list[int]:
        """Return the flows with a colour: those that were chosen, or those with most packets."""
        if self.flow:
            return self.flows(shown.run)
        counts = {flow: int(waits.sum()) for flow, waits in made.by_flow.items() if flow >= 0}
        for flow in (*made.lost.flow.tolist(), *made.marks.flow.tolist()):
            if flow >= 0:
                counts.setdefault(flow, 0)
        most = sorted(counts, key=lambda flow: -counts[flow])[: len(LINES)]
        return sorted(most)

    def _stack(
        self, panel: Axes, shown: Traced, made: Occupancy, flows: list[int]
    ) -> dict[str, Any]:
        """Draw areas of flows over each other, and the line of all; return handles by name."""
        columns = [made.by_flow.get(flow, np.zeros_like(made.packets)) for flow in flows]
        total = made.packets.astype(np.float64)
        floats = [column.astype(np.float64) for column in columns]
        chosen = thinning.steps(made.time_s, [total, *floats], *shown.span_s, MOST_POINTS)
        time_s = made.time_s[chosen]
        handles: dict[str, Any] = {}
        below = np.zeros(len(chosen))
        for index, (flow, values) in enumerate(zip(flows, floats, strict=True)):
            above = below + values[chosen]
            name = _labels.plain(self._name(shown, flow))
            handles[name] = panel.fill_between(
                time_s, below, above, step="post", color=line(index).color, alpha=0.35, lw=0
            )
            below = above
        rest = total[chosen] - below
        if (rest > 0).any():
            handles["others"] = panel.fill_between(
                time_s, below, total[chosen], step="post", color=OTHER_AREA, alpha=0.6, lw=0
            )
        outline = thinning.outline(made.time_s, total, *shown.span_s)
        panel.step(*outline, where="post", color="black", linewidth=0.6)
        return handles

    def _points(
        self, panel: Axes, shown: Traced, made: Occupancy, flows: list[int]
    ) -> dict[str, Any]:
        """Draw what was dropped and marked; return handles by name."""
        from matplotlib.lines import Line2D

        handles: dict[str, Any] = {}
        for name, points in (("dropped", made.lost), ("marked with CE", made.marks)):
            look = {"linestyle": "none", **_MARKS[name]}
            inside = _within(points, shown.span_s)
            if not len(inside.time_s):
                continue
            for flow in np.unique(inside.flow).tolist():
                mine = inside.flow == flow
                colour = line(flows.index(flow)).color if flow in flows else OTHER_MARK
                panel.plot(
                    inside.time_s[mine], inside.packets[mine], color=colour, zorder=3, **look
                )
            handles[name] = Line2D([], [], color="black", **look)
        return handles

    def _name(self, shown: Traced, flow: int) -> str:
        name = shown.run.flows[flow].name
        return self.names.get(name, name)


def _within(points: QueuePoints, span_s: tuple[float, float]) -> QueuePoints:
    inside = (points.time_s >= span_s[0]) & (points.time_s <= span_s[1])
    return QueuePoints(points.time_s[inside], points.flow[inside], points.packets[inside])

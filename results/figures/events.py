"""What happened to flows over time, from a stored trace, with their windows after each ACK."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from orchestrator.errors import UsageError
from results.figures import _labels
from results.figures._canvas import Canvas, line
from results.figures._frame import set_scale
from results.figures._run import MOST_POINTS, RunFigure
from results.figures._style import LINES, OTHER_MARK
from results.figures._traced import Traced, trace_number, traced
from results.traces.causes import what_happened
from results.traces.choice import TraceNeed
from results.traces.moments import Moment
from results.traces.pictures import thinning
from results.traces.pictures.windows import AckStates, windows_of
from results.traces.view import TraceView

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from results.figures._study import Study

TABLES = ("acks", "events", "links", "drops")

ROW_IN = 0.13
"""Height of a kind's row."""

_WINDOW_IN = 1.25

_OTHERS = "others"
"""What the legend says of flows without a colour."""


class EventsFigure(RunFigure):
    """What happened to flows and when, as `orchestrator explain` finds it, over their windows.

    Above, each kind of event has a row: a mark where one begins, and a bar as long as it lasts.
    Below is the congestion window after each ACK. Colours are of flows. Of more than 8 flows the
    first ones have a colour, those of TCP before others. The other events are grey. Without ACKs,
    as of UDP, there are only the rows. It needs a stored trace of `tcp` and `acks`, with `queue` or
    `drops`, as `orchestrator explain RUN` makes it.
    """

    kind: Literal["events"] = Field(description="what happened to flows, from a trace")
    trace: int | None = trace_number()

    def draw(self, canvas: Canvas, study: Study) -> None:
        """Draw a row for each kind of event, and the windows."""
        run = self.run(study)
        flows = self.all_flows(run)
        names = tuple(run.flows[flow].name for flow in flows)
        need = TraceNeed(("tcp", "acks"), ("drops", "queue"), flows=names if self.flow else ())
        shown = traced(self, study, self.trace, need, TABLES)
        view = TraceView(run, shown.trace)
        found = {flow: _within(what_happened(view, flow), shown.span_s) for flow in flows}
        kinds = sorted({moment.kind for moments in found.values() for moment in moments})
        coloured = _coloured(shown, flows)
        states = {flow: list(windows_of(shown.trace, flow)) for flow in coloured}
        if not kinds:
            what = f"trace {shown.number} shows no event of these flows"
            if not any(states.values()):
                raise UsageError(f"{what}, and no ACK came to them; choose others by `flow`")
            study.note(what)
        if len(coloured) < len(flows):
            study.note(
                f"grey, and without cwnd: {len(flows) - len(coloured)} of {len(flows)} flows; "
                "choose others by `flow`, which is --flow of `orchestrator plot`"
            )
        heights_in = [max(len(kinds), 1) * ROW_IN + 0.12]
        if any(states.values()):
            heights_in.append(_WINDOW_IN)
        above, *further = canvas.panels(len(heights_in), heights_in=heights_in)
        handles = self._draw_moments(above, shown, found, coloured, kinds)
        for below in further:
            handles |= self._draw_windows(below, shown, states)
        lowest = further[-1] if further else above
        if self.y_label is not None:
            lowest.set_ylabel(self.y_label)
        self.label_time(lowest, run)
        lowest.set_xlim(*shown.span_s)
        order = [*(self._name(shown, flow) for flow in coloured), _OTHERS]
        entries = [name for name in order if name in handles]
        canvas.legend([handles[name] for name in entries], entries)

    def _draw_moments(
        self,
        panel: Axes,
        shown: Traced,
        found: Mapping[int, Sequence[Moment]],
        coloured: Sequence[int],
        kinds: Sequence[str],
    ) -> dict[str, Any]:
        """Draw the moments of flows; return handles by name.

        Each flow is a little below the one before in its row, and those without a colour together.
        """
        step = 0.6 / max(len(coloured) + (len(coloured) < len(found)), 1)
        handles: dict[str, Any] = {}
        for flow, moments in found.items():
            if not moments:
                continue
            place = coloured.index(flow) if flow in coloured else len(coloured)
            colour = line(place).color if flow in coloured else OTHER_MARK
            rows = [kinds.index(moment.kind) + step * (place + 0.5) - 0.3 for moment in moments]
            begins = [moment.time_ns / 1e9 for moment in moments]
            ends = [(moment.until_ns or moment.time_ns) / 1e9 for moment in moments]
            bars = panel.hlines(rows, begins, ends, colors=colour, linewidth=1.6)
            handles[self._name(shown, flow) if flow in coloured else _OTHERS] = bars
            panel.plot(
                begins, rows, linestyle="none", marker="|", markersize=4, color=colour,
                markeredgewidth=0.9, zorder=3,
            )  # fmt: skip
        panel.set_yticks(range(len(kinds)), [_labels.plain(kind) for kind in kinds])
        panel.set_ylim(len(kinds) - 0.5 if kinds else 0.5, -0.5)
        panel.tick_params(axis="y", length=0)
        return handles

    def _draw_windows(
        self, panel: Axes, shown: Traced, states: Mapping[int, Sequence[AckStates]]
    ) -> dict[str, Any]:
        """Draw the congestion window of each flow; return handles by name."""
        set_scale(panel.yaxis, "1", 1.0)
        handles: dict[str, Any] = {}
        for place, (flow, connections) in enumerate(states.items()):
            for one in connections:
                cwnd = one.cwnd.astype(np.float64)
                chosen = thinning.steps(one.time_s, [cwnd], *shown.span_s, MOST_POINTS)
                (handle,) = panel.step(
                    one.time_s[chosen], cwnd[chosen], where="post", linewidth=0.8,
                    color=line(place).color, linestyle=line(place).dashes,
                )  # fmt: skip
                handles.setdefault(self._name(shown, flow), handle)
        panel.set_ylim(bottom=0)
        panel.set_ylabel("cwnd (segments)")
        return handles

    def _name(self, shown: Traced, flow: int) -> str:
        name = shown.run.flows[flow].name
        return self.names.get(name, name)


def _coloured(shown: Traced, flows: Sequence[int]) -> list[int]:
    """Return the flows that have a colour: all if they are few, or else the first, TCP before."""
    tcp_first = sorted(flows, key=lambda flow: shown.run.flows[flow].transport != "tcp")
    return sorted(tcp_first[: len(LINES)])


def _within(moments: Sequence[Moment], span_s: tuple[float, float]) -> list[Moment]:
    return [
        moment
        for moment in moments
        if moment.time_ns / 1e9 <= span_s[1]
        and (moment.until_ns or moment.time_ns) / 1e9 >= span_s[0]
    ]

"""A run over time: cwnd, RTT, goodput, queues and estimates, with events marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from orchestrator.errors import UsageError
from orchestrator.kinds.fields import Duration
from results.figures import _labels, _run
from results.figures._canvas import Canvas
from results.figures._frame import set_scale
from results.figures._lines import RunLines
from results.figures._panels import DEFAULT, PANELS, PanelText, column
from results.figures._run import RunFigure
from results.figures._spec import one_or_several

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from results.figures._lines import Named
    from results.figures._study import Study
    from results.store.stored import StoredRun


MOST_TITLE = 22
"""Most characters of a panel's title on one line: more are longer than a panel is high."""


def _panel_name(name: str) -> str:
    column(name)
    return name


PanelName = Annotated[str, AfterValidator(_panel_name)]
"""A quantity of :data:`PANELS`, or a column of samples."""


class TimeFigure(RunFigure):
    """A run over time, in panels above each other; events are dotted vertical lines.

    By default the panels are cwnd, smoothed RTT, goodput in bins, the packets in the queues of
    bottlenecks, and the bandwidth that congestion controls estimate. Further ones are ssthresh,
    in_flight (tcp_packets_in_flight() of include/net/tcp.h), retransmissions and drops in bins, and
    any column of samples by its name: rttvar_us, pacing_rate_bytes_per_s, backlog_bytes,
    receiver.rcv_space_bytes, queue.drops, algorithm.FIELD, statistic.FIELD. counter.TCPTimeouts is
    what that SNMP counter has grown by at the hosts of the flows.
    """

    kind: Literal["time"] = Field(description="a run over time")
    panel: Annotated[
        list[PanelName],
        BeforeValidator(one_or_several),
        WithJsonSchema(
            {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
             "examples": [list(PANELS)]}
        ),
    ] = Field(
        default_factory=list,
        description=f"the panels, from the top: {', '.join(f'`{name}`' for name in PANELS)}, or "
        "any column of samples; those of the first five with values by default",
    )  # fmt: skip
    bin: Duration | None = Field(
        default=None, description="width of the bins of goodput, retransmissions and drops"
    )

    def draw(self, canvas: Canvas, study: Study) -> None:
        """Draw a panel for each quantity, with a line for each flow or queue."""
        run = self.run(study)
        contents = self._panels(RunLines(run, self.flows(run), self.names, self._bin_s(run)))
        if self.y_label is not None and len(contents) > 1:
            raise UsageError("y_label: it is of one panel; name one by `panel`")
        panels = canvas.panels(len(contents))
        handles: dict[str, Any] = {}
        for axes, (panel, lines) in zip(panels, contents, strict=True):
            self._draw_panel(axes, panel, lines, handles)
        marked = _run.mark_events(panels, run, self.span_s(run))
        events = len(run.events)
        if events and not marked:
            study.note(f"events are not marked: {events} in the run, none or too many to show")
        self.label_time(panels[-1], run)
        canvas.figure.align_ylabels(panels)
        canvas.legend(list(handles.values()), list(handles))

    def _bin_s(self, run: StoredRun) -> float:
        return self.bin or _run.bin_s(self.span_s(run), _run.period_s(run, self.flows(run)))

    def _panels(self, source: RunLines) -> list[tuple[PanelText, list[Named]]]:
        """Return the panels with their lines.

        Raises:
            UsageError: a panel that was asked for has no values, or there is none at all.
        """
        run = source.run
        panels: list[tuple[PanelText, list[Named]]] = []
        for name in self.panel or DEFAULT:
            panel, drawn = source.of(name)
            lines = [
                (label, style, points.within(self.span_s(run))) for label, style, points in drawn
            ]
            lines = [named_line for named_line in lines if np.isfinite(named_line[2].values).any()]
            if lines:
                panels.append((panel, lines))
            elif self.panel:
                raise UsageError(f"panel {name}: run {run.id} has none, {panel.why_none}")
        if not panels:
            raise UsageError(f"run {run.id} has no samples to draw")
        return panels

    def _draw_panel(
        self, axes: Axes, panel: PanelText, lines: Sequence[Named], handles: dict[str, Any]
    ) -> None:
        largest = [float(np.nanmax(points.values)) for _label, _look, points in lines]
        divisor, unit = _labels.scale(panel.unit, largest)
        set_scale(axes.yaxis, panel.unit, divisor)
        title = _folded(_labels.with_unit(panel.title, unit))
        axes.set_ylabel(self.y_label if self.y_label is not None else title)
        for label, style, points in lines:
            (handle,) = axes.plot(
                points.time_s, points.values / divisor,
                color=style.color, linestyle=style.dashes, linewidth=0.9,
            )  # fmt: skip
            if label:
                handles.setdefault(label, handle)
        # A counter of a part of a run would be a flat line on an axis from zero.
        counts = all(np.all(np.diff(points.values) >= 0) for _label, _look, points in lines)
        falls = any(np.any(points.values < 0) for _label, _look, points in lines)
        if not falls and not (self.from_ > 0 and counts):
            axes.set_ylim(bottom=0)


def _folded(title: str) -> str:
    """Return a panel's title on two lines if it is longer than a panel is high.

    A number and its unit stay on one line.
    """
    if len(title) <= MOST_TITLE:
        return title
    spaces = [at for at in range(1, len(title)) if title[at] == " " and not title[at - 1].isdigit()]
    if not spaces:
        return title
    middle = min(spaces, key=lambda at: abs(at - len(title) / 2))
    return f"{title[:middle]}\n{title[middle + 1 :]}"

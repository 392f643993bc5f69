"""A run over time: cwnd, RTT, goodput, queues and estimates, with events marked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import BeforeValidator, Field, WithJsonSchema

from orchestrator.errors import UsageError
from orchestrator.kinds.fields import Duration
from results.figures import _labels, _run
from results.figures._canvas import Canvas, line
from results.figures._run import OfRun, Points
from results.figures._spec import one_or_several
from results.figures._style import Line
from results.metrics.base import channel
from results.metrics.estimate import ESTIMATES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from results.figures._study import Study
    from results.stored import StoredRun

PanelName = Literal["cwnd", "rtt", "goodput", "queue", "estimate"]


class Panel(NamedTuple):
    """A panel: its words, the SI unit of its values, and why it may have none."""

    title: str
    unit: str
    why_none: str


PANELS: Mapping[PanelName, Panel] = {
    "cwnd": Panel("cwnd", "segments", "no flow is of TCP"),
    "rtt": Panel("RTT", "s", "no flow is of TCP"),
    "goodput": Panel("Goodput", "bit/s", "no receiver was sampled"),
    "queue": Panel("Queue", "packets", "it has no bottleneck with a queue"),
    "estimate": Panel("Estimate", "bit/s", "no congestion control shows an estimate of bandwidth"),
}

Named = tuple[str, Line, Points]
"""The name of a line (empty if it needs none), how it looks, and its points."""

PLAIN = Line("#000000", "-", "", "")


class TimeFigure(OfRun):
    """A run over time, in panels above each other; events are dotted vertical lines.

    The panels are cwnd, smoothed RTT, goodput in bins, the packets in the queues of bottlenecks,
    and the bandwidth that congestion controls estimate.
    """

    kind: Literal["time"] = Field(description="a run over time")
    panel: Annotated[
        list[PanelName],
        BeforeValidator(one_or_several),
        WithJsonSchema({"type": "array", "items": {"type": "string", "enum": list(PANELS)}}),
    ] = Field(
        default_factory=list, description="the panels, from the top; those with values by default"
    )
    bin: Duration | None = Field(default=None, description="width of the bins of goodput")

    def draw(self, canvas: Canvas, study: Study) -> None:
        """Draw a panel for each quantity, with a line for each flow or queue."""
        run = self.run(study)
        flows = self.flows(run)
        found = self._panels(run, flows)
        if self.y_label is not None and len(found) > 1:
            raise UsageError("y_label: it is of one panel; name one by `panel`")
        panels = canvas.panels(len(found))
        handles: dict[str, Any] = {}
        for axes, (name, lines) in zip(panels, found, strict=True):
            self._draw_panel(axes, PANELS[name], lines, handles)
        marked = _run.mark_events(panels, run, self.span_s(run))
        events = len(run.provenance.get("events", []))
        if events and not marked:
            study.note(f"events are not marked: {events} in the run, none or too many to show")
        self.label_time(panels[-1], run)
        canvas.figure.align_ylabels(panels)
        canvas.legend(list(handles.values()), list(handles))

    def _panels(self, run: StoredRun, flows: Sequence[int]) -> list[tuple[PanelName, list[Named]]]:
        """Return the panels with their lines.

        Raises:
            UsageError: a panel that was asked for has no values, or there is none at all.
        """
        sources: Mapping[PanelName, Callable[[], list[Named]]] = {
            "cwnd": lambda: self._senders(run, flows, "snd_cwnd_segments", 1.0),
            "rtt": lambda: self._senders(run, flows, "rtt_us", 1e-6),
            "goodput": lambda: self._goodputs(run, flows),
            "queue": lambda: self._queues(run),
            "estimate": lambda: self._estimates(run, flows),
        }
        found: list[tuple[PanelName, list[Named]]] = []
        for name in self.panel or list(PANELS):
            lines = [
                (label, look, points.within(self.span_s(run)))
                for label, look, points in sources[name]()
            ]
            lines = [each for each in lines if np.isfinite(each[2].values).any()]
            if lines:
                found.append((name, lines))
            elif self.panel:
                raise UsageError(f"panel {name}: run {run.id} has none, {PANELS[name].why_none}")
        if not found:
            raise UsageError(f"run {run.id} has no samples to draw")
        return found

    def _draw_panel(
        self, axes: Axes, panel: Panel, lines: Sequence[Named], handles: dict[str, Any]
    ) -> None:
        largest = [float(np.nanmax(points.values)) for _label, _look, points in lines]
        divisor, unit = _labels.scale(panel.unit, largest)
        title = _labels.with_unit(panel.title, unit)
        axes.set_ylabel(self.y_label if self.y_label is not None else title)
        for label, look, points in lines:
            (handle,) = axes.plot(
                points.time_s, points.values / divisor,
                color=look.color, linestyle=look.dashes, linewidth=0.9,
            )  # fmt: skip
            if label:
                handles.setdefault(label, handle)
        axes.set_ylim(bottom=0)

    def _name(self, run: StoredRun, flow: int) -> str:
        name = run.flows[flow].name
        return self.names.get(name, name)

    def _senders(
        self, run: StoredRun, flows: Sequence[int], column: str, factor: float
    ) -> list[Named]:
        found = []
        for index, flow in enumerate(flows):
            points = _run.sender(run, flow, column)
            found.append((self._name(run, flow), line(index), points._replace(
                values=points.values * factor
            )))  # fmt: skip
        return found

    def _goodputs(self, run: StoredRun, flows: Sequence[int]) -> list[Named]:
        width_s = self.bin or _run.bin_s(self.span_s(run), _run.period_s(run, flows))
        return [
            (self._name(run, flow), line(index), _run.goodput_bps(run, flow, width_s))
            for index, flow in enumerate(flows)
        ]

    def _queues(self, run: StoredRun) -> list[Named]:
        """Return the queues of bottlenecks in the direction in which data cross them."""
        crossed = {name for flow in run.flows for name in flow.path}
        chosen = [
            index
            for index, queue in enumerate(run.queues)
            if queue.bottleneck and queue.role == "queue" and channel(queue) in crossed
        ]
        found = []
        for place, index in enumerate(chosen):
            columns = run.queue_columns(index)
            name = channel(run.queues[index])
            points = Points(columns["time_ns"] / 1e9, columns["backlog_packets"].astype(np.float64))
            if len(chosen) == 1:  # its panel is its name
                return [("", PLAIN, points)]
            found.append((f"queue of {self.names.get(name, name)}", line(place), points))
        return found

    def _estimates(self, run: StoredRun, flows: Sequence[int]) -> list[Named]:
        found = []
        for index, flow in enumerate(flows):
            fields = run.flows[flow].congestion_fields
            slot = next((slot for slot, field in enumerate(fields) if field in ESTIMATES), None)
            if slot is not None:
                points = _run.sender(run, flow, f"congestion_{slot}")
                bits = points._replace(values=points.values * 8)
                found.append((self._name(run, flow), line(index), bits))
        return found

"""Time-sequence plots from the senders' counters, or from a stored trace as tcptrace draws it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from orchestrator.errors import UsageError
from orchestrator.recording.model import SENDER
from results.figures import _labels
from results.figures._canvas import Canvas, line
from results.figures._frame import set_scale
from results.figures._run import RunFigure, TimeSeries
from results.figures._time_sequence import draw_segments
from results.figures._traced import trace_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from results.figures._study import Study
    from results.store.stored import StoredRun


MARK: Mapping[str, Any] = {
    "linestyle": "none", "marker": "x", "markersize": 3, "markeredgewidth": 0.8,
}  # fmt: skip
"""How a retransmission looks."""


class SequenceFigure(RunFigure):
    """Acknowledged bytes over time, with a mark at each sample after which bytes were sent again.

    Marks have the colour of their flow. Of a single flow the bytes sent for the first time are
    shown, too. They are counters of the
    kernel at the times of samples (tcpi_bytes_acked, tcpi_bytes_sent, tcpi_bytes_retrans).

    With `segments` it is drawn at the sender of a flow from a stored trace, as tcptrace draws it:
    each segment as it is sent, those that are sent again, blocks of SACK, the acknowledged bytes,
    and the end of the receive window. The trace has `packets` and `acks`.
    """

    kind: Literal["sequence"] = Field(description="bytes sent and acknowledged over time")
    segments: bool = Field(
        default=False, description="draw each segment of one flow, from a stored trace"
    )
    trace: int | None = trace_number()

    def draw(self, canvas: Canvas, study: Study) -> None:
        """Draw the counters of each flow, or the segments of one."""
        if self.segments or self.trace is not None:
            draw_segments(self, self.trace, canvas, study)
        else:
            self._draw_counters(canvas, study)

    def _draw_counters(self, canvas: Canvas, study: Study) -> None:
        from matplotlib.lines import Line2D

        run = self.run(study)
        flows = [flow for flow in self.flows(run) if len(run.tcp_columns(flow, SENDER)["time_ns"])]
        if not flows:
            raise UsageError(f"run {run.id} has no samples of a sender of TCP to draw")
        lines: list[tuple[str, TimeSeries]] = []
        for flow in flows:
            name = run.flows[flow].name
            lines.append((self.names.get(name, name), self._counter(run, flow, "bytes_acked")))
        if len(flows) == 1:
            lines = [("acknowledged", lines[0][1]), ("sent", self._sent(run, flows[0]))]
        largest = max(float(points.values.max(initial=0.0)) for _name, points in lines)
        divisor, unit = _labels.scale("bytes", [largest])
        panel = canvas.panel()
        set_scale(panel.yaxis, "bytes", divisor)
        handles: list[Any] = []
        for index, (_name, points) in enumerate(lines):
            style = line(index)
            (handle,) = panel.plot(
                points.time_s, points.values / divisor, color=style.color, linestyle=style.dashes
            )
            handles.append(handle)
        names = [name for name, _points in lines]
        if self._mark_again(panel, run, flows, divisor):
            mark = Line2D([], [], color="black", **MARK)
            handles, names = [*handles, mark], [*names, "retransmission"]
        if panel.get_ylim()[0] < 0:
            panel.set_ylim(bottom=0)
        title = _labels.with_unit("Sequence number", unit)
        panel.set_ylabel(self.y_label if self.y_label is not None else title)
        self.label_time(panel, run)
        canvas.legend(handles, names)

    def _mark_again(self, panel: Axes, run: StoredRun, flows: Sequence[int], divisor: float) -> int:
        """Mark what each flow sent again; return the number of marks.

        Of a single flow the marks are black, because its lines have two colours.
        """
        number = 0
        for index, flow in enumerate(flows):
            again = self._again(run, flow)
            colour = line(index).color if len(flows) > 1 else "black"
            panel.plot(again.time_s, again.values / divisor, color=colour, zorder=3, **MARK)
            number += len(again.time_s)
        return number

    def _counter(self, run: StoredRun, flow: int, *columns: str) -> TimeSeries:
        """Return the first counter less the others."""
        samples = run.tcp_columns(flow, SENDER)
        first, *others = (samples[name].astype(np.float64) for name in columns)
        values = first - sum(others, np.zeros_like(first))
        return TimeSeries(samples["time_ns"] / 1e9, values).within(self.span_s(run))

    def _sent(self, run: StoredRun, flow: int) -> TimeSeries:
        return self._counter(run, flow, "bytes_sent", "bytes_retrans")

    def _again(self, run: StoredRun, flow: int) -> TimeSeries:
        """Return the samples before which bytes were sent again, at the acknowledged bytes."""
        samples = run.tcp_columns(flow, SENDER)
        time_s = samples["time_ns"] / 1e9
        low, high = self.span_s(run)
        grown = np.diff(samples["bytes_retrans"], prepend=0) > 0
        chosen = grown & (time_s >= low) & (time_s <= high)
        return TimeSeries(time_s[chosen], samples["bytes_acked"][chosen].astype(np.float64))

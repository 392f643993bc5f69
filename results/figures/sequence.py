"""Time-sequence plots from the senders' counters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from orchestrator.errors import UsageError
from orchestrator.recording.model import SENDER
from results.figures import _labels
from results.figures._canvas import Canvas, line
from results.figures._run import OfRun, Points

if TYPE_CHECKING:
    from results.figures._study import Study
    from results.stored import StoredRun


class SequenceFigure(OfRun):
    """Acknowledged bytes over time, with a mark at each sample after which bytes were sent again.

    Of a single flow the bytes sent for the first time are shown, too. They are counters of the
    kernel at the times of samples (tcpi_bytes_acked, tcpi_bytes_sent, tcpi_bytes_retrans).
    """

    kind: Literal["sequence"] = Field(description="bytes sent and acknowledged over time")

    def draw(self, canvas: Canvas, study: Study) -> None:
        """Draw the counters of each flow."""
        run = self.run(study)
        flows = [flow for flow in self.flows(run) if len(run.tcp_columns(flow, SENDER)["time_ns"])]
        if not flows:
            raise UsageError(f"run {run.id} has no samples of a sender of TCP to draw")
        lines: list[tuple[str, Points]] = []
        for flow in flows:
            name = run.flows[flow].name
            lines.append((self.names.get(name, name), self._counter(run, flow, "bytes_acked")))
        if len(flows) == 1:
            lines = [("acknowledged", lines[0][1]), ("sent", self._sent(run, flows[0]))]
        largest = max(float(points.values.max(initial=0.0)) for _name, points in lines)
        divisor, unit = _labels.scale("bytes", [largest])
        panel = canvas.panel()
        handles: list[Any] = []
        for index, (_name, points) in enumerate(lines):
            look = line(index)
            (handle,) = panel.plot(
                points.time_s, points.values / divisor, color=look.color, linestyle=look.dashes
            )
            handles.append(handle)
        marks = [self._again(run, flow) for flow in flows]
        again = panel.plot(
            np.concatenate([each.time_s for each in marks]),
            np.concatenate([each.values for each in marks]) / divisor,
            color="#D55E00", linestyle="none", marker="x", markersize=3, markeredgewidth=0.8,
        )  # fmt: skip
        names = [name for name, _points in lines]
        if any(len(each.time_s) for each in marks):
            handles, names = [*handles, *again], [*names, "retransmission"]
        panel.set_ylim(bottom=0)
        title = _labels.with_unit("Sequence number", unit)
        panel.set_ylabel(self.y_label if self.y_label is not None else title)
        self.label_time(panel, run)
        canvas.legend(handles, names)

    def _counter(self, run: StoredRun, flow: int, *columns: str) -> Points:
        """Return the first counter less the others."""
        samples = run.tcp_columns(flow, SENDER)
        first, *others = (samples[name].astype(np.float64) for name in columns)
        values = first - sum(others, np.zeros_like(first))
        return Points(samples["time_ns"] / 1e9, values).within(self.span_s(run))

    def _sent(self, run: StoredRun, flow: int) -> Points:
        return self._counter(run, flow, "bytes_sent", "bytes_retrans")

    def _again(self, run: StoredRun, flow: int) -> Points:
        """Return the samples before which bytes were sent again, at the acknowledged bytes."""
        samples = run.tcp_columns(flow, SENDER)
        time_s = samples["time_ns"] / 1e9
        low, high = self.span_s(run)
        grown = np.diff(samples["bytes_retrans"], prepend=0) > 0
        chosen = grown & (time_s >= low) & (time_s <= high)
        return Points(time_s[chosen], samples["bytes_acked"][chosen].astype(np.float64))

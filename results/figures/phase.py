"""The congestion windows of two flows against each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field, PrivateAttr

from orchestrator.errors import UsageError
from results.figures import _run
from results.figures._canvas import Canvas, line
from results.figures._frame import set_scale
from results.figures._run import BY_FLOW, RunFigure

if TYPE_CHECKING:
    from results.figures._study import Study

_RATIO = 0.9
"""Height by width: both axes are equally long."""


class PhaseFigure(RunFigure):
    """The cwnd of one flow against that of another, at the times of common samples.

    On the dashed line both windows are equal.
    """

    explained: ClassVar[str] = " On the dashed line both windows are equal."

    kind: Literal["phase"] = Field(description="the cwnd of two flows against each other")

    _times_s: tuple[float, float] = PrivateAttr(default=(0.0, 0.0))

    def caption(self, study: Study) -> str:
        """Return what the figure shows, of which run, and when it begins and ends."""
        first_s, last_s = self._times_s
        return f"{super().caption(study)} It is from {first_s:g} s to {last_s:g} s."

    def draw(self, canvas: Canvas, study: Study) -> None:
        """Draw the way of the windows, from the begin to the end."""
        run = self.run(study)
        flows = [flow for flow in self.flows(run) if run.flows[flow].transport == "tcp"]
        if len(flows) != 2:
            names = ", ".join(run.flows[flow].name for flow in flows) or "none"
            raise UsageError(
                f"a phase plot is of two flows of TCP, not of {len(flows)} ({names}): "
                f"name two {BY_FLOW}"
            )
        first, second = (_run.sender(run, flow, "snd_cwnd_segments") for flow in flows)
        common, at_first, at_second = np.intersect1d(
            first.time_s, second.time_s, return_indices=True
        )
        low, high = self.span_s(run)
        inside = (common >= low) & (common <= high)
        inside &= np.isfinite(first.values[at_first]) & np.isfinite(second.values[at_second])
        x, y = first.values[at_first][inside], second.values[at_second][inside]
        if not len(x):
            raise UsageError(f"run {run.id} has no common samples of the two flows to draw")
        canvas.figure.set_figheight(canvas.figure.get_figwidth() * _RATIO)
        panel = canvas.panel()
        panel.set_aspect("equal", adjustable="box")
        for axis in (panel.xaxis, panel.yaxis):
            set_scale(axis, "segments", 1.0)
        style = line(0)
        panel.plot(x, y, color=style.color, linewidth=0.6, alpha=0.8)
        largest = 1.05 * float(max(x.max(), y.max()))
        panel.plot(
            [0, largest], [0, largest], color="#606060", linestyle=(0, (4, 2)), linewidth=0.8
        )
        (begin,) = panel.plot(x[:1], y[:1], color="black", marker="o", linestyle="none")
        (end,) = panel.plot(x[-1:], y[-1:], color=line(1).color, marker="s", linestyle="none")
        panel.set_xlim(0, largest)
        panel.set_ylim(0, largest)
        for label, flow, put in (
            (self.x_label, flows[0], panel.set_xlabel),
            (self.y_label, flows[1], panel.set_ylabel),
        ):
            name = run.flows[flow].name
            text = f"cwnd of {self.names.get(name, name)} (segments)"
            put(label if label is not None else text)
        self._times_s = (float(common[inside][0]), float(common[inside][-1]))
        canvas.legend([begin, end], ["begin", "end"])

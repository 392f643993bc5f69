"""The congestion windows of two flows against each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from orchestrator.errors import UsageError
from results.figures import _run
from results.figures._canvas import Canvas, line
from results.figures._run import OfRun

if TYPE_CHECKING:
    from results.figures._study import Study

_RATIO = 0.9
"""Height by width: both axes are equally long."""


class PhaseFigure(OfRun):
    """The cwnd of one flow against that of another, at the times of common samples.

    On the dashed line both windows are equal.
    """

    kind: Literal["phase"] = Field(description="the cwnd of two flows against each other")

    def draw(self, canvas: Canvas, study: Study) -> None:
        """Draw the way of the windows, from the begin to the end."""
        run = self.run(study)
        flows = [flow for flow in self.flows(run) if run.flows[flow].transport == "tcp"]
        if len(flows) != 2:
            names = ", ".join(run.flows[flow].name for flow in flows) or "none"
            raise UsageError(
                f"a phase plot is of two flows of TCP, not of {len(flows)} ({names}): "
                "name two by flow"
            )
        first, second = (_run.sender(run, flow, "snd_cwnd_segments") for flow in flows)
        common, at_first, at_second = np.intersect1d(
            first.time_s, second.time_s, return_indices=True
        )
        low, high = self.span_s(run)
        inside = (common >= low) & (common <= high)
        x, y = first.values[at_first][inside], second.values[at_second][inside]
        if not len(x):
            raise UsageError(f"run {run.id} has no common samples of the two flows to draw")
        canvas.figure.set_figheight(canvas.figure.get_figwidth() * _RATIO)
        panel = canvas.panel()
        panel.set_aspect("equal", adjustable="box")
        look = line(0)
        panel.plot(x, y, color=look.color, linewidth=0.6, alpha=0.8)
        largest = 1.05 * float(max(np.nanmax(x), np.nanmax(y)))
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
        canvas.legend(
            [begin, end], [f"begin ({common[inside][0]:g} s)", f"end ({common[inside][-1]:g} s)"]
        )

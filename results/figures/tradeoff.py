"""Throughput against delay, with an ellipse over runs for each flow."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from results.experiment.names import MetricName
from results.figures import _axes, _labels, _series
from results.figures._canvas import Canvas, line, require_distinct
from results.figures._spec import ExperimentFigure
from results.layout.arrangement import PARTIAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from results.figures._series import Cell
    from results.figures._study import Study

LEAST_RUNS = 3
"""Two points lie on a line, and give no ellipse."""


class TradeoffFigure(ExperimentFigure):
    """Throughput against delay: the mean of each series as a point, its runs as an ellipse.

    The ellipse has one standard deviation of the bivariate normal distribution with the runs'
    covariance. Delay grows to the left, so better is up and right (Winstein, Sivaraman and
    Balakrishnan, NSDI 2013).
    """

    kind: Literal["tradeoff"] = Field(description="throughput against delay")
    metric: MetricName = Field(default="goodput_bps", description="the vertical metric")
    delay: MetricName = Field(default="rtt_mean_s", description="the horizontal metric")
    from_zero: bool = Field(default=False, description="begin the vertical axis at zero")

    def caption(self, study: Study) -> str:
        """Return both metrics, what a point is of, and what an ellipse is."""
        metric, delay = _labels.metric_title(self.metric), _labels.in_sentence(self.delay)
        ellipses = (
            " Ellipses are one standard deviation of the runs."
            if max(study.shown, default=0) >= LEAST_RUNS
            else ""
        )
        return (
            f"{metric} against {delay}: means over {study.repetitions()}.{ellipses} "
            "Better is up and right."
        )

    def draw(self, canvas: Canvas, study: Study) -> None:
        """Draw a point and an ellipse for each series."""
        summary = self.summary(study, self.metric, self.delay)
        plotted = _series.cells(summary, [self.metric, self.delay], self.of)
        lines = _series.series(summary, plotted, [], self.names)
        require_distinct([series.name for series in lines])
        panel = canvas.panel()
        values = {
            name: [value for cell in plotted for value in cell.metrics[name].values]
            for name in (self.metric, self.delay)
        }
        x_divisor = _axes.metric_axis(
            panel, self.delay, values[self.delay], self.x_label, horizontal=True
        )
        y_divisor = _axes.metric_axis(panel, self.metric, values[self.metric], self.y_label)
        handles, flat, parts = [], 0, False
        for index, series in enumerate(lines):
            (cell,) = series.cells
            pairs = [(x / x_divisor, y / y_divisor) for x, y in self._pairs(cell)]
            handles.append(_point(panel, index, pairs))
            mean = (_mean([x for x, _y in pairs]), _mean([y for _x, y in pairs]))
            parts |= _axes.mark_part(panel, mean, cell.metrics.values())
            if len(pairs) >= LEAST_RUNS:
                _ellipse(panel, index, pairs)
            else:
                flat += 1
        if flat:
            study.note(f"no ellipse: {flat} of {len(lines)} points have less than 3 runs")
        panel.invert_xaxis()
        if self.from_zero:
            _axes.from_zero([panel])
        names = [series.name for series in lines]
        canvas.legend(handles, names, [PARTIAL] if parts else [])

    def _pairs(self, cell: Cell) -> list[tuple[float, float]]:
        """Return (delay, throughput) of each run that has both."""
        delay, rate = cell.metrics[self.delay], cell.metrics[self.metric]
        rates = dict(zip(rate.runs, rate.values, strict=True))
        return [
            (value, rates[run])
            for run, value in zip(delay.runs, delay.values, strict=True)
            if run in rates
        ]


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)


def _point(panel: Axes, index: int, pairs: list[tuple[float, float]]) -> Any:
    style = line(index)
    (handle,) = panel.plot(
        [_mean([x for x, _y in pairs])], [_mean([y for _x, y in pairs])],
        color=style.color, marker=style.marker, linestyle="none", markersize=4.5,
    )  # fmt: skip
    return handle


def _ellipse(panel: Axes, index: int, pairs: list[tuple[float, float]]) -> None:
    """Draw the ellipse of one standard deviation, by the eigenvectors of the covariance."""
    from matplotlib.patches import Ellipse

    style = line(index)
    squares, vectors = np.linalg.eigh(np.cov(np.array(pairs).T))
    widths = 2 * np.sqrt(np.maximum(squares, 0.0))
    shape = Ellipse(
        (_mean([x for x, _y in pairs]), _mean([y for _x, y in pairs])),
        width=float(widths[1]), height=float(widths[0]),
        angle=math.degrees(math.atan2(vectors[1, 1], vectors[0, 1])),
        facecolor=(style.color, 0.18), edgecolor=style.color, linestyle=style.dashes, linewidth=0.9,
    )  # fmt: skip
    panel.add_patch(shape)
    panel.autoscale_view()

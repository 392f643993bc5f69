"""A metric against an axis of the experiment, with confidence intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from orchestrator.errors import UsageError
from orchestrator.kinds.fields import Path
from results.figures import _axes, _labels, _series
from results.figures._canvas import Canvas, line, require_distinct
from results.figures._spec import MetricName, OfExperiment

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from results.figures._series import Series
    from results.figures._study import Study
    from results.figures._style import Line


class MetricFigure(OfExperiment):
    """A metric against an axis of the matrix, with 95% confidence intervals.

    Each flow entry, and each combination of values of the other axes, is a line.
    """

    kind: Literal["metric"] = Field(description="a metric against an axis of the matrix")
    metric: MetricName = Field(description="the metric, such as `goodput_bps`")
    by: str | None = Field(
        default=None,
        description="the axis (its path, or the end of it) to draw against; needed if several are "
        "possible",
    )
    log_x: bool | None = Field(
        default=None, description="logarithmic horizontal axis; by default if the values suit it"
    )
    log_y: bool = Field(default=False, description="logarithmic vertical axis")
    from_zero: bool = Field(default=True, description="begin the vertical axis at zero")
    crossings: bool = Field(
        default=False,
        description="mark where flow entries change places, with the 95% interval over seeds",
    )

    def named_axes(self) -> Iterator[tuple[Path, str]]:
        """Yield the axis to draw against, and those of conditions."""
        yield from super().named_axes()
        if self.by is not None:
            yield ("by",), self.by

    def draw(self, canvas: Canvas, study: Study) -> None:
        """Draw a line with intervals for each series."""
        document = self.summary(study, self.metric)
        found = _series.cells(document, [self.metric], self.of)
        axis = (
            _series.axis_named(document, self.by)
            if self.by is not None
            else _series.only_axis(document, found)
        )
        found = [cell for cell in found if _series.place(axis, cell) is not None]
        lines = _series.series(document, found, [axis], self.names)
        require_distinct([one.name for one in lines])
        panel = canvas.panel()
        log_x = self.log_x if self.log_x is not None else _series.made(axis).geometric
        places = _axes.parameter_axis(
            panel, axis, self.x_label, log_x and axis["numbers"] is not None, canvas.width_in
        )
        values = [value for cell in found for value in _series.ends(cell.metrics[self.metric])]
        divisor = _axes.metric_axis(panel, self.metric, values, self.y_label)
        if self.log_y:
            _axes.log_scale(panel, "y", values)
        shifts = _axes.shifts(len(lines)) if axis["numbers"] is None else [0.0] * len(lines)
        handles = [
            self._line(panel, one, line(index), [place + shift for place in places], divisor, axis)
            for index, (one, shift) in enumerate(zip(lines, shifts, strict=True))
        ]
        if self.crossings:
            self._mark_crossings(panel, document, axis, found)
        study.note_single([cell.metrics[self.metric] for cell in found])
        if self.from_zero:
            _axes.from_zero(panel)
        canvas.legend(handles, [one.name for one in lines])

    def _mark_crossings(
        self,
        panel: Axes,
        document: _series.Document,
        axis: _series.Axis,
        found: Sequence[_series.Cell],
    ) -> None:
        """Mark the places of the summary, which are in the axis's unit."""
        if axis["numbers"] is None:
            raise UsageError(f"crossings: {axis['label']} has names and no numbers as values")
        shown = {cell.subject for cell in found}
        divisor, _unit = _labels.scale(_labels.axis_unit(axis), axis["numbers"])
        for one in document["crossings"]:
            if one["axis"] == axis["path"] and {one["a"], one["b"]} <= shown:
                panel.axvline(one["mean"] / divisor, color="#606060", linewidth=0.8, zorder=1)
                if one["low"] is not None:
                    edges = (one["low"] / divisor, one["high"] / divisor)
                    panel.axvspan(*edges, color="#000000", alpha=0.12, linewidth=0, zorder=0)

    def _line(
        self,
        panel: Axes,
        series: Series,
        look: Line,
        places: list[float],
        divisor: float,
        axis: _series.Axis,
    ) -> Any:
        points = sorted(
            (
                (places[place], cell.metrics[self.metric])
                for cell in series.cells
                if (place := _series.place(axis, cell)) is not None
            ),
            key=lambda point: point[0],
        )
        means = [one["mean"] / divisor for _x, one in points]
        ends = [_series.ends(one) for _x, one in points]
        return panel.errorbar(
            [x for x, _one in points],
            means,
            yerr=[
                [mean - low / divisor for mean, (low, _high) in zip(means, ends, strict=True)],
                [high / divisor - mean for mean, (_low, high) in zip(means, ends, strict=True)],
            ],
            color=look.color,
            linestyle=look.dashes if axis["numbers"] is not None else "none",
            marker=look.marker,
            capsize=2,
            elinewidth=0.8,
            capthick=0.8,
        )

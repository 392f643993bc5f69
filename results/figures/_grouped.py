"""Bars and boxes: values beside each other, in groups by the value of an axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import Field

from orchestrator.kinds.fields import Path
from results.experiment.model import Summary
from results.experiment.names import MetricName
from results.figures import _axes, _labels, _series
from results.figures._canvas import require_distinct
from results.figures._series import Cell, Series
from results.figures._spec import ExperimentFigure
from results.layout.line_styles import COLOURS
from results.matrix.axes import Axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from results.figures._canvas import Canvas
    from results.figures._study import Study

GROUP = 0.8
"""Width of a group; groups are 1 apart."""


@dataclass(frozen=True)
class CellGroups:
    """The groups' names, the name of what they differ in, and the series of each group's cells.

    The cells of a series have an index of their group each. ``apart`` tells that each group is a
    flow entry with a look of its own, as on the page of an experiment.
    """

    names: Sequence[str]
    title: str
    series: Sequence[tuple[str, Sequence[tuple[int, Cell]]]]
    apart: bool = False

    def place(self, series: int, group: int) -> float:
        """Return where a series stands in a group."""
        return group + (series - (len(self.series) - 1) / 2) * self.width

    def look(self, series: int, group: int) -> int:
        """Return the index of the look of a series in a group."""
        return group % COLOURS if self.apart else series

    @property
    def width(self) -> float:
        """Room of one series in a group."""
        return GROUP / len(self.series)


class GroupedFigure(ExperimentFigure):
    """A figure of groups."""

    metric: MetricName = Field(description="the metric, such as `goodput_bps`")
    by: str | None = Field(
        default=None, description="the axis (its path, or the end of it) whose values are groups"
    )
    log_y: bool = Field(default=False, description="logarithmic vertical axis")

    def named_axes(self) -> Iterator[tuple[Path, str]]:
        """Yield the axis of the groups, and those of conditions."""
        yield from super().named_axes()
        if self.by is not None:
            yield ("by",), self.by

    def groups(self, study: Study) -> CellGroups:
        """Return the groups: the values of an axis, or else the flow entries."""
        summary = self.summary(study, self.metric)
        plotted = _series.cells(summary, [self.metric], self.of)
        if self.by is None and not any(
            len(_series.values_on(axis, plotted)) > 1 for axis in summary.axes
        ):
            return self._without_axis(summary, plotted)
        axis = (
            _series.axis_named(summary, self.by)
            if self.by is not None
            else _series.only_axis(summary, plotted)
        )
        placed = study.placed(plotted, axis)
        axis = axis.with_values(_series.values_on(axis, placed))
        lines = _series.series(summary, placed, [axis], self.names)
        require_distinct([line.name for line in lines])
        texts, title = _labels.tick_labels(axis)
        return CellGroups(
            [self.names.get(text, text) for text in texts],
            title,
            [(line.name, _placed(axis, line)) for line in lines],
        )

    def _without_axis(self, summary: Summary, plotted: Sequence[Cell]) -> CellGroups:
        """Return a group for each flow entry and variant: no axis has several values."""
        experiment = self.names.get(summary.experiment, _labels.plain(summary.experiment))
        lines = _series.series(summary, plotted, [], self.names)
        placed = [cell for line in lines for cell in line.cells]
        names = [line.name or experiment for line in lines for _cell in line.cells]
        return CellGroups(names, "", [("", list(enumerate(placed)))], apart=True)

    def name_groups(self, canvas: Canvas, panel: Axes, groups: CellGroups) -> None:
        """Label the horizontal axis with the groups."""
        canvas.grow(_axes.name_ticks(panel, groups.names, canvas.width_in))
        panel.set_xlim(-0.6, len(groups.names) - 0.4)
        panel.grid(visible=False, axis="x")
        panel.tick_params(axis="x", length=0)
        title = self.x_label if self.x_label is not None else groups.title
        panel.set_xlabel(title)


def _placed(axis: Axis, series: Series) -> list[tuple[int, Cell]]:
    places = [(_series.place(axis, cell), cell) for cell in series.cells]
    return [(index, cell) for index, cell in places if index is not None]

"""Bars and boxes: values beside each other, in groups by the value of an axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import Field

from orchestrator.kinds.fields import Path
from results.arrangement import COLOURS
from results.figures import _labels, _series
from results.figures._canvas import require_distinct
from results.figures._series import Cell, Series
from results.figures._spec import MetricName, OfExperiment

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from results.figures._study import Study

GROUP = 0.8
"""Width of a group; groups are 1 apart."""


@dataclass(frozen=True)
class Groups:
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


class GroupedFigure(OfExperiment):
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

    def groups(self, study: Study) -> Groups:
        """Return the groups: the values of an axis, or else the flow entries."""
        document = self.summary(study, self.metric)
        found = _series.cells(document, [self.metric], self.of)
        if self.by is None and not any(
            len(_series.values_on(axis, found)) > 1 for axis in document["axes"]
        ):
            return self._without_axis(found, study.experiment.name)
        axis = (
            _series.axis_named(document, self.by)
            if self.by is not None
            else _series.only_axis(document, found)
        )
        lines = _series.series(document, found, [axis], self.names)
        require_distinct([one.name for one in lines])
        texts, title = _labels.tick_labels(axis)
        return Groups(
            [self.names.get(text, text) for text in texts],
            title,
            [(one.name, _placed(axis, one)) for one in lines],
        )

    def _without_axis(self, found: Sequence[Cell], experiment: str) -> Groups:
        names = [cell.subject or experiment for cell in found]
        return Groups(
            [self.names.get(name, name) for name in names], "", [("", list(enumerate(found)))],
            apart=True,
        )  # fmt: skip

    def name_groups(self, panel: Axes, groups: Groups, width_in: float) -> None:
        """Label the horizontal axis with the groups; long names are turned."""
        panel.set_xticks(range(len(groups.names)), labels=list(groups.names))
        panel.set_xlim(-0.6, len(groups.names) - 0.4)
        panel.grid(visible=False, axis="x")
        panel.tick_params(axis="x", length=0)
        room = width_in * 0.8 / len(groups.names)
        if max(len(name) for name in groups.names) * 0.055 > room:
            panel.tick_params(axis="x", rotation=35)
            for text in panel.get_xticklabels():
                text.set_horizontalalignment("right")
                text.set_rotation_mode("anchor")
        title = self.x_label if self.x_label is not None else groups.title
        panel.set_xlabel(title)


def _placed(axis: _series.Axis, series: Series) -> list[tuple[int, Cell]]:
    places = [(_series.place(axis, cell), cell) for cell in series.cells]
    return [(place, cell) for place, cell in places if place is not None]

"""The distribution of a metric over runs, as box plots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from orchestrator.errors import UsageError
from results.figures import _axes, _labels
from results.figures._canvas import Canvas, line
from results.figures._grouped import GroupedFigure

if TYPE_CHECKING:
    from results.figures._study import Study

LEAST_RUNS = 3
"""Least runs of a box. Of fewer values it would show quartiles that no value gives."""


class BoxFigure(GroupedFigure):
    """A metric's values over runs as boxes: median, quartiles, and whiskers of 1.5 times the box.

    Each value outside is a point. Boxes need at least 3 runs.
    """

    kind: Literal["box"] = Field(description="values over runs as boxes")
    from_zero: bool = Field(default=False, description="begin the vertical axis at zero")

    def caption(self, study: Study) -> str:
        """Return the metric, and what it is shown of."""
        title = _labels.metric_title(self.metric)
        return (
            f"{title} over {study.repetitions()}: median, quartiles, and whiskers of 1.5 times the "
            "box. Values outside are points."
        )

    def draw(self, canvas: Canvas, study: Study) -> None:
        """Draw a box for each variant and flow entry."""
        groups = self.groups(study)
        panel = canvas.panel()
        cells = [cell for _name, cells in groups.series for _group, cell in cells]
        counts = [len(cell.metrics[self.metric].values) for cell in cells]
        if min(counts) < LEAST_RUNS:
            raise UsageError(
                f"too few runs: a box needs {LEAST_RUNS} values of {self.metric}, and "
                f"{counts.count(min(counts))} of {len(counts)} have {min(counts)}; "
                "give the scenario more repetitions"
            )
        shown = [value for cell in cells for value in cell.metrics[self.metric].values]
        divisor = _axes.metric_axis(panel, self.metric, shown, self.y_label)
        if self.log_y:
            _axes.log_scale(panel, "y", shown)
        handles: list[Any] = []
        for index, (_name, placed) in enumerate(groups.series):
            style = line(index)
            made = panel.boxplot(
                [
                    [value / divisor for value in cell.metrics[self.metric].values]
                    for _group, cell in placed
                ],
                positions=[groups.place(index, group) for group, _cell in placed],
                widths=0.8 * groups.width,
                manage_ticks=False,
                patch_artist=True,
                boxprops={
                    "facecolor": (style.color, 0.3), "edgecolor": style.color, "linewidth": 0.8,
                    "hatch": style.hatch,
                },
                medianprops={"color": style.color, "linewidth": 1.6},
                whiskerprops={"linewidth": 0.8, "color": style.color},
                capprops={"linewidth": 0.8, "color": style.color},
                flierprops={"marker": style.marker, "markersize": 2.5, "markeredgewidth": 0.6,
                            "markeredgecolor": style.color},
            )  # fmt: skip
            handles.append(made["boxes"][0])
        if self.from_zero:
            _axes.from_zero([panel])
        self.name_groups(canvas, panel, groups)
        canvas.legend(handles, [name for name, _cells in groups.series])

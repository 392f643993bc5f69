"""A metric as bars, with confidence intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from results.figures import _axes, _labels
from results.figures._canvas import Canvas, line
from results.figures._grouped import GroupedFigure
from results.figures._series import ends
from results.figures._spec import INTERVALS, SINGLE
from results.layout.arrangement import PARTIAL
from results.layout.series import known

if TYPE_CHECKING:
    from results.figures._study import Study


class BarsFigure(GroupedFigure):
    """Means as bars, with 95% confidence intervals.

    The values of an axis are groups of bars. Without axes each flow entry is a bar.
    """

    kind: Literal["bars"] = Field(description="means as bars")

    def caption(self, study: Study) -> str:
        """Return the metric, what a bar is, and the kind of its interval."""
        several = any(count > 1 for count in study.shown)
        means = f"Means over {study.repetitions()}. " if several else ""
        text = INTERVALS.replace("Bars", "Thin bars") if several else SINGLE
        return f"{_labels.metric_title(self.metric)}. {means}{text}."

    def draw(self, canvas: Canvas, study: Study) -> None:
        """Draw a bar with its interval for each value."""
        from matplotlib.patheffects import withStroke

        groups = self.groups(study)
        shown = [
            cell.metrics[self.metric] for _name, cells in groups.series for _group, cell in cells
        ]
        panel = canvas.panel()
        limits = [value for metric in shown for value in ends(metric)]
        divisor = _axes.metric_axis(panel, self.metric, limits, self.y_label)
        if self.log_y:
            _axes.log_scale(panel, "y", limits)
        handles: list[Any] = []
        parts: list[bool] = []
        for index, (_name, cells) in enumerate(groups.series):
            styles = [line(groups.look(index, group)) for group, _cell in cells]
            estimates = [cell.metrics[self.metric] for _group, cell in cells]
            means = [known(metric) / divisor for metric in estimates]
            intervals = [[edge / divisor for edge in ends(metric)] for metric in estimates]
            places = [groups.place(index, group) for group, _cell in cells]
            handles.append(
                panel.bar(
                    places, means, width=0.9 * groups.width,
                    color=[style.color for style in styles],
                    edgecolor=[style.edge for style in styles],
                    linewidth=0.5, hatch=[style.hatch for style in styles],
                )
            )  # fmt: skip
            interval = panel.errorbar(
                places, means,
                yerr=[
                    [mean - low for mean, (low, _) in zip(means, intervals, strict=True)],
                    [high - mean for mean, (_, high) in zip(means, intervals, strict=True)],
                ],
                fmt="none", ecolor="#404040", elinewidth=0.9, capsize=2, capthick=0.9,
            )  # fmt: skip
            for part in (*interval.lines[1], *interval.lines[2]):  # also on a dark bar
                part.set_path_effects([withStroke(linewidth=2.1, foreground="white")])
            tops = [(place, high) for place, (_low, high) in zip(places, intervals, strict=True)]
            parts += [
                _axes.mark_part(panel, top, [metric])
                for top, metric in zip(tops, estimates, strict=True)
            ]
        study.note_single(shown)
        _axes.from_zero([panel])
        self.name_groups(canvas, panel, groups)
        names = [name for name, _cells in groups.series]
        canvas.legend(handles, names, [PARTIAL] if any(parts) else [])

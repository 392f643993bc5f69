"""A metric against an axis of the experiment, with confidence intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, PrivateAttr

from orchestrator.errors import UsageError
from orchestrator.kinds.fields import Path
from results.experiment.model import Crossing, Summary
from results.experiment.names import MetricName
from results.figures import _axes, _labels, _series
from results.figures._canvas import Canvas, TooManyError, require_distinct
from results.figures._spec import INTERVALS, SINGLE, ExperimentFigure, Names
from results.figures._style import LINES, SIGN_SIZE
from results.layout.arrangement import (
    MOST_PANELS,
    Arrangement,
    ArrangementRequest,
    PlottedLine,
    arrange,
)
from results.layout.line_styles import COLOURS, FLOW, LineStyle, Parting
from results.layout.series import known
from results.layout.small_multiples import chosen
from results.matrix.axes import Axis
from results.statistics.drift import PARTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from results.figures._study import Study


FEW_LINES = 5
"""As many lines can be followed without looking at the legend again and again."""

DOT_SIZE, BESIDE = 4.5, 3.5
"""Size of a repetition's dot, and its distance to the interval that it belongs to, in points."""


class MetricFigure(ExperimentFigure):
    """A metric against an axis of the matrix, with 95% confidence intervals.

    Each flow entry, and each combination of values of the other axes, is a line. Where lines could
    not be told apart, there are panels, by axes that the figure chooses by itself.
    """

    kind: Literal["metric"] = Field(description="a metric against an axis of the matrix")
    metric: MetricName = Field(description="the metric, such as `goodput_bps`")
    by: str | None = Field(
        default=None,
        description="the axis (its path, or the end of it) to draw against; needed if several are "
        "possible",
    )
    colour_by: str | None = Field(
        default=None,
        description="lines that share a value on this axis, or a flow entry (`flow`), share a "
        "colour, and differ in dashes",
    )
    panels_by: Names = Field(
        default_factory=list,
        description="a panel for each value of these axes, or for each flow entry (`flow`), with "
        "common scales",
    )
    log_x: bool | None = Field(
        default=None, description="logarithmic horizontal axis; by default if the values suit it"
    )
    log_y: bool = Field(default=False, description="logarithmic vertical axis")
    from_zero: bool = Field(default=True, description="begin the vertical axis at zero")
    each: bool = Field(default=False, description="each repetition as a small dot, too")
    crossings: bool = Field(
        default=False,
        description="mark where flow entries change places, with the 95% interval over seeds",
    )
    drift: bool = Field(default=False, description="mark means that still drift, by `~`")
    doubt: bool = Field(default=False, description="mark means with doubtful runs, by `?`")

    _against: str = PrivateAttr(default="")
    _most_lines: int = PrivateAttr(default=COLOURS)

    def with_few_lines(self) -> MetricFigure:
        """Return the figure with panels from fewer lines on: for a page with room."""
        roomy = self.model_copy()
        roomy._most_lines = FEW_LINES
        return roomy

    def named_axes(self) -> Iterator[tuple[Path, str]]:
        """Yield the axis to draw against, those of colours and panels, and those of conditions."""
        yield from super().named_axes()
        if self.by is not None:
            yield ("by",), self.by
        if self.colour_by not in (None, FLOW):
            yield ("colour_by",), self.colour_by
        for index, axis in enumerate(self.panels_by):
            if axis != FLOW:
                yield ("panels_by", index), axis

    def caption(self, study: Study) -> str:
        """Return the metric, the axis, what a point is, and the kind of its interval."""
        several = any(count > 1 for count in study.shown)
        title = _labels.metric_title(self.metric)
        title = f"{title} in the window {self.window}" if self.window else title
        by = f" against {self._against}" if self._against else ""
        points = f"Points are means over {study.repetitions()}. " if several else ""
        dots = " Dots are single runs." if self.each and several else ""
        crossings = (
            " Vertical lines are where entries change places, with the 95% interval."
            if self.crossings
            else ""
        )
        return f"{title}{by}. {points}{INTERVALS if several else SINGLE}.{dots}{crossings}"

    def draw(self, canvas: Canvas, study: Study) -> None:
        """Draw a line with intervals for each series."""
        summary = self.summary(study, self.metric, parts=PARTS if self.drift else 0)
        plotted = _series.cells(summary, [self.metric], self.of)
        axis = (
            _series.axis_named(summary, self.by)
            if self.by is not None
            else _series.only_axis(summary, plotted)
        )
        if self.crossings and axis.numbers is None:
            raise UsageError(f"crossings: {axis.label} has names and no numbers as values")
        self._against = _labels.axis_words(axis)
        study.placed(_series.cells(summary, [self.metric], self.of), axis)
        arranged = self._arranged(summary, axis, study)
        panels = canvas.grid(len(arranged.panels))
        log_x = self.log_x if self.log_x is not None else axis.geometric
        drawing = self._set_up(canvas, panels, axis.with_values(arranged.x_values), arranged, log_x)
        handles: dict[LineStyle, Any] = {}
        for panel, arranged_panel in zip(panels, arranged.panels, strict=True):
            if arranged_panel.title:
                panel.set_title(arranged_panel.title, fontsize=7, pad=3)
            if self.crossings:
                drawing.mark_crossings(panel, arranged_panel.crossings)
            for line in arranged_panel.lines:
                handles[line.look] = drawing.line(panel, line)
        points = list(arranged.points())
        study.note_single([point.metric for point in points])
        study.note_signs(points)
        if self.from_zero:
            _axes.from_zero(panels)
        looks = arranged.legend
        canvas.legend(
            [handles[style] for _name, style in looks], [name for name, _look in looks],
            arranged.signs(),
        )  # fmt: skip

    def _arranged(self, summary: Summary, axis: Axis, study: Study) -> Arrangement:
        """Return what stands where.

        Raises:
            UsageError: there are more lines or panels than can be told apart.
        """

        def parting(text: str) -> Parting:
            return FLOW if text == FLOW else _series.axis_named(summary, text)

        request = ArrangementRequest(
            self.metric,
            axis,
            None if self.colour_by is None else parting(self.colour_by),
            tuple(parting(text) for text in self.panels_by),
            self.of,
        )
        label_texts = _series.words(self.names)
        doubtful = study.experiment.doubtful() if self.doubt else ()
        arrangement = arrange(summary, summary.axes, request, label_texts, doubtful)
        number = len(arrangement.legend) + len(arrangement.lines_left_out)
        crowded = number > self._most_lines and self._most_lines < COLOURS
        if (crowded or arrangement.lines_left_out or arrangement.mixed) and not self.panels_by:
            better = chosen(summary, summary.axes, request, self._most_lines)
            arrangement = arrange(summary, summary.axes, better, label_texts, doubtful)
            if better.panels:
                by = ", ".join(
                    axis_or_name if isinstance(axis_or_name, str) else axis_or_name.label
                    for axis_or_name in better.panels
                )
                study.note(f"panels by {by}: {number} lines are too many for one")
        if arrangement.lines_left_out or arrangement.mixed:
            names = [name for name, _look in arrangement.legend] + arrangement.lines_left_out
            require_distinct(names, min(len(arrangement.legend), len(names) - 1))
        if arrangement.panels_left_out:
            raise TooManyError(
                f"{len(arrangement.panels) + len(arrangement.panels_left_out)} panels; keep at "
                f"most {MOST_PANELS} of them by where"
            )
        return arrangement

    def _set_up(
        self,
        canvas: Canvas,
        panels: Sequence[Axes],
        axis: Axis,
        arranged: Arrangement,
        log_x: bool,
    ) -> _Drawing:
        """Set up the axes of all panels."""
        values = [value for point in arranged.points() for value in point.ends]
        if self.each:
            values += [value for point in arranged.points() for value in point.known]
        for panel in panels:
            width_in = canvas.width_in / canvas.columns
            log = log_x and axis.numbers is not None
            places, more_in = _axes.parameter_axis(
                panel, axis, self.x_label, log, width_in, self.names
            )
            divisor = _axes.metric_axis(panel, self.metric, values, self.y_label)
            if self.log_y:
                _axes.log_scale(panel, "y", values)
        canvas.share_labels(panels)
        canvas.grow(more_in)
        shifts = [0.0] * len(arranged.legend)
        if axis.numbers is None:
            shifts = _axes.shifts(len(arranged.legend))
        by_look = {
            style: shift for (_name, style), shift in zip(arranged.legend, shifts, strict=True)
        }
        return _Drawing(axis, places, divisor, by_look, self.each)


@dataclass(frozen=True)
class _Drawing:
    """Draws into panels whose axes are set up.

    ``places`` are those of the axis's values, ``divisor`` is that of the metric's values, and
    ``shifts`` keep lines apart where the axis has names.
    """

    axis: Axis
    places: Sequence[float]
    divisor: float
    shifts: Mapping[LineStyle, float]
    each: bool

    def mark_crossings(self, panel: Axes, crossings: Sequence[Crossing]) -> None:
        """Mark the places of the summary, which are in the axis's unit."""
        divisor, _unit = _labels.scale(_labels.axis_unit(self.axis), self.axis.numbers or ())
        for crossing in crossings:
            panel.axvline(known(crossing) / divisor, color="#606060", linewidth=0.8, zorder=1)
            if crossing.low is not None and crossing.high is not None:
                edges = (crossing.low / divisor, crossing.high / divisor)
                panel.axvspan(*edges, color="#000000", alpha=0.12, linewidth=0, zorder=0)

    def line(self, panel: Axes, line: PlottedLine) -> Any:
        """Draw a line's means, intervals, repetitions and signs; return its handle."""
        colour = LINES[line.look.colour].color
        dashes, marker = LINES[line.look.dashes].dashes, LINES[line.look.dashes].marker
        places = [self.places[point.place] + self.shifts[line.look] for point in line.points]
        means = [known(point.metric) / self.divisor for point in line.points]
        ends = [point.ends for point in line.points]
        if self.each:
            dots = [
                (x, value / self.divisor)
                for x, point in zip(places, line.points, strict=True)
                for value in point.known
            ]
            panel.plot(*zip(*dots, strict=True), ls="none", marker=".", ms=DOT_SIZE, mew=0.3,
                       mec="white", color=colour, zorder=3, transform=_beside(panel))  # fmt: skip
        for x, point in zip(places, line.points, strict=True):
            if point.signs:
                text = "".join(sign for sign, _meaning in point.signs)
                panel.annotate(
                    text, (x, point.ends[1] / self.divisor), (0, 1), ha="center", va="bottom",
                    textcoords="offset points", fontsize=SIGN_SIZE, color=colour,
                )  # fmt: skip
        return panel.errorbar(
            places,
            means,
            yerr=[
                [mean - low / self.divisor for mean, (low, _high) in zip(means, ends, strict=True)],
                [
                    high / self.divisor - mean
                    for mean, (_low, high) in zip(means, ends, strict=True)
                ],
            ],
            color=colour,
            linestyle=dashes if self.axis.numbers is not None else "none",
            marker=marker,
            capsize=2,
            elinewidth=0.8,
            capthick=0.8,
        )


def _beside(panel: Axes) -> Any:
    """Return the panel's coordinates, moved to the right: there no interval hides a dot."""
    from matplotlib.transforms import offset_copy

    figure: Any = panel.get_figure()
    return offset_copy(panel.transData, figure, x=BESIDE, units="points")

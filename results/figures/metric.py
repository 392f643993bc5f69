"""A metric against an axis of the experiment, with confidence intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from orchestrator.errors import UsageError
from orchestrator.kinds.fields import Path
from results.arrangement import (
    FLOW,
    MOST_PANELS,
    Arrangement,
    Asked,
    Document,
    Line,
    Look,
    arrange,
)
from results.axes import key
from results.figures import _axes, _labels, _series
from results.figures._canvas import Canvas, require_distinct
from results.figures._spec import MetricName, OfExperiment
from results.figures._style import LINES
from results.statistics.drift import PARTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from results.figures._study import Study

SIGN_SIZE = 6
"""Size of the signs in points."""


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
    colour_by: str | None = Field(
        default=None,
        description="lines that share a value on this axis, or a flow entry (`flow`), share a "
        "colour, and differ in dashes",
    )
    panels_by: str | None = Field(
        default=None, description="a panel for each value of this axis, with common scales"
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

    def named_axes(self) -> Iterator[tuple[Path, str]]:
        """Yield the axis to draw against, those of colours and panels, and those of conditions."""
        yield from super().named_axes()
        for name in ("by", "colour_by", "panels_by"):
            axis = getattr(self, name)
            if axis is not None and (name, axis) != ("colour_by", FLOW):
                yield (name,), axis

    def draw(self, canvas: Canvas, study: Study) -> None:
        """Draw a line with intervals for each series."""
        document = self.summary(study, self.metric, parts=PARTS if self.drift else 0)
        found = _series.cells(document, [self.metric], self.of)
        axis = (
            _series.axis_named(document, self.by)
            if self.by is not None
            else _series.only_axis(document, found)
        )
        if self.crossings and axis["numbers"] is None:
            raise UsageError(f"crossings: {axis['label']} has names and no numbers as values")
        arranged = self._arranged(document, axis, study)
        panels = canvas.grid(len(arranged.panels))
        log_x = self.log_x if self.log_x is not None else _series.made(axis).geometric
        drawing = self._set_up(canvas, panels, _kept(axis, arranged), arranged, log_x)
        handles: dict[Look, Any] = {}
        for panel, one in zip(panels, arranged.panels, strict=True):
            if one.title:
                panel.set_title(one.title, fontsize=7, pad=3)
            if self.crossings:
                drawing.mark_crossings(panel, one.crossings)
            for line in one.lines:
                handles[line.look] = drawing.line(panel, line)
        points = list(arranged.points())
        study.note_single([point.metric for point in points])
        study.note_signs(points)
        if self.from_zero:
            _axes.from_zero(panels)
        looks = arranged.legend
        canvas.legend(
            [handles[look] for _name, look in looks], [name for name, _look in looks],
            arranged.signs(),
        )  # fmt: skip

    def _arranged(self, document: Document, axis: _series.Axis, study: Study) -> Arrangement:
        """Return what stands where.

        Raises:
            UsageError: there are more lines or panels than can be told apart.
        """
        named = {
            name: _series.made(_series.axis_named(document, text))
            for name, text in (("colour", self.colour_by), ("panels", self.panels_by))
            if text is not None and (name, text) != ("colour", FLOW)
        }
        colour = FLOW if self.colour_by == FLOW else named.get("colour")
        asked = Asked(self.metric, _series.made(axis), colour, named.get("panels"), self.of)
        there = [_series.made(one) for one in document["axes"]]
        doubtful = study.experiment.doubtful() if self.doubt else ()
        found = arrange(document, there, asked, _series.words(self.names), doubtful)
        if found.lines_left_out:
            names = [name for name, _look in found.legend] + found.lines_left_out
            require_distinct(names, len(found.legend))
        if found.panels_left_out:
            raise UsageError(
                f"{len(found.panels) + len(found.panels_left_out)} panels; keep at most "
                f"{MOST_PANELS} of them by where"
            )
        return found

    def _set_up(
        self,
        canvas: Canvas,
        panels: Sequence[Axes],
        axis: _series.Axis,
        arranged: Arrangement,
        log_x: bool,
    ) -> _Drawing:
        """Set up the axes of all panels."""
        values = [value for point in arranged.points() for value in point.ends]
        if self.each:
            values += [value for point in arranged.points() for value in point.known]
        for panel in panels:
            width_in = canvas.width_in / canvas.columns
            log = log_x and axis["numbers"] is not None
            places = _axes.parameter_axis(panel, axis, self.x_label, log, width_in)
            divisor = _axes.metric_axis(panel, self.metric, values, self.y_label)
            if self.log_y:
                _axes.log_scale(panel, "y", values)
        canvas.share_labels(panels)
        shifts = [0.0] * len(arranged.legend)
        if axis["numbers"] is None:
            shifts = _axes.shifts(len(arranged.legend))
        by_look = {
            look: shift for (_name, look), shift in zip(arranged.legend, shifts, strict=True)
        }
        return _Drawing(axis, places, divisor, by_look, self.each)


@dataclass(frozen=True)
class _Drawing:
    """Draws into panels whose axes are set up.

    ``places`` are those of the axis's values, ``divisor`` is that of the metric's values, and
    ``shifts`` keep lines apart where the axis has names.
    """

    axis: _series.Axis
    places: Sequence[float]
    divisor: float
    shifts: Mapping[Look, float]
    each: bool

    def mark_crossings(self, panel: Axes, crossings: Sequence[Mapping[str, Any]]) -> None:
        """Mark the places of the summary, which are in the axis's unit."""
        divisor, _unit = _labels.scale(_labels.axis_unit(self.axis), self.axis["numbers"])
        for one in crossings:
            panel.axvline(one["mean"] / divisor, color="#606060", linewidth=0.8, zorder=1)
            if one["low"] is not None:
                edges = (one["low"] / divisor, one["high"] / divisor)
                panel.axvspan(*edges, color="#000000", alpha=0.12, linewidth=0, zorder=0)

    def line(self, panel: Axes, line: Line) -> Any:
        """Draw a line's means, intervals, repetitions and signs; return its handle."""
        colour = LINES[line.look.colour].color
        dashes, marker = LINES[line.look.dashes].dashes, LINES[line.look.dashes].marker
        places = [self.places[point.place] + self.shifts[line.look] for point in line.points]
        means = [point.metric["mean"] / self.divisor for point in line.points]
        ends = [point.ends for point in line.points]
        if self.each:
            dots = [
                (place, value / self.divisor)
                for place, point in zip(places, line.points, strict=True)
                for value in point.known
            ]
            panel.plot(*zip(*dots, strict=True), ls="none", marker=".", ms=2, mew=0,
                       color=colour, alpha=0.6)  # fmt: skip
        for place, point in zip(places, line.points, strict=True):
            if point.signs:
                text = "".join(sign for sign, _meaning in point.signs)
                panel.annotate(
                    text, (place, point.ends[1] / self.divisor), (0, 1), ha="center", va="bottom",
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
            linestyle=dashes if self.axis["numbers"] is not None else "none",
            marker=marker,
            capsize=2,
            elinewidth=0.8,
            capthick=0.8,
        )


def _kept(axis: _series.Axis, arranged: Arrangement) -> _series.Axis:
    """Return the axis with the values alone that have a point."""
    there = {key(value) for value in arranged.x_values}
    places = [place for place, value in enumerate(axis["values"]) if key(value) in there]
    numbers = axis["numbers"]
    return {
        **axis,
        "values": [axis["values"][place] for place in places],
        "numbers": None if numbers is None else [numbers[place] for place in places],
    }

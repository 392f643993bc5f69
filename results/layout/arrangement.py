"""How the values of a summary are drawn: in which panel, on which line, in which colour.

The page of an experiment and the figures of ``orchestrator plot`` arrange values by these
functions, so both show the same lines. LegendLabels differ: a page has those of the scenario, and a
figure those of a paper (:class:`LegendLabels`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.errors import UsageError
from results.experiment import coverage
from results.experiment.model import Crossing, MetricSummary, Summary
from results.layout.line_styles import FLOW, LineStyle, Parting, looks_of
from results.layout.series import Cell, LegendLabels, Of, cells, ends, series, values_on
from results.matrix.axes import Axis, key

MOST_PANELS = 24

DRIFTS, DOUBTFUL = ("~", "still drifts"), ("?", "has doubtful runs")
PARTIAL = ("†", "of a part of the runs, flows or transfers")
SIGNS = (DRIFTS, DOUBTFUL, PARTIAL)
"""Signs above means, and what the legend says of them."""


@dataclass(frozen=True)
class MeanPoint:
    """A mean with its interval, as a summary has it, at the place of a value on the axis.

    ``doubtful`` counts the runs of the mean that are doubtful.
    """

    place: int
    value: Any
    metric: MetricSummary
    doubtful: int

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the interval; the mean itself where there is none."""
        return ends(self.metric)

    @property
    def known(self) -> list[float]:
        """The finite values of the repetitions."""
        return [value for value in self.metric.values if math.isfinite(value)]

    @property
    def signs(self) -> list[tuple[str, str]]:
        """The signs above the point: of drift, if looked for, of doubtful runs, and of a part."""
        there = (self.metric.drifting, self.doubtful, coverage.words(self.metric))
        return [sign for sign, has in zip(SIGNS, there, strict=True) if has]


@dataclass
class PlottedLine:
    """The points of one series in one panel, in the order of the axis."""

    name: str
    look: LineStyle
    points: list[MeanPoint] = field(default_factory=list)


@dataclass
class Panel:
    """One set of axes. ``crossings`` are those of the summary on the axis that is drawn."""

    title: str
    lines: list[PlottedLine] = field(default_factory=list)
    crossings: list[Crossing] = field(default_factory=list)


@dataclass(frozen=True)
class ArrangementRequest:
    """What to draw against which axis (None: at one place).

    ``colour`` is an axis, or FLOW. With None each line has a colour of its own. ``panels`` are axes
    (or FLOW) whose values have a panel each.
    """

    metric: str
    x: Axis | None
    colour: Parting | None = None
    panels: tuple[Parting, ...] = ()
    of: Of | None = None


@dataclass(frozen=True)
class Arrangement:
    """Panels with common axes; ``x_values`` are the values that have a point, in their order.

    ``legend`` has name and look of each series. Names of lines and panels beyond those that can be
    told apart are in ``lines_left_out`` and ``panels_left_out``. ``mixed`` tells that a line has a
    colour that is not its own, because its own has no dashes left.
    """

    panels: list[Panel]
    x_values: list[Any]
    legend: list[tuple[str, LineStyle]]
    lines_left_out: list[str]
    panels_left_out: list[str]
    mixed: bool = False

    def signs(self) -> list[tuple[str, str]]:
        """Return the signs that points have."""
        there = {sign for point in self.points() for sign in point.signs}
        return [sign for sign in SIGNS if sign in there]

    def points(self) -> Iterator[MeanPoint]:
        """Yield the points of all panels."""
        for panel in self.panels:
            for line in panel.lines:
                yield from line.points


def arrange(
    summary: Summary,
    axes: Sequence[Axis],
    request: ArrangementRequest,
    label_texts: LegendLabels,
    doubtful: Collection[str] = (),
) -> Arrangement:
    """Return the panels; ``doubtful`` are the ids of doubtful runs.

    Raises:
        UsageError: an axis is asked for twice.
    """
    require_once(request.x, request.colour, request.panels)
    drawn = drawn_cells(summary, request)
    made = series(summary, axes, drawn, along(request), label_texts, FLOW in request.panels)
    looks, mixed = looks_of(made, request.colour)
    x_values = [] if request.x is None else values_on(request.x, drawn)
    places = {key(value): index for index, value in enumerate(x_values)}
    panels = _panels(drawn, request.panels, label_texts)
    known = list(zip(made, looks, strict=True))
    for member, style in known:
        if style is not None:
            lines: dict[str, PlottedLine] = {}
            for cell in member.cells:
                panel_key = _panel_key(cell, request.panels)
                if panel_key not in lines:
                    lines[panel_key] = PlottedLine(member.name, style)
                    panels[panel_key].lines.append(lines[panel_key])
                lines[panel_key].points.append(_point(cell, request, places, doubtful))
    for panel_key, panel in panels.items():
        for line in panel.lines:
            line.points.sort(key=lambda point: point.place)
        panel.crossings = list(_crossings(summary, request, panel_key, drawn))
    all_panels = list(panels.values())
    return Arrangement(
        all_panels[:MOST_PANELS],
        x_values,
        [(member.name, style) for member, style in known if style is not None],
        [member.name for member, style in known if style is None],
        [panel.title for panel in all_panels[MOST_PANELS:]],
        mixed,
    )


def drawn_cells(summary: Summary, request: ArrangementRequest) -> list[Cell]:
    """Return the cells that have a value of the metric, and a place on the horizontal axis."""
    with_mean = cells(summary, [request.metric], request.of)
    if request.x is None:
        return with_mean
    return [cell for cell in with_mean if request.x.path in cell.variant]


def along(request: ArrangementRequest) -> list[Axis]:
    """Return the axes that make no lines: the horizontal one, and those of panels."""
    return [axis for axis in (request.x, *request.panels) if isinstance(axis, Axis)]


def require_once(x: Axis | None, colour: Parting | None, panels: Sequence[Parting]) -> None:
    """Require that no axis is asked for twice.

    Raises:
        UsageError: one is.
    """
    for number, panel in enumerate(panels):
        if panel == x or panel in panels[:number]:
            what = "is the horizontal one" if panel == x else "makes panels"
            raise UsageError(f"panels by {_label(panel)}: this axis {what} already")
    for axis in (x, *panels):
        if axis is not None and colour == axis:
            what = "is the horizontal one" if axis == x else "makes the panels"
            raise UsageError(f"colour by {_label(axis)}: this axis {what} already")


def _label(parting: Parting) -> str:
    return parting.label if isinstance(parting, Axis) else parting


def _panels(
    drawn: Sequence[Cell], by: Sequence[Parting], label_texts: LegendLabels
) -> dict[str, Panel]:
    """Return empty panels by their keys, in the order of the axes."""
    subjects = list(dict.fromkeys(cell.subject for cell in drawn))
    ranks = [
        {key(value): rank_of for rank_of, value in enumerate(parting.values)}
        if isinstance(parting, Axis)
        else {key(subject): rank_of for rank_of, subject in enumerate(subjects)}
        for parting in by
    ]
    first = {_panel_key(cell, by): cell for cell in reversed(drawn)}

    def rank(cell: Cell) -> list[int]:
        return [
            places.get(key(_part(cell, parting)), len(places))
            for parting, places in zip(by, ranks, strict=True)
        ]

    ordered = sorted(first.items(), key=lambda entry: rank(entry[1]))
    return {
        name: Panel(
            ", ".join(filter(None, (_panel_words(cell, parting, label_texts) for parting in by)))
        )
        for name, cell in ordered
    }


def _part(cell: Cell, by: Parting) -> Any:
    """Return what tells a cell's panel apart; a list that no value is where it has no value."""
    if not isinstance(by, Axis):
        return cell.subject
    return cell.variant.get(by.path, [by.path, "without"])


def _panel_words(cell: Cell, by: Parting, label_texts: LegendLabels) -> str:
    if not isinstance(by, Axis):
        return label_texts.subject(cell.subject)
    return (
        label_texts.value(by, cell.variant[by.path])
        if by.path in cell.variant
        else (f"without {by.label}")
    )


def _panel_key(cell: Cell, by: Sequence[Parting]) -> str:
    return key([_part(cell, parting) for parting in by])


def _point(
    cell: Cell, request: ArrangementRequest, places: Mapping[str, int], doubtful: Collection[str]
) -> MeanPoint:
    value = None if request.x is None else cell.variant[request.x.path]
    metric = cell.metrics[request.metric]
    doubts = sum(run in doubtful for run in metric.runs)
    return MeanPoint(0 if request.x is None else places[key(value)], value, metric, doubts)


def _crossings(
    summary: Summary, request: ArrangementRequest, panel_key: str, drawn_in_panel: Sequence[Cell]
) -> Iterator[Crossing]:
    """Yield the crossings of a panel on the axis that is drawn, between entries that are drawn."""
    if request.x is None or request.x.numbers is None or FLOW in request.panels:
        return
    drawn = {cell.subject for cell in drawn_in_panel}
    for crossing in summary.crossings:
        if (
            crossing.axis != request.x.path
            or crossing.metric != request.metric
            or crossing.mean is None
        ):
            continue
        of = Cell(crossing.variant, None, {})
        if {crossing.a, crossing.b} <= drawn and _panel_key(of, request.panels) == panel_key:
            yield crossing

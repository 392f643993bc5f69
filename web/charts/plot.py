"""A metric against an axis as lines with intervals, in panels: what an SVG of the page shows.

All numbers are those of a summary (``results.experiment.summary``), and
``results.layout.arrangement`` decides what stands where, as in figures. Nothing is computed here
but pixels.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.errors import UsageError
from results.experiment.model import Crossing, HasInterval, Summary
from results.layout import arrangement
from results.layout.arrangement import Arrangement, arrange
from results.layout.line_styles import FLOW, LineStyle
from results.layout.series import LegendLabels, ends, known
from results.matrix.axes import Axis, key, shown
from results.wording import intervals
from web.charts import scales
from web.charts.scales import Scale, Unit
from web.html import formats

WIDTH, HEIGHT = 480, 270
LEFT, RIGHT, TOP, BOTTOM = 54, 12, 8, 42

MOST_CHARACTERS = 14
"""Of a text below a tick."""

WORDS = LegendLabels(
    lambda subject: subject or "run", lambda axis, value: f"{axis.label} {shown(value)}"
)
"""What a page says: a value stands as in the scenario, so that it can be used in a condition."""


@dataclass(frozen=True)
class Point:
    """A mean with its interval at a place; ``x`` and the others are in pixels."""

    x: float
    mean: float
    low: float
    high: float
    values: list[float]
    title: str
    sign: str


@dataclass
class SvgLine:
    """The points of one series in one panel."""

    name: str
    look: LineStyle
    points: list[Point] = field(default_factory=list)

    @property
    def path(self) -> str:
        """The points as an SVG's polyline."""
        return " ".join(f"{point.x:.1f},{point.mean:.1f}" for point in self.points)


@dataclass
class Panel:
    """One set of axes; ``bands`` are crossings: (place, low, high) in pixels."""

    title: str
    lines: list[SvgLine] = field(default_factory=list)
    bands: list[tuple[float, float, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Plot:
    """Panels with common axes, and the legend: name and look of each series.

    ``signs`` are those above points, each with its meaning.
    """

    panels: list[Panel]
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    x_title: str
    y_title: str
    legend: list[tuple[str, LineStyle]]
    signs: list[tuple[str, str]]
    lines_left_out: int
    panels_left_out: int
    joined: bool


@dataclass(frozen=True)
class PlotRequest:
    """What to draw; axes of None mean none. ``colour`` is an axis, or None for flow entries.

    ``doubtful`` are the ids of doubtful runs.
    """

    metric: str
    title: str
    unit: Unit
    x: Axis | None
    colour: Axis | None = None
    facet: Axis | None = None
    log_x: bool = False
    log_y: bool = False
    from_zero: bool = True
    each: bool = False
    doubtful: Collection[str] = ()


def plot(summary: Summary, axes: Sequence[Axis], request: PlotRequest) -> Plot:
    """Return the plot of a summary.

    Raises:
        UsageError: a value has no place on a logarithmic axis, or an axis is asked for twice.
    """
    facets = () if request.facet is None else (request.facet,)
    arrangement_request = arrangement.ArrangementRequest(
        request.metric, request.x, request.colour or FLOW, facets
    )
    arranged = arrange(summary, axes, arrangement_request, WORDS, request.doubtful)
    frame = _Frame(arranged, request)
    return Plot(
        [
            Panel(
                panel.title,
                [_line(line, frame, arranged, request) for line in panel.lines],
                list(_bands(panel.crossings, frame, request)),
            )
            for panel in arranged.panels
        ],
        frame.x_ticks, frame.y_ticks, frame.x_title,
        f"{request.title} ({request.unit.name})" if request.unit.name else request.title,
        arranged.legend, arranged.signs(),
        len(arranged.lines_left_out), len(arranged.panels_left_out),
        joined=request.x is not None and request.x.numbers is not None,
    )  # fmt: skip


class _Frame:
    """Scales and ticks that all panels share."""

    def __init__(self, arranged: Arrangement, request: PlotRequest) -> None:
        points = list(arranged.points())
        ends = [end for point in points for end in point.ends]
        if request.each:
            ends += [value for point in points for value in point.known]
        if request.log_y and min(ends, default=1.0) <= 0:
            raise UsageError(
                f"y_scale=log: {request.metric} has values or intervals that are not above zero"
            )
        self.y = scales.over(ends, log=request.log_y, from_zero=request.from_zero)
        size = request.unit.size
        inside = Scale(self.y.low / size, self.y.high / size, self.y.log)
        self.y_ticks = [
            (self.up(tick * size), f"{tick:.6g}") for tick in inside.ticks()
        ]  # fmt: skip
        self.numbers: dict[str, float] = {}
        self.x_title = ""
        self.x_ticks: list[tuple[float, str]] = []
        self.x = Scale(-0.5, max(len(arranged.legend), 1) - 0.5)
        if request.x is not None:
            self._place_x(request.x, arranged.x_values, request)
        else:  # each line is a point under its name
            self._name([(float(at), name) for at, (name, _look) in enumerate(arranged.legend)])

    def _place_x(self, axis: Axis, values: Sequence[Any], request: PlotRequest) -> None:
        by_key = {key(value): position for position, value in enumerate(axis.values)}
        self.x_title = axis.label
        if axis.numbers is None:
            self.numbers = {key(value): float(position) for position, value in enumerate(values)}
            self.x = Scale(-0.5, len(values) - 0.5)
        else:
            self.numbers = {key(value): axis.numbers[by_key[key(value)]] for value in values}
            if request.log_x and min(self.numbers.values(), default=1.0) <= 0:
                raise UsageError(f"x_scale=log: {axis.label} has values that are not above zero")
            self.x = scales.over(list(self.numbers.values()), log=request.log_x)
        self._name([(self.numbers[key(value)], shown(value)) for value in values])

    def _name(self, places: Sequence[tuple[float, str]]) -> None:
        """Put ticks at places of the axis, with texts where there is room."""
        last = -100.0
        for position, text in places:
            at = self.right(position)
            short = text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"
            room = 7.0 * len(short)
            self.x_ticks.append((at, short if at - last > room else ""))
            last = at if at - last > room else last

    def right(self, value: float) -> float:
        """Return the horizontal place of a value of the axis in pixels."""
        return LEFT + self.x.place(value) * (WIDTH - LEFT - RIGHT)

    def up(self, value: float) -> float:
        """Return the vertical place of a value of the metric in pixels."""
        return HEIGHT - BOTTOM - self.y.place(value) * (HEIGHT - TOP - BOTTOM)


def _line(
    line: arrangement.PlottedLine, frame: _Frame, arranged: Arrangement, request: PlotRequest
) -> SvgLine:
    index = [style for _name, style in arranged.legend].index(line.look)
    aside = 0.0
    if request.x is None:
        aside = frame.right(float(index)) - frame.right(0.0)
    elif request.x.numbers is None:
        aside = 9.0 * (index % 9 - min(len(arranged.legend) - 1, 8) / 2)
    return SvgLine(
        line.name,
        line.look,
        [_point(line.name, point, frame, aside, request) for point in line.points],
    )


def _point(
    name: str, point: arrangement.MeanPoint, frame: _Frame, aside: float, request: PlotRequest
) -> Point:
    metric = point.metric
    at, where = 0.0, ""
    if request.x is not None:
        at, where = frame.numbers[key(point.value)], f" at {WORDS.value(request.x, point.value)}"
    low, high = point.ends
    title = f"{name}{where}: {said(metric, request.unit)}, n = {metric.n}"
    return Point(
        frame.right(at) + aside, frame.up(known(metric)), frame.up(low), frame.up(high),
        [frame.up(value) for value in point.known] if request.each else [],
        ", ".join([title, *(meaning for _sign, meaning in point.signs)]),
        "".join(sign for sign, _meaning in point.signs),
    )  # fmt: skip


def _bands(
    crossings: Sequence[Crossing], frame: _Frame, request: PlotRequest
) -> Iterator[tuple[float, float, float]]:
    """Yield the places of crossings with their intervals in pixels."""
    for crossing in crossings:
        low, high = ends(crossing)
        if crossing.mean is None or (request.log_x and low <= 0):
            continue
        middle, low, high = (frame.right(end) for end in (crossing.mean, low, high))
        yield middle, max(low, LEFT), min(high, WIDTH - RIGHT)


def said(metric: HasInterval, unit: Unit) -> str:
    """Return a mean with its interval in words, such as ``9.57 [9.41, 9.73] Mbit/s``."""
    step = intervals.step(metric)
    if metric.mean is None:
        return formats.NONE
    text = intervals.with_interval(metric, lambda value: unit.digits(value, step))
    return f"{text} {unit.name}".rstrip()

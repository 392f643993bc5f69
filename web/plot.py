"""A metric against an axis as lines with intervals, in panels: what an SVG of the page shows.

All numbers are those of a summary (``results.summary``), and ``results.arrangement`` decides what
stands where, as in figures. Nothing is computed here but pixels.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.errors import UsageError
from results import arrangement
from results.arrangement import FLOW, Arrangement, Look, Words, arrange
from results.axes import Axis, key, shown
from web import scales
from web.scales import Scale, Unit

WIDTH, HEIGHT = 480, 270
LEFT, RIGHT, TOP, BOTTOM = 54, 12, 8, 42

MOST_CHARACTERS = 14
"""Of a text below a tick."""

Document = Mapping[str, Any]

WORDS = Words(lambda subject: subject or "run", lambda axis, value: f"{axis.label} {shown(value)}")
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
class Line:
    """The points of one series in one panel."""

    name: str
    look: Look
    points: list[Point] = field(default_factory=list)

    @property
    def path(self) -> str:
        """The points as an SVG's polyline."""
        return " ".join(f"{point.x:.1f},{point.mean:.1f}" for point in self.points)


@dataclass
class Panel:
    """One set of axes; ``bands`` are crossings: (place, low, high) in pixels."""

    title: str
    lines: list[Line] = field(default_factory=list)
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
    legend: list[tuple[str, Look]]
    signs: list[tuple[str, str]]
    lines_left_out: int
    panels_left_out: int
    joined: bool


@dataclass(frozen=True)
class Asked:
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


def plot(document: Document, axes: Sequence[Axis], asked: Asked) -> Plot:
    """Return the plot of a summary.

    Raises:
        UsageError: a value has no place on a logarithmic axis, or an axis is asked for twice.
    """
    wanted = arrangement.Asked(asked.metric, asked.x, asked.colour or FLOW, asked.facet)
    arranged = arrange(document, axes, wanted, WORDS, asked.doubtful)
    frame = _Frame(arranged, asked)
    return Plot(
        [
            Panel(
                panel.title,
                [_line(line, frame, arranged, asked) for line in panel.lines],
                list(_bands(panel.crossings, frame, asked)),
            )
            for panel in arranged.panels
        ],
        frame.x_ticks, frame.y_ticks, frame.x_title,
        f"{asked.title} ({asked.unit.name})" if asked.unit.name else asked.title,
        arranged.legend, arranged.signs(),
        len(arranged.lines_left_out), len(arranged.panels_left_out),
        joined=asked.x is not None and asked.x.numbers is not None,
    )  # fmt: skip


class _Frame:
    """Scales and ticks that all panels share."""

    def __init__(self, arranged: Arrangement, asked: Asked) -> None:
        found = list(arranged.points())
        ends = [end for one in found for end in one.ends]
        if asked.each:
            ends += [value for one in found for value in one.known]
        if asked.log_y and min(ends, default=1.0) <= 0:
            raise UsageError(
                f"y_scale=log: {asked.metric} has values or intervals that are not above zero"
            )
        self.y = scales.over(ends, log=asked.log_y, from_zero=asked.from_zero)
        size = asked.unit.size
        inside = Scale(self.y.low / size, self.y.high / size, self.y.log)
        self.y_ticks = [
            (self.up(tick * size), f"{tick:.6g}") for tick in inside.ticks()
        ]  # fmt: skip
        self.numbers: dict[str, float] = {}
        self.x_title = ""
        self.x_ticks: list[tuple[float, str]] = []
        self.x = Scale(-0.5, max(len(arranged.legend), 1) - 0.5)
        if asked.x is not None:
            self._place_x(asked.x, arranged.x_values, asked)
        else:  # each line is a point under its name
            self._name([(float(at), name) for at, (name, _look) in enumerate(arranged.legend)])

    def _place_x(self, axis: Axis, values: Sequence[Any], asked: Asked) -> None:
        by_key = {key(value): place for place, value in enumerate(axis.values)}
        self.x_title = axis.label
        if axis.numbers is None:
            self.numbers = {key(value): float(place) for place, value in enumerate(values)}
            self.x = Scale(-0.5, len(values) - 0.5)
        else:
            self.numbers = {key(value): axis.numbers[by_key[key(value)]] for value in values}
            if asked.log_x and min(self.numbers.values(), default=1.0) <= 0:
                raise UsageError(f"x_scale=log: {axis.label} has values that are not above zero")
            self.x = scales.over(list(self.numbers.values()), log=asked.log_x)
        self._name([(self.numbers[key(value)], shown(value)) for value in values])

    def _name(self, places: Sequence[tuple[float, str]]) -> None:
        """Put ticks at places of the axis, with texts where there is room."""
        last = -100.0
        for place, text in places:
            at = self.right(place)
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


def _line(line: arrangement.Line, frame: _Frame, arranged: Arrangement, asked: Asked) -> Line:
    index = [look for _name, look in arranged.legend].index(line.look)
    aside = 0.0
    if asked.x is None:
        aside = frame.right(float(index)) - frame.right(0.0)
    elif asked.x.numbers is None:
        aside = 9.0 * (index % 9 - min(len(arranged.legend) - 1, 8) / 2)
    return Line(
        line.name, line.look, [_point(line.name, one, frame, aside, asked) for one in line.points]
    )


def _point(name: str, point: arrangement.Point, frame: _Frame, aside: float, asked: Asked) -> Point:
    metric = point.metric
    at, where = 0.0, ""
    if asked.x is not None:
        at, where = frame.numbers[key(point.value)], f" at {WORDS.value(asked.x, point.value)}"
    low, high = point.ends
    title = f"{name}{where}: {said(metric, asked.unit)}, n = {metric['n']}"
    return Point(
        frame.right(at) + aside, frame.up(metric["mean"]), frame.up(low), frame.up(high),
        [frame.up(value) for value in point.known] if asked.each else [],
        ", ".join([title, *(meaning for _sign, meaning in point.signs)]),
        "".join(sign for sign, _meaning in point.signs),
    )  # fmt: skip


def _bands(
    crossings: Sequence[Mapping[str, Any]], frame: _Frame, asked: Asked
) -> Iterator[tuple[float, float, float]]:
    """Yield the places of crossings with their intervals in pixels."""
    for one in crossings:
        if asked.log_x and (one["low"] or one["mean"]) <= 0:
            continue
        ends = (one["mean"], one["low"], one["high"])
        place, low, high = (frame.right(one["mean"] if end is None else end) for end in ends)
        yield place, max(low, LEFT), min(high, WIDTH - RIGHT)


def said(metric: Mapping[str, Any], unit: Unit) -> str:
    """Return a mean with its interval in words, such as ``9.57 [9.41, 9.73] Mbit/s``."""
    if metric["mean"] is None:
        return "–"
    if metric.get("low") is None:
        return f"{unit.digits(metric['mean'])} {unit.name}".rstrip()
    step = (metric["high"] - metric["low"]) / 2 or abs(metric["mean"]) / 1000
    mean, low, high = (unit.digits(metric[name], step) for name in ("mean", "low", "high"))
    return f"{mean} [{low}, {high}] {unit.name}".rstrip()

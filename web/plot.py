"""A metric against an axis as lines with intervals, in panels: what an SVG of the page shows.

All numbers are those of a summary (``results.summary``). Nothing is computed here but places.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.errors import UsageError
from results.axes import Axis, key, shown
from web import scales
from web.scales import Scale, Unit

WIDTH, HEIGHT = 480, 270
LEFT, RIGHT, TOP, BOTTOM = 54, 12, 8, 42
MOST_LINES = 40
"""As many lines differ in colour and dashes."""
MOST_PANELS = 24
COLOURS, DASHES = 8, 5

FLOW = "flow"
"""What colours are by if not by an axis: flow entries (or links)."""

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Look:
    """The numbers of a line's colour and of its dashes."""

    colour: int
    dashes: int


@dataclass(frozen=True)
class Point:
    """A mean with its interval at a place; ``x`` and the others are in pixels."""

    x: float
    mean: float
    low: float
    high: float
    values: list[float]
    title: str


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
    """Panels with common axes, and the legend: name and look of each series."""

    panels: list[Panel]
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    x_title: str
    y_title: str
    legend: list[tuple[str, Look]]
    left_out: int
    joined: bool


@dataclass(frozen=True)
class Asked:
    """What to draw; axes of None mean none. ``colour`` is an axis, or None for flow entries."""

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


def rows_of(document: Document, metric: str) -> list[Mapping[str, Any]]:
    """Return the rows to draw: of flow entries, else of runs, else of links, with values."""
    having = [
        row for row in document["rows"] if row["metrics"].get(metric, {}).get("mean") is not None
    ]
    for kept in (
        [row for row in having if row["flow"] is not None],
        [row for row in having if row["flow"] is None and row["link"] is None],
        having,
    ):
        if kept:
            return kept
    return []


def plot(document: Document, axes: Sequence[Axis], asked: Asked) -> Plot:
    """Return the plot of a summary.

    Raises:
        UsageError: a value has no place on a logarithmic axis.
    """
    rows = rows_of(document, asked.metric)
    others = [
        axis for axis in axes
        if axis not in (asked.x, asked.facet) and len(_values(axis, rows)) > 1
    ]  # fmt: skip
    looks, names = _looks(rows, others, asked)
    frame = _Frame(rows, asked)
    panels: dict[str, Panel] = {}
    left_out = set()
    for row in rows:
        title = "" if asked.facet is None else _said(asked.facet, row["variant"])
        if title not in panels and len(panels) == MOST_PANELS:
            left_out.add(title)
            continue
        series = _series(row, others)
        if looks[series] is None:
            left_out.add(series)
            continue
        panel = panels.setdefault(title, Panel(title))
        _add(panel, names[series], looks[series], row, frame, asked)
    for panel in panels.values():
        for line in panel.lines:
            line.points.sort(key=lambda point: point.x)
        panel.bands = list(_bands(document, panel.title, frame, asked))
    legend = [(names[series], look) for series, look in looks.items() if look is not None]
    return Plot(
        list(panels.values()), frame.x_ticks, frame.y_ticks, frame.x_title,
        f"{asked.title} ({asked.unit.name})" if asked.unit.name else asked.title,
        legend, len(left_out), joined=asked.x is not None and asked.x.numbers is not None,
    )  # fmt: skip


def _values(axis: Axis, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    there = {key(row["variant"][axis.path]) for row in rows if axis.path in row["variant"]}
    return [value for value in axis.values if key(value) in there]


def _series(row: Mapping[str, Any], others: Sequence[Axis]) -> str:
    return key([row["flow"], row["link"], [row["variant"].get(axis.path) for axis in others]])


def _looks(
    rows: Sequence[Mapping[str, Any]], others: Sequence[Axis], asked: Asked
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the look of each series, None beyond MOST_LINES, and its name."""
    colours: dict[str, int] = {}
    rests: dict[str, int] = {}
    looks: dict[str, Look | None] = {}
    names: dict[str, str] = {}
    if asked.colour is not None:
        for value in asked.colour.values:
            colours.setdefault(key(value), len(colours))
    several = len({(row["flow"], row["link"]) for row in rows}) > 1 or not others
    for row in rows:
        series = _series(row, others)
        if series in looks:
            continue
        by_axis = asked.colour is not None and asked.colour.path in row["variant"]
        first = key(row["variant"][asked.colour.path] if by_axis and asked.colour else _of(row))
        rest = [_of(row)] if by_axis else []
        rest += [row["variant"].get(axis.path) for axis in others if axis is not asked.colour]
        colour = colours.setdefault(first, len(colours))
        other = rests.setdefault(key(rest), len(rests))
        dashes = other if len(rest) > 0 and len(rests) > 1 else colour
        within = len(looks) < MOST_LINES
        looks[series] = Look(colour % COLOURS, dashes % DASHES) if within else None
        parts = [_of(row)] if several else []
        names[series] = ", ".join([*parts, *(_said(axis, row["variant"]) for axis in others)])
    return looks, names


def _of(row: Mapping[str, Any]) -> str:
    return str(row["flow"] or row["link"] or "run")


def _said(axis: Axis, variant: Mapping[str, Any]) -> str:
    return f"{axis.label} {shown(variant[axis.path])}" if axis.path in variant else "–"


class _Frame:
    """Scales and ticks that all panels share."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], asked: Asked) -> None:
        found = [row["metrics"][asked.metric] for row in rows]
        ends = [end for one in found for end in _ends(one)]
        if asked.each:
            ends += [value for one in found for value in _known(one)]
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
        self.x = Scale(-0.5, 0.5)
        if asked.x is not None:
            self._place_x(asked.x, _values(asked.x, rows), asked)

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
        last = -100.0
        for value in values:
            text = shown(value)
            at = self.right(self.numbers[key(value)])
            room = 7.0 * len(text[:14])
            self.x_ticks.append((at, text[:14] if at - last > room else ""))
            last = at if at - last > room else last

    def right(self, value: float) -> float:
        """Return the horizontal place of a value of the axis in pixels."""
        return LEFT + self.x.place(value) * (WIDTH - LEFT - RIGHT)

    def up(self, value: float) -> float:
        """Return the vertical place of a value of the metric in pixels."""
        return HEIGHT - BOTTOM - self.y.place(value) * (HEIGHT - TOP - BOTTOM)


def _add(
    panel: Panel, name: str, look: Look, row: Mapping[str, Any], frame: _Frame, asked: Asked
) -> None:
    metric = row["metrics"][asked.metric]
    if asked.x is None:
        at = 0.0
    elif asked.x.path in row["variant"]:
        at = frame.numbers[key(row["variant"][asked.x.path])]
    else:
        return
    line = next((one for one in panel.lines if one.name == name), None)
    if line is None:
        line = Line(name, look)
        panel.lines.append(line)
    low, high = _ends(metric)
    place = frame.right(at)
    if asked.x is None or asked.x.numbers is None:
        place += 9.0 * (panel.lines.index(line) % 9 - min(len(panel.lines) - 1, 8) / 2)
    where = "" if asked.x is None else f" at {_said(asked.x, row['variant'])}"
    line.points.append(
        Point(
            place, frame.up(metric["mean"]), frame.up(low), frame.up(high),
            [frame.up(value) for value in _known(metric)] if asked.each else [],
            f"{name}{where}: {said(metric, asked.unit)}, n = {metric['n']}",
        )
    )  # fmt: skip


def _bands(
    document: Document, title: str, frame: _Frame, asked: Asked
) -> Iterator[tuple[float, float, float]]:
    """Yield the crossings of a panel, on the axis that is drawn."""
    if asked.x is None or asked.x.numbers is None:
        return
    for one in document["crossings"]:
        if one["axis"] != asked.x.path or one["metric"] != asked.metric or one["mean"] is None:
            continue
        if asked.facet is not None and _said(asked.facet, one["variant"]) != title:
            continue
        if asked.log_x and (one["low"] or one["mean"]) <= 0:
            continue
        ends = (one["mean"], one["low"], one["high"])
        place, low, high = (frame.right(one["mean"] if end is None else end) for end in ends)
        yield place, max(low, LEFT), min(high, WIDTH - RIGHT)


def _ends(metric: Mapping[str, Any]) -> tuple[float, float]:
    if metric.get("low") is None:
        return metric["mean"], metric["mean"]
    return metric["low"], metric["high"]


def _known(metric: Mapping[str, Any]) -> list[float]:
    """Return the finite values of the repetitions."""
    return [value for value in metric["values"] if value is not None]


def said(metric: Mapping[str, Any], unit: Unit) -> str:
    """Return a mean with its interval in words, such as ``9.57 [9.41, 9.73] Mbit/s``."""
    if metric["mean"] is None:
        return "–"
    if metric.get("low") is None:
        return f"{unit.digits(metric['mean'])} {unit.name}".rstrip()
    step = (metric["high"] - metric["low"]) / 2 or abs(metric["mean"]) / 1000
    mean, low, high = (unit.digits(metric[name], step) for name in ("mean", "low", "high"))
    return f"{mean} [{low}, {high}] {unit.name}".rstrip()

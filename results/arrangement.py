"""How the values of a summary are drawn: in which panel, on which line, in which colour.

The page of an experiment and the figures of ``orchestrator plot`` arrange values by these
functions, so both show the same lines. Words differ: a page has those of the scenario, and a
figure those of a paper (:class:`Words`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from orchestrator.errors import UsageError
from results.axes import Axis, key

Document = Mapping[str, Any]
"""A summary (``results.summary``)."""

Of = Literal["flows", "run", "links"]

FLOW: Literal["flow"] = "flow"
"""Colours by flow entry (or link), where others are by an axis."""

COLOURS, DASHES = 8, 5
MOST_LINES = COLOURS * DASHES
"""As many lines differ in colour or dashes."""

MOST_PANELS = 24

DRIFTS, DOUBTFUL = ("~", "still drifts"), ("?", "has doubtful runs")
"""Signs above means, and what the legend says of them."""

_SUBJECTS: Mapping[Of, str | None] = {"flows": "flow", "run": None, "links": "link"}


@dataclass(frozen=True)
class Cell:
    """The metrics of one variant and one flow entry, link or (``subject`` None) whole run."""

    variant: Mapping[str, Any]
    subject: str | None
    metrics: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Words:
    """What a legend says of a subject (None is a whole run), and of a value on an axis."""

    subject: Callable[[str | None], str]
    value: Callable[[Axis, Any], str]


@dataclass
class Series:
    """The cells that share a line; ``values`` are those on the axes that tell series apart."""

    name: str
    subject: str | None
    values: Mapping[str, Any]
    cells: list[Cell] = field(default_factory=list)


@dataclass(frozen=True)
class Look:
    """The numbers of a line's colour and of its dashes."""

    colour: int
    dashes: int


@dataclass(frozen=True)
class Point:
    """A mean with its interval, as a summary has it, at the place of a value on the axis.

    ``doubtful`` counts the runs of the mean that are doubtful.
    """

    place: int
    value: Any
    metric: Mapping[str, Any]
    doubtful: int

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the interval; the mean itself where there is none."""
        return ends(self.metric)

    @property
    def known(self) -> list[float]:
        """The finite values of the repetitions."""
        return [value for value in self.metric["values"] if value is not None]

    @property
    def signs(self) -> list[tuple[str, str]]:
        """The signs above the point: of drift, if that was looked for, and of doubtful runs."""
        found = [DRIFTS] if self.metric.get("drifting") else []
        return [*found, *([DOUBTFUL] if self.doubtful else [])]


@dataclass
class Line:
    """The points of one series in one panel, in the order of the axis."""

    name: str
    look: Look
    points: list[Point] = field(default_factory=list)


@dataclass
class Panel:
    """One set of axes. ``crossings`` are those of the summary on the axis that is drawn."""

    title: str
    lines: list[Line] = field(default_factory=list)
    crossings: list[Mapping[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Asked:
    """What to draw against which axis (None: at one place).

    ``colour`` is an axis, or FLOW. With None each line has a colour of its own. ``panels`` is the
    axis whose values have a panel each.
    """

    metric: str
    x: Axis | None
    colour: Axis | Literal["flow"] | None = None
    panels: Axis | None = None
    of: Of | None = None


@dataclass(frozen=True)
class Arrangement:
    """Panels with common axes; ``x_values`` are the values that have a point, in their order.

    ``legend`` has name and look of each series. Names of lines and panels beyond those that can be
    told apart are in ``lines_left_out`` and ``panels_left_out``.
    """

    panels: list[Panel]
    x_values: list[Any]
    legend: list[tuple[str, Look]]
    lines_left_out: list[str]
    panels_left_out: list[str]

    def signs(self) -> list[tuple[str, str]]:
        """Return the signs that points have."""
        there = {sign for point in self.points() for sign in point.signs}
        return [sign for sign in (DRIFTS, DOUBTFUL) if sign in there]

    def points(self) -> Iterator[Point]:
        """Yield the points of all panels."""
        for panel in self.panels:
            for line in panel.lines:
                yield from line.points


def cells(document: Document, metrics: Sequence[str], of: Of | None = None) -> list[Cell]:
    """Return the cells that have means of all the metrics, in the order of the summary.

    Without ``of`` they are flow entries, else whole runs, else links: the first with values.
    """
    for kind in (of,) if of else ("flows", "run", "links"):
        found = [
            Cell(row["variant"], row[_SUBJECTS[kind] or "flow"], row["metrics"])
            for row in document["rows"]
            if _is_of(row, kind)
            and all(row["metrics"].get(name, {}).get("mean") is not None for name in metrics)
        ]
        if found:
            return found
    return []


def _is_of(row: Mapping[str, Any], of: Of) -> bool:
    if of == "run":
        return row["flow"] is None and row.get("link") is None
    return row.get(_SUBJECTS[of] or "") is not None


def values_on(axis: Axis, found: Iterable[Cell]) -> list[Any]:
    """Return the axis's values that the cells have, in the axis's order."""
    there = {key(cell.variant[axis.path]) for cell in found if axis.path in cell.variant}
    return [one for one in axis.values if key(one) in there]


def ends(estimate: Mapping[str, Any]) -> tuple[float, float]:
    """Return the ends of a mean's interval; the mean itself where there is none."""
    if estimate.get("low") is None:
        return estimate["mean"], estimate["mean"]
    return estimate["low"], estimate["high"]


def series(
    document: Document,
    axes: Sequence[Axis],
    found: Sequence[Cell],
    along: Sequence[Axis],
    words: Words,
) -> list[Series]:
    """Return a series for each flow entry (or link) and each combination of the other axes.

    ``along`` are the axes that the figure itself shows. An axis of numbers that follow from those,
    as `include` in a matrix may set it, makes no further series.
    """
    shown = {axis.path for axis in along}
    others = [
        axis
        for axis in axes
        if axis.path not in shown
        and len(values_on(axis, found)) > 1
        and not _follows(axis, along, document)
    ]
    several = len({cell.subject for cell in found}) > 1 or not others
    made: dict[str, Series] = {}
    short: dict[str, str] = {}
    for cell in found:
        values = {axis.path: cell.variant.get(axis.path) for axis in others}
        place = key([cell.subject, list(values.values())])
        if place not in made:
            parts = [words.subject(cell.subject)] if several else []
            parts += value_words(others, cell.variant, words)
            parts = [one for one in parts if one]
            made[place] = Series(", ".join(parts), cell.subject, values)
            short[place] = ", ".join(dict.fromkeys(parts))
        made[place].cells.append(cell)
    if len(set(short.values())) == len(short):  # axes that have equal values are named once
        for place, one in made.items():
            one.name = short[place]
    return list(made.values())


def value_words(axes: Sequence[Axis], variant: Mapping[str, Any], words: Words) -> list[str]:
    """Return the words for a variant's values on the axes."""
    return [words.value(axis, variant[axis.path]) for axis in axes if axis.path in variant]


def _follows(axis: Axis, along: Sequence[Axis], document: Document) -> bool:
    """Tell whether variants with equal values on some axes have equal ones on this axis, too.

    An axis of names never does, so that different kinds are never joined by a line.
    """
    if axis.numbers is None:
        return False
    given: dict[str, str] = {}
    for row in document["rows"]:  # those of variants without a value, too
        place = key([row["variant"].get(each.path) for each in along])
        value = key(row["variant"].get(axis.path))
        if given.setdefault(place, value) != value:
            return False
    return len(given) > 1


def arrange(
    document: Document,
    axes: Sequence[Axis],
    asked: Asked,
    words: Words,
    doubtful: Collection[str] = (),
) -> Arrangement:
    """Return the panels; ``doubtful`` are the ids of doubtful runs.

    Raises:
        UsageError: an axis is asked for twice.
    """
    require_once(asked.x, asked.colour, asked.panels)
    found = cells(document, [asked.metric], asked.of)
    if asked.x is not None:
        found = [cell for cell in found if asked.x.path in cell.variant]
    along = [axis for axis in (asked.x, asked.panels) if axis is not None]
    made = series(document, axes, found, along, words)
    looks = _looks(made, asked.colour)
    x_values = [] if asked.x is None else values_on(asked.x, found)
    places = {key(value): place for place, value in enumerate(x_values)}
    panels = _panels(found, asked.panels, words)
    known = list(zip(made, looks, strict=True))
    for one, look in known:
        if look is not None:
            lines: dict[str, Line] = {}
            for cell in one.cells:
                place = _panel_key(cell, asked.panels)
                if place not in lines:
                    lines[place] = Line(one.name, look)
                    panels[place].lines.append(lines[place])
                lines[place].points.append(_point(cell, asked, places, doubtful))
    for place, panel in panels.items():
        for line in panel.lines:
            line.points.sort(key=lambda point: point.place)
        panel.crossings = list(_crossings(document, asked, place, found))
    all_panels = list(panels.values())
    return Arrangement(
        all_panels[:MOST_PANELS],
        x_values,
        [(one.name, look) for one, look in known if look is not None],
        [one.name for one, look in known if look is None],
        [panel.title for panel in all_panels[MOST_PANELS:]],
    )


def require_once(
    x: Axis | None, colour: Axis | Literal["flow"] | None, panels: Axis | None
) -> None:
    """Require that no axis is asked for twice.

    Raises:
        UsageError: one is.
    """
    if panels is not None and panels == x:
        raise UsageError(f"panels by {panels.label}: this axis is the horizontal one already")
    for axis, what in ((x, "is the horizontal one"), (panels, "makes the panels")):
        if axis is not None and colour == axis:
            raise UsageError(f"colour by {axis.label}: this axis {what} already")


def _panels(found: Sequence[Cell], axis: Axis | None, words: Words) -> dict[str, Panel]:
    """Return empty panels by the key of their value, in the order of the axis."""
    if axis is None:
        return {key(None): Panel("")} if found else {}
    made = {key([one]): Panel(words.value(axis, one)) for one in values_on(axis, found)}
    if any(axis.path not in cell.variant for cell in found):
        made[key(None)] = Panel(f"without {axis.label}")
    return made


def _panel_key(cell: Cell, axis: Axis | None) -> str:
    has = axis is not None and axis.path in cell.variant
    return key([cell.variant[axis.path]] if has and axis is not None else None)


def _point(cell: Cell, asked: Asked, places: Mapping[str, int], doubtful: Collection[str]) -> Point:
    value = None if asked.x is None else cell.variant[asked.x.path]
    metric = cell.metrics[asked.metric]
    doubts = sum(run in doubtful for run in metric.get("runs", ()))
    return Point(0 if asked.x is None else places[key(value)], value, metric, doubts)


def _crossings(
    document: Document, asked: Asked, panel_key: str, found: Sequence[Cell]
) -> Iterator[Mapping[str, Any]]:
    """Yield the crossings of a panel on the axis that is drawn, between entries that are drawn."""
    if asked.x is None or asked.x.numbers is None:
        return
    drawn = {cell.subject for cell in found}
    for one in document["crossings"]:
        if one["axis"] != asked.x.path or one["metric"] != asked.metric or one["mean"] is None:
            continue
        of = Cell(one["variant"], None, {})
        if {one["a"], one["b"]} <= drawn and _panel_key(of, asked.panels) == panel_key:
            yield one


def _looks(made: Sequence[Series], colour: Axis | Literal["flow"] | None) -> list[Look | None]:
    """Return the look of each series, None beyond those that can be told apart.

    Series with equal values of ``colour`` share it, and differ in dashes.
    """
    if colour is None:
        return [Look(at, at) if at < COLOURS else None for at in range(len(made))]
    colours: dict[str, int] = {}
    if isinstance(colour, Axis):
        colours = {key(value): place for place, value in enumerate(colour.values)}
    rests: dict[str, int] = {}
    wanted = []
    for one in made:
        values = dict(one.values)
        first = one.subject
        if isinstance(colour, Axis):
            values.pop(colour.path, None)
            first = _common(colour, one.cells)
        rest = key([None if isinstance(colour, str) else one.subject, values])
        wanted.append(
            (colours.setdefault(key(first), len(colours)), rests.setdefault(rest, len(rests)))
        )
    taken: set[Look] = set()
    looks: list[Look | None] = []
    for first_choice, rest_choice in wanted:
        # With colours alone, dashes differ too, so that a print in grey tells the lines apart.
        dashes = first_choice if len(rests) == 1 else rest_choice
        looks.append(_free(Look(first_choice % COLOURS, dashes % DASHES), taken))
    return looks


def _common(axis: Axis, found: Sequence[Cell]) -> Any:
    """Return the value on an axis that all cells share, None if they do not."""
    there = {key(cell.variant.get(axis.path)) for cell in found}
    return found[0].variant.get(axis.path) if len(there) == 1 else None


def _free(wanted: Look, taken: set[Look]) -> Look | None:
    """Return the look, or the next one that is free: of its colour, if possible."""
    same = (Look(wanted.colour, (wanted.dashes + step) % DASHES) for step in range(DASHES))
    others = (Look(colour, dashes) for colour in range(COLOURS) for dashes in range(DASHES))
    for look in (*same, *others):
        if look not in taken:
            taken.add(look)
            return look
    return None

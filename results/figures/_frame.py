"""What a user sets around a figure's content: height, limits of axes, lines at values, legend."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple
from weakref import WeakKeyDictionary

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from orchestrator.errors import UsageError
from orchestrator.suggestions import suggest
from orchestrator.units import quoted_list, shown
from results.matrix.axes import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

LEAST_HEIGHT_IN, MOST_HEIGHT_IN = 0.8, 20.0

_LENGTH = re.compile(r"([0-9]*\.?[0-9]+)\s*(in|mm|cm)")
_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4}

Which = Literal["x", "y"]


def _height_in(value: object) -> float:
    match = _LENGTH.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"must be a length such as 60mm, 6cm or 2.4in, not {shown(value)}")
    height_in = float(match[1]) * _INCHES[match[2]]
    if not LEAST_HEIGHT_IN <= height_in <= MOST_HEIGHT_IN:
        raise ValueError(f"must be from {LEAST_HEIGHT_IN:g}in to {MOST_HEIGHT_IN:g}in")
    return height_in


HeightIn = Annotated[
    float,
    BeforeValidator(_height_in),
    WithJsonSchema({"type": "string", "examples": ["60mm"], "pattern": r"^[0-9.]+\s*(in|mm|cm)$"}),
]
"""A height in inches, written as a length."""


class AxisPosition(NamedTuple):
    """A place on an axis: a number in an SI unit, or (``unit`` None) in the unit that is shown."""

    value: float
    unit: str | None
    text: str


def quantity(written: object) -> AxisPosition:
    """Return a place as a user writes it: ``40mbit``, ``80ms``, ``5%`` or a plain number.

    Raises:
        ValueError: it is none.
    """
    plain = _plain_number(written)
    if plain is not None:
        return AxisPosition(plain, None, f"{plain:g}")
    parsed = number(written)
    if parsed is None or not math.isfinite(parsed[0]):
        raise ValueError(
            f"must be a number in the unit of the axis, or one with a unit such as 40mbit, "
            f"80ms or 5%, not {shown(written)}"
        )
    return AxisPosition(*parsed, str(written))


def _plain_number(written: object) -> float | None:
    if isinstance(written, bool) or not isinstance(written, str | int | float):
        return None
    try:
        value = float(written)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _checked(written: str | float) -> str | float:
    quantity(written)
    return written


Place = Annotated[
    str | float,
    AfterValidator(_checked),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string", "examples": ["40mbit"]}]}),
]
"""A place on an axis; :func:`quantity` reads it."""


class ReferenceLine(NamedTuple):
    """A line at a place, and what the legend says of it (empty: nothing)."""

    place: AxisPosition
    label: str


def reference(written: str) -> ReferenceLine:
    """Return the line that ``VALUE`` or ``VALUE=LABEL`` describes.

    Raises:
        ValueError: the value is no place on an axis, or the label cannot be drawn.
    """
    value, _equals, label = str(written).partition("=")
    return ReferenceLine(quantity(value.strip()), label.strip())


class OtherWords(dict[str, str]):
    """Words in place of names of lines and values; it notes which names a figure has asked for."""

    def __init__(self, words: Mapping[str, str] | None = None) -> None:
        super().__init__(words or {})
        self._asked: dict[str, None] = {}

    def get(self, name: str, default: Any = None) -> Any:
        """Return the words for a name, or else ``default``."""
        return super().get(name, default) if name in self else default

    def __contains__(self, name: object) -> bool:
        self._asked[str(name)] = None
        return super().__contains__(name)

    def require_used(self) -> None:
        """Require that the figure has each name; call it after the figure was drawn.

        Raises:
            UsageError: it has not.
        """
        for name in self:
            if name not in self._asked:
                raise UsageError(f"names: {no_name('name', name, self._asked)}")


def no_name(what: str, name: str, there: Iterable[str]) -> str:
    """Return what is wrong with a name of which the figure has no line or value."""
    valid = list(there)
    listed = f"the {PLURALS[what]} are {quoted_list(valid)}" if valid else "the figure has none"
    return f"there is no {what} {shown(name)}{suggest(name, valid)}; {listed}"


PLURALS = {"name": "names", "entry": "entries"}


@dataclass(frozen=True)
class FigureFrame:
    """What a user sets. ``limits`` are ends of axes by (axis, end), ``lines`` lines across panels.

    ``lines["y"]`` are horizontal. ``legend`` has other names for entries of the legend.
    """

    height_in: float | None = None
    limits: Mapping[tuple[Which, Literal["from", "to"]], AxisPosition] = field(default_factory=dict)
    lines: Mapping[Which, Sequence[ReferenceLine]] = field(default_factory=dict)
    legend: Mapping[str, str] = field(default_factory=dict)


class AxisScale(NamedTuple):
    """What a number on an axis means: ``number * divisor`` in the SI unit."""

    unit: str
    divisor: float


_scales: WeakKeyDictionary[Axis, AxisScale] = WeakKeyDictionary()


def set_scale(axis: Axis, unit: str, divisor: float) -> None:
    """Note what the numbers on an axis mean, so that a user's values find their places."""
    _scales[axis] = AxisScale(unit, divisor)


def apply(frame: FigureFrame, panels: Sequence[Axes]) -> None:
    """Set the limits, and draw the lines, in all panels.

    Raises:
        UsageError: an axis has names and no numbers, panels differ in their unit, a value is of
            another unit, or the limits leave nothing.
    """
    for which in ("x", "y"):
        key: Which = "x" if which == "x" else "y"
        for line in frame.lines.get(key, ()):
            name = "reference" if key == "y" else "reference_x"
            for panel in panels:
                position = _place(panels, key, name, line.place)
                across = panel.axhline if key == "y" else panel.axvline
                across(position, **look(frame, line))
                _include(panel, key, position)
        _limit(frame, panels, key)


_DASHES: Sequence[Any] = ((6, 2), (1.5, 1.5), (8, 2, 1.5, 2), (3, 1))
"""Dashes of the first lines at a user's values; further ones begin again."""


def look(frame: FigureFrame, line: ReferenceLine) -> dict[str, Any]:
    """Return how a line at a user's value looks; those of one label look alike."""
    labels = list(
        dict.fromkeys(other.label for of in ("y", "x") for other in frame.lines.get(of, ()))
    )
    dashes = _DASHES[labels.index(line.label) % len(_DASHES)]
    return {"color": "#404040", "linestyle": (0, dashes), "linewidth": 0.8, "zorder": 1.5}


def _include(panel: Axes, which: Which, position: float) -> None:
    """Let an axis reach as far as a line, with a small margin."""
    low, high = panel.get_xlim() if which == "x" else panel.get_ylim()
    turned = low > high
    low, high = sorted((low, high))
    if low <= position <= high:
        return
    margin = 0.05 * abs(high - low)
    low, high = (min(low, position), high) if position < low else (low, position + margin)
    (panel.set_xlim if which == "x" else panel.set_ylim)(*((high, low) if turned else (low, high)))


def _limit(frame: FigureFrame, panels: Sequence[Axes], which: Which) -> None:
    ends: dict[str, float] = {}
    for (of, end), value in frame.limits.items():
        if of == which:
            ends[end] = _place(panels, which, f"{which}_{end}", value)
    if not ends:
        return
    for panel in panels:
        low, high = panel.get_xlim() if which == "x" else panel.get_ylim()
        turned = low > high  # as an axis of delay, which grows to the left
        low, high = sorted((low, high))
        low, high = ends.get("from", low), ends.get("to", high)
        if not low < high:
            raise UsageError(
                f"{which}_from: the axis would go from {low:g} to {high:g}; the first must be less"
            )
        (panel.set_xlim if which == "x" else panel.set_ylim)(
            *((high, low) if turned else (low, high))
        )


def _place(panels: Sequence[Axes], which: Which, name: str, value: AxisPosition) -> float:
    axes = [panel.xaxis if which == "x" else panel.yaxis for panel in panels]
    scales = {_scales.get(axis) for axis in axes}
    if None in scales:
        raise UsageError(f"{name}: this axis has names and no numbers")
    if len(scales) > 1:
        raise UsageError(f"{name}: it is of one panel; name one by `panel`")
    (scale,) = scales
    assert scale is not None, "checked above"
    position = value.value
    if value.unit is not None:
        if value.unit != scale.unit and {value.unit, scale.unit} != {"1", "%"}:
            raise UsageError(
                f"{name}: {value.text} is of {value.unit}, and the axis is of {scale.unit}"
            )
        position = value.value / scale.divisor
    log = (panels[0].get_xscale() if which == "x" else panels[0].get_yscale()) == "log"
    if log and position <= 0:
        raise UsageError(f"{name}: {value.text} has no place on a logarithmic axis")
    return position

"""Sets up the axes of a panel: scales, ticks, labels."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from orchestrator.errors import UsageError
from results.experiment import coverage
from results.figures import _labels
from results.figures._frame import set_scale
from results.figures._style import FONT, SIGN_SIZE, TICK_SIZE
from results.layout.arrangement import PARTIAL
from results.matrix.axes import Axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from results.experiment.model import MeanSummary

_TICK_IN = 0.24
"""Least distance of two labelled ticks."""

_CHARACTER_IN = 0.055
"""About the width of a character of a tick's label."""


FEW_TICKS = 8
"""Up to so many values of a linear axis have a tick each; of more, ticks are round numbers."""


_WORDS = re.compile(r"\(?[0-9.]+ [^\W\d]\S*|\S+")
"""Words of a name; a number has its unit with it."""

_SPACE_IN = 0.03
_ROW_IN = 0.14
"""Width of a space, and height of a line, of a name."""

MOST_ROWS = 3
TURNED = 35
"""Most lines of a name, and the degrees by which longer ones are turned."""


def metric_axis(
    panel: Axes, name: str, values: Sequence[float], label: str | None, horizontal: bool = False
) -> float:
    """Label the vertical axis (or the horizontal one) with a metric; return the values' divisor."""
    stored = _labels.metric_unit(name)
    divisor, unit = _labels.scale(stored, values)
    set_scale(panel.xaxis if horizontal else panel.yaxis, stored, divisor)
    text = label if label is not None else _labels.with_unit(_labels.metric_title(name), unit)
    (panel.set_xlabel if horizontal else panel.set_ylabel)(text)
    return divisor


def parameter_axis(
    panel: Axes,
    axis: Axis,
    label: str | None,
    log: bool,
    width_in: float,
    names: Mapping[str, str],
) -> tuple[list[float], float]:
    """Label the horizontal axis with an axis of the experiment.

    Return its values' places, and the height that names need beyond a single line.

    Names stand beside each other; ``names`` has other words for them. Numbers stand where they
    belong, with ticks at them, if the axis is logarithmic or has few.
    """
    title = _labels.axis_title(axis)
    if axis.numbers is None:
        texts = [names.get(text, text) for text in _labels.short_texts(axis.values)]
        places = [float(index) for index in range(len(texts))]
        more_in = name_ticks(panel, texts, width_in)
        panel.set_xlim(-0.5, len(texts) - 0.5)
        panel.set_xlabel(label if label is not None else title)
        return places, more_in
    unit = _labels.axis_unit(axis)
    divisor, text = _labels.scale(unit, axis.numbers)
    set_scale(panel.xaxis, unit, divisor)
    places = [number / divisor for number in axis.numbers]
    panel.set_xlabel(label if label is not None else _labels.with_unit(title, text))
    if log:
        log_scale(panel, "x", places)
    if log or 1 < len(places) <= FEW_TICKS:
        _ticks_at(panel, places, width_in, log)
    return places, 0.0


def name_ticks(panel: Axes, names: Sequence[str], width_in: float) -> float:
    """Put names at 0, 1, 2, ... of the horizontal axis; return the height beyond a single line.

    Long names have up to three lines. Where words are too long for that, names are turned.
    ``width_in`` is the width of the panel with its labels.
    """
    room_in = 0.8 * width_in / len(names) - 0.05
    folded = [folded_name(name, room_in) for name in names]
    lines = [name.split("\n") for name in folded]
    rows = max(map(len, lines))
    longest_in = max(_wide_in(line) for lines_of_name in lines for line in lines_of_name)
    if rows <= MOST_ROWS and longest_in <= room_in:
        panel.set_xticks(range(len(names)), labels=folded)
        return (rows - 1) * _ROW_IN
    panel.set_xticks(range(len(names)), labels=list(names))
    panel.tick_params(axis="x", rotation=TURNED)
    for text in panel.get_xticklabels():
        text.set_horizontalalignment("right")
        text.set_rotation_mode("anchor")
    return max(map(_wide_in, names)) * math.sin(math.radians(TURNED))


def folded_name(name: str, room_in: float) -> str:
    """Return a name in lines of at most that width; words, and numbers with units, stay whole."""
    if _wide_in(name) <= room_in:
        return name
    lines: list[tuple[str, float]] = []
    for word in _WORDS.findall(name):
        width_in = _wide_in(word)
        if lines and lines[-1][1] + _SPACE_IN + width_in <= room_in:
            line, before_in = lines[-1]
            lines[-1] = (f"{line} {word}", before_in + _SPACE_IN + width_in)
        else:
            lines.append((word, width_in))
    return "\n".join(line for line, _width in lines)


@lru_cache(maxsize=1000)
def _wide_in(text: str) -> float:
    """Return how wide the label of a tick is."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    if not text.strip():
        return 0.0
    font = FontProperties(family=FONT, size=TICK_SIZE)
    extents = TextPath((0, 0), text, prop=font).get_extents()
    return float(extents.width) / 72


def log_scale(panel: Axes, which: str, values: Sequence[float]) -> None:
    """Make an axis logarithmic.

    Raises:
        UsageError: a value is not above zero.
    """
    if min(values, default=1.0) <= 0:
        raise UsageError(f"log_{which}: {min(values):g} has no place on a logarithmic axis")
    (panel.set_xscale if which == "x" else panel.set_yscale)("log")
    known = [value for value in values if value > 0]
    if known and max(known) < 100 * min(known):
        # Powers of ten alone would leave such a short axis without labels.
        from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

        axis = panel.xaxis if which == "x" else panel.yaxis
        narrow = max(known) < 5 * min(known)
        axis.set_major_locator(MaxNLocator(5) if narrow else LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value:g}"))
        axis.set_minor_locator(NullLocator())


def _ticks_at(panel: Axes, places: Sequence[float], width_in: float, log: bool) -> None:
    """Put ticks at the places, with labels where there is room for them."""
    from matplotlib.ticker import FixedLocator, NullFormatter

    at = [math.log10(tick) for tick in places] if log else list(places)
    margin = 0.04 * (at[-1] - at[0]) if at[-1] > at[0] else 0.1
    ends = (at[0] - margin, at[-1] + margin)
    panel.set_xlim(*((10 ** ends[0], 10 ** ends[1]) if log else ends))
    room_in = 0.82 * width_in / (ends[1] - ends[0])
    labelled = [0]
    for index, tick in enumerate(places):
        text_in = _CHARACTER_IN * len(f"{tick:g}")
        if (at[index] - at[labelled[-1]]) * room_in >= max(_TICK_IN, text_in + 0.05):
            labelled.append(index)
    shown = [places[index] for index in labelled]
    panel.set_xticks(shown, labels=[f"{tick:g}" for tick in shown])
    panel.xaxis.set_minor_locator(FixedLocator([tick for tick in places if tick not in shown]))
    panel.xaxis.set_minor_formatter(NullFormatter())


def mark_part(panel: Axes, at: tuple[float, float], metrics: Iterable[MeanSummary]) -> bool:
    """Put a sign above a point one of whose means is of a part; return whether it has one.

    A mean is of a part where some runs, flows or transfers have no value.
    """
    if not any(coverage.words(metric) for metric in metrics):
        return False
    panel.annotate(
        PARTIAL[0], at, (0, 1), ha="center", va="bottom", textcoords="offset points",
        fontsize=SIGN_SIZE,
    )  # fmt: skip
    return True


def from_zero(panels: Sequence[Axes]) -> None:
    """Let the vertical axes begin at zero, if they are linear and no value is below.

    The panels share their vertical axis.
    """
    if panels[0].get_yscale() == "linear" and all(panel.dataLim.y0 >= 0 for panel in panels):
        top = 1.05 * max(panel.dataLim.y1 for panel in panels)
        panels[0].set_ylim(0, top if top > 0 else 1)


def shifts(number: int) -> list[float]:
    """Return how far the points of each series stand beside the name that they belong to."""
    step = min(0.12, 0.6 / number)
    return [(index - (number - 1) / 2) * step for index in range(number)]

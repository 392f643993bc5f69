"""Sets up the axes of a panel: scales, ticks, labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from orchestrator.errors import UsageError
from results.figures import _labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TICK_IN = 0.24
"""Least distance of two labelled ticks."""

_CHARACTER_IN = 0.055
"""About the width of a character of a tick's label."""


def metric_axis(
    panel: Axes, name: str, values: Sequence[float], label: str | None, horizontal: bool = False
) -> float:
    """Label the vertical axis (or the horizontal one) with a metric; return the values' divisor."""
    divisor, unit = _labels.scale(_labels.metric_unit(name), values)
    text = label if label is not None else _labels.with_unit(_labels.metric_title(name), unit)
    (panel.set_xlabel if horizontal else panel.set_ylabel)(text)
    return divisor


def parameter_axis(
    panel: Axes, axis: Mapping[str, Any], label: str | None, log: bool, width_in: float
) -> list[float]:
    """Label the horizontal axis with an axis of the experiment; return its values' places.

    Names stand beside each other. Numbers stand where they belong, with ticks at them.
    """
    title = _labels.axis_title(axis)
    if axis["numbers"] is None:
        texts = [_labels.value(one) for one in axis["values"]]
        places = [float(place) for place in range(len(texts))]
        panel.set_xticks(places, labels=texts)
        panel.set_xlim(-0.5, len(texts) - 0.5)
        panel.set_xlabel(label if label is not None else title)
        return places
    unit = _labels.axis_unit(axis)
    divisor, text = _labels.scale(unit, axis["numbers"])
    places = [number / divisor for number in axis["numbers"]]
    panel.set_xlabel(label if label is not None else _labels.with_unit(title, text))
    if log:
        log_scale(panel, "x", places)
        _ticks_at(panel, places, width_in)
    return places


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


def _ticks_at(panel: Axes, places: Sequence[float], width_in: float) -> None:
    """Put ticks at the places of a logarithmic axis, with labels where there is room for them."""
    from matplotlib.ticker import FixedLocator, NullFormatter

    low, high = math.log10(places[0]), math.log10(places[-1])
    margin = 0.04 * (high - low) if high > low else 0.1
    panel.set_xlim(10 ** (low - margin), 10 ** (high + margin))
    room_in = 0.82 * width_in / (high - low + 2 * margin)
    labelled: list[float] = []
    for one in places:
        text_in = _CHARACTER_IN * len(f"{one:g}")
        if not labelled or (math.log10(one) - math.log10(labelled[-1])) * room_in >= max(
            _TICK_IN, text_in + 0.05
        ):
            labelled.append(one)
    panel.set_xticks(labelled, labels=[f"{one:g}" for one in labelled])
    panel.xaxis.set_minor_locator(FixedLocator([one for one in places if one not in labelled]))
    panel.xaxis.set_minor_formatter(NullFormatter())


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

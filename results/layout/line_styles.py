"""How lines look: colours that a flow entry or a value of an axis shares, and dashes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from results.layout.series import Cell, Series
from results.matrix.axes import Axis, key

FLOW: Literal["flow"] = "flow"
"""Colours by flow entry (or link), where others are by an axis."""

Parting = Axis | Literal["flow"]
"""What tells lines apart: an axis, or FLOW."""

COLOURS, DASHES = 8, 8
MOST_LINES = COLOURS * DASHES
"""As many lines differ in colour or dashes."""


@dataclass(frozen=True)
class LineStyle:
    """The numbers of a line's colour and of its dashes."""

    colour: int
    dashes: int


def looks_of(made: Sequence[Series], colour: Parting | None) -> tuple[list[LineStyle | None], bool]:
    """Return (the look of each series, whether one has a colour that is not its own).

    A look is None beyond those that can be told apart. Series with equal values of ``colour`` share
    it, and differ in dashes.
    """
    if colour is None:
        return [LineStyle(at, at) if at < COLOURS else None for at in range(len(made))], False
    colours: dict[str, int] = {}
    if isinstance(colour, Axis):
        colours = {key(value): index for index, value in enumerate(colour.values)}
    rests: dict[str, int] = {}
    choices = []
    for line in made:
        values = dict(line.values)
        first = line.subject
        if isinstance(colour, Axis):
            values.pop(colour.path, None)
            first = _common(colour, line.cells)
        rest = key([None if isinstance(colour, str) else line.subject, values])
        choices.append(
            (colours.setdefault(key(first), len(colours)), rests.setdefault(rest, len(rests)))
        )
    taken: set[LineStyle] = set()
    looks: list[LineStyle | None] = []
    for first_choice, rest_choice in choices:
        # With colours alone, dashes differ too, so that a print in grey tells the lines apart.
        dashes = first_choice if len(rests) == 1 else rest_choice
        looks.append(_free(LineStyle(first_choice % COLOURS, dashes % DASHES), taken))
    mixed = any(
        style is not None and style.colour != first % COLOURS
        for style, (first, _rest) in zip(looks, choices, strict=True)
    )
    return looks, mixed


def _common(axis: Axis, plotted: Sequence[Cell]) -> Any:
    """Return the value on an axis that all cells share, None if they do not."""
    there = {key(cell.variant.get(axis.path)) for cell in plotted}
    return plotted[0].variant.get(axis.path) if len(there) == 1 else None


def _free(style: LineStyle, taken: set[LineStyle]) -> LineStyle | None:
    """Return the look, or the next one that is free: of its colour, if possible."""
    same = (LineStyle(style.colour, (style.dashes + step) % DASHES) for step in range(DASHES))
    others = (LineStyle(colour, dashes) for colour in range(COLOURS) for dashes in range(DASHES))
    for candidate in (*same, *others):
        if candidate not in taken:
            taken.add(candidate)
            return candidate
    return None

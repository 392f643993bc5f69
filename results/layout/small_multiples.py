"""Chooses panels for a figure whose lines cannot be told apart in one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from results.experiment.model import Summary
from results.layout.arrangement import MOST_PANELS, ArrangementRequest, along, drawn_cells
from results.layout.line_styles import COLOURS, FLOW, MOST_LINES, Parting
from results.layout.series import Cell, follows
from results.matrix.axes import Axis, distinguishing, key

MOST_AXES = 4
"""Most axes that make panels together: the title of a panel names a value of each."""

MOST_IN_ONE = 2 * COLOURS
"""Most lines of flow entries that stay together: two of each colour."""


def chosen(
    summary: Summary, axes: Sequence[Axis], request: ArrangementRequest, most: int = COLOURS
) -> ArrangementRequest:
    """Return what is asked for with panels that let all lines be told apart.

    A panel has at most ``most`` lines, by default as many as there are colours. Of several possible
    choices that drawn_axis is taken whose number of panels and whose number of lines in a panel are
    smallest. What needs no panels, and what no panels help, returns as it is. There a line may have
    dashes beside its colour.
    """
    drawn = drawn_cells(summary, request)
    variants = [cell.variant for cell in drawn]
    free = [
        axis
        for axis in distinguishing(
            axes, variants, [drawn_axis.path for drawn_axis in along(request)]
        )
        if axis != request.colour and not follows(axis, along(request), summary)
    ]
    entries = len({cell.subject for cell in drawn}) > 1
    best: tuple[int, int, tuple[Parting, ...]] | None = None
    everything, _number = _sizes(drawn, free, ())
    one_panel = request.colour is None and COLOURS < everything <= MOST_IN_ONE
    for panels in _possible(free, entries and request.colour != FLOW and not one_panel):
        lines, number = _sizes(drawn, free, panels)
        if lines <= most and number <= MOST_PANELS:
            size = max(lines, number)
            if best is None or (size, len(panels)) < best[:2]:
                best = (size, len(panels), panels)
            if not panels:
                break
    if best is not None:
        return _with(request, best[2])
    if most < COLOURS:
        return chosen(summary, axes, request)
    if request.colour is None and COLOURS < everything <= MOST_LINES:
        return ArrangementRequest(request.metric, request.x, FLOW, request.panels, request.of)
    return request


def _possible(free: Sequence[Axis], entries: bool) -> Iterator[tuple[Parting, ...]]:
    """Yield the choices of panels, those of few axes first."""
    for number in range(min(len(free), MOST_AXES) + 1):
        yield from combinations(free, number)
    if entries:
        first: Parting = FLOW
        for number in range(min(len(free), MOST_AXES - 1) + 1):
            for axes in combinations(free, number):
                yield (first, *axes)


def _sizes(
    drawn: Sequence[Cell], free: Sequence[Axis], panels: Sequence[Parting]
) -> tuple[int, int]:
    """Return (number of different lines, number of panels)."""
    of_lines = [axis for axis in free if axis not in panels]
    of_panels = [axis for axis in free if axis in panels]
    lines, made = set(), set()
    for cell in drawn:
        subject = [cell.subject]
        lines.add(key([[] if FLOW in panels else subject, *_values(cell, of_lines)]))
        made.add(key([subject if FLOW in panels else [], *_values(cell, of_panels)]))
    return len(lines), len(made)


def _values(cell: Cell, axes: Sequence[Axis]) -> list[object]:
    return [cell.variant.get(axis.path) for axis in axes]


def _with(request: ArrangementRequest, panels: tuple[Parting, ...]) -> ArrangementRequest:
    return ArrangementRequest(
        request.metric, request.x, request.colour, (*request.panels, *panels), request.of
    )

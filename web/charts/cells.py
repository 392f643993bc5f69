"""Cells of a grid of runs as parts of an SVG: a shape for each state, which differ without colour.

A template would take most of the time of the list of experiments for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from flask import Flask
from markupsafe import Markup

from results.records.model import State

SIZE = 11
"""Pixels from a cell to the next one; a shape is 8 wide and begins one pixel inside."""

_SHAPES: Mapping[State | None, Callable[[float, float], str]] = {
    None: lambda x, y: (
        f'<rect class="cell none" x="{x + 3.5}" y="{y + 3.5}" width="2" height="2"/>'
    ),
    "faithful": lambda x, y: (
        f'<rect class="cell faithful" x="{x + 0.5}" y="{y + 0.5}" width="8" height="8"/>'
    ),
    "doubtful": lambda x, y: f'<path class="cell doubtful" d="M{x + 0.5} {y + 8.5}h8v-8z"/>',
    "unfaithful": lambda x, y: (
        f'<path class="cell unfaithful" d="M{x + 1} {y + 1}l7 7m0 -7l-7 7"/>'
    ),
    "failed": lambda x, y: f'<path class="cell failed" d="M{x + 1} {y + 4.5}h7"/>',
    "running": lambda x, y: f'<circle class="cell running" cx="{x + 4.5}" cy="{y + 4.5}" r="3.2"/>',
}


def shape(state: State | None, x: float = 1, y: float = 1) -> Markup:
    """Return the shape of a state, None for no run, at a place in pixels."""
    return Markup(_SHAPES[state](x, y))


def shapes(lines: Sequence[Sequence[State | None]]) -> Markup:
    """Return the shapes of a grid, line below line."""
    return Markup(
        "".join(
            _SHAPES[state](column * SIZE + 1, row * SIZE + 1)
            for row, line in enumerate(lines)
            for column, state in enumerate(line)
        )
    )


def register(app: Flask) -> None:
    """Make the shapes functions of the templates."""
    app.jinja_env.globals |= {"shape": shape, "shapes": shapes}

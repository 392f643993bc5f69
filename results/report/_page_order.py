"""Orders figures and tables so that no page stays half empty before a figure.

A figure stands on one page, and a table may go on to the next one. So a table takes the room that
a figure does not fit into.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from results.report._model import Picture, Section, Table

MOST_EMPTY = 0.2
"""Largest empty part of a page before a figure, where a table could fill it."""

MOST_LAYOUTS = 8
"""Most layouts of a report: each one moves one table."""

TOP = 0.15
"""A figure that begins above this part of a page begins the page, with a heading or without."""

Boxes = Mapping[str, tuple[float, float]]
"""Tops and bottoms of the named blocks of a page, as parts of the height of its text."""


class ResultPosition(NamedTuple):
    """A place in a report: the index of a section, and that of one of its results."""

    section: int
    at: int

    @property
    def name(self) -> str:
        """The name of the block in the document."""
        return f"result-{self.section + 1}-{self.at + 1}"


def filled(
    sections: Sequence[Section], laid_out: Callable[[Sequence[Section]], Sequence[Boxes]]
) -> Sequence[Section]:
    """Return the sections with tables moved before figures that leave much of a page empty.

    ``laid_out`` returns the blocks of each page.
    """
    for _layout in range(MOST_LAYOUTS):
        move = next(_moves(sections, laid_out(sections)), None)
        if move is None:
            break
        figure, table = move
        results = list(sections[figure.section].results)
        results.insert(figure.at, results.pop(table))
        changed = replace(sections[figure.section], results=results)
        sections = [
            changed if index == figure.section else section
            for index, section in enumerate(sections)
        ]
    return sections


def _moves(
    sections: Sequence[Section], pages: Sequence[Boxes]
) -> Iterator[tuple[ResultPosition, int]]:
    """Yield each figure after a gap, with the index of the next table that could fill it."""
    figures = {
        place.name: place
        for place in _places(sections)
        if isinstance(sections[place.section].results[place.at], Picture)
    }
    for before, page in pairwise(pages):
        empty = 1 - max((bottom for _top, bottom in before.values()), default=0.0)
        for name, (top, _bottom) in page.items():
            if name in figures and top < TOP and empty > MOST_EMPTY:
                figure = figures[name]
                rest = sections[figure.section].results
                yield from (
                    (figure, index)
                    for index in range(figure.at + 1, len(rest))
                    if isinstance(rest[index], Table)
                )


def _places(sections: Sequence[Section]) -> Iterator[ResultPosition]:
    for number, section in enumerate(sections):
        for index in range(len(section.results)):
            yield ResultPosition(number, index)

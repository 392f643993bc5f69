"""What a report consists of."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

Tone = Literal["good", "fair", "bad", "open", "none"]
"""How a word of a verdict looks: its colour says what it says, too."""

Cells = Sequence[str]

MOST_CHARACTERS = 118
"""About as many characters of a table fit beside each other on a page, at the usual size."""

MOST_DENSE = 140
"""As many fit at the smallest size that can be read."""

WRAPPED = 34
"""A cell of words is wrapped beyond this width, so it counts no more."""

_NUMERIC = re.compile(r"[-+<~]?\s?[0-9].*|-|–|")


class LabelledValue(NamedTuple):
    """A line of a list of facts: what, and its value."""

    name: str
    value: str


@dataclass(frozen=True)
class Table:
    """A table: its caption, the headings of its columns, and its rows.

    The first ``keys`` columns say what a row is of. ``command`` prints all rows, where the table
    has a part of them. ``tones`` has the words that are verdicts. If the table ``leads`` to
    sections, the first cell of each row is a link to the section that has that name.
    """

    caption: str
    headings: Cells
    rows: Sequence[Cells]
    keys: int = 1
    command: str = ""
    tones: Mapping[str, Tone] = field(default_factory=dict)
    leads: bool = False

    @property
    def right(self) -> frozenset[int]:
        """The columns of numbers, which are aligned to the right."""
        return frozenset(
            at
            for at in range(len(self.headings))
            if self.rows
            and all(_NUMERIC.fullmatch(row[at]) for row in self.rows)
            and any(row[at][:1].isdigit() or row[at][1:2].isdigit() for row in self.rows)
        )

    @property
    def widths(self) -> list[int]:
        """About how many characters each column needs."""
        right = self.right
        return [
            max(_word(self.headings[at]), *(_width(row[at], at in right) for row in self.rows), 3)
            for at in range(len(self.headings))
        ]

    @property
    def density(self) -> str:
        """How small its text must be to fit: a class of the style sheet."""
        needed = _sum(self.widths)
        return "" if needed <= MOST_CHARACTERS else "dense"

    def fitted(self) -> list[Table]:
        """Return tables that fit a page's width: this one, or parts with some columns each."""
        widths = self.widths
        if _sum(widths) <= MOST_DENSE or len(self.headings) <= self.keys + 1:
            return [self]
        parts: list[list[int]] = [[]]
        keys = list(range(self.keys))
        for at in range(self.keys, len(self.headings)):
            if parts[-1] and _sum([widths[one] for one in (*keys, *parts[-1], at)]) > MOST_DENSE:
                parts.append([])
            parts[-1].append(at)
        found = [
            self._part([*keys, *columns], f" (columns {number} of {len(parts)})")
            for number, columns in enumerate(parts, 1)
        ]
        return [*(replace(one, command="") for one in found[:-1]), found[-1]]

    def without_empty_columns(self, nothing: str = "") -> Table:
        """Return the table without columns whose cells are all empty, or are ``nothing``."""
        used = [
            at
            for at in range(len(self.headings))
            if any(row[at] not in ("", nothing) for row in self.rows)
        ]
        return replace(self._columns(used), keys=sum(at < self.keys for at in used))

    def _part(self, columns: Sequence[int], which: str) -> Table:
        return replace(self._columns(columns), caption=self.caption + which)

    def _columns(self, columns: Sequence[int]) -> Table:
        return replace(
            self,
            headings=[self.headings[at] for at in columns],
            rows=[[row[at] for at in columns] for row in self.rows],
        )


def _sum(widths: Sequence[int]) -> int:
    return sum(widths) + 2 * len(widths)


def _word(text: str) -> int:
    """Return the width of the longest word: headings are wrapped between words."""
    return max(map(len, text.split()), default=0)


def _width(text: str, number: bool) -> int:
    return len(text) if number else max(min(len(text), WRAPPED), 0)


@dataclass(frozen=True)
class Picture:
    """A figure: its caption, its name, and its SVG."""

    caption: str
    name: str
    svg: bytes


@dataclass(frozen=True)
class Section:
    """One experiment: what was asked, how, what came out, and how far to trust it.

    ``findings`` are sentences, ``notes`` what a reader must know, ``methods`` paragraphs. ``name``
    is what tables of other sections call it. An ``overview`` has the results first, and they lead
    to the other sections in place of a list of contents.
    """

    title: str
    label: str
    question: str
    facts: Sequence[LabelledValue]
    findings: Sequence[str]
    network: Sequence[Picture]
    setup: Sequence[Table]
    results: Sequence[Picture | Table]
    notes: Sequence[str]
    methods: Sequence[str]
    trust: Sequence[Table]
    provenance: Sequence[LabelledValue]
    command: str
    scenario: str
    name: str = ""
    overview: bool = False

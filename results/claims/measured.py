"""What was measured of each claim, read from the summaries that :mod:`results.claims.record` made.

A claim may have several summaries: at the quick and at the full length, and of single statements.
Those of the greatest length that has values of a statement count for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from orchestrator.errors import UsageError
from results.claims.judge import Finding, judge
from results.claims.model import LENGTHS, Length, Statement
from results.claims.record import CAUSES, SCHEMA, STATEMENT
from results.claims.rows import Row, rows_of_any_length


@dataclass(frozen=True)
class Summary:
    """A summary that was read: values of each row by statement and label.

    ``file`` is its name. ``without`` is, for an ablation, what was measured without it at the same
    length.
    """

    document: Mapping[str, Any]
    file: str = ""
    without: Measured | None = None

    @property
    def length(self) -> Length:
        """The length of its runs."""
        found: Length = self.document["length"]
        return found

    @property
    def ablation(self) -> str | None:
        """The name of the ablation that was measured; None for the claim itself."""
        found: str | None = self.document.get("ablation")
        return found

    @property
    def target(self) -> str:
        """What ``reproduce`` makes it of: the id of the claim, or of one of its statements."""
        found: str = self.document.get(STATEMENT) or self.document["claim"]
        return found

    def findings(self, statement: Statement) -> list[tuple[Row, Finding]]:
        """Return the rows that have values, judged by the statement as it is now."""
        made = {each["label"]: each for each in self.values(statement)}
        return [
            (row, judge(one["values"], row.accepted, one["least"], one["identical"]))
            for row in rows_of_any_length(statement)
            if (one := made.get(row.label)) is not None
        ]

    def values(self, statement: Statement) -> Sequence[Mapping[str, Any]]:
        """Return the values of each row of a statement, as the file has them."""
        found: Sequence[Mapping[str, Any]] = self.document["statements"].get(statement.id, ())
        return found

    def labels(self) -> dict[str, list[str]]:
        """Return the labels of the rows of each statement."""
        return {
            name: [each["label"] for each in made]
            for name, made in self.document["statements"].items()
        }


@dataclass(frozen=True)
class Measured:
    """The summaries of a claim, at least one: those of greater length first."""

    summaries: Sequence[Summary]

    def of(self, statement: Statement) -> Summary:
        """Return the summary that counts for a statement; any if none has values of it."""
        there = (each for each in self.summaries if each.values(statement))
        return next(there, self.summaries[-1])

    def findings(self, statement: Statement) -> list[tuple[Row, Finding]]:
        """Return the rows that have values, judged by the statement as it is now."""
        return self.of(statement).findings(statement)

    def left_out(self, statement: Statement) -> tuple[int, int]:
        """Return how many values are of unfaithful and of failed runs."""
        made = self.of(statement).values(statement)
        return sum(each["unfaithful"] for each in made), sum(each["failed"] for each in made)

    def used(self, statements: Iterable[Statement]) -> list[tuple[Summary, list[str]]]:
        """Return the summaries that count for any of these statements, with the ids of those.

        Those of whole claims come first, and of these the one that counts for most.
        """
        every = list(statements)
        found = [
            (one, [each.id for each in every if self.of(each) is one and one.values(each)])
            for one in self.summaries
        ]
        return sorted(
            (each for each in found if each[1]),
            key=lambda each: (STATEMENT in each[0].document, -len(each[1])),
        )

    def main(self, statements: Iterable[Statement]) -> Summary | None:
        """Return the first of :meth:`used`; None if nothing of these statements was measured."""
        used = self.used(statements)
        return used[0][0] if used else None


def read(path: Path) -> Summary:
    """Read a summary.

    Raises:
        UsageError: it is no summary of this version.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from None
    if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
        raise UsageError(f"{path} is no summary of claims of schema {SCHEMA}")
    return Summary(document, path.name)


def read_folder(folder: Path) -> list[Summary]:
    """Return all summaries of a folder in the order of their names; none if it is not there.

    Raises:
        UsageError: one cannot be read.
    """
    return [read(path) for path in sorted(folder.glob("*.json"))]


def read_all(folder: Path) -> dict[tuple[str, str], Measured]:
    """Return what was measured of each (paper, claim)."""
    found: dict[tuple[str, str], list[Summary]] = {}
    for one in read_folder(folder):
        found.setdefault(_claim(one), []).append(one)
    return {claim: Measured(sorted(made, key=_rank)) for claim, made in found.items()}


def read_causes(folder: Path) -> dict[tuple[str, str, str], Summary]:
    """Return the summary of each (paper, claim, ablation); a full one before a quick one."""
    own: dict[tuple[tuple[str, str], Length], list[Summary]] = {}
    for claim, measured in read_all(folder).items():
        for each in measured.summaries:
            own.setdefault((claim, each.length), []).append(each)
    found: dict[tuple[str, str, str], Summary] = {}
    for one in sorted(read_folder(folder / CAUSES), key=_rank):
        without = own.get((_claim(one), one.length))
        key = (*_claim(one), str(one.ablation))
        found.setdefault(key, replace(one, without=Measured(without) if without else None))
    return found


def _claim(one: Summary) -> tuple[str, str]:
    return one.document["paper"], one.document["claim"]


def _rank(one: Summary) -> tuple[int, bool]:
    """Return the place of a summary among others: greater lengths first, whole claims first."""
    return -LENGTHS.index(one.length), STATEMENT in one.document

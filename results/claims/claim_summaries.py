"""What was measured of each claim, read from the summaries that :mod:`results.claims.record` made.

A claim may have several summaries: at the quick and at the full length, and of single statements.
Those of the greatest length that has values of a statement count for it; of several of that length
the one with the most values. Their repetitions have the same seeds, from the first on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator.errors import UsageError
from results.claims import record
from results.claims.judged_statements import JudgedRow, RowValues
from results.claims.record import CAUSES, Record
from results.claims.stated.model import LENGTHS, Design, Length, Statement
from results.claims.stated.rows import rows_of_any_length
from results.contract.base import SCHEMA
from results.experiment.left_out import LeftOut


@dataclass(frozen=True)
class ClaimSummary:
    """A summary that was read, and the name of its file.

    ``without`` is, for an ablation, what was measured without it at the same length.
    """

    record: Record
    file: str = ""
    without: ClaimSummaries | None = None

    @property
    def length(self) -> Length:
        """The length of its runs."""
        return self.record.length

    def options(self, designs: Mapping[str, Design]) -> str:
        """Return the options of ``reproduce`` that make the same runs, such as ``--quick``.

        ``designs`` has the paper's experiments by name. More repetitions than the length of one
        allows need ``--most``.
        """
        number = max(
            (
                run.repetition + 1
                for run in self.record.runs
                if run.design is not None
                and (design := designs.get(run.design)) is not None
                and run.repetition >= design.at(self.length).limit
            ),
            default=0,
        )
        return f"--{self.length} --most {number}" if number else f"--{self.length}"

    def rows(self, statement: Statement) -> list[JudgedRow]:
        """Return the rows that have values, judged by the statement as it is now."""
        made = self.values(statement)
        return [
            JudgedRow.of(row, made[row.label])
            for row in rows_of_any_length(statement)
            if row.label in made
        ]

    def values(self, statement: Statement) -> Mapping[str, RowValues]:
        """Return the values of each row of a statement by its label."""
        return self.record.statements.get(statement.id, {})


@dataclass(frozen=True)
class ClaimSummaries:
    """The summaries of a claim, at least one: those of greater length first."""

    summaries: Sequence[ClaimSummary]

    def of(self, statement: Statement) -> ClaimSummary:
        """Return the summary that counts for a statement; any if none has values of it."""
        there = [summary for summary in self.summaries if summary.values(statement)]
        if not there:
            return self.summaries[-1]
        return max(
            (summary for summary in there if summary.length == there[0].length),
            key=lambda summary: sum(
                len(values.values) for values in summary.values(statement).values()
            ),
        )

    def rows(self, statement: Statement) -> list[JudgedRow]:
        """Return the rows that have values, judged by the statement as it is now."""
        return self.of(statement).rows(statement)

    def left_out(self, statement: Statement) -> LeftOut:
        """Return how many values are left out, in all rows together."""
        made = self.of(statement).values(statement).values()
        return sum((values.left_out for values in made), LeftOut())

    def used(self, statements: Iterable[Statement]) -> list[tuple[ClaimSummary, list[str]]]:
        """Return the summaries that count for any of these statements, with the ids of those.

        Those of whole claims come first, and of these the one that counts for most.
        """
        every = list(statements)
        pairs = [
            (
                summary,
                [
                    given.id
                    for given in every
                    if self.of(given) is summary and summary.values(given)
                ],
            )
            for summary in self.summaries
        ]
        return sorted(
            (pair for pair in pairs if pair[1]),
            key=lambda pair: (pair[0].record.statement is not None, -len(pair[1])),
        )

    def main(self, statements: Iterable[Statement]) -> ClaimSummary | None:
        """Return the first of :meth:`used`; None if nothing of these statements was measured."""
        used = self.used(statements)
        return used[0][0] if used else None


def rows_of(statement: Statement, made: ClaimSummaries | None) -> list[JudgedRow]:
    """Return the judged rows of a statement; none where nothing was measured."""
    return [] if made is None else made.rows(statement)


def read(path: Path) -> ClaimSummary:
    """Read a summary.

    Raises:
        UsageError: it is no summary of this version.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from None
    try:
        return ClaimSummary(record.parsed(document), path.name)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise UsageError(f"{path} is no summary of claims of schema {SCHEMA}") from None


def read_folder(folder: Path) -> list[ClaimSummary]:
    """Return all summaries of a folder in the order of their names; none if it is not there.

    Raises:
        UsageError: one cannot be read.
    """
    return [read(path) for path in sorted(folder.glob("*.json"))]


def read_all(folder: Path) -> dict[tuple[str, str], ClaimSummaries]:
    """Return what was measured of each (paper, claim)."""
    by_claim: dict[tuple[str, str], list[ClaimSummary]] = {}
    for summary in read_folder(folder):
        by_claim.setdefault(_claim(summary), []).append(summary)
    return {claim: ClaimSummaries(sorted(made, key=_rank)) for claim, made in by_claim.items()}


def read_causes(folder: Path) -> dict[tuple[str, str, str], ClaimSummary]:
    """Return the summary of each (paper, claim, ablation); a full one before a quick one."""
    own: dict[tuple[tuple[str, str], Length], list[ClaimSummary]] = {}
    for claim, measured in read_all(folder).items():
        for summary in measured.summaries:
            own.setdefault((claim, summary.length), []).append(summary)
    by_ablation: dict[tuple[str, str, str], ClaimSummary] = {}
    for of_ablation in sorted(read_folder(folder / CAUSES), key=_rank):
        without = own.get((_claim(of_ablation), of_ablation.length))
        key = (*_claim(of_ablation), str(of_ablation.record.ablation))
        by_ablation.setdefault(
            key, replace(of_ablation, without=ClaimSummaries(without) if without else None)
        )
    return by_ablation


def _claim(summary: ClaimSummary) -> tuple[str, str]:
    return summary.record.paper, summary.record.claim


def _rank(summary: ClaimSummary) -> tuple[int, bool]:
    """Return the place of a summary among others: greater lengths first, whole claims first."""
    return -LENGTHS.index(summary.length), summary.record.statement is not None

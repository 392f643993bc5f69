"""Statements of papers with the verdicts on their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from results.claims.judge import (
    CANNOT,
    HOLDS,
    OPEN,
    Agreement,
    RowFinding,
    Verdict,
    judge,
    of_some_places,
)
from results.claims.stated.model import Statement
from results.claims.stated.rows import ClaimRow
from results.claims.values import UsedRun
from results.experiment.left_out import LeftOut
from results.wording import quantities


@dataclass(frozen=True)
class RowValues:
    """The values of a row in the order of the repetitions.

    ``least`` is the number of repetitions that were made at first. ``left_out`` counts values that
    do not count, and ``used`` has the runs that do by their ids, where they are known. ``places``
    counts the places of the row that they are made of.
    """

    values: Sequence[float]
    least: int
    left_out: LeftOut
    used: Mapping[str, UsedRun] = field(default_factory=dict)
    places: int = 1


@dataclass(frozen=True)
class JudgedRow:
    """A row with its values and the verdict on it."""

    row: ClaimRow
    values: RowValues
    finding: RowFinding

    @classmethod
    def of(cls, row: ClaimRow, values: RowValues) -> JudgedRow:
        """Judge a row by its values."""
        finding = judge(
            values.values,
            row.accepted,
            row.near,
            row.index,
            values.least,
            values.left_out.identical,
        )
        judged = cls(row, values, finding)
        if row.across is None or values.places == len(row.terms):
            return judged
        some = of_some_places(finding, row.accepted, row.near, row.across, f"{judged.label} places")
        return cls(row, values, some)

    @property
    def label(self) -> str:
        """What tells the row from others, with the number of its places where some are missing."""
        if self.row.across is None or self.values.places == len(self.row.terms):
            return self.row.label
        return f"{self.row.across} of {self.values.places} of {len(self.row.terms)}"

    @property
    def text(self) -> str:
        """Our mean with its interval, as documents and tables show it."""
        return self.finding.text(self.row.accepted, self.row.near)


@dataclass(frozen=True)
class JudgedStatement:
    """A statement of a paper with its judged rows; ``absent`` counts those without runs."""

    paper: str
    statement: Statement
    rows: Sequence[JudgedRow]
    absent: int = 0

    @property
    def agreement(self) -> Agreement | None:
        """How much of it agrees; None if it cannot be tested."""
        if self.statement.cannot is not None:
            return None
        return Agreement.of_rows(row.finding.verdict for row in self.rows)

    @property
    def verdict(self) -> Verdict:
        """The word for its agreement."""
        return CANNOT if self.agreement is None else self.agreement.word

    @property
    def open(self) -> bool:
        """Whether it has an open row, or none at all."""
        return self.statement.cannot is None and (
            not self.rows or any(row.finding.verdict == OPEN for row in self.rows)
        )

    @property
    def left_out(self) -> LeftOut:
        """How many values are left out, in all rows together."""
        return sum((row.values.left_out for row in self.rows), LeftOut())


@dataclass(frozen=True)
class JudgedClaim:
    """A claim with what its chosen statements say of it."""

    paper: str
    claim: str
    says: str
    statements: Sequence[JudgedStatement]

    @property
    def counted(self) -> list[JudgedStatement]:
        """The statements that count: those that can be tested, and not in part only."""
        return [judged for judged in self.statements if counts(judged.statement)]

    @property
    def agreement(self) -> Agreement | None:
        """How much of it agrees; None if none of its statements counts."""
        known = [judged.agreement for judged in self.counted]
        agreements = [agreement for agreement in known if agreement is not None]
        return Agreement.mean(agreements) if agreements else None

    @property
    def verdict(self) -> Verdict:
        """The word for its agreement."""
        return CANNOT if self.agreement is None else self.agreement.word

    @property
    def count(self) -> str:
        """How many of its statements hold, in words."""
        held = sum(judged.verdict == HOLDS for judged in self.counted)
        return f"{held} of {quantities.plural(len(self.counted), 'statement')} hold"


def counts(statement: Statement) -> bool:
    """Tell whether a statement counts for its claim: it can be tested, and not in part only."""
    return statement.cannot is None and statement.in_part is None

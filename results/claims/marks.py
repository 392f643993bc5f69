"""A claim in one line: a mark for each statement, and how many hold."""

from __future__ import annotations

from results.claims.judge import (
    CANNOT,
    DOES_NOT,
    HOLDS,
    MIXED,
    MOSTLY,
    MOSTLY_NOT,
    OPEN,
    Verdict,
)
from results.claims.judged_statements import JudgedClaim, JudgedStatement, counts

MARKS: dict[Verdict, str] = {
    HOLDS: "●", MOSTLY: "◕", MIXED: "◑", MOSTLY_NOT: "◔", DOES_NOT: "○", OPEN: "?", CANNOT: "–",
}  # fmt: skip
"""The share of a disc that is filled is the share of the statement that agrees."""


def marks(claim: JudgedClaim) -> str:
    """Return a mark for each statement, those that agree most first; ``–`` does not count."""
    return "".join(_mark(statement) for statement in sorted(claim.statements, key=_place))


def sentence(claim: JudgedClaim) -> str:
    """Return how many of a claim's statements hold, and between which shares of it agree."""
    agreement = claim.agreement
    if agreement is None:
        return "None of its statements counts."
    low, high = f"{agreement.low:.2f}", f"{agreement.high:.2f}"
    shares = low if low == high else f"{low} to {high}"
    return f"{claim.count}; agreement {shares}."


def _mark(statement: JudgedStatement) -> str:
    return MARKS[statement.verdict if counts(statement.statement) else CANNOT]


def _place(statement: JudgedStatement) -> tuple[bool, float, float]:
    agreement = statement.agreement
    if agreement is None or not counts(statement.statement):
        return True, 0.0, 0.0
    return False, -(agreement.low + agreement.high), agreement.high - agreement.low

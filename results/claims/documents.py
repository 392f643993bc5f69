"""Statements and rows as the JSON of ``reproduce`` and of the API have them."""

from __future__ import annotations

from typing import Any

from results.claims.judge import Agreement
from results.claims.judged_statements import JudgedRow
from results.claims.stated.model import Statement


def agreement(share: Agreement | None) -> dict[str, float] | None:
    """Return how much agrees; None where nothing can be tested."""
    return None if share is None else {"low": share.low, "high": share.high}


def statement(
    paper: str, stated: Statement, verdict: str, agrees: Agreement | None
) -> dict[str, Any]:
    """Return what a statement says, with the verdict on it."""
    return {
        "paper": paper,
        "claim": stated.claim,
        "id": stated.id,
        "says": stated.says,
        "place": stated.place,
        "verdict": verdict,
        "agreement": agreement(agrees),
        "cannot": stated.cannot,
        "in_part": stated.in_part,
        "cause": stated.cause,
        "unit": stated.unit,
        "reason_of_tolerance": stated.reason,
    }


def row(judged: JudgedRow) -> dict[str, Any]:
    """Return a row with its values and verdict."""
    finding = judged.finding
    return {
        "label": judged.row.label,
        "paper": judged.row.paper,
        "numbers": list(judged.row.numbers),
        "accepted": [judged.row.accepted.low, judged.row.accepted.high],
        "near": [judged.row.near.low, judged.row.near.high],
        "mean": finding.mean,
        "low": finding.low,
        "high": finding.high,
        "n": finding.n,
        "verdict": finding.verdict,
        "reason": finding.reason,
        "needed": finding.needed,
        "least": judged.values.least,
        "left_out": judged.values.left_out.numbers,
        "values": list(judged.values.values),
    }

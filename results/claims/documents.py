"""Statements and rows by the models of the JSON of ``reproduce`` and of the API."""

from __future__ import annotations

from typing import TypeVar, cast

from results.claims import contract
from results.claims.judge import Agreement
from results.claims.judged_statements import JudgedRow
from results.claims.stated.model import Statement
from results.experiment.summary_document import left_out_of

AStatement = TypeVar("AStatement", bound=contract.StatedStatement)
ARow = TypeVar("ARow", bound=contract.ClaimRow)


def agreement(share: Agreement | None) -> contract.Agreement | None:
    """Return how much agrees; None where nothing can be tested."""
    if share is None:
        return None
    return contract.Agreement.model_construct(low=share.low, high=share.high)


def statement(
    model: type[AStatement],
    paper: str,
    stated: Statement,
    verdict: contract.State,
    agrees: Agreement | None,
    **further: object,
) -> AStatement:
    """Return what a statement says, with the verdict on it and ``further`` keys of its model."""
    made = model.model_construct(
        None,
        paper=paper,
        claim=stated.claim,
        id=stated.id,
        says=stated.says,
        place=stated.place,
        verdict=verdict,
        agreement=agreement(agrees),
        cannot=stated.cannot,
        in_part=stated.in_part,
        cause=stated.cause,
        unit=stated.unit,
        reason_of_tolerance=stated.reason,
        **further,
    )
    return cast(AStatement, made)


def row(model: type[ARow], judged: JudgedRow, **further: object) -> ARow:
    """Return a row with its values and verdict, and ``further`` keys of its model."""
    accepted, near, finding = judged.row.accepted, judged.row.near, judged.finding
    made = model.model_construct(
        None,
        label=judged.row.label,
        paper=judged.row.paper,
        numbers=list(judged.row.numbers),
        accepted=(accepted.low, accepted.high),
        near=(near.low, near.high),
        mean=finding.mean,
        low=finding.low,
        high=finding.high,
        n=finding.n,
        verdict=finding.verdict,
        reason=finding.reason,
        needed=finding.needed,
        least=judged.values.least,
        left_out=left_out_of(judged.values.left_out),
        values=list(judged.values.values),
        **further,
    )
    return cast(ARow, made)

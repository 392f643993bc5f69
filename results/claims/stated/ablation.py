"""Ablations: a claim's statements, tested with a changed set-up.

An ablation makes a paper of its own: the same statements, with experiments that set further values.
So its runs are made, judged and summarised as those of the claim are. Repetitions have the seeds of
the claim's own, so values with and without the change are paired.
"""

from __future__ import annotations

from typing import Any

from results.claims.stated.model import (
    Ablation,
    Claim,
    ComparedQuantity,
    Design,
    LengthSettings,
    Paper,
    Quantity,
    Statement,
)


def changed(paper: Paper, claim: str, ablation: Ablation) -> Paper:
    """Return a paper that has only the statements of an ablation, with what it changes."""
    statements = tuple(
        _swapped(statement, ablation)
        for statement in paper.claims[claim].statements
        if statement.id in ablation.of
    )
    only = Claim.model_construct(
        says=paper.claims[claim].says, statements=statements, ablations=(ablation,)
    )
    experiments = {name: _set(design, ablation) for name, design in paper.experiments.items()}
    return paper.model_copy(update={"experiments": experiments, "claims": {claim: only}})


def _set(design: Design, ablation: Ablation) -> Design:
    """Return an experiment with the values of the ablation after all others."""
    runs = {
        length: LengthSettings(
            set=(*getattr(design, length).set, *ablation.set),
            least=1 if length == "reduced" else ablation.least,
        )
        for length in ("reduced", "quick", "full")
    }
    return design.model_copy(update=runs)


def _swapped(statement: Statement, ablation: Ablation) -> Statement:
    """Return a statement whose places name the controls that stand in for others."""
    if not ablation.instead:
        return statement
    return statement.model_copy(
        update={
            "of": _at(statement.of, ablation),
            "compare": tuple(
                ComparedQuantity(name=item.name, of=_at(item.of, ablation))
                for item in statement.compare
            ),
            "cases": tuple(
                item.model_copy(update={"of": _at(item.of, ablation)}) for item in statement.cases
            ),
        }
    )


def _at(quantity: Quantity, ablation: Ablation) -> Quantity:
    where: dict[str, Any] = {
        axis: ablation.instead.get(value, value) if isinstance(value, str) else value
        for axis, value in quantity.where.items()
    }
    return quantity.model_copy(update={"where": where})

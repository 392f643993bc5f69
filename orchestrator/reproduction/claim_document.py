"""What was found of papers' statements, by the models of ``results.claims.contract``.

``claims`` has one entry for each number that is compared with the paper, and ``statements`` says
the same in full. A statement without numbers of ours has one entry, whose ``measured`` is null.
``digests`` has an entry for each claim and ablation that has a summary of the length. Statements of
ablations are as the claim's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from results.claims import contract, documents
from results.contract.base import SCHEMA

if TYPE_CHECKING:
    from orchestrator.reproduction.ablations import AblationRuns
    from orchestrator.reproduction.claim_digests import ComparedRuns
    from orchestrator.reproduction.claim_runs import DecisionCost
    from results.claims.judged_statements import JudgedClaim, JudgedRow, JudgedStatement
    from results.claims.stated.model import Length
    from results.claims.stated.rows import ClaimRow


def document(
    length: Length,
    outcomes: Sequence[JudgedStatement],
    claims: Iterable[JudgedClaim],
    costs: Mapping[tuple[str, str], DecisionCost],
    ablated: Iterable[AblationRuns],
    compared: Iterable[ComparedRuns],
    options: str,
) -> dict[str, Any]:
    """Return the JSON contract of all that was found. Values are in the unit of their statement.

    ``options`` are those of the command that makes the same runs, such as ``--quick``.
    """
    return contract.Reproduction.model_construct(
        schema_=SCHEMA,
        length=length,
        claims=[entry for outcome in outcomes for entry in _numbers(outcome, length, options)],
        verdicts=[_claim(claim) for claim in claims],
        statements=[
            documents.statement(
                contract.ReproducedStatement,
                outcome.paper,
                outcome.statement,
                outcome.verdict,
                outcome.agreement,
                absent=outcome.absent,
                cost=_cost(costs.get((outcome.paper, outcome.statement.id))),
                command=command_for(outcome, options),
                rows=[_row(judged) for judged in outcome.rows],
            )
            for outcome in outcomes
        ],
        ablations=[_ablation(ablation_runs) for ablation_runs in ablated],
        digests=[_digests(comparison) for comparison in compared],
    ).document()


def command_for(outcome: JudgedStatement, options: str) -> str:
    """Return the command that tests a statement again."""
    return f"orchestrator reproduce {outcome.paper}:{outcome.statement.id} {options}"


def _claim(claim: JudgedClaim) -> contract.ClaimVerdict:
    return contract.ClaimVerdict.model_construct(
        paper=claim.paper,
        id=claim.claim,
        says=claim.says,
        verdict=claim.verdict,
        agreement=documents.agreement(claim.agreement),
    )


def _row(judged: JudgedRow) -> contract.RowWithRuns:
    return documents.row(contract.RowWithRuns, judged, runs=list(judged.values.used))


def _cost(cost: DecisionCost | None) -> contract.DecisionCost | None:
    if cost is None:
        return None
    entry = contract.DecisionCost.model_construct(runs=cost.runs, minutes=cost.minutes)
    if cost.of_full_length:
        entry.length = "full"
    return entry


def _ablation(ablated: AblationRuns) -> contract.AblationResult:
    ablation = ablated.ablation
    return contract.AblationResult.model_construct(
        paper=ablated.name,
        claim=ablated.claim,
        name=ablation.name,
        says=ablation.says,
        asks=ablation.asks,
        set=list(ablation.set),
        statements=[
            contract.AblationStatement.model_construct(
                id=outcome.statement.id,
                says=outcome.statement.says,
                place=outcome.statement.place,
                unit=outcome.statement.unit,
                verdict=outcome.verdict,
                agreement=documents.agreement(outcome.agreement),
                rows=[_row(judged) for judged in outcome.rows],
            )
            for outcome in ablated.outcomes
        ],
    )


def _digests(compared: ComparedRuns) -> contract.ComparedDigests:
    found = compared.comparison
    return contract.ComparedDigests.model_construct(
        paper=compared.paper,
        id=compared.claim,
        ablation=compared.ablation,
        equal=list(found.equal),
        other=list(found.other),
        absent=list(found.absent),
        changed=list(found.changed),
        link_models=list(found.link_models),
    )


def _numbers(
    outcome: JudgedStatement, length: Length, options: str
) -> Iterator[contract.ComparedNumber]:
    """Yield an entry for each row of a statement, or one for a statement without rows."""
    without_rows = contract.ComparedNumber.model_construct(
        paper=outcome.paper,
        id=outcome.statement.claim,
        statement_id=outcome.statement.id,
        statement=outcome.statement.says,
        row="",
        paper_value=None,
        unit=outcome.statement.unit,
        measured=None,
        verdict=outcome.verdict,
        length=length,
        runs=[],
        command=command_for(outcome, options),
    )
    if not outcome.rows:
        yield without_rows
    for row in outcome.rows:
        yield without_rows.model_copy(
            update={
                "row": row.row.label,
                "paper_value": paper_value(row.row),
                "measured": _measured(row),
                "verdict": row.finding.verdict,
                "runs": list(row.values.used),
            }
        )


def _measured(row: JudgedRow) -> contract.MeasuredMean | None:
    finding = row.finding
    if finding.mean is None:
        return None
    return contract.MeasuredMean.model_construct(
        mean=finding.mean, low=finding.low, high=finding.high, n=finding.n
    )


def paper_value(row: ClaimRow) -> float | list[float | None] | None:
    """Return the paper's number; [LOW, HIGH] of a range or bound; None where it has no number."""
    if not row.numbers:
        return None
    if row.accepted.low is None:
        return [None, row.numbers[-1]]
    if row.accepted.high is None:
        return [row.numbers[0], None]
    return row.numbers[0] if len(row.numbers) == 1 else list(row.numbers)

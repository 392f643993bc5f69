"""What was found of papers' statements, ready for JSON.

The JSON contract, with values in the unit of each statement::

    {"schema": 1, "length": LENGTH,
     "claims": [
       {"paper", "id", "statement_id", "statement", "row", "paper_value", "unit",
        "measured": null or {"mean", "low", "high", "n"}, "verdict", "length", "runs": [ID],
        "command"}],
     "verdicts": [{"paper", "id", "says", "verdict", "agreement": null or {"low", "high"}}],
     "statements": [
       {"paper", "claim", "id", "says", "place", "verdict", "agreement", "cannot", "in_part",
        "cause", "unit", "reason_of_tolerance", "absent", "command",
        "cost": null or {"runs", "minutes"} or {"runs", "minutes", "length": "full"},
        "rows": [{"label", "paper", "numbers", "accepted": [LOW, HIGH], "near": [LOW, HIGH],
                  "mean", "low", "high", "n",
                  "verdict", "reason", "needed", "least", "values", "runs",
                  "left_out": {"unfaithful", "failed", "identical"}}]}],
     "ablations": [{"paper", "claim", "name", "says", "asks", "set": [OVERRIDE],
                    "statements": [{"id", "says", "place", "unit", "verdict", "agreement",
                                    "rows"}]}],
     "digests": [{"paper", "id", "ablation": null or NAME, "equal": [ID], "other": [ID],
                  "absent": [ID], "changed": [NAME], "link_models": [NUMBER]}]}

``claims`` has one entry for each number that is compared with the paper. Its ``id`` is the claim's
(W3), and a claim has many entries. A statement without numbers of ours has one entry, whose
``measured`` is null. ``paper_value`` is a number, or [LOW, HIGH] with null for an open end, or null
where the paper has no number. Its verdict is that on a row. ``verdicts`` has the word for each
claim by its chosen statements. ``agreement`` is how much of it agrees, a share from ``low`` to
``high`` as rows are open, or null where nothing can be tested.

``statements`` says the same in full. ``absent`` counts rows that the length has no runs for.
``cost`` is that of deciding: of more runs, or of the full length for a statement without rows;
``runs`` is null where no number decides. Statements of ablations are as the claim's own.

``digests`` has an entry for each claim and ablation that has a summary of the length, with the ids
of runs that have the digest of the summary, another one, or that it does not have. ``changed``
names kernel and modules that have another hash than in the summary, ``link_models`` the link models
of the summary that are not those of the runs. A summary of another model stays valid as long as the
digests are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from results.claims import documents

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
) -> dict[str, Any]:
    """Return all that was found, JSON-ready. Values are in the unit of their statement."""
    return {
        "schema": 1,
        "length": length,
        "claims": [entry for outcome in outcomes for entry in _entries(outcome, length)],
        "verdicts": [
            {
                "paper": claim.paper,
                "id": claim.claim,
                "says": claim.says,
                "verdict": claim.verdict,
                "agreement": documents.agreement(claim.agreement),
            }
            for claim in claims
        ],
        "statements": [
            {
                **documents.statement(
                    outcome.paper, outcome.statement, outcome.verdict, outcome.agreement
                ),
                "absent": outcome.absent,
                "cost": _cost(costs.get((outcome.paper, outcome.statement.id))),
                "command": command_for(outcome, length),
                "rows": [_row(judged) for judged in outcome.rows],
            }
            for outcome in outcomes
        ],
        "ablations": [_ablation(ablation_runs) for ablation_runs in ablated],
        "digests": [_digests(comparison) for comparison in compared],
    }


def command_for(outcome: JudgedStatement, length: Length) -> str:
    """Return the command that tests a statement again."""
    return f"orchestrator reproduce {outcome.paper}:{outcome.statement.id} --{length}"


def _row(judged: JudgedRow) -> dict[str, Any]:
    return documents.row(judged) | {"runs": list(judged.values.used)}


def _cost(cost: DecisionCost | None) -> dict[str, Any] | None:
    if cost is None:
        return None
    entry: dict[str, Any] = {"runs": cost.runs, "minutes": cost.minutes}
    return entry | {"length": "full"} if cost.of_full_length else entry


def _ablation(ablated: AblationRuns) -> dict[str, Any]:
    ablation = ablated.ablation
    return {
        "paper": ablated.name,
        "claim": ablated.claim,
        "name": ablation.name,
        "says": ablation.says,
        "asks": ablation.asks,
        "set": list(ablation.set),
        "statements": [
            {
                "id": outcome.statement.id,
                "says": outcome.statement.says,
                "place": outcome.statement.place,
                "unit": outcome.statement.unit,
                "verdict": outcome.verdict,
                "agreement": documents.agreement(outcome.agreement),
                "rows": [_row(judged) for judged in outcome.rows],
            }
            for outcome in ablated.outcomes
        ],
    }


def _digests(compared: ComparedRuns) -> dict[str, Any]:
    lists = {name: list(ids) for name, ids in asdict(compared.comparison).items()}
    return {
        "paper": compared.paper, "id": compared.claim, "ablation": compared.ablation, **lists
    }  # fmt: skip


def _entries(outcome: JudgedStatement, length: Length) -> Iterator[dict[str, Any]]:
    """Yield an entry for each row of a statement, or one for a statement without rows."""
    without_rows: dict[str, Any] = {
        "paper": outcome.paper,
        "id": outcome.statement.claim,
        "statement_id": outcome.statement.id,
        "statement": outcome.statement.says,
        "row": "",
        "paper_value": None,
        "unit": outcome.statement.unit,
        "measured": None,
        "verdict": outcome.verdict,
        "length": length,
        "runs": [],
        "command": command_for(outcome, length),
    }
    if not outcome.rows:
        yield without_rows
    for row in outcome.rows:
        finding = row.finding
        measured = {"mean": finding.mean, "low": finding.low, "high": finding.high, "n": finding.n}
        yield without_rows | {
            "row": row.row.label,
            "paper_value": paper_value(row.row),
            "measured": None if finding.mean is None else measured,
            "verdict": finding.verdict,
            "runs": list(row.values.used),
        }


def paper_value(row: ClaimRow) -> float | list[float | None] | None:
    """Return the paper's number; [LOW, HIGH] of a range or bound; None where it has no number."""
    if not row.numbers:
        return None
    if row.accepted.low is None:
        return [None, row.numbers[-1]]
    if row.accepted.high is None:
        return [row.numbers[0], None]
    return row.numbers[0] if len(row.numbers) == 1 else list(row.numbers)

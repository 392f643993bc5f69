"""What was found of papers' statements, ready for JSON.

The JSON contract, with values in the unit of each statement::

    {"schema": 1, "length": LENGTH,
     "claims": [
       {"paper", "id", "statement_id", "statement", "row", "paper_value", "unit",
        "measured": null or {"mean", "low", "high", "n"}, "verdict", "length", "runs": [ID],
        "command"}],
     "verdicts": [{"paper", "id", "says", "verdict"}],
     "statements": [
       {"paper", "claim", "id", "says", "place", "verdict", "cannot", "in_part", "cause", "unit",
        "reason_of_tolerance", "absent", "command",
        "cost": null or {"runs", "minutes"} or {"runs", "minutes", "length": "full"},
        "rows": [{"label", "paper", "numbers", "accepted": [LOW, HIGH], "mean", "low", "high", "n",
                  "verdict", "reason", "needed", "least", "values", "runs",
                  "left_out": {"unfaithful", "failed", "identical"}}]}]}

``claims`` has one entry for each number that is compared with the paper. Its ``id`` is the claim's
(W3), and a claim has many entries. A statement without numbers of ours has one entry, whose
``measured`` is null. ``paper_value`` is a number, or [LOW, HIGH] with null for an open end, or null
where the paper has no number. ``verdicts`` has the verdict on each claim by its chosen statements.

``statements`` says the same in full. ``absent`` counts rows that the length has no runs for.
``cost`` is that of deciding: of more runs, or of the full length for a statement without rows;
``runs`` is null where no number decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from orchestrator.cli import _claim_runs

if TYPE_CHECKING:
    from orchestrator.planning.learning import Estimator
    from results.claims.model import Length, Paper
    from results.claims.rows import Row


def document(
    outcomes: Sequence[_claim_runs.Outcome],
    papers: Mapping[str, Paper],
    experiments: _claim_runs.ClaimExperiments,
    other: Mapping[str, Mapping[str, Any]],
    length: Length,
    estimator: Estimator,
) -> dict[str, Any]:
    """Return all that was found, JSON-ready. Values are in the unit of their statement."""
    return {
        "schema": 1,
        "length": length,
        "claims": [entry for each in outcomes for entry in _entries(each, length)],
        "verdicts": _verdicts(outcomes, papers),
        "statements": [
            {
                "paper": each.paper,
                "claim": each.statement.claim,
                "id": each.statement.id,
                "says": each.statement.says,
                "place": each.statement.place,
                "verdict": each.verdict,
                "cannot": each.statement.cannot,
                "in_part": each.statement.in_part,
                "cause": each.statement.cause,
                "unit": each.statement.unit,
                "reason_of_tolerance": each.statement.reason,
                "absent": each.absent,
                "cost": _claim_runs.cost(each, experiments, estimator)
                if each.rows
                else other.get(each.statement.id),
                "command": command_for(each, length),
                "rows": [row(judged) for judged in each.rows],
            }
            for each in outcomes
        ],
    }


def command_for(outcome: _claim_runs.Outcome, length: Length) -> str:
    """Return the command that tests a statement again."""
    return f"orchestrator reproduce {outcome.paper}:{outcome.statement.id} --{length}"


def row(judged: _claim_runs.Judged) -> dict[str, Any]:
    """Return a row with its values and verdict, JSON-ready."""
    finding, series = judged.finding, judged.series
    return {
        "label": judged.row.label,
        "paper": judged.row.paper,
        "numbers": list(judged.row.numbers),
        "accepted": [judged.row.accepted.low, judged.row.accepted.high],
        "mean": finding.mean,
        "low": finding.low,
        "high": finding.high,
        "n": finding.n,
        "verdict": finding.verdict,
        "reason": finding.reason,
        "needed": finding.needed,
        "least": judged.least,
        "left_out": {
            "unfaithful": series.unfaithful,
            "failed": series.failed,
            "identical": series.identical,
        },
        "values": series.values,
        "runs": list(series.used),
    }


def _entries(outcome: _claim_runs.Outcome, length: Length) -> Iterator[dict[str, Any]]:
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
    for each in outcome.rows:
        found = each.finding
        measured = {"mean": found.mean, "low": found.low, "high": found.high, "n": found.n}
        yield without_rows | {
            "row": each.row.label,
            "paper_value": paper_value(each.row),
            "measured": None if found.mean is None else measured,
            "verdict": found.verdict,
            "runs": list(each.series.used),
        }


def paper_value(row: Row) -> float | list[float | None] | None:
    """Return the paper's number; [LOW, HIGH] of a range or bound; None where it has no number."""
    if not row.numbers:
        return None
    if row.accepted.low is None:
        return [None, row.numbers[-1]]
    if row.accepted.high is None:
        return [row.numbers[0], None]
    return row.numbers[0] if len(row.numbers) == 1 else list(row.numbers)


def _verdicts(
    outcomes: Sequence[_claim_runs.Outcome], papers: Mapping[str, Paper]
) -> list[dict[str, Any]]:
    from results.claims.judge import combined_verdict

    return [
        {
            "paper": paper,
            "id": claim,
            "says": papers[paper].claims[claim].says,
            "verdict": combined_verdict(each.verdict for each in chosen),
        }
        for (paper, claim), chosen in _claim_runs.by_claim(outcomes).items()
    ]

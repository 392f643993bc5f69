"""What deciding the open rows of the committed summaries would cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.planning.costs.learning import Estimator
from orchestrator.reproduction import claim_runs
from results.claims.judge import OPEN
from results.claims.judged_statements import JudgedStatement
from results.claims.page.open_rows import OpenStatement

if TYPE_CHECKING:
    from orchestrator.reproduction.claim_runs import ClaimExperiments
    from results.claims.claim_summaries import ClaimSummaries
    from results.claims.judged_statements import JudgedRow
    from results.claims.stated.model import Length, Paper, Statement


def open_statements(
    papers: Mapping[str, Paper],
    measured: Mapping[tuple[str, str], ClaimSummaries],
    folder: Path,
) -> Iterator[OpenStatement]:
    """Yield the statements with open rows and what would decide them.

    ``folder`` is that of the papers' scenarios.

    Raises:
        ScenarioError: a scenario is not valid with the values that a length sets.
    """
    for paper in papers:
        for claim, stated in papers[paper].claims.items():
            made = measured.get((paper, claim))
            for statement in stated.statements:
                if statement.cannot is not None:
                    continue
                judged = made.rows(statement) if made is not None else []
                if made is None or not judged:
                    yield _unmeasured(papers, paper, statement, folder)
                elif undecided := [row for row in judged if row.finding.verdict == OPEN]:
                    length = made.of(statement).length
                    yield _undecided(papers, paper, statement, undecided, length, folder)


def _unmeasured(
    papers: Mapping[str, Paper], paper: str, statement: Statement, folder: Path
) -> OpenStatement:
    """Return the first repetitions of a statement, quick ones where that length has runs of it."""
    lengths: tuple[Length, ...] = ("quick", "full")
    for length in lengths:
        experiments = claim_runs.prepare(papers, [(paper, statement)], length, folder)
        rows = claim_runs.rows_with_runs(paper, statement, experiments)
        if rows:
            break
    return _first(paper, statement, len(rows) or 1, length, experiments)


def _undecided(
    papers: Mapping[str, Paper],
    paper: str,
    statement: Statement,
    undecided: list[JudgedRow],
    length: Length,
    folder: Path,
) -> OpenStatement:
    """Return the further runs of a statement that has open rows."""
    if any(row.row.across and row.values.places < len(row.row.terms) for row in undecided):
        experiments = claim_runs.prepare(papers, [(paper, statement)], "full", folder)
        return _first(paper, statement, len(undecided), "full", experiments)
    experiments = claim_runs.prepare(papers, [(paper, statement)], length, folder)
    for row in undecided:
        left_out = row.values.left_out
        number = len(row.values.values) + left_out.unfaithful + left_out.failed
        for quantity in row.row.quantities():
            experiment = experiments[paper, str(quantity.experiment)]
            index = experiment.find(quantity)
            # A summary has no ids of runs, and the cost counts them only.
            if index is not None and number > len(experiment.made.get(index, ())):
                experiment.made[index] = ["of the summary"] * number
    cost = claim_runs.cost(JudgedStatement(paper, statement, undecided), experiments, Estimator())
    if cost is None or cost.runs is None or cost.minutes is None:
        return OpenStatement(paper, statement.id, len(undecided), length, None, 0.0)
    return OpenStatement(paper, statement.id, len(undecided), length, cost.runs, 60 * cost.minutes)


def _first(
    paper: str, statement: Statement, rows: int, length: Length, experiments: ClaimExperiments
) -> OpenStatement:
    """Return a statement with its first repetitions."""
    numbers = claim_runs.initial_repetitions(experiments)
    runs = sum(sum(by_variant.values()) for by_variant in numbers.values())
    time_s = sum(
        experiment.cost_s(numbers[key], Estimator()) for key, experiment in experiments.items()
    )
    return OpenStatement(paper, statement.id, rows, length, runs, time_s)

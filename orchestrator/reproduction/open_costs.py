"""What deciding the open rows of the committed summaries would cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.planning.costs.estimate import wall_s
from orchestrator.reproduction import claim_runs
from results.claims.judge import OPEN
from results.claims.page.open_rows import OpenStatement
from results.claims.stated.rows import rows_of_any_length

if TYPE_CHECKING:
    from orchestrator.reproduction.claim_runs import ClaimExperiments
    from results.claims.claim_summaries import ClaimSummaries
    from results.claims.judged_statements import JudgedRow
    from results.claims.stated.model import Length, Paper, Statement

Numbers = dict[tuple[str, str], dict[int, int]]
"""Numbers of runs by (paper, experiment) and index of the variant."""


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
        rows = [
            row
            for row in rows_of_any_length(statement)
            if all(
                experiments[paper, str(quantity.experiment)].find(quantity) is not None
                for quantity in row.quantities()
            )
        ]
        if rows or length == "full":
            break
    return _of(paper, statement, len(rows) or 1, length, experiments,
               claim_runs.initial_repetitions(experiments))  # fmt: skip


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
        numbers = claim_runs.initial_repetitions(experiments)
        return _of(paper, statement, len(undecided), "full", experiments, numbers)
    if any(row.finding.needed is None for row in undecided):
        return OpenStatement(paper, statement.id, len(undecided), length, None, 0.0)
    experiments = claim_runs.prepare(papers, [(paper, statement)], length, folder)
    further: Numbers = {}
    for row in undecided:
        left_out = row.values.left_out
        # Those that are left out may be so again, so as many more are made.
        more = (row.finding.needed or 0) - len(row.values.values)
        more += left_out.unfaithful + left_out.failed
        for quantity in row.row.quantities():
            key = (paper, str(quantity.experiment))
            index = experiments[key].find(quantity)
            if index is not None:
                by_variant = further.setdefault(key, {})
                by_variant[index] = max(by_variant.get(index, 0), more)
    return _of(paper, statement, len(undecided), length, experiments, further)


def _of(
    paper: str,
    statement: Statement,
    rows: int,
    length: Length,
    experiments: ClaimExperiments,
    numbers: Numbers,
) -> OpenStatement:
    """Return a statement with the number and the time of these runs."""
    runs, time_s = 0, 0.0
    for key, by_variant in numbers.items():
        order = sorted(index for index, number in by_variant.items() if number > 0)
        once = experiments[key].plan(dict.fromkeys(order, 1)).runs if order else []
        for index, run in zip(order, once, strict=True):
            runs += by_variant[index]
            time_s += by_variant[index] * wall_s(run)
    return OpenStatement(paper, statement.id, rows, length, runs, time_s)

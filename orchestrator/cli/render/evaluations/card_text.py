"""Prints a report card, and the plan of its runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from orchestrator.cli.render import estimate_text, terminal
from orchestrator.evaluation import wording
from results.wording import quantities

if TYPE_CHECKING:
    from orchestrator.evaluation.costs import CriterionCosts
    from orchestrator.evaluation.evaluate import EvaluationResult
    from orchestrator.evaluation.prepared import PreparedEvaluation


def show_plan(prepared: PreparedEvaluation, planned: Sequence[CriterionCosts], jobs: int) -> None:
    """Print the runs of each criterion, how many are missing, and what these would cost."""
    headings = ["criterion", "runs", "minutes", "missing", "minutes missing", "MB", "earlier runs"]
    rows = [
        [
            one.name,
            str(one.runs),
            f"{one.wall_s / 60:.1f}",
            str(one.missing),
            f"{one.missing_wall_s / 60:.1f}",
            f"{one.disk_bytes / 1e6:.1f}",
            estimate_text.brief(one.estimate),
        ]
        for one in planned
    ]
    out = terminal.console()
    out.print(terminal.table(headings, rows, right=range(1, len(headings) - 1)))
    for name, lack in prepared.lacks.items():
        terminal.print_line(f"{name}: not applicable: {lack}", out)
    for name, found in prepared.experiments.items():
        if not found and name not in prepared.lacks:
            terminal.print_line(f"{name}: builds on each kernel that is here, and no runs", out)
    missing = sum(one.missing for one in planned)
    missing_s = sum(one.missing_wall_s for one in planned)
    disk_bytes = sum(one.disk_bytes for one in planned)
    length = prepared.request.length
    if not missing:
        terminal.print_line(f"{length}: all runs are stored", out)
        return
    at_a_time = f", {missing_s / 60 / jobs:.0f} with --jobs {jobs}" if jobs > 1 else ""
    terminal.print_line(
        f"{length}: {quantities.plural(missing, 'run')} to make, about {missing_s / 60:.0f} "
        f"minutes with one job{at_a_time}, and {disk_bytes / 1e6:.0f} MB",
        out,
    )


def show(result: EvaluationResult) -> None:
    """Print the grade of each criterion, and what decides it."""
    out = terminal.console()
    rows = [[one.name, one.grade] for one in result.judged]
    out.print(terminal.table(["criterion", "grade"], rows))
    for one in result.judged:
        terminal.print_line(f"{one.name}: {wording.why(one)}", out)
        if one.explained is not None:
            terminal.print_line(f"  {one.explained}", out)
    found = result.card.changes
    for line in () if found is None else wording.changes(found):
        terminal.print_line(f"baseline: {line}", out)
    required = result.prepared.request.required
    unmet = [name for name in required if result.grades[name] not in ("meets", "meets with limits")]
    for name in unmet:
        terminal.line(f"--require {name}: {result.grades[name]}", err=True)
    failed = sum(row.status != "ok" for one in result.judged for row in one.rows)
    if failed:
        terminal.line(f"{quantities.plural(failed, 'run')} failed", err=True)

"""Prints a matrix of harm, and what it would cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.cli.render import estimate_text, terminal
from orchestrator.evaluation.matrix import page
from results.wording import quantities

if TYPE_CHECKING:
    from orchestrator.evaluation.costs import CriterionCosts
    from orchestrator.evaluation.matrix.harm import HarmMatrix
    from orchestrator.evaluation.matrix.prepared import PreparedMatrix


def show_plan(prepared: PreparedMatrix, planned: CriterionCosts, jobs: int) -> None:
    """Print pairs, runs and hours, and what of these is missing."""
    out = terminal.console()
    pairs = quantities.plural(len(prepared.experiments), "pair")
    controls = quantities.plural(len(prepared.controls), "control")
    terminal.print_line(
        f"{prepared.request.length} matrix of {controls}: {pairs}, {planned.runs} runs, "
        f"{planned.wall_s / 3600:.2f} hours with one job; earlier runs: "
        f"{estimate_text.brief(planned.estimate)}",
        out,
    )
    if not planned.missing:
        terminal.print_line("all runs are stored", out)
        return
    hours = planned.missing_wall_s / 3600
    at_a_time = f", {hours / jobs:.2f} with --jobs {jobs}" if jobs > 1 else ""
    terminal.print_line(
        f"{quantities.plural(planned.missing, 'run')} to make: {hours:.2f} hours with one "
        f"job{at_a_time}, and {planned.disk_bytes / 1e6:.0f} MB",
        out,
    )


def show(found: HarmMatrix) -> None:
    """Print the table of each metric and variant, and what they say."""
    out = terminal.console()
    for table in page.tables(found):
        terminal.print_line(table.caption, out)
        out.print(terminal.table(list(table.headings), [list(row) for row in table.rows]))
    for line in page.findings(found):
        terminal.print_line(line, out)
    failed = sum(row.status != "ok" for row in found.rows)
    if failed:
        terminal.line(f"{quantities.plural(failed, 'run')} failed", err=True)

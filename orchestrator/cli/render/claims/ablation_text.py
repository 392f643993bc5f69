"""Prints the values of ablations beside what was measured without them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.cli.render import terminal
from orchestrator.reproduction import ablations
from results.claims.judge import NO_RUNS
from results.wording.quantities import NO_VALUE

if TYPE_CHECKING:
    from orchestrator.reproduction.reproduce import PreparedReproduction, ReproductionResult
    from results.claims.judged_statements import JudgedRow
    from results.claims.stated.model import Statement


def show(found: ReproductionResult) -> None:
    """Print the values of each ablation beside what was measured without it."""
    out = terminal.console()
    own = {
        (each.paper, each.statement.id, judged.row.label): judged
        for each in found.outcomes
        for judged in each.rows
    }
    show_absence(found.prepared)
    for ablated in found.prepared.ablated:
        ablation = ablated.ablation
        title = f"{ablated.name} {ablated.claim}, {ablation.name}: {ablation.says}"
        terminal.print_line(f"{title} {ablation.asks}", out)
        lines = []
        for each in ablated.outcomes:
            stated = each.statement
            if not each.rows:
                lines.append([stated.id, stated.says, "", "", "", "", NO_RUNS])
            for judged in each.rows:
                without = own.get((ablated.name, stated.id, judged.row.label))
                lines.append(_line(stated, judged, without))
        headings = ["id", "", "paper", "here", "with it", "runs", "verdict with it"]
        out.print(terminal.table(headings, lines, right=(5,)))
        out.print()


def show_absence(prepared: PreparedReproduction) -> None:
    """Say that none of the chosen statements has an ablation, where ablations were asked for."""
    if prepared.request.causes and not prepared.ablated:
        known = ", ".join(ablations.statements(prepared.papers)) or "none"
        said = "none of the chosen statements has an ablation; these have"
        terminal.line(f"--causes: {said}: {known}", err=True)


def _line(stated: Statement, judged: JudgedRow, without: JudgedRow | None) -> list[str]:
    return [
        stated.id,
        judged.label or stated.says,
        f"{judged.row.paper} {stated.unit}".strip(),
        NO_VALUE if without is None else without.text,
        judged.text,
        str(judged.finding.n),
        judged.finding.verdict,
    ]

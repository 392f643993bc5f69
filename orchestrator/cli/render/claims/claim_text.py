"""Prints the verdicts on papers' statements, and the plans of their runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from orchestrator.cli.options import shared
from orchestrator.cli.render import estimate_text, terminal
from orchestrator.reproduction.claim_document import command_for
from results.claims.judge import OPEN
from results.claims.marks import marks
from results.claims.measured_part import measured_times
from results.wording import quantities

if TYPE_CHECKING:
    from orchestrator.reproduction.claim_plan import PlannedExperiment
    from orchestrator.reproduction.claim_runs import DecisionCost
    from orchestrator.reproduction.reproduce import ReproductionResult
    from results.claims.judged_statements import JudgedStatement
    from results.claims.stated.model import Length


def show_plan(planned: Sequence[PlannedExperiment]) -> None:
    """Print the runs of each experiment at first, and the most that open rows can ask for."""
    headings = ["paper", "scenario", "variants", "repetitions", "minutes", "at most", "missing",
                "earlier runs"]  # fmt: skip
    rows = [
        [
            experiment.paper,
            _scenario(experiment),
            str(experiment.variants),
            str(experiment.least),
            f"{experiment.minutes_least:.1f}",
            f"{experiment.minutes_most:.1f}",
            str(experiment.missing),
            estimate_text.brief(experiment.estimate),
        ]
        for experiment in planned
    ]
    out = terminal.console()
    out.print(terminal.table(headings, rows, right=range(2, len(headings) - 1)))
    total = sum(experiment.minutes_least for experiment in planned)
    most = sum(experiment.minutes_most for experiment in planned)
    runs, rest = (
        sum(experiment.missing for experiment in planned),
        sum(experiment.minutes_missing for experiment in planned),
    )
    terminal.print_line(f"about {_minutes(total)} with one job, {_minutes(most)} at most", out)
    if runs:
        are = "is" if runs == 1 else "are"
        missing = f"{quantities.plural(runs, 'run')} {are} not stored yet: about {_minutes(rest)}"
    else:
        missing = "all runs that are made at first are stored"
    terminal.print_line(missing, out)


def _scenario(experiment: PlannedExperiment) -> str:
    if experiment.ablation is None:
        return experiment.scenario
    return f"{experiment.scenario} ({experiment.ablation})"


def show(found: ReproductionResult) -> None:
    """Print a table of each claim, its statements' verdicts, and what deciding would cost."""
    out = terminal.console()
    for claim in found.claims():
        counted = f": {claim.count}" if claim.counted else ""
        terminal.print_line(f"{claim.paper} {claim.claim} {claim.verdict}{counted}", out)
        terminal.print_line(f"{marks(claim)} {claim.says}", out)
        rows = [line for each in claim.statements for line in _lines(each)]
        headings = ["id", "", "paper", "here", "runs", "verdict"]
        out.print(terminal.table(headings, rows, right=(4,)))
        for each in claim.statements:
            designs = found.prepared.papers[each.paper].experiments
            for said in measured_times(each.rows, designs, found.length):
                terminal.print_line(f"{each.statement.id}: measured over {said}", out)
            for note in _notes(each, found.cost_of(each), found.length, found.options):
                terminal.print_line(f"{each.statement.id}: {note}", out)
        out.print()
    counts = [each.verdict for each in found.outcomes]
    words = ", ".join(
        f"{verdict} {counts.count(verdict)}" for verdict in dict.fromkeys(sorted(counts))
    )
    terminal.print_line(f"{quantities.plural(len(counts), 'statement')}: {words}", out)
    if found.length == "reduced":
        terminal.print_line(
            "the reduced length only tries the runs: its verdicts mean nothing", out
        )


def _lines(judged: JudgedStatement) -> Iterator[list[str]]:
    """Yield the cells of a statement's own line and of its rows; of one row only one line."""
    stated, rows = judged.statement, judged.rows
    says = f"{stated.says} ({stated.place})"
    alone = len(rows) == 1
    if not alone:
        yield [stated.id, says, "", "", "", judged.verdict]
    for row in rows:
        label = row.label or says
        if alone and row.label:
            label = f"{says} {row.label}"
        yield [
            stated.id if alone else "",
            label if alone else f"  {label}",
            f"{row.row.paper} {stated.unit}".strip(),
            row.text,
            str(row.finding.n),
            row.finding.verdict,
        ]


def _notes(
    judged: JudgedStatement, cost: DecisionCost | None, length: Length, options: str
) -> Iterator[str]:
    stated, left_out = judged.statement, judged.left_out
    if stated.cannot:
        yield f"cannot be tested here: {stated.cannot}"
        return
    if stated.in_part:
        yield f"testable in part: {stated.in_part}"
    if stated.cause:
        yield f"cause: {stated.cause}"
    if judged.absent:
        places = quantities.plural(judged.absent, "place")
        yield f"{places} not tested at this length"
    if left_out.unfaithful or left_out.failed:
        yield f"left out: {left_out.unfaithful} unfaithful and {left_out.failed} failed values"
    if cost is not None and (length != "reduced" or cost.of_full_length):
        yield _cost(judged, cost)
    command = command_for(judged, options)
    yield f"{shared.program()}{command.removeprefix('orchestrator')}"


def _cost(judged: JudgedStatement, cost: DecisionCost) -> str:
    if cost.runs is None or cost.minutes is None:
        findings = [finding.finding for finding in judged.rows if finding.finding.verdict == OPEN]
        reasons = dict.fromkeys(
            str(finding.reason) for finding in findings if finding.needed is None
        )
        return f"open: {'; '.join(reasons)}, and no number of repetitions decides"
    if cost.of_full_length:
        return (
            f"not part of this length; {command_for(judged, '--full')} makes {cost.runs} runs in "
            f"about {_minutes(cost.minutes)}"
        )
    runs = quantities.plural(cost.runs, "more run")
    most = max(finding.finding.needed or 0 for finding in judged.rows)
    time = _minutes(cost.minutes)
    decide = f"{runs} would decide with a probability of 90%"
    return f"open: {decide}, {time} with one job (--most {most})"


def _minutes(minutes: float) -> str:
    """Return a time in words: in seconds below a minute."""
    if minutes < 1:
        return f"{minutes * 60:.0f} s"
    return f"{minutes:.1f} min" if minutes < 10 else f"{minutes:.0f} min"

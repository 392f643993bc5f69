"""Runs the ablations of papers' statements, prints their values, and writes summaries of them.

In the JSON of ``reproduce`` they are::

    {"ablations": [{"paper", "claim", "name", "says", "asks", "set": [OVERRIDE],
                    "statements": [...]}]}

with statements as the claim's own have them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli import _claim_document, _claim_report, _claim_runs, _output
from orchestrator.errors import UsageError

if TYPE_CHECKING:
    from results.claims.model import Ablation, Length, Paper, Statement


@dataclass
class Ablated:
    """An ablation with its experiments; ``paper`` has only the statements that it tests."""

    name: str
    claim: str
    ablation: Ablation
    paper: Paper
    chosen: Sequence[tuple[str, Statement]]
    experiments: _claim_runs.ClaimExperiments
    outcomes: list[_claim_runs.Outcome] = field(default_factory=list)

    def decide(self, execute: _claim_runs.Execute, db: Path, quiet: bool) -> None:
        """Make the runs that are missing, and judge the statements by them."""
        if not quiet:
            click.echo(f"{self.name}:{self.claim}, {self.ablation.name}:", err=True)
        self.outcomes = _claim_runs.decide(self.chosen, self.experiments, execute, db, quiet)


def prepare(
    papers: Mapping[str, Paper],
    chosen: Iterable[tuple[str, Statement]],
    length: Length,
    folder: Path,
) -> list[Ablated]:
    """Load the experiments of all ablations of some statements.

    Raises:
        ScenarioError: a scenario is not valid with what an ablation sets.
        UsageError: a scenario is missing, or a value fits several variants.
    """
    from results.claims.ablation import changed

    found = []
    for (name, claim), ids in _ids(chosen).items():
        for ablation in papers[name].claims[claim].ablations:
            paper = changed(papers[name], claim, ablation)
            tested = [(name, each) for each in paper.statements() if each.id in ids]
            if tested:
                experiments = _claim_runs.prepare({name: paper}, tested, length, folder)
                found.append(Ablated(name, claim, ablation, paper, tested, experiments))
    return found


def require_all(papers: Mapping[str, Paper], chosen: Iterable[tuple[str, Statement]]) -> None:
    """Check that all statements of each ablation were chosen, as its summary is of all of them.

    Raises:
        UsageError: some statements of an ablation were chosen and others were not.
    """
    for (name, claim), ids in _ids(chosen).items():
        for ablation in papers[name].claims[claim].ablations:
            missing = [each for each in ablation.of if each not in ids]
            if missing and len(missing) < len(ablation.of):
                raise UsageError(
                    f"--write with --causes: the summary of the ablation {ablation.name} of "
                    f"{name}:{claim} is of all its statements: "
                    f"give {', '.join(f'{name}:{each}' for each in missing)} too"
                )


def _ids(chosen: Iterable[tuple[str, Statement]]) -> dict[tuple[str, str], set[str]]:
    """Return the ids of the chosen statements by (paper, claim)."""
    found: dict[tuple[str, str], set[str]] = {}
    for name, statement in chosen:
        found.setdefault((name, statement.claim), set()).add(statement.id)
    return found


def document(ablated: Sequence[Ablated]) -> dict[str, Any]:
    """Return what the ablations gave, JSON-ready."""
    return {
        "ablations": [
            {
                "paper": each.name,
                "claim": each.claim,
                "name": each.ablation.name,
                "says": each.ablation.says,
                "asks": each.ablation.asks,
                "set": list(each.ablation.set),
                "statements": [
                    {
                        "id": outcome.statement.id,
                        "says": outcome.statement.says,
                        "place": outcome.statement.place,
                        "unit": outcome.statement.unit,
                        "verdict": outcome.verdict,
                        "rows": [_claim_document.row(judged) for judged in outcome.rows],
                    }
                    for outcome in each.outcomes
                ],
            }
            for each in ablated
        ]
    }


def show(found: Mapping[str, Any]) -> None:
    """Print the values of each ablation beside what was measured without it."""
    from results.claims.judge import NO_RUNS

    out = _output.console()
    own = {
        (each["paper"], each["id"], row["label"]): row
        for each in found["statements"]
        for row in each["rows"]
    }
    for ablation in found["ablations"]:
        title = f"{ablation['paper']} {ablation['claim']}, {ablation['name']}: {ablation['says']}"
        out.print(f"{title} {ablation['asks']}", markup=False)
        lines = []
        for statement in ablation["statements"]:
            if not statement["rows"]:
                lines.append([statement["id"], statement["says"], "", "", "", "", NO_RUNS])
            for row in statement["rows"]:
                before = own.get((ablation["paper"], statement["id"], row["label"]))
                lines.append(_line(statement, row, before))
        headings = ["id", "", "paper", "here", "with it", "runs", "verdict with it"]
        out.print(_output.table(headings, lines, right=(5,)))
        out.print()


def _line(
    statement: Mapping[str, Any], row: Mapping[str, Any], before: Mapping[str, Any] | None
) -> list[str]:
    from results.claims.judge import NO_VALUE, mean_with_interval

    def value(of: Mapping[str, Any]) -> str:
        return mean_with_interval(of["mean"], of["low"], of["high"], of["n"], of["accepted"])

    return [
        statement["id"],
        row["label"] or statement["says"],
        f"{row['paper']} {statement['unit']}".strip(),
        NO_VALUE if before is None else value(before),
        value(row),
        str(row["n"]),
        row["verdict"],
    ]


def write(ablated: Sequence[Ablated], length: Length, folder: Path) -> None:
    """Write a summary of each ablation that has values, below ``folder``.

    Raises:
        UsageError: a file cannot be written.
    """
    from results.claims import record

    for each in ablated:
        name = f"{each.name}-{each.claim}-{each.ablation.name}-{length}.json"
        made = _claim_report.parts(each.outcomes)
        text = record.text(
            each.name, each.claim, length, made, each.paper.experiments, each.ablation.name
        )
        _claim_report.write_file(folder / record.CAUSES / name, text, made)

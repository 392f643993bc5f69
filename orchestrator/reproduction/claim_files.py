"""Writes summaries of what was measured of papers' statements, and figures of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.files.system_errors import unwritable
from orchestrator.reproduction import claim_runs
from results.claims import record
from results.claims.figure import figure, figure_rows

if TYPE_CHECKING:
    from orchestrator.reproduction.ablations import AblationRuns
    from results.claims.judged_statements import JudgedStatement
    from results.claims.stated.model import Length, Paper, Statement


def draw(outcomes: Iterable[JudgedStatement], length: Length, folder: Path) -> Iterator[Path]:
    """Draw each statement that has values as SVG, the paper's numbers beside ours; yield the files.

    Raises:
        UsageError: a file cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for outcome in outcomes:
            if any(judged.finding.mean is not None for judged in outcome.rows):
                stated = outcome.statement
                file = folder / f"{outcome.paper}-{stated.id}-{length}.svg"
                title = f"{stated.id}: {stated.says}"
                file.write_bytes(figure(title, stated.unit, figure_rows(outcome.rows)))
                yield file
    except OSError as error:
        raise unwritable(f"--figures {folder}", error) from None


def write(
    outcomes: Sequence[JudgedStatement],
    ablated: Sequence[AblationRuns],
    papers: Mapping[str, Paper],
    length: Length,
    folder: Path,
) -> Iterator[Path]:
    """Write a summary of each claim and ablation that has values; yield the files.

    That of a claim is PAPER-CLAIM-LENGTH.json. Of a claim that was chosen in part, each statement
    has one, PAPER-STATEMENT-LENGTH.json. Those of ablations are in a folder of their own.

    Raises:
        UsageError: a file cannot be written.
    """
    for (name, claim), every in claim_runs.by_claim(outcomes).items():
        whole = _whole(papers[name], claim, [outcome.statement for outcome in every])
        for group in [every] if whole else [[outcome] for outcome in every]:
            only = None if whole else group[0].statement.id
            designs = papers[name].experiments
            made = record.made(claim, length, group, designs, statement=only)
            yield from _write_file(folder / f"{name}-{only or claim}-{length}.json", made)
    for ablation_runs in ablated:
        prefix = f"{ablation_runs.name}-{ablation_runs.claim}"
        file = f"{prefix}-{ablation_runs.ablation.name}-{length}.json"
        made = record.made(
            ablation_runs.claim,
            length,
            ablation_runs.outcomes,
            ablation_runs.paper.experiments,
            ablation_runs.ablation.name,
        )
        yield from _write_file(folder / record.CAUSES / file, made)


def _whole(paper: Paper, claim: str, chosen: Iterable[Statement]) -> bool:
    there = {statement.id for statement in chosen}
    return all(statement.id in there for statement in paper.claims[claim].statements)


def _write_file(file: Path, made: record.Record) -> Iterator[Path]:
    """Write a summary if it has values, and yield its path.

    Raises:
        UsageError: the file cannot be written.
    """
    if not any(values.values for rows in made.statements.values() for values in rows.values()):
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(made.text(), encoding="utf-8")
    except OSError as error:
        raise unwritable(f"--write: {file}", error) from None
    yield file

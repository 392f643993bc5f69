"""The figures in the documents of claims: the papers' numbers beside what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from results.claims.claim_summaries import ClaimSummaries, ClaimSummary
from results.claims.figure import FigureRow, figure
from results.claims.stated.model import Claim, ClaimFigure, Paper, Statement


def figures(
    papers: Mapping[str, Paper],
    claims: Mapping[tuple[str, str], ClaimSummaries],
    causes: Mapping[tuple[str, str, str], ClaimSummary],
) -> dict[str, bytes]:
    """Return the figures as SVG, by their files. Those without values are left out.

    Their place is beside the documents.
    ``claims`` has what was measured by (paper, claim), ``causes`` that of ablations by (paper,
    claim, ablation).
    """
    drawings = {}
    for (name, claim), made in claims.items():
        data = papers[name].claims[claim]
        ablated = {
            ablation.name: causes.get((name, claim, ablation.name)) for ablation in data.ablations
        }
        for drawn in _measured(data, made):
            rows = [
                row
                for statement in _chosen(data, drawn)
                for row in _rows(statement, made, ablated, len(drawn.of) > 1)
            ]
            unit = _chosen(data, drawn)[0].unit
            drawings[_file(name, drawn)] = figure(f"{_ids(drawn)}: {drawn.title}", unit, rows)
    return drawings


def embedded(name: str, claim: Claim, made: ClaimSummaries | None) -> Iterator[str]:
    """Yield the lines that show the figures of a claim in the document."""
    for drawn in _measured(claim, made) if made is not None else ():
        yield ""
        yield f"![{_ids(drawn)}: {drawn.title}]({_file(name, drawn)})"


def _measured(claim: Claim, made: ClaimSummaries) -> list[ClaimFigure]:
    """Return the figures that have values."""
    return [
        drawn
        for drawn in claim.figures
        if any(made.rows(statement) for statement in _chosen(claim, drawn))
    ]


def _chosen(claim: Claim, drawn: ClaimFigure) -> list[Statement]:
    return [statement for statement in claim.statements if statement.id in drawn.of]


def _ids(drawn: ClaimFigure) -> str:
    return ", ".join(drawn.of)


def _file(name: str, drawn: ClaimFigure) -> str:
    return f"{name}-{drawn.of[0]}.svg"


def _rows(
    statement: Statement,
    made: ClaimSummaries,
    ablated: Mapping[str, ClaimSummary | None],
    named: bool,
) -> Iterator[FigureRow]:
    """Yield the rows of a statement as figures have them; ``named`` puts its id before each.

    Ablations of another length have no points: their difference may be that of the lengths.
    """
    others = {
        name: {
            judged.row.label: judged.finding
            for judged in measured.rows(statement)
            if judged.finding.mean is not None
        }
        for name, measured in ablated.items()
        if measured is not None and measured.length == made.of(statement).length
    }
    for judged in made.rows(statement):
        label = judged.row.label
        yield FigureRow(
            f"{statement.id} {judged.label}" if named else judged.label,
            judged.row,
            judged.finding,
            {name: findings[label] for name, findings in others.items() if label in findings},
        )

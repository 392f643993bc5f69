"""The figures in the document of all claims: the papers' numbers beside what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from results.claims.figure import figure
from results.claims.judge import Finding
from results.claims.measured import Measured, Summary
from results.claims.model import Claim, ClaimFigure, Paper, Statement

FOLDER = "reproduction"
"""Folder of the figures, beside the document."""


def figures(
    papers: Mapping[str, Paper],
    claims: Mapping[tuple[str, str], Measured],
    causes: Mapping[tuple[str, str, str], Summary],
) -> dict[str, bytes]:
    """Return the figures as SVG, by their file in FOLDER. Those without values are left out.

    ``claims`` has what was measured by (paper, claim), ``causes`` that of ablations by (paper,
    claim, ablation).
    """
    found = {}
    for (name, claim), made in claims.items():
        data = papers[name].claims[claim]
        ablated = {each.name: causes.get((name, claim, each.name)) for each in data.ablations}
        for drawn in _measured(data, made):
            rows = [
                row
                for statement in _chosen(data, drawn)
                for row in _rows(statement, made, ablated, len(drawn.of) > 1)
            ]
            unit = _chosen(data, drawn)[0].unit
            document = {"id": _ids(drawn), "says": drawn.title, "unit": unit, "rows": rows}
            found[_file(name, drawn)] = figure(document)
    return found


def embedded(name: str, claim: Claim, made: Measured | None) -> Iterator[str]:
    """Yield the lines that show the figures of a claim in the document."""
    for drawn in _measured(claim, made) if made is not None else ():
        yield ""
        yield f"![{_ids(drawn)}: {drawn.title}]({FOLDER}/{_file(name, drawn)})"


def _measured(claim: Claim, made: Measured) -> list[ClaimFigure]:
    """Return the figures that have values."""
    return [
        drawn
        for drawn in claim.figures
        if any(made.findings(statement) for statement in _chosen(claim, drawn))
    ]


def _chosen(claim: Claim, drawn: ClaimFigure) -> list[Statement]:
    return [each for each in claim.statements if each.id in drawn.of]


def _ids(drawn: ClaimFigure) -> str:
    return ", ".join(drawn.of)


def _file(name: str, drawn: ClaimFigure) -> str:
    return f"{name}-{drawn.of[0]}.svg"


def _rows(
    statement: Statement, made: Measured, ablated: Mapping[str, Summary | None], named: bool
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a statement as figures have them; ``named`` puts its id before each.

    Ablations of another length have no points: their difference may be that of the lengths.
    """
    others = {
        name: {row.label: finding for row, finding in measured.findings(statement)}
        for name, measured in ablated.items()
        if measured is not None and measured.length == made.of(statement).length
    }
    for row, finding in made.findings(statement):
        yield {
            "label": f"{statement.id} {row.label}" if named else row.label,
            "numbers": list(row.numbers),
            "accepted": [row.accepted.low, row.accepted.high],
            **_point(finding),
            "ablations": {
                name: _point(found[row.label])
                for name, found in others.items()
                if row.label in found and found[row.label].mean is not None
            },
        }


def _point(finding: Finding) -> dict[str, float | None]:
    return {"mean": finding.mean, "low": finding.low, "high": finding.high}

"""Writes the card: page, documents, badge, and the scenarios of its runs with their files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.evaluation import loading, wording, written
from orchestrator.evaluation.card import badge, junit, page
from orchestrator.evaluation.card.names import BADGE, BADGE_SVG, HTML, JSON, JUNIT, PDF
from orchestrator.evaluation.experiments import SCENARIOS
from results import report

if TYPE_CHECKING:
    from orchestrator.evaluation.judging import JudgedCriterion
    from orchestrator.evaluation.prepared import PreparedEvaluation
    from results.contract.evaluations import Card

BASELINE = "baseline"
"""Folder of the baseline's card, in that of the card."""

NAMED = (HTML, PDF, JSON, JUNIT, BADGE, BADGE_SVG)
"""Files of a card that the user is told of."""


def require_folder(folder: Path) -> None:
    """Check that a card can be written to a folder, before anything runs.

    Raises:
        UsageError: as :func:`orchestrator.evaluation.written.require_folder`.
    """
    written.require_folder(folder, JSON, "card")


def texts(
    prepared: PreparedEvaluation, judged: Sequence[JudgedCriterion], card: Card, db: Path
) -> dict[str, bytes]:
    """Return the content of each file by its path in the card's folder.

    Raises:
        MachineError: the card shall be a PDF, too, and WeasyPrint's libraries are not installed.
    """
    name, grades = prepared.candidate.name, {one.name: one.grade for one in judged}
    made = badge.endpoint(
        grades, prepared.request.required, wording.groups(prepared.criteria.values())
    )
    shown = page.page(prepared, judged, card.changes, db)
    contents = {
        HTML: shown,
        JSON: written.json_text(card.document()),
        JUNIT: junit.xml(name, judged),
        BADGE: written.json_text(made),
        BADGE_SVG: badge.svg(name, made),
    }
    for one in judged:
        for each in one.experiments:
            contents[str(each.path.relative_to(prepared.request.folder))] = each.text
    found = {path: text.encode() for path, text in contents.items()}
    for one in judged:
        for file in one.criterion.files:
            content = (loading.FOLDER / file).read_bytes()
            found[f"{SCENARIOS}/{one.name}/{file}"] = content
    if prepared.request.pdf:
        found[PDF] = report.pdf(shown)
    return found


def write(folder: Path, contents: Mapping[str, bytes]) -> list[Path]:
    """Write the card and return its files; an earlier card in the folder is replaced.

    Raises:
        UsageError: as :func:`require_folder`, or a file cannot be written.
    """
    written.replace(folder, JSON, "card", contents)
    return [folder / name for name in NAMED if name in contents]

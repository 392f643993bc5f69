"""Writes the card: page, documents, badge, and the scenarios of its runs with their files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator import plaintext
from orchestrator.errors import UsageError
from orchestrator.evaluation import loading, wording
from orchestrator.evaluation.card import badge, junit, page
from orchestrator.evaluation.card.names import BADGE, BADGE_SVG, HTML, JSON, JUNIT, PDF
from orchestrator.evaluation.experiments import SCENARIOS
from orchestrator.files.atomic_writes import require_folder as require_parent
from orchestrator.files.atomic_writes import write_folder
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
        UsageError: it has files and no card, is no folder, or its parent does not exist.
    """
    require_parent(folder)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"-o {folder}: is no folder")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / JSON).is_file():
        raise UsageError(
            f"-o {folder}: has files and no card: nothing in it is replaced\n"
            "  fix: name a new folder, or that of an earlier card"
        )


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
    written = page.page(prepared, judged, card.changes, db)
    contents = {
        HTML: written,
        JSON: _json(card.document()),
        JUNIT: junit.xml(name, judged),
        BADGE: _json(made),
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
        found[PDF] = report.pdf(written)
    return found


def _json(document: Mapping[str, object]) -> str:
    text = json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False)
    return f"{plaintext.visible_json(text)}\n"


def write(folder: Path, contents: Mapping[str, bytes]) -> list[Path]:
    """Write the card and return its files; an earlier card in the folder is replaced.

    Raises:
        UsageError: as :func:`require_folder`, or a file cannot be written.
    """
    require_folder(folder)

    def fill(draft: Path) -> None:
        for name, content in contents.items():
            path = draft / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    write_folder(folder, JSON, True, fill)
    return [folder / name for name in NAMED if name in contents]

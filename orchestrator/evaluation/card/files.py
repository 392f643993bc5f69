"""Writes the card: ``card.html``, ``card.json``, ``card.xml``, and the scenarios of its runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator import plaintext
from orchestrator.errors import UsageError
from orchestrator.evaluation import loading
from orchestrator.evaluation.card import document, junit, page
from orchestrator.evaluation.experiments import SCENARIOS
from orchestrator.files.atomic_writes import require_folder as require_parent
from orchestrator.files.atomic_writes import write_folder

if TYPE_CHECKING:
    from orchestrator.evaluation.judging import JudgedCriterion
    from orchestrator.evaluation.prepared import PreparedEvaluation

HTML, JSON, JUNIT = "card.html", "card.json", "card.xml"


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


def write(prepared: PreparedEvaluation, judged: Sequence[JudgedCriterion], db: Path) -> list[Path]:
    """Write the card and return its files; an earlier card in the folder is replaced.

    Raises:
        UsageError: as :func:`require_folder`, or a file cannot be written.
    """
    folder = prepared.request.folder
    require_folder(folder)
    made = document.of_card(prepared, judged, db)
    text = json.dumps(made, indent=2, allow_nan=False, ensure_ascii=False)
    texts: dict[str, str | bytes] = {
        HTML: page.page(prepared, judged, db),
        JSON: f"{plaintext.visible_json(text)}\n",
        JUNIT: junit.xml(prepared.candidate.name, judged),
    }
    for one in judged:
        for each in one.experiments:
            texts[str(each.path.relative_to(folder))] = each.text
        for name in one.criterion.files:
            texts[f"{SCENARIOS}/{one.name}/{name}"] = (loading.FOLDER / name).read_bytes()

    def fill(draft: Path) -> None:
        for name, text in texts.items():
            path = draft / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())

    write_folder(folder, JSON, True, fill)
    return [folder / name for name in (HTML, JSON, JUNIT)]

"""Writes the folder of a card or of a matrix, in place of an earlier one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from orchestrator import plaintext
from orchestrator.errors import UsageError
from orchestrator.files.atomic_writes import require_folder as require_parent
from orchestrator.files.atomic_writes import write_folder


def require_folder(folder: Path, mark: str, what: str) -> None:
    """Check that something can be written to a folder, before anything runs.

    Args:
        folder: where it is written.
        mark: the name of a file that each of its kind has.
        what: its kind, such as ``card``.

    Raises:
        UsageError: it has files and not ``mark``, is no folder, or its parent does not exist.
    """
    require_parent(folder)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"-o {folder}: is no folder")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / mark).is_file():
        raise UsageError(
            f"-o {folder}: has files and no {what}: nothing in it is replaced\n"
            f"  fix: name a new folder, or that of an earlier {what}"
        )


def replace(folder: Path, mark: str, what: str, contents: Mapping[str, bytes]) -> None:
    """Write files by their paths below a folder; what is there of the same kind is replaced.

    Raises:
        UsageError: as ``require_folder``, or a file cannot be written.
    """
    require_folder(folder, mark, what)

    def fill(draft: Path) -> None:
        for name, content in contents.items():
            path = draft / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    write_folder(folder, mark, True, fill)


def json_text(document: Mapping[str, object]) -> str:
    """Return a document as JSON text for a file, with escapes of what cannot be seen."""
    text = json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False)
    return f"{plaintext.visible_json(text)}\n"

"""Reads a file that a scenario names, and compares it with the hash beside it."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationInfo

from orchestrator.files.scenario_files import NamedFile
from orchestrator.files.user_files import named, read
from orchestrator.kinds.fields import ValidationContext
from orchestrator.units import shown

__all__ = ["checked_sha256", "named", "named_file"]


def named_file(given: str, info: ValidationInfo, most_bytes: int) -> NamedFile:
    """Return the file at a path or place.

    Without a context, a path is relative to the current folder, and a place is a path.

    Raises:
        ValueError: it cannot be read, or is no regular file of up to ``most_bytes``.
    """
    if isinstance(info.context, ValidationContext):
        return info.context.modules.files.file(given, most_bytes)
    path = Path(given).resolve()
    return NamedFile(str(path), read(path, most_bytes))


def checked_sha256(key: str, sha256: str | None, info: ValidationInfo, most_bytes: int) -> str:
    """Return the SHA-256 of the file that the valid value at ``key`` names.

    Raises:
        ValueError: ``sha256`` is given and another one.
    """
    given = info.data[key]
    has = named_file(given, info, most_bytes).sha256
    if sha256 not in (None, has):
        raise ValueError(f"`{given}` has the SHA-256 {has}, not {shown(sha256)}")
    return has

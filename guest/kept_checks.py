"""Keeps what checks of built kernels found, beside the kernels in the cache."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from guest import cache
from orchestrator.errors import MachineError

FOLDER = "checks"


def keep(key: str, document: Mapping[str, Any]) -> None:
    """Keep the result of the check of a kernel in this user's cache, in place of an earlier one.

    Raises:
        MachineError: it cannot be written.
    """
    folder = cache.make_root() / "guest" / FOLDER
    try:
        folder.mkdir(mode=0o755, exist_ok=True)
        cache.replace_text(folder / f"{key}.json", json.dumps(document, indent=1) + "\n")
    except OSError as error:
        raise MachineError(
            f"the result cannot be kept in {folder}: {error.strerror}",
            f"set {cache.CACHE_VARIABLE} to a folder that you can write to",
        ) from error


def kept(key: str) -> dict[str, Any] | None:
    """Return the result of a kernel's check, None where it was not checked."""
    for root in cache.search_roots():
        if (found := _read(root, root / "guest" / FOLDER / f"{key}.json")) is not None:
            return found
    return None


def verdict(key: str) -> str:
    """Return the result of a kernel's check in words."""
    found = kept(key)
    if found is None:
        return "not checked"
    problems = found.get("problems")
    if not isinstance(problems, list) or not problems:
        return "good"
    return "1 problem" if len(problems) == 1 else f"{len(problems)} problems"


def _read(root: Path, path: Path) -> dict[str, Any] | None:
    try:
        cache.require_trusted(path, root)
        found = json.loads(path.read_text())
    except (OSError, ValueError, MachineError):
        return None
    return found if isinstance(found, dict) else None

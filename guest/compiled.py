"""Where ccache keeps what builds compiled: a folder for each origin of sources.

A build may run whatever its source has, and can write anything to the folder that it compiles into.
So only builds of one origin share a folder: one tarball, by its content, or one tree or repository,
by its path. The build of a choice with patches gets a copy, which is removed at its end.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from guest import cache, kept_trees
from guest.source import Source
from orchestrator.files.temporary import remove_with_retries

FOLDER = "compiled"
MOST_KEPT = 6
"""Folders, each with ``build_steps.MOST_COMPILED`` at most."""


def folder_of(root: Path, source: Source) -> Path:
    """Return the folder of a source's origin, made if need be; needs the builder lock.

    Folders that were used longest ago are removed.

    Raises:
        MachineError: one cannot be removed.
    """
    origin = kept_trees.origin(source)
    folder = root / "guest" / FOLDER / hashlib.sha256(origin.encode()).hexdigest()[:16]
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    os.utime(folder)
    parent = folder.parent
    newest = sorted(parent.iterdir(), key=lambda each: each.stat().st_mtime, reverse=True)
    for each in newest[MOST_KEPT:]:
        remove_with_retries(each)
    return folder


def copy(folder: Path, workshop: Path) -> Path:
    """Return a copy of a folder in that of a build."""
    target = workshop / FOLDER
    if not target.exists():
        cache.copy(folder, target)
    return target

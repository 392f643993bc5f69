"""Writes the files that a run keeps of its programs to a new folder.

Their names come from a program of a scenario, which may be a stranger's, or from a stranger's
store. Each part of a path is made in the open folder above it, and no part is followed or replaced.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from orchestrator.errors import UsageError
from orchestrator.files.atomic_writes import write_folder
from results.runs import programs
from results.runs.programs import FlowFile
from results.store.stored import StoredRun

NAME = "kept"
"""Of the format."""

FILES = "A new folder with FLOW/PROGRAM/FILE for each file; nothing in it is executable."

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}", re.ASCII)


def export(run: StoredRun, folder: Path) -> list[Path]:
    """Write all files that a run keeps, and return their paths.

    Raises:
        UsageError: it keeps none, or the folder is there already and is not empty.
        StoreError: the run cannot be read.
    """
    kept = [one for one in programs.files_of(run) if one.file.sha256 is not None]
    if not kept:
        raise UsageError(f"run {run.id} keeps no files of programs: `keep` of a flow names them")
    if folder.is_symlink() or (folder.exists() and not _is_empty(folder)):
        raise UsageError(f"{folder}: exists already; name a new folder for the kept files")
    paths = [_path(one) for one in kept]

    def write(draft: Path) -> None:
        for one, path in zip(kept, paths, strict=True):
            _write(draft, path, run.kept_content(one.file))

    write_folder(folder, "", False, write)
    return [folder / path for path in paths]


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())


def left_out(run: StoredRun) -> list[str]:
    """Return a text for each file that matched and is not kept, and each pattern without a file."""
    return [
        f"{one.flow}, {one.file.role}: {one.file.name} is not kept: {one.file.reason}"
        for one in programs.files_of(run)
        if one.file.left_out is not None
    ]


def _path(one: FlowFile) -> str:
    """Return the relative path of a file.

    The names of kept files are checked when they are read; that of a flow is any text.
    """
    flow = one.flow if _PLAIN.fullmatch(one.flow) else f"flow-{one.file.flow}"
    return f"{flow}/{one.file.role}/{one.file.name}"


def _write(root: Path, path: str, content: bytes) -> None:
    *folders, name = path.split("/")
    at = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            with suppress(FileExistsError):  # another file's, in a draft that nobody else has
                os.mkdir(folder, dir_fd=at)
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            below = os.open(folder, flags, dir_fd=at)
            os.close(at)
            at = below
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(name, flags, 0o644, dir_fd=at), "wb") as file:
            file.write(content)
    finally:
        os.close(at)

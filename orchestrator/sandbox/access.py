"""Gives a sandbox's user access to files that only root can reach.

The project may lie below ``/root``, and the cache or ``TMPDIR`` may be private. Files that the user
cannot reach are mounted at another place, which no other process sees (``mount_helper``).
"""

from __future__ import annotations

import shutil
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import MachineError
from orchestrator.sandbox import mount_helper
from orchestrator.sandbox.identity import Identity

PLACES = ("/mnt", "/media", "/srv", "/opt", "/home")
"""Mount points for those files: folders that every system has and no sandbox needs."""

_PYTHON = "/usr/bin/python3"


@dataclass(frozen=True)
class ReachablePaths:
    """The paths at which the sandbox's user reaches files and folders.

    ``paths`` maps a path to the one that the user can reach. ``prefix`` goes before bubblewrap's
    command line; the command then starts as root and drops root itself. ``prefix`` is empty when
    the user reaches all files at their own paths.
    """

    paths: Mapping[Path, Path]
    prefix: tuple[str, ...] = ()


def provide_access(
    readable: Sequence[Path],
    granted: Sequence[Path],
    passable: bool,
    user: Identity | None,
    copies: Path,
) -> ReachablePaths:
    """Return the paths at which ``user`` reaches files and folders.

    Args:
        readable: files and folders that the user must read.
        granted: folders whose content the user may already use, if it can pass the folders above.
        passable: whether the user can pass those folders.
        user: the sandbox's user, None for the user of this process.
        copies: a folder to create, beside ``granted``, for copies of files that only root can read.

    Raises:
        MachineError: this system has none of the folders of ``PLACES``.
    """
    paths = [*readable, *granted]
    if user is None:
        return ReachablePaths({path: path for path in paths})
    lying = {path: path if is_open(path) else _copied(path, copies, user) for path in readable}
    lying |= {path: path for path in granted}
    if passable and all(
        is_passable(lying[path].parent) for path in readable if lying[path] == path
    ):
        return ReachablePaths(lying)
    place = next((place for place in PLACES if is_passable(Path(place))), None)
    if place is None:
        raise MachineError(
            "no folder is left to mount the files that a guest started by root needs",
            f"mkdir -m 755 {PLACES[0]}",
        )
    words = (_PYTHON, "-I", "-S", "-B", mount_helper.__file__, place, str(user.number))
    shown = {path: Path(place) / str(number) for number, path in enumerate(paths)}
    return ReachablePaths(shown, (*words, *map(str, lying.values()), "--"))


def is_passable(folder: Path) -> bool:
    """Return whether every user can pass a folder and all folders above it."""
    try:
        parts = (folder.resolve(), *folder.resolve().parents)
        return all(part.stat().st_mode & stat.S_IXOTH for part in parts)
    except OSError:
        return False


def _copied(path: Path, copies: Path, user: Identity) -> Path:
    copies.mkdir(exist_ok=True)
    copy = copies / path.name
    if path.is_dir():
        shutil.copytree(path, copy, symlinks=True)
    else:
        shutil.copy2(path, copy)
    user.grant_read(copies)
    return copy


def is_open(path: Path) -> bool:
    """Return whether every user may read a file, or a folder with its whole content."""
    return all(
        status.st_mode & stat.S_IROTH
        and (not stat.S_ISDIR(status.st_mode) or status.st_mode & stat.S_IXOTH)
        for entry in (path, *(path.rglob("*") if path.is_dir() else ()))
        if not stat.S_ISLNK((status := entry.lstat()).st_mode)
    )

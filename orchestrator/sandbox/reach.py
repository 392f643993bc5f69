"""How a sandbox's user of its own gets to files that only root can reach.

The project may lie below ``/root``, the cache may be private, and so may ``TMPDIR``. What the user
cannot reach is shown to it at another place, in mounts that nobody else sees (``stage``).
"""

from __future__ import annotations

import shutil
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import MachineError
from orchestrator.sandbox import stage
from orchestrator.sandbox.identity import Identity

PLACES = ("/mnt", "/media", "/srv", "/opt", "/home")
"""Folders that every system has, and that no sandbox looks into."""

_PYTHON = "/usr/bin/python3"


@dataclass(frozen=True)
class Reach:
    """Where a user can reach what it is to be shown.

    ``words`` come in front of bubblewrap's; with them the command starts as root and gives it up
    by itself. They are empty where all can be reached as it lies.
    """

    at: Mapping[Path, Path]
    words: tuple[str, ...] = ()


def to(
    readable: Sequence[Path],
    handed_over: Sequence[Path],
    way: bool,
    own: Identity | None,
    copies: Path,
) -> Reach:
    """Return how ``own`` reaches files and folders.

    Args:
        readable: what it is to read, of anybody's.
        handed_over: what it may read or write already, once it gets there.
        way: whether it gets there.
        own: the user; None: the one that this process runs as.
        copies: a folder to make, beside ``handed_over``, for copies of what root alone can read.

    Raises:
        MachineError: this system has none of the folders to show them in.
    """
    paths = [*readable, *handed_over]
    if own is None:
        return Reach({path: path for path in paths})
    lying = {path: path if is_open(path) else _copied(path, copies, own) for path in readable}
    lying |= {path: path for path in handed_over}
    if way and all(is_passable(lying[path].parent) for path in readable if lying[path] == path):
        return Reach(lying)
    place = next((place for place in PLACES if is_passable(Path(place))), None)
    if place is None:
        raise MachineError(
            "there is no place to show a guest of root's what only root can reach",
            f"mkdir -m 755 {PLACES[0]}",
        )
    words = (_PYTHON, "-I", "-S", "-B", stage.__file__, place, str(own.number))
    shown = {path: Path(place) / str(number) for number, path in enumerate(paths)}
    return Reach(shown, (*words, *map(str, lying.values()), "--"))


def is_passable(folder: Path) -> bool:
    """Tell whether every user can go to a folder."""
    try:
        parts = (folder.resolve(), *folder.resolve().parents)
        return all(part.stat().st_mode & stat.S_IXOTH for part in parts)
    except OSError:
        return False


def _copied(path: Path, copies: Path, own: Identity) -> Path:
    copies.mkdir(exist_ok=True)
    copy = copies / path.name
    if path.is_dir():
        shutil.copytree(path, copy, symlinks=True)
    else:
        shutil.copy2(path, copy)
    own.let_read(copies)
    return copy


def is_open(path: Path) -> bool:
    """Tell whether all may read a file, or a folder with all it holds, once they get there."""
    return all(
        status.st_mode & stat.S_IROTH
        and (not stat.S_ISDIR(status.st_mode) or status.st_mode & stat.S_IXOTH)
        for each in (path, *(path.rglob("*") if path.is_dir() else ()))
        if not stat.S_ISLNK((status := each.lstat()).st_mode)
    )

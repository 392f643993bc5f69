"""Removes a run's folder, whatever a test bed left in it.

A bed may leave folders without access rights (mode 0), trees of any depth, and links to other
places. Everything is removed through descriptors: no link is followed, and nothing outside the
folder is touched.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DEEP = 256
"""Largest number of nested folders that are open at a time; deeper ones are moved up first."""


def remove_tree(path: Path) -> None:
    """Remove a folder and all it holds; do nothing when it does not exist.

    Raises:
        OSError: something in it cannot be removed, such as files of another user.
    """
    parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _remove(parent, path.name)
    finally:
        os.close(parent)


def _remove(parent: int, name: str) -> None:
    """Remove the entry of that name in an open folder."""
    try:
        mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(mode):
        os.unlink(name, dir_fd=parent)
        return
    top = _enter(name, parent)
    try:
        _empty(top)
    finally:
        os.close(top)
    os.rmdir(name, dir_fd=parent)


def _empty(top: int) -> None:
    """Remove everything in an open folder, without recursion.

    A list of descriptors holds the folders on the way down. When it is full, the next folder is
    moved to the top under a new name, and emptied later from there.
    """
    way = [top]
    names: list[str] = []
    moved = 0
    try:
        while True:
            here = way[-1]
            below = _remove_files(here)
            if below is None:
                if len(way) == 1:
                    return
                os.close(way.pop())
                os.rmdir(names.pop(), dir_fd=way[-1])
            elif len(way) > _DEEP:
                moved += 1
                _allow(below, here)  # a folder without rights cannot be given another parent
                os.rename(below, _free_name(top, moved), src_dir_fd=here, dst_dir_fd=top)
            else:
                way.append(_enter(below, here))
                names.append(below)
    finally:
        for descriptor in way[1:]:
            os.close(descriptor)


def _remove_files(folder: int) -> str | None:
    """Remove all files in a folder; return the name of a folder in it, if any."""
    below = None
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                below = entry.name
            else:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(entry.name, dir_fd=folder)
    return below


def _enter(name: str, parent: int) -> int:
    """Open a folder after giving this user the rights to remove what it holds."""
    _allow(name, parent)
    return os.open(name, _OPEN, dir_fd=parent)


def _allow(name: str, parent: int) -> None:
    """Give this user all rights on the folder of that name; a link is not followed."""
    descriptor = os.open(
        name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent
    )
    try:
        if os.fstat(descriptor).st_mode & 0o700 != 0o700:
            # fchmod refuses an O_PATH descriptor, so its name in /proc is used.
            with contextlib.suppress(PermissionError):  # another user's: the removal reports it
                os.chmod(f"/proc/self/fd/{descriptor}", 0o700)  # noqa: PTH101 - of a descriptor
    finally:
        os.close(descriptor)


def _free_name(top: int, number: int) -> str:
    """Return a name that is not in use in the folder."""
    while True:
        name = f".deep-{number}-{os.urandom(8).hex()}"
        try:
            os.stat(name, dir_fd=top, follow_symlinks=False)
        except FileNotFoundError:
            return name

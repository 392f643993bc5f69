"""Temporary folders that the next start removes when whoever made them was killed.

Each folder carries a lock: its maker has it open and locked (flock(2)), and so has every process
that inherited the descriptor. The kernel releases the lock with the last of them, however they
end. A folder that can be locked is therefore nobody's, and whoever makes the next one for the same
purpose removes it. Folders of other users are left alone, and so is all that is no folder.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from orchestrator.errors import MachineError, RunError
from orchestrator.files.removal import remove_tree

PREFIX = "tcp-orchestrator-"
RUN_FOLDER = "run"
"""The purpose of the folder of the runs of a plan."""
VARIABLE = "TMPDIR"
LEAST_BYTES = 2**20
"""A file system with less room than this, or than a twentieth of its size, is called full."""

_PATIENCE_S = 2.0
_AGAIN_S = 0.02
_RANDOM = "[a-z0-9_]{8}"
"""What tempfile.mkdtemp adds to a name."""
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Temporary:
    """A new folder at ``path``, readable by this user only and locked through ``lock``.

    A forked child shares the lock; a program that is executed does not, unless ``lock`` is
    passed to it.
    """

    def __init__(self, purpose: str, parent: Path | None = None) -> None:
        """Make the folder, in TMPDIR or /tmp unless ``parent`` is given.

        What was left by others that were killed is removed first, as far as it is of the same
        ``purpose`` (a short word, which becomes a part of the name) and lies in the same place.

        Raises:
            MachineError: it cannot be made, or what was left cannot be removed.
        """
        root = parent or temporary_root()
        with _failures(root):
            remove_abandoned(root, purpose)
            while True:
                self.path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{purpose}-", dir=root))
                self.lock = os.open(self.path, _OPEN)
                # Another process may have found it without a lock just now, and be removing it.
                fcntl.flock(self.lock, fcntl.LOCK_EX)
                if _is_at(self.lock, self.path):
                    return
                os.close(self.lock)

    def remove(self) -> None:
        """Remove the folder with all it holds, and release the lock.

        Raises:
            MachineError: something in it cannot be removed.
        """
        try:
            remove_patiently(self.path)
        finally:
            os.close(self.lock)


@contextlib.contextmanager
def temporary_folder(purpose: str, parent: Path | None = None) -> Iterator[Path]:
    """Make a ``Temporary``, yield its path, and remove it at the end.

    Raises:
        MachineError: as ``Temporary``.
    """
    temporary = Temporary(purpose, parent)
    try:
        yield temporary.path
    finally:
        temporary.remove()


def remove_patiently(path: Path) -> None:
    """Remove a folder in which a process that was just killed may still make files for a moment.

    Raises:
        MachineError: something in it cannot be removed.
    """
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return remove_tree(path)
        except OSError as error:
            if time.monotonic() > deadline:
                raise MachineError(
                    f"{path} cannot be removed: {error.strerror}", f"as root: rm -r {path}"
                ) from error
        time.sleep(_AGAIN_S)


def temporary_root() -> Path:
    """Return the folder that TMPDIR names, /tmp when it is not set.

    Raises:
        MachineError: it names no folder.
    """
    root = Path(os.environ.get(VARIABLE) or "/tmp").absolute()
    if not root.is_dir():
        raise MachineError(f"{VARIABLE} names {root}, which is no folder", f"unset {VARIABLE}")
    return root


def remove_abandoned(root: Path, purpose: str) -> list[Path]:
    """Remove this user's folders for ``purpose`` in ``root`` that no living process holds.

    Returns:
        The folders that were removed.

    Raises:
        MachineError: one cannot be removed.
    """
    name = re.compile(re.escape(f"{PREFIX}{purpose}-") + _RANDOM)
    removed = []
    for path in [Path(entry.path) for entry in os.scandir(root) if name.fullmatch(entry.name)]:
        try:
            held = os.open(path, _OPEN)
        except OSError:  # gone by now, another user's, a link, or no folder
            continue
        try:
            if os.fstat(held).st_uid == os.geteuid() and _locked(held) and _is_at(held, path):
                remove_patiently(path)
                removed.append(path)
        finally:
            os.close(held)
    return removed


def full_disk(folder: Path, error: BaseException) -> str | None:
    """Return in words that the file system of ``folder`` is full, None when it is not.

    Args:
        folder: where a process failed to write, as far as is known.
        error: what failed; its own words may be about something else.
    """
    fix = f"make room there, or let {VARIABLE} name a folder with room"
    number = error.errno if isinstance(error, OSError) else None
    if number not in (None, errno.ENOSPC, errno.EDQUOT):
        return None
    if number == errno.EDQUOT:
        return f"this user's disk quota at {folder} is used up; {fix}"
    try:
        room = os.statvfs(folder)
    except OSError:
        return None
    blocks = room.f_bfree if os.geteuid() == 0 else room.f_bavail
    free_bytes, size_bytes = blocks * room.f_frsize, room.f_blocks * room.f_frsize
    if room.f_files and not room.f_ffree:
        return f"the file system of {folder} has no room for another file; {fix}"
    if number == errno.ENOSPC or free_bytes < min(LEAST_BYTES, size_bytes / 20):
        what = f"{free_bytes // 1000} of {size_bytes // 1000} kB are free"
        return f"the temporary disk is full: at {folder} {what}; {fix}"
    return None


@contextlib.contextmanager
def naming_a_full_disk(folder: Path) -> Iterator[None]:
    """Turn whatever fails while the file system of ``folder`` is full into a RunError saying so."""
    try:
        yield
    except Exception as error:
        full = full_disk(folder, error)
        if full is None:
            raise
        raise RunError(f"{full}\n  it ended with: {error}") from error


@contextlib.contextmanager
def _failures(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        full = full_disk(root, error)
        if full is not None:
            raise MachineError(*full.split("; ", 1)) from error
        raise MachineError(
            f"no temporary folder can be made in {root}: {error.strerror}",
            f"let {VARIABLE} name a folder on a local disk that you can write to",
        ) from error


def _locked(handle: int) -> bool:
    """Lock what is open and return True; return False when another process has it locked."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(handle: int, path: Path) -> bool:
    """Whether an open folder is still what lies at ``path``."""
    try:
        return os.path.samestat(os.fstat(handle), path.lstat())
    except FileNotFoundError:
        return False

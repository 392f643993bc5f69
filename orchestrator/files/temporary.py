"""Temporary folders; the next start removes those of killed processes.

The process that makes a folder holds a lock on it (flock(2)), and so does every process that
inherits the descriptor. The kernel releases the lock when the last of them ends. So a folder that
can be locked is abandoned, and the next process that makes one for the same purpose removes it.
Folders of other users, and files, are not touched.
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
from orchestrator.files.system_errors import FILE_SIZE_FIX, FIXES, reason

PREFIX = "tcp-orchestrator-"
RUN_FOLDER = "run"
"""The purpose of the folder for the runs of a plan."""
VARIABLE = "TMPDIR"
LEAST_BYTES = 2**20
"""A file system with less free space than this and than a twentieth of its size counts as full."""

_RETRY_TIME_S = 2.0
_RETRY_PERIOD_S = 0.02
_RANDOM = "[a-z0-9_]{8}"
"""What tempfile.mkdtemp adds to a name."""
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class TemporaryFolder:
    """A new folder at ``path``, readable by this user only and locked through ``lock``.

    A forked child shares the lock; a program that is executed does not, unless ``lock`` is
    passed to it.
    """

    def __init__(self, purpose: str, parent: Path | None = None) -> None:
        """Make the folder, in TMPDIR or /tmp unless ``parent`` is given.

        Abandoned folders of the same ``purpose`` in the same place are removed first. ``purpose``
        is a short word that becomes part of the name.

        Raises:
            MachineError: it cannot be made, or an abandoned folder cannot be removed.
        """
        root = parent or temporary_root()
        with _as_machine_error(root, parent is None):
            remove_abandoned(root, purpose)
            while True:
                self.path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{purpose}-", dir=root))
                # Until it is locked, another process may take it for abandoned and remove it.
                try:
                    self.lock = os.open(self.path, _OPEN)
                except FileNotFoundError:
                    continue
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
            remove_with_retries(self.path)
        finally:
            os.close(self.lock)


@contextlib.contextmanager
def temporary_folder(purpose: str, parent: Path | None = None) -> Iterator[Path]:
    """Make a ``TemporaryFolder``, yield its path, and remove it at the end.

    Raises:
        MachineError: as ``TemporaryFolder``.
    """
    temporary = TemporaryFolder(purpose, parent)
    try:
        yield temporary.path
    finally:
        temporary.remove()


def remove_with_retries(path: Path) -> None:
    """Remove a folder, with retries: a process that was just killed may still create files in it.

    Raises:
        MachineError: something in it cannot be removed.
    """
    deadline = time.monotonic() + _RETRY_TIME_S
    while True:
        try:
            return remove_tree(path)
        except OSError as error:
            if time.monotonic() > deadline:
                own = error.errno == errno.EMFILE  # a limit of this process, not of its rights
                fix = FIXES[errno.EMFILE] if own else f"as root: rm -r {path}"
                raise MachineError(f"{path} cannot be removed: {reason(error)}", fix) from error
        # Whoever still creates files is no child of this process, and need not be known to it.
        time.sleep(_RETRY_PERIOD_S)


def temporary_root() -> Path:
    """Return the folder that TMPDIR names, /tmp when it is not set.

    Raises:
        MachineError: it names no folder.
    """
    root = Path(os.environ.get(VARIABLE) or "/tmp").absolute()
    if not root.is_dir():
        raise MachineError(f"{VARIABLE} is {root}, which is not a folder", f"unset {VARIABLE}")
    return root


def remove_abandoned(root: Path, purpose: str) -> list[Path]:
    """Remove this user's folders for ``purpose`` in ``root`` that no living process holds.

    Returns:
        The folders that were removed.

    Raises:
        MachineError: one cannot be removed.
    """
    removed = []
    for path in _abandoned(root, re.escape(purpose)):
        remove_with_retries(path)
        removed.append(path)
    return removed


def find_abandoned(root: Path) -> list[Path]:
    """Return this user's folders in ``root``, of any purpose, that no living process holds."""
    return sorted(_abandoned(root, "[a-z]+"))


def remove_all_abandoned(root: Path) -> list[tuple[Path, int]]:
    """Remove the folders that :func:`find_abandoned` finds.

    Returns:
        Each folder that was removed, with the bytes that its files had on the disk.

    Raises:
        MachineError: one cannot be removed.
    """
    removed = []
    for path in _abandoned(root, "[a-z]+"):
        size_bytes = bytes_on_disk(path)
        remove_with_retries(path)
        removed.append((path, size_bytes))
    return removed


def bytes_on_disk(folder: Path) -> int:
    """Return the bytes that all that is in a folder takes on the disk.

    What cannot be read, or was removed meanwhile, counts as nothing.
    """
    total = 0
    for here, folders, files in os.walk(folder):
        for name in (*folders, *files):
            with contextlib.suppress(OSError):
                total += Path(here, name).lstat().st_blocks * 512
    return total


def _abandoned(root: Path, purpose: str) -> Iterator[Path]:
    """Yield the abandoned folders for purposes of that pattern, locked until the next one."""
    name = re.compile(re.escape(PREFIX) + purpose + "-" + _RANDOM)
    for path in [Path(entry.path) for entry in os.scandir(root) if name.fullmatch(entry.name)]:
        try:
            held = os.open(path, _OPEN)
        except OSError:  # removed meanwhile, another user's, a link, or not a folder
            continue
        try:
            if os.fstat(held).st_uid == os.geteuid() and _locked(held) and _is_at(held, path):
                yield path
        finally:
            os.close(held)


def full_disk_message(folder: Path, error: BaseException) -> str | None:
    """Return a message when the file system of ``folder`` is full, else None.

    Args:
        folder: where a process failed to write, as far as is known.
        error: the failure, whose own message may not mention the disk.
    """
    fix = f"free some space there, or set {VARIABLE} to a folder with enough"
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
        return f"the file system of {folder} has no free inode; {fix}"
    if number == errno.ENOSPC or free_bytes < min(LEAST_BYTES, size_bytes / 20):
        what = f"{free_bytes // 1000} of {size_bytes // 1000} kB are free"
        return f"the temporary disk is full: at {folder} {what}; {fix}"
    return None


@contextlib.contextmanager
def explain_full_disk(folder: Path) -> Iterator[None]:
    """Name the cause of an error where it is the disk of ``folder``, or a limit on files there.

    Raises:
        RunError: the disk is full.
        MachineError: a file would exceed the limit on the size of files, as all runs' files would.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.EFBIG:
            path = error.filename or folder
            raise MachineError(f"{path}: {reason(error)}", FILE_SIZE_FIX) from error
        full = full_disk_message(folder, error)
        if full is None:
            raise
        raise RunError(f"{full}\n  it ended with: {error}") from error


@contextlib.contextmanager
def _as_machine_error(root: Path, of_variable: bool) -> Iterator[None]:
    """Explain why no folder can be made in ``root``, which the variable names or a user named."""
    try:
        yield
    except OSError as error:
        if not of_variable:
            fix = FIXES.get(error.errno or 0, "name another place")
            raise MachineError(
                f"cannot make a temporary folder in {root}: {reason(error)}", fix
            ) from error
        full = full_disk_message(root, error)
        if full is not None:
            raise MachineError(*full.split("; ", 1)) from error
        raise MachineError(
            f"cannot make a temporary folder in {root}: {error.strerror}",
            f"set {VARIABLE} to a folder on a local disk that you can write to",
        ) from error


def _locked(handle: int) -> bool:
    """Lock an open folder and return True; return False when another process holds the lock."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(handle: int, path: Path) -> bool:
    """Return whether ``path`` still names the open folder."""
    try:
        return os.path.samestat(os.fstat(handle), path.lstat())
    except FileNotFoundError:
        return False

"""Reads files and folders that a user or an untrusted scenario names.

Such a path may name anything: opening a FIFO blocks, opening a device may have effects, and
``/dev/zero`` never ends. So the path is opened with O_PATH, which has no effect. After a check of
its type and size, the same file is opened through ``/proc/self/fd``.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.units import shortened

MOST_DEPTH = 20
"""The deepest nesting of folders that ``read_folder`` accepts."""

_MOST_SHOWN = 300
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a symbolic link",
}


class FileError(ValueError):
    """A file cannot be read, is not a regular file or is too large.

    The message is the file's name and ``reason``.
    """

    def __init__(self, path: Path, reason: str) -> None:
        self.reason = reason
        super().__init__(f"{named(path)} {reason}")


def named(path: Path | str) -> str:
    """Return a path for an error message: printable, in backquotes, not too long."""
    return f"`{shortened(str(path), _MOST_SHOWN)}`"


def read(path: Path, most_bytes: int) -> bytes:
    """Return the content of a regular file; a symbolic link to one is followed.

    Raises:
        FileError: it cannot be read, is not a regular file, or is larger than ``most_bytes``.
    """
    with _failures(path):
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            return _content(handle, path, most_bytes)
        finally:
            os.close(handle)


def read_unlinked(path: Path, most_bytes: int) -> bytes:
    """Return the content of a regular file; a symbolic link in its place is not followed.

    Raises:
        FileError: as ``read``, and for a symbolic link.
    """
    with _failures(path):
        handle = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            return _content(handle, path, most_bytes)
        finally:
            os.close(handle)


def require_regular(path: Path) -> None:
    """Raise FileError if ``path`` exists and is not a regular file.

    Call this before writing a file: opening a FIFO blocks, and opening a device may have effects.
    """
    with _failures(path):
        try:
            mode = path.stat().st_mode
        except FileNotFoundError:
            return
    if not stat.S_ISREG(mode):
        raise FileError(path, f"is {_kind(mode)}, not a regular file")


def read_folder(
    path: Path, wanted: Callable[[str], bool], most_entries: int, most_bytes: int
) -> dict[str, bytes]:
    """Return the files below a folder whose names are ``wanted``, sorted by their paths below it.

    Hidden entries are left out. Every folder and file is opened relative to its parent folder, and
    symbolic links are not followed. So nothing outside the folder is read, whatever changes
    meanwhile.

    Raises:
        FileError: a wanted name or a folder is a symbolic link, a wanted name is not a regular
            file, something cannot be read, or ``most_entries`` or ``most_bytes`` is exceeded.
    """
    reader = _FolderReader(path, wanted, most_entries, most_bytes)
    with _failures(path):
        root = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            reader.read(root, "")
        finally:
            os.close(root)
    return dict(sorted(reader.files.items()))


@dataclass
class _FolderReader:
    """The state of ``read_folder``."""

    path: Path
    wanted: Callable[[str], bool]
    most_entries: int
    most_bytes: int
    files: dict[str, bytes] = field(default_factory=dict)
    entries: int = 0
    size_bytes: int = 0

    def read(self, folder: int, below: str) -> None:
        """Read the open folder whose path below the root is ``below``."""
        if below.count("/") > MOST_DEPTH:
            raise FileError(self.path, f"has folders more than {MOST_DEPTH} deep")
        for name in self._names(folder, below):
            path = self.path / below / name
            with _failures(path):
                handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
                try:
                    self._read_entry(handle, f"{below}{name}", path)
                finally:
                    os.close(handle)

    def _read_entry(self, handle: int, key: str, path: Path) -> None:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            self.read(handle, f"{key}/")
        elif self.wanted(path.name) or (stat.S_ISLNK(mode) and path.is_dir()):
            if stat.S_ISLNK(mode):
                raise FileError(
                    path,
                    "is a symbolic link, and links in this folder are not followed: replace it by "
                    "a copy of its target",
                )
            content = _content(handle, path, self.most_bytes)
            self.size_bytes += len(content)
            if self.size_bytes > self.most_bytes:
                raise self._too_much()
            self.files[key] = content

    def _names(self, folder: int, below: str) -> list[str]:
        """Return the names in the folder, without hidden ones, sorted."""
        names: list[str] = []
        with _failures(self.path / below):
            # scandir needs the folder open for reading, not only as a path.
            readable = os.open(f"/proc/self/fd/{folder}", os.O_RDONLY | os.O_DIRECTORY)
            try:
                with os.scandir(readable) as entries:
                    for entry in entries:
                        self.entries += 1
                        if self.entries > self.most_entries:
                            raise self._too_much()
                        if entry.name[0] != ".":
                            names.append(entry.name)
            finally:
                os.close(readable)
        return sorted(names)

    def _too_much(self) -> FileError:
        return FileError(
            self.path,
            f"holds more than {self.most_entries} files, or {self.most_bytes} bytes of sources: "
            "name a folder that holds only the sources",
        )


def _content(handle: int, path: Path, most_bytes: int) -> bytes:
    """Return the content of a file that is open as a path."""
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        raise FileError(path, f"is {_kind(status.st_mode)}, not a regular file")
    if status.st_size > most_bytes:
        raise FileError(path, f"is larger than {most_bytes} bytes")
    # At most its size is read: files in /proc have the size 0, and some of them never end.
    readable = os.open(f"/proc/self/fd/{handle}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(readable, "rb") as file:  # noqa: PTH123 - a descriptor has no path
        return file.read(status.st_size)


def _kind(mode: int) -> str:
    return _KINDS.get(stat.S_IFMT(mode), "something else")


@contextlib.contextmanager
def _failures(path: Path) -> Iterator[None]:
    """Turn a system error about ``path`` into a FileError."""
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        raise FileError(path, f"cannot be read: {error.strerror}") from None
    except ValueError:  # from the system calls of Python
        raise FileError(path, "cannot be read: a path holds no NUL") from None

"""Reads a folder or a ZIP archive that a stranger made, without unpacking it.

Names are confined: none is absolute or leads out of the tree, nothing is a link or a device.
Numbers and sizes are limited before anything is read. What is read is compared with its size.
"""

from __future__ import annotations

import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Self

from orchestrator.files.user_files import named

MOST_ENTRIES = 100_000
MOST_DEPTH = 30
MOST_NAME_BYTES = 2000
MOST_RATIO = 200
"""Most bytes of content for a byte of an archive, beside :data:`ANYWAY_BYTES`."""
ANYWAY_BYTES = 100 * 2**20
_CHUNK = 2**20
_MOST_END_BYTES = 22 + 2**16
"""Most bytes of the end of a ZIP archive, which has a comment."""
_ENTRY_BYTES = 200
"""Bytes of an entry in the directory of an archive: 46 and its name."""
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
_SYSTEM_UNIX = 3


class TreeError(ValueError):
    """A tree is malformed, too large or not readable; the message says what and where."""


class UntrustedTree:
    """An open folder or archive; ``sizes`` has the bytes of each regular file by its name."""

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        self._held = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._held.close()

    def chunks(self, name: str) -> Iterator[bytes]:
        """Yield the content of a file in parts; TreeError when it has another size."""
        if name not in self.sizes:
            raise TreeError(f"{named(name)} is missing")
        left = self.sizes[name]
        try:
            with self._open(name) as file:
                while chunk := file.read(min(_CHUNK, left + 1)):
                    left -= len(chunk)
                    if left < 0:
                        break
                    yield chunk
        except (OSError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
            raise TreeError(f"{named(name)} cannot be read: {error}") from None
        if left:
            raise TreeError(f"{named(name)} has not {self.sizes[name]} bytes")

    def read(self, name: str, most_bytes: int) -> bytes:
        """Return the content of a file of up to ``most_bytes``."""
        if self.sizes.get(name, 0) > most_bytes:
            raise TreeError(f"{named(name)} is larger than {most_bytes} bytes")
        return b"".join(self.chunks(name))

    def _open(self, name: str) -> IO[bytes]:
        raise NotImplementedError


class UntrustedFolder(UntrustedTree):
    """A folder. Hidden entries are left out: nothing of a crate is hidden."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        try:
            self._root = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise TreeError(f"{named(path)} cannot be read: {error.strerror}") from None
        self._held.callback(os.close, self._root)
        self._entries = 0
        self._walk(self._root, "")

    def _walk(self, folder: int, below: str) -> None:
        if below.count("/") > MOST_DEPTH:
            raise TreeError(f"folders are more than {MOST_DEPTH} deep")
        for name in self._names(folder, below):
            self._entries += 1
            if self._entries > MOST_ENTRIES:
                raise TreeError(f"there are more than {MOST_ENTRIES} entries")
            where = f"{below}{name}"
            try:
                handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            except OSError as error:
                raise TreeError(f"{named(where)} cannot be read: {error.strerror}") from None
            try:
                status = os.fstat(handle)
                if stat.S_ISDIR(status.st_mode):
                    self._walk(handle, f"{where}/")
                elif stat.S_ISREG(status.st_mode):
                    self.sizes[where] = status.st_size
                else:
                    raise TreeError(f"{named(where)} is a link or a device, and no file")
            finally:
                os.close(handle)

    def _names(self, folder: int, below: str) -> list[str]:
        try:
            readable = os.open(f"/proc/self/fd/{folder}", os.O_RDONLY | os.O_DIRECTORY)
            try:
                return sorted(entry.name for entry in os.scandir(readable) if entry.name[0] != ".")
            finally:
                os.close(readable)
        except OSError as error:
            raise TreeError(f"{named(below or '.')} cannot be read: {error.strerror}") from None

    def _open(self, name: str) -> IO[bytes]:
        """Open a file without following a link, whatever changed since the folder was walked."""
        folder = os.dup(self._root)
        try:
            *parents, last = name.split("/")
            for parent in parents:
                flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
                inner = os.open(parent, flags, dir_fd=folder)
                os.close(folder)
                folder = inner
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
            handle = os.open(last, flags, dir_fd=folder)
        finally:
            os.close(folder)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise OSError("it is no regular file")
        return os.fdopen(handle, "rb")


class UntrustedZip(UntrustedTree):
    """A ZIP archive, whose files may all be in one folder."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        try:
            # Opened as a user's file may be anything; zipfile must not open a path.
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            file = self._held.enter_context(os.fdopen(handle, "rb"))
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise TreeError(f"{named(path)} is no regular file")
            size = os.fstat(handle).st_size
            _require_short_directory(file, size)
            self._zip = self._held.enter_context(zipfile.ZipFile(file))
        except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            self._held.close()
            raise TreeError(f"{named(path)} is no ZIP archive: {error}") from None
        try:
            self._infos = self._checked(size)
        except TreeError:
            self._held.close()
            raise
        self.sizes = {name: info.file_size for name, info in self._infos.items()}

    def _checked(self, size: int) -> dict[str, zipfile.ZipInfo]:
        """Return the files of the archive by their names; TreeError when one is refused."""
        listed = self._zip.infolist()
        if len(listed) > MOST_ENTRIES:
            raise TreeError(f"there are more than {MOST_ENTRIES} entries")
        total = sum(info.file_size for info in listed)
        if total > ANYWAY_BYTES + MOST_RATIO * size:
            raise TreeError(f"{size} bytes would become {total}: that is no archive of results")
        infos: dict[str, zipfile.ZipInfo] = {}
        for info in listed:
            _require_harmless(info)
            if info.is_dir():
                continue
            if info.filename in infos:
                raise TreeError(f"{named(info.filename)} is there twice")
            infos[info.filename] = info
        return _without_folder(infos)

    def _open(self, name: str) -> IO[bytes]:
        return self._zip.open(self._infos[name])


def _require_short_directory(file: IO[bytes], size: int) -> None:
    """Raise TreeError when zipfile would read more entries than are allowed.

    It reads the whole central directory at once, as long as the end of the archive says.
    """
    file.seek(max(0, size - _MOST_END_BYTES))
    end = file.read()
    start = end.rfind(b"PK\5\6")
    if start < 0 or len(end) < start + 16:
        raise TreeError("the archive has no end: it is no ZIP archive, or cut off")
    if end[max(0, start - 20) : start].startswith(b"PK\6\7"):
        raise TreeError("it is a ZIP archive of more than 4 GiB or 65535 files: unpack it first")
    (directory,) = struct.unpack_from("<I", end, start + 12)
    if directory > MOST_ENTRIES * _ENTRY_BYTES:
        raise TreeError(f"there are more than {MOST_ENTRIES} entries")
    file.seek(0)


def _require_harmless(info: zipfile.ZipInfo) -> None:
    """Raise TreeError for an entry that is no plain file or folder below the archive."""
    name = info.orig_filename
    parts = name.removesuffix("/").split("/")
    if len(name.encode(errors="replace")) > MOST_NAME_BYTES or len(parts) > MOST_DEPTH:
        raise TreeError(f"{named(name)} is too long a name")
    if "\0" in name or name != info.filename or any(part in ("", ".", "..") for part in parts):
        raise TreeError(f"{named(name)} leads out of the archive")
    kind = stat.S_IFMT(info.external_attr >> 16)
    unix = info.create_system == _SYSTEM_UNIX and kind not in (0, stat.S_IFREG, stat.S_IFDIR)
    if unix:
        raise TreeError(f"{named(name)} is a link or a device, and no file")
    if info.flag_bits & _ENCRYPTED or info.compress_type not in _METHODS:
        raise TreeError(f"{named(name)} is encrypted, or compressed in an unknown way")


def _without_folder(infos: dict[str, zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    """Return the files by their names below the one folder that has them all, if there is one."""
    tops = {name.partition("/")[0] for name in infos}
    if len(tops) != 1 or any("/" not in name for name in infos):
        return infos
    return {name.partition("/")[2]: info for name, info in infos.items()}

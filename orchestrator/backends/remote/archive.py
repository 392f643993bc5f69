"""Packs and unpacks tar archives of folders, to and from another machine."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from orchestrator import plaintext
from orchestrator.errors import RemoteError

MOST_BYTES = 2**32
MOST_MEMBERS = 2000
"""Most entries of one fetched folder; a bed writes eight files."""

SPARE_BYTES = 2**22
"""Bytes of an archive beside the content of its files, for headers."""

_CHUNK_BYTES = 1 << 16


def pack(files: Iterable[tuple[Path, str]]) -> bytes:
    """Return an archive of files, given as (path on this machine, name in the archive)."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for path, name in files:
            archive.add(path, name, recursive=False)
    return stream.getvalue()


def unpack(archive: Path | bytes, folder: Path, who: object, most_bytes: int = MOST_BYTES) -> None:
    """Unpack regular files and folders below ``folder``; refuse everything else.

    ``archive`` is a file or its content.

    Raises:
        RemoteError: it is no archive; it has links, devices, sparse files or names that lead
            elsewhere; or it has more than ``most_bytes`` or MOST_MEMBERS.
    """
    total = 0
    try:
        content = io.BytesIO(archive) if isinstance(archive, bytes) else None
        path = None if isinstance(archive, bytes) else archive
        with tarfile.open(path, "r:", content) as packed:
            for number, member in enumerate(packed, start=1):
                name = PurePosixPath(member.name)
                plain = member.isdir() or (member.isreg() and not member.issparse())
                if name.is_absolute() or ".." in name.parts or "\0" in member.name or not plain:
                    shown = plaintext.shortened(member.name, 300)
                    raise RemoteError(f"{who}: sent {shown!r}, which is not a regular file")
                total += member.size
                if number > MOST_MEMBERS or total > most_bytes:
                    raise RemoteError(f"{who}: {too_much(member.name, most_bytes)}")
                _unpack_member(packed, member, folder / name)
    except (tarfile.TarError, OverflowError, ValueError, UnicodeError) as error:
        raise RemoteError(f"{who}: did not send a tar archive: {error}") from None
    except (FileExistsError, IsADirectoryError, NotADirectoryError) as error:
        raise RemoteError(f"{who}: sent a name twice: {error.strerror}") from None


def too_much(name: str, most_bytes: int) -> str:
    """Return the message for an archive that is too large."""
    shown = plaintext.visible(plaintext.shortened(name, 300))
    most = f"{most_bytes // 2**20} MiB in {MOST_MEMBERS} files"
    return f"sends too much, at {shown}; at most {most} are accepted"


def _unpack_member(packed: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    if member.isdir():
        target.mkdir(parents=True, exist_ok=True)
        return
    source = packed.extractfile(member)
    assert source is not None, "a regular file has content"
    target.parent.mkdir(parents=True, exist_ok=True)
    with source, target.open("wb") as file:
        while chunk := source.read(_CHUNK_BYTES):
            file.write(chunk)


def files_of(folder: Path, below: str = "") -> Iterator[tuple[Path, str]]:
    """Yield (path, name below ``below``) of a package's or folder's files, for ``Remote.put``."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path, (PurePosixPath(below) / path.relative_to(folder).as_posix()).as_posix()

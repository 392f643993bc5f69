"""Folders as streams of tar, to and from another machine."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from orchestrator.errors import RemoteError

_CHUNK_BYTES = 1 << 16


def packed(files: Iterable[tuple[Path, str]]) -> bytes:
    """Return an archive of files, each where it is here and its name in the archive."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for path, name in files:
            archive.add(path, name, recursive=False)
    return stream.getvalue()


def unpack(archive: Path, folder: Path, who: object) -> None:
    """Unpack plain files and folders; the other machine does not choose any other place."""
    with tarfile.open(archive) as packed:
        for member in packed:
            name = PurePosixPath(member.name)
            if name.is_absolute() or ".." in name.parts or not (member.isfile() or member.isdir()):
                raise RemoteError(f"{who}: handed out {member.name!r}, which is no plain file")
            target = folder / name
            if member.isdir():
                target.mkdir(parents=True, exist_ok=True)
            else:
                source = packed.extractfile(member)
                assert source is not None, "of a file there is one"
                target.parent.mkdir(parents=True, exist_ok=True)
                with source, target.open("wb") as file:
                    while chunk := source.read(_CHUNK_BYTES):
                        file.write(chunk)


def files_of(folder: Path, below: str = "") -> Iterator[tuple[Path, str]]:
    """Yield (path, name below ``below``) of a package's or folder's files, for ``Remote.put``."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path, (PurePosixPath(below) / path.relative_to(folder).as_posix()).as_posix()

#!/usr/bin/env python3
"""Packs files of this project into an uncompressed tar, equal to the bit whenever they are.

usage: pack.py all|kmods [ARCHIVE]

``all`` is what a machine needs of a checkout, ``kmods`` the congestion-control modules alone.
Prints the archive's SHA-256, and writes it if a file is named. Any Python 3 packs alike.
"""

from __future__ import annotations

import hashlib
import io
import sys
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
KMODS = ("kmods",)
ALL = (
    "LICENSE", "README.md", "pyproject.toml", "requirements.lock",
    "guest", "kmods", "orchestrator", "results", "scenarios", "topologies", "web",
)  # fmt: skip
NOT_PACKED = {"build", "__pycache__", "tests"}
"""Folders. Nor is anything hidden, or what a build leaves."""
BUILT = (".pyc", ".db", ".db-shm", ".db-wal", ".o", ".ko", ".mod", ".mod.c", ".order", ".symvers")


def files(wanted: Iterable[str]) -> Iterator[tuple[str, Path]]:
    """Yield (path below the project, file) in an order that stays."""
    for top in wanted:
        place = PROJECT / top
        found = [place] if place.is_file() else [p for p in place.rglob("*") if p.is_file()]
        for path in sorted(found):
            name = path.relative_to(PROJECT)
            hidden = any(part in NOT_PACKED or part.startswith(".") for part in name.parts)
            if not hidden and not name.name.endswith(BUILT):
                yield name.as_posix(), path


def archive(wanted: Iterable[str]) -> bytes:
    """Return the tar file's content; owners and times in it are always the same."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.GNU_FORMAT) as packed:
        for name, path in files(wanted):
            content = path.read_bytes()
            about = tarfile.TarInfo(name)
            about.size = len(content)
            about.mode = 0o755 if content.startswith(b"#!") else 0o644
            packed.addfile(about, io.BytesIO(content))
    return written.getvalue()


def main(what: str, path: str | None = None) -> None:
    """Do what the usage says."""
    content = archive(ALL if what == "all" else KMODS)
    if path is not None:
        Path(path).write_bytes(content)
    sys.stdout.write(hashlib.sha256(content).hexdigest() + "\n")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in ("all", "kmods"):
        sys.exit(__doc__)
    main(*sys.argv[1:])

#!/usr/bin/env python3
"""Packs what a machine needs of this project into a tar, equal to the bit whenever the files are.

usage: pack.py ARCHIVE

Writes the archive, whose last member is an empty file .packed-SHA256 of all before it: who has that
has all. Prints this SHA-256 and another one, of the congestion-control modules alone, which tells
whether they have to be built again. Any Python 3 packs alike.
"""

from __future__ import annotations

import hashlib
import io
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
ALL = (
    "LICENSES", "README.md", "hatch_build.py", "pyproject.toml", "requirements.lock",
    "playbooks/make_environment.py", "playbooks/installer.lock",
    "guest", "kmods", "orchestrator", "results", "scenarios", "topologies", "web",
)  # fmt: skip
NOT_PACKED = {"build", "__pycache__", "tests"}
"""Folders. Nor is anything hidden, or what a build leaves."""
BUILT = (".pyc", ".db", ".db-shm", ".db-wal", ".o", ".ko", ".mod", ".mod.c", ".order", ".symvers")


def files(wanted: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Yield (path below the project, content) in an order that stays."""
    for top in wanted:
        place = PROJECT / top
        found = [place] if place.is_file() else [p for p in place.rglob("*") if p.is_file()]
        for path in sorted(found):
            name = path.relative_to(PROJECT)
            hidden = any(part in NOT_PACKED or part.startswith(".") for part in name.parts)
            if not hidden and not name.name.endswith(BUILT):
                yield name.as_posix(), path.read_bytes()


def archive(wanted: Iterable[tuple[str, bytes]]) -> bytes:
    """Return a tar of (name, content); owners and times in it are always the same."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.GNU_FORMAT) as packed:
        for name, content in wanted:
            about = tarfile.TarInfo(name)
            about.size = len(content)
            about.mode = 0o755 if content.startswith(b"#!") else 0o644
            packed.addfile(about, io.BytesIO(content))
    return written.getvalue()


def main(path: Path) -> None:
    """Do what the usage says."""
    wanted = list(files(ALL))
    modules = [each for each in wanted if each[0].startswith("kmods/")]
    digests = [hashlib.sha256(archive(each)).hexdigest() for each in (wanted, modules)]
    path.parent.mkdir(exist_ok=True)
    # Under another name first: who reads it meanwhile reads a whole one.
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(archive([*wanted, (f".packed-{digests[0]}", b"")]))
    Path(file.name).replace(path)
    sys.stdout.write(" ".join(digests) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))

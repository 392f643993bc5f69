#!/usr/bin/env python3
"""Packs files of this project into an uncompressed tar, equal to the bit whenever they are.

usage: pack.py all|kmods [ARCHIVE]

``all`` is what a machine needs of a checkout, ``kmods`` the congestion-control modules alone.
Prints the archive's SHA-256, and writes it if a file is named. Any Python 3 packs alike.
"""

import hashlib
import io
import os
import sys
import tarfile

PROJECT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KMODS = ("kmods",)
ALL = (
    "LICENSE", "README.md", "pyproject.toml", "requirements.lock",
    "guest", "kmods", "orchestrator", "results", "scenarios", "topologies", "web",
)  # fmt: skip
NOT_PACKED = {"build", "__pycache__", "tests"}
"""Nor is anything hidden."""
BUILT = (".pyc", ".db", ".db-shm", ".db-wal", ".o", ".ko", ".mod", ".mod.c", ".cmd", ".order", ".symvers")


def names(wanted):
    """Yield the files' paths below the project, in an order that stays."""
    for top in wanted:
        if os.path.isfile(os.path.join(PROJECT, top)):
            yield top
        for place, below, files in os.walk(os.path.join(PROJECT, top)):
            below[:] = sorted(n for n in below if n not in NOT_PACKED and not n.startswith("."))
            for name in sorted(files):
                if not name.startswith(".") and not name.endswith(BUILT):
                    yield os.path.relpath(os.path.join(place, name), PROJECT)


def archive(wanted):
    """Return the tar file's content; owners and times in it are always the same."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.GNU_FORMAT) as packed:
        for name in names(wanted):
            with open(os.path.join(PROJECT, name), "rb") as file:
                content = file.read()
            about = tarfile.TarInfo(name.replace(os.sep, "/"))
            about.size = len(content)
            about.mode = 0o755 if content.startswith(b"#!") else 0o644
            packed.addfile(about, io.BytesIO(content))
    return written.getvalue()


def main(what, path=None):
    """Do what the usage says."""
    content = archive(ALL if what == "all" else KMODS)
    if path is not None:
        with open(path, "wb") as file:
            file.write(content)
    sys.stdout.write(hashlib.sha256(content).hexdigest() + "\n")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in ("all", "kmods"):
        sys.exit(__doc__)
    main(*sys.argv[1:])

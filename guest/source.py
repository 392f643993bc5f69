"""Finds the guest kernel's source, and identifies it by a hash.

Command: ``python -m guest.source`` downloads the pinned source unless one is at hand.
"""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from guest import cache, pinned
from guest.download import download
from orchestrator.errors import MachineError

SOURCE_VARIABLE = "ORCHESTRATOR_KERNEL_SOURCE"
DEBIAN_SOURCE = Path("/usr/src/linux-source-6.12.tar.xz")
DEBIAN_PACKAGE = "linux-source-6.12"


@dataclass(frozen=True)
class Source:
    """A kernel source: a tarball with one top folder, or an unpacked tree."""

    path: Path

    @property
    def is_tree(self) -> bool:
        """Whether this is an unpacked tree."""
        return self.path.is_dir()

    def identity(self) -> str:
        """Return an identity that changes whenever the source changes.

        For a tarball it is the SHA-256 of its content, remembered by path, size and time of change.
        For a tree it is the SHA-256 over every file's name, size and time of change, in the order
        of names and without ``.git``. The content is not read, so touching a file changes the
        identity.
        """
        if not self.is_tree:
            return "sha256:" + cache.remembered_sha256(self.path)
        digest = hashlib.sha256()
        for name, status in sorted(_files(self.path, self.path)):
            digest.update(f"{name}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
        return "tree:" + digest.hexdigest()


def available() -> Source | None:
    """Return the source to build: the first that is there, or None.

    In this order: what ORCHESTRATOR_KERNEL_SOURCE names, Debian's package, the pinned download.
    Where the environment names another tarball to download, Debian's package is passed over.

    Raises:
        MachineError: the environment names something that is not there, or a download was changed.
    """
    named = os.environ.get(SOURCE_VARIABLE)
    if named:
        path = Path(named).expanduser().absolute()
        if (path / "Kbuild").is_file() or path.is_file():
            return Source(path)
        raise MachineError(
            f"{SOURCE_VARIABLE} names {path}, which is neither a kernel tree nor a tarball",
            f"name one, or unset it to use Debian's {DEBIAN_PACKAGE} or the download",
        )
    if DEBIAN_SOURCE.is_file() and not os.environ.get(pinned.URL_VARIABLE):
        return Source(DEBIAN_SOURCE)
    fetched = pinned.downloaded()
    return None if fetched is None else Source(fetched)


def locate() -> Source:
    """Return the source to build, as ``available`` does.

    Raises:
        MachineError: there is none, or as in ``available``.
    """
    source = available()
    if source is not None:
        return source
    raise MachineError(
        f"no kernel source: {DEBIAN_SOURCE} is not there, and none was downloaded",
        f"on Debian, apt-get install {DEBIAN_PACKAGE}; elsewhere, {pinned.command()};"
        f" or let {SOURCE_VARIABLE} name a 6.12 tree or tarball",
    )


def _files(folder: Path, root: Path) -> list[tuple[str, os.stat_result]]:
    """Return (name relative to ``root``, status) of every file below ``folder``."""
    files: list[tuple[str, os.stat_result]] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name != ".git":
                    files += _files(Path(entry.path), root)
            else:
                name = str(Path(entry.path).relative_to(root))
                files.append((name, entry.stat(follow_symlinks=False)))
    return files


class _ProgressLines:
    """Progress as lines on standard error: each step, and each tenth of it."""

    def __init__(self) -> None:
        self.last = ""

    def __call__(self, step: str, fraction: float | None) -> None:
        line = step if fraction is None else f"{step} {int(fraction * 10) * 10}%"
        if line != self.last:
            sys.stderr.write(f"{line}\n")
        self.last = line


def main() -> int:
    """Download the source unless one is at hand; return the exit status."""
    try:
        if available() is None:
            download(_ProgressLines())
    except MachineError as error:
        sys.stderr.write(f"guest.source: {error}\nfix: {error.fix}\n")
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main())

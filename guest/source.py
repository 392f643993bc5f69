"""Finds the guest kernel's source, and identifies it by a hash.

Command: ``python -m guest.source`` downloads the pinned source unless one is at hand.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from guest import cache, git_source, pinned
from guest.choice import DEFAULT, KernelChoice
from guest.patch_series import Series, series_of, series_of_makefile
from orchestrator.errors import MachineError

SOURCE_VARIABLE = "ORCHESTRATOR_KERNEL_SOURCE"
DEBIAN_FOLDER = Path("/usr/src")
DEBIAN_PACKAGE = "linux-source-6.12"
DEBIAN_SOURCE = DEBIAN_FOLDER / f"{DEBIAN_PACKAGE}.tar.xz"


@dataclass(frozen=True)
class Source:
    """A kernel source: a tarball with one top folder, an unpacked tree, or a revision of git.

    ``commit`` is the full hash of the commit in the git repository at ``path``.
    """

    path: Path
    commit: str | None = None

    @property
    def is_tree(self) -> bool:
        """Whether this is an unpacked tree."""
        return self.path.is_dir()

    @property
    def changes_in_place(self) -> bool:
        """Whether its path has another content one day: it is a tree or a repository."""
        return self.path.is_dir()

    def identity(self) -> str:
        """Return an identity that changes whenever the source changes.

        For a tarball it is the SHA-256 of its content, remembered by path, size and time of change.
        For a tree it is the SHA-256 over every file's name, size and time of change, in the order
        of names and without ``.git``. The content is not read, so touching a file changes the
        identity. For a revision it is git's hash of its files.
        """
        if self.commit is not None:
            return "git:" + git_source.tree_of(self.path, self.commit)
        if not self.is_tree:
            return "sha256:" + cache.remembered_sha256(self.path)
        digest = hashlib.sha256()
        for name, status in self.files():
            digest.update(f"{name}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
        return "tree:" + digest.hexdigest()

    def files(self) -> list[tuple[str, os.stat_result]]:
        """Return the path below a tree and the status of each file, in the order of names."""
        return sorted(_files(self.path, self.path))

    def series(self) -> Series | None:
        """Return its version and patch level, as its Makefile has them; None where it has none.

        Of a tarball they are remembered by path, size and time of change.
        """
        if self.commit is not None:
            return series_of_makefile(git_source.text_of(self.path, self.commit, "Makefile"))
        if self.is_tree:
            makefile = self.path / "Makefile"
            return series_of_makefile(makefile.read_text()) if makefile.is_file() else None
        found = cache.remembered(self.path, "series", lambda: list(self._series_in_tarball() or ()))
        return (int(found[0]), int(found[1])) if found else None

    def _series_in_tarball(self) -> Series | None:
        command = ["tar", "--extract", "--to-stdout", "--occurrence=1", "--wildcards",
                   "--no-wildcards-match-slash", f"--file={self.path}", "*/Makefile"]  # fmt: skip
        done = subprocess.run(command, capture_output=True, check=False)
        return series_of_makefile(done.stdout.decode(errors="replace"))


def available() -> Source | None:
    """Return the source to build: the first that is there, or None.

    In this order: what ORCHESTRATOR_KERNEL_SOURCE names, Debian's package, the pinned download.
    Where the environment names another tarball to download, Debian's package is passed over.

    Raises:
        MachineError: the environment names something that is not there, or a download was changed.
    """
    named = os.environ.get(SOURCE_VARIABLE)
    if named and series_of(named) is not None:
        return _of_series(named)
    if named:
        if (found := _at(named)) is not None:
            return found
        path = Path(named).expanduser().absolute()
        raise MachineError(
            f"{SOURCE_VARIABLE} names {path}, which is neither a kernel tree nor a tarball",
            f"name one, or unset it to use Debian's {DEBIAN_PACKAGE} or the download",
        )
    if DEBIAN_SOURCE.is_file() and not os.environ.get(pinned.URL_VARIABLE):
        return Source(DEBIAN_SOURCE)
    fetched = pinned.downloaded()
    return None if fetched is None else Source(fetched)


def locate(choice: KernelChoice = DEFAULT) -> Source:
    """Return the source of a kernel.

    A series is that of Debian's package, which is installed or was fetched.

    Raises:
        MachineError: there is none, or as in ``available``.
    """
    if choice.source is not None:
        return _named(choice)
    source = available()
    if source is not None:
        return source
    raise MachineError(
        f"no kernel source: {DEBIAN_SOURCE} is not there, and none was downloaded",
        f"on Debian, apt-get install {DEBIAN_PACKAGE}; elsewhere, {pinned.command()};"
        f" or let {SOURCE_VARIABLE} name a 6.12 tree or tarball",
    )


def series_asked() -> str | None:
    """Return the series that the environment names, if it names one."""
    named = os.environ.get(SOURCE_VARIABLE, "")
    return named if series_of(named) is not None else None


def _named(choice: KernelChoice) -> Source:
    assert choice.source is not None
    if series_of(choice.source) is not None:
        return _of_series(choice.source)
    if choice.path is None:
        raise MachineError(
            f"the kernel {choice.text} of a stored run is not built here, and the place of its "
            "source is not known",
            f"build the same kernel: orchestrator guest build PATH, with the tree {choice.source}",
        )
    if (found := _at(str(choice.path), choice.revision)) is not None:
        return found
    raise MachineError(
        f"{choice.path} is neither a kernel tree nor a tarball",
        "name a series, such as 6.12, or the path of a tree or a tarball",
    )


def _of_series(series: str) -> Source:
    name = f"linux-source-{series}.tar.xz"
    fetched = [root / pinned.FOLDER / name for root in cache.search_roots()]
    for path in (DEBIAN_FOLDER / name, *fetched):
        if path.is_file():
            return Source(path)
    raise MachineError(
        f"no source of Linux {series} is here",
        f"on Debian, orchestrator guest fetch {series}; or name a tree or a tarball",
    )


def _at(place: str, revision: str | None = None) -> Source | None:
    path = Path(place).expanduser().absolute()
    if revision is not None:
        return Source(path, git_source.commit_of(path, revision))
    return Source(path) if (path / "Kbuild").is_file() or path.is_file() else None


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
    from guest.download import download  # HTTP and TLS are slow to import, and runs need neither

    try:
        if available() is None:
            download(_ProgressLines())
    except MachineError as error:
        sys.stderr.write(f"guest.source: {error}\nfix: {error.fix}\n")
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Fetches Debian's package of a kernel's source, without a change of this machine's packages.

apt downloads it from the mirror that this machine uses, with lists and a cache of its own. It
compares the package with Debian's signature, so nothing else is trusted. Which release of Debian
has which kernel changes with time: the releases are asked one after another.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from guest import cache, pinned
from guest.build_steps import Progress
from orchestrator.errors import MachineError
from orchestrator.files.temporary import temporary_folder

SUITES = (
    "trixie", "trixie-backports", "bookworm", "bookworm-backports",
    "forky", "forky-backports", "sid",
)  # fmt: skip
"""Where a package is looked for, in this order; releases that a mirror does not have are passed.

They are names, as a mirror may have an older state of what "stable" names.
"""

_ANOTHER_WAY = "name a kernel tree or a tarball in place of the series"
_TIME_S = 900.0


def fetch(series: str, progress: Progress) -> Path:
    """Return the tarball of a series, such as "7.3", in this user's cache.

    Raises:
        MachineError: this machine has no apt or no mirror of Debian, none of the releases has such
            a package, or it cannot be downloaded.
    """
    root = cache.make_root()
    folder = root / pinned.FOLDER
    folder.mkdir(mode=0o755, exist_ok=True)
    package = f"linux-source-{series}"
    target = folder / f"{package}.tar.xz"
    if target.is_file():
        return target
    if not all(map(shutil.which, ("apt-get", "dpkg-deb", "tar"))):
        raise MachineError("this machine has no apt to fetch packages with", _ANOTHER_WAY)
    with temporary_folder("packages", folder) as place:
        for name, apt in _places(place):
            progress(f"looking for {package} in {name}", None)
            if apt.has(package):
                progress(f"downloading {package} of {name}", None)
                _unpack(apt.download(package), package, place / target.name)
                (place / target.name).replace(target)
                return target
    raise MachineError(f"no release of Debian has {package}", _ANOTHER_WAY)


def _places(folder: Path) -> Iterator[tuple[str, _Apt]]:
    """Yield where a package may be: what this machine knows, with its updates, then releases."""
    yield "this machine's own sources", _Apt(folder / "own", None)
    mirror, keyring = _mirror()
    for suite in SUITES:
        yield f"Debian's {suite}", _Apt(folder / suite, f"deb {keyring}{mirror} {suite} main\n")


def _mirror() -> tuple[str, str]:
    """Return the address of the Debian mirror that this machine uses, and its key as an option."""
    wanted = "$(ORIGIN)|$(REPO_URI)|$(SIGNED_BY)"
    lines = _run(["apt-get", "indextargets", "--format", wanted]).splitlines()
    for line in lines:
        origin, uri, signed_by = line.split("|", 2)
        if origin == "Debian" and "security" not in uri:
            key = f"[signed-by={signed_by}] " if signed_by.startswith("/") else ""
            return uri.rstrip("/"), key
    raise MachineError(
        "this machine's apt knows no mirror of Debian",
        f"apt-get update, if this is Debian; or {_ANOTHER_WAY}",
    )


class _Apt:
    """apt with one line of sources, whose lists and packages are in a folder of their own.

    Without a line it is this machine's apt with the lists that it has.
    """

    def __init__(self, folder: Path, sources: str | None) -> None:
        self.folder = folder
        self._options: list[str] = []
        if sources is None:
            folder.mkdir()
            return
        for name in ("lists/partial", "cache/archives/partial"):
            (folder / name).mkdir(parents=True)
        (folder / "sources.list").write_text(sources)
        self._options = [
            word
            for option in (
                f"Dir::Etc::SourceList={folder}/sources.list",
                "Dir::Etc::SourceParts=/nonexistent",
                f"Dir::State::Lists={folder}/lists",
                f"Dir::Cache={folder}/cache",
                "APT::Sandbox::User=root",
                "Acquire::Languages=none",
                "Acquire::Retries=2",
            )
            for word in ("-o", option)
        ]

    def has(self, package: str) -> bool:
        """Tell whether the release has that package; False where there is no such release."""
        if self._options and self._apt("apt-get", "update", "--quiet").returncode:
            return False
        return bool(self._apt("apt-cache", "madison", package).stdout.strip())

    def download(self, package: str) -> Path:
        """Download a package, compared with Debian's signature; return its file."""
        done = self._apt("apt-get", "download", "--quiet", package)
        files = sorted(self.folder.glob("*.deb"))
        if done.returncode or len(files) != 1:
            raise MachineError(
                f"{package} cannot be downloaded: {_last_line(done.stderr)}", "try again later"
            )
        return files[0]

    def _apt(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [words[0], *self._options, *words[1:]],
            capture_output=True, text=True, check=False, cwd=self.folder, timeout=_TIME_S,
        )  # fmt: skip


def _unpack(file: Path, package: str, target: Path) -> None:
    """Write the tarball that a package has."""
    whole = ["dpkg-deb", "--fsys-tarfile", str(file)]
    part = ["tar", "--extract", "--to-stdout", f"./usr/src/{package}.tar.xz"]
    with (
        target.open("wb") as tarball,
        subprocess.Popen(whole, stdout=subprocess.PIPE) as packed,
    ):
        done = subprocess.run(
            part, stdin=packed.stdout, stdout=tarball, stderr=subprocess.PIPE, text=True,
            check=False,
        )  # fmt: skip
    if done.returncode or packed.returncode:
        raise MachineError(f"{file.name} does not unpack: {done.stderr.strip()}", _ANOTHER_WAY)
    target.chmod(0o644)


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIME_S)
    if done.returncode:
        raise MachineError(f"{command[0]}: {_last_line(done.stderr)}", _ANOTHER_WAY)
    return done.stdout


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it said nothing"])[-1]

"""Builds modules against the guest kernel, once for each state of their sources.

Ours go to ``guest/kmods-<kernel>-<sources>`` of the cache, those of a user's folder to
``guest/module-<kernel>-<sources>``; each folder there holds the ``*.ko`` and nothing else.
"""

from __future__ import annotations

import re
import shutil
import stat
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from guest import cache, recipe
from guest.build import GuestKernel
from kmods import catalogue
from kmods.catalogue import FOLDER, NAME_MAX, Folder
from orchestrator.errors import MachineError
from orchestrator.temporary import temporary_folder

_SHOWN_LINES = 20
_SOURCE, _HEADERS = "source", "headers"
_PROGRESS = re.compile(r"make(\[\d+\])?:|  [A-Z]+ +(\[M\] +)?/")

Confine = Callable[[Path, Path], list[str]]
"""Given a kernel's tree and the one folder to write, what goes in front of a build's command."""


@dataclass(frozen=True)
class BuiltModules:
    """The modules for one guest kernel: ``folder`` holds tcp_<name>.ko, or what a user named."""

    folder: Path

    def sha256(self) -> dict[str, str]:
        """Return the hash of every module by its name, such as ``tcp_tibet``."""
        return {path.stem: cache.sha256(path) for path in sorted(self.folder.glob("*.ko"))}

    def holding(self, name: str) -> list[Path]:
        """Return the modules that hold a congestion control of that name."""
        # struct tcp_congestion_ops holds it in as many bytes, behind flags whose last byte is zero.
        wanted = b"\0" + name.encode().ljust(NAME_MAX + 1, b"\0")
        return [path for path in sorted(self.folder.glob("*.ko")) if wanted in path.read_bytes()]


def modinfo(module: Path, key: str) -> list[str]:
    """Return the values of a key that modinfo(8) would show of the module."""
    # The section .modinfo holds zero-terminated key=value strings.
    entry = rb"(?<![!-~])" + re.escape(key.encode()) + rb"=([^\0]*)\0"
    found = re.findall(entry, module.read_bytes())
    return [value.decode(errors="replace") for value in found]


def sources(folder: Path = FOLDER) -> list[Path]:
    """Return every file of ours that goes into the build."""
    kinds = ("*.c", "*.h", "core/*.h", "Kbuild")
    found = (path for kind in kinds for path in folder.glob(kind))
    return sorted(path for path in found if not path.name.endswith(".mod.c"))


def ensure(kernel: GuestKernel, folder: Path = FOLDER) -> BuiltModules:
    """Return our modules for that kernel, building them when they are not cached.

    Raises:
        MachineError: a tool is missing, the cache cannot be written, or a module does not compile.
    """
    files = {f"{_SOURCE}/{path.relative_to(folder)}": path.read_bytes() for path in sources(folder)}
    place = f"kmods-{kernel.key}-{catalogue.hash_of(files)[:16]}"
    return _find(place) or _Build(kernel, files, folder).make(place)


def ensure_folder(kernel: GuestKernel, folder: Folder, confine: Confine | None) -> BuiltModules:
    """Return the modules of a user's folder for that kernel, building them when not cached.

    Nothing is written to that folder: what was read of it is built elsewhere, behind ``confine``
    (None: without a boundary), and only the modules are kept. What is built depends on nothing but
    the kernel, those files and our headers, if it includes one; so does its place in the cache.

    Raises:
        MachineError: as ``ensure``, with the compiler's words.
    """
    files = {f"{_SOURCE}/{name}": content for name, content in folder.files.items()}
    if folder.kbuild is not None:
        files[f"{_SOURCE}/Kbuild"] = folder.kbuild.encode()
    if folder.uses_ours:
        headers = catalogue.headers().items()
        files |= {f"{_HEADERS}/{name}": path.read_bytes() for name, path in headers}
    place = f"module-{kernel.key}-{catalogue.hash_of(files)[:32]}"
    return _find(place) or _Build(kernel, files, folder.path, confine).make(place)


def _find(name: str) -> BuiltModules | None:
    for root in cache.search_roots():
        place = root / "guest" / name
        if place.is_dir():
            cache.require_trusted(place, root)
            return BuiltModules(place)
    return None


@dataclass(frozen=True)
class _Build:
    """One build of ``files``, given by their paths below the workshop; ``origin`` is for words."""

    kernel: GuestKernel
    files: Mapping[str, bytes]
    origin: Path
    confine: Confine | None = None

    def make(self, name: str) -> BuiltModules:
        """Build in a temporary folder of the cache and move the modules to their place."""
        if shutil.which("make") is None or shutil.which("gcc") is None:
            raise MachineError(
                "building modules needs make and gcc", "apt-get install build-essential"
            )
        root = cache.make_root()
        place = root / "guest" / name
        with temporary_folder(cache.MODULE_BUILD, root / "guest") as temporary:
            workshop, result = temporary / "workshop", temporary / "result"
            for path, content in self.files.items():
                target = workshop / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
            self._compile(workshop)
            result.mkdir()
            for built in (workshop / _SOURCE).rglob("*.ko"):
                if stat.S_ISREG(built.lstat().st_mode):  # a link could lead anywhere
                    shutil.copyfile(built, result / built.name)
            try:
                cache.publish(result, place)
            except OSError:
                if not place.is_dir():  # or else another process was faster
                    raise
        return BuiltModules(place)

    def _compile(self, workshop: Path) -> None:
        source, headers, tree = workshop / _SOURCE, workshop / _HEADERS, self.kernel.tree
        flags = f"KCFLAGS=-fmacro-prefix-map={source}/="  # the same to the bit wherever it is built
        flags += f" -I{headers}" if headers.exists() else ""
        words = ["make", "-C", str(tree), f"M={source}", "ARCH=um", flags, "modules"]
        done = subprocess.run(
            [*(self.confine(tree, workshop) if self.confine else ()), *words],
            env=recipe.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode:
            text = done.stdout.replace(f"{source}/", f"{self.origin}/")
            said = text.replace(f"{headers}/", f"{FOLDER}/").splitlines()
            telling = [line for line in said if not _PROGRESS.match(line)] or said
            lines = "\n  ".join(telling[:_SHOWN_LINES])
            raise MachineError(f"`{self.origin}` does not compile:\n  {lines}", "mend the source")

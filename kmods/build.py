"""Builds modules against the guest kernel, once for each state of their sources.

Ours go to ``guest/kmods-<kernel>-<sources>`` of the cache, those of a user's folder to
``guest/module-<kernel>-<sources>``; each folder there holds the ``*.ko`` and nothing else.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from guest import cache, recipe
from guest.build import GuestKernel
from guest.steps import run_step
from kmods import catalogue
from kmods.catalogue import FOLDER, NAME_MAX, Folder
from orchestrator.errors import MachineError
from orchestrator.files import user_files as files
from orchestrator.files.temporary import temporary_folder

_SHOWN_LINES = 20
_SOURCE, _HEADERS = "source", "headers"
_PROGRESS = re.compile(r"make(\[\d+\])?:|  [A-Z]+ +(\[M\] +)?/")

MOST_MODULES = 64
MOST_MODULE_BYTES = 32 * 2**20
"""What is kept of a build: more or larger ones are no modules of a congestion control."""


@dataclass(frozen=True)
class Compiled:
    """How a build's command ended, and what it said on either stream."""

    status: int
    output: str


Compile = Callable[[Path, Path, Sequence[str]], Compiled]
"""Runs a build's command, given a kernel's tree and the one folder that it may write."""


def compile_plainly(_tree: Path, workshop: Path, words: Sequence[str]) -> Compiled:
    """Run a build of sources that are trusted: without a boundary."""
    said: list[str] = []
    status = run_step(words, said.append, recipe.environment(), workshop)
    return Compiled(status, "".join(said))


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


def ensure_folder(kernel: GuestKernel, folder: Folder, compiler: Compile) -> BuiltModules:
    """Return the modules of a user's folder for that kernel, building them when not cached.

    Nothing is written to that folder: what was read of it is built elsewhere by ``compiler``, and
    only the modules are kept. What is built depends on nothing but the kernel, those files and our
    headers, if it includes one; so does its place in the cache.

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
    return _find(place) or _Build(kernel, files, folder.path, compiler).make(place)


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
    compiler: Compile = compile_plainly

    def make(self, name: str) -> BuiltModules:
        """Build in a temporary folder of the cache and move the modules to their place."""
        if shutil.which("make") is None or shutil.which("gcc") is None:
            raise MachineError(
                "building modules needs make and gcc", "apt-get install build-essential"
            )
        root = cache.make_root()
        place = root / "guest" / name
        with (
            temporary_folder(cache.MODULE_BUILD, root / "guest") as temporary,
            temporary_folder("build") as away,
        ):
            # Away from the cache, which a sandbox's user may not be able to reach.
            workshop, result = away / "workshop", temporary / "result"
            for path, content in self.files.items():
                target = workshop / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
            self._compile(workshop)
            result.mkdir()
            for number, built in enumerate(_built(workshop / _SOURCE)):
                if number == MOST_MODULES:
                    raise MachineError(
                        f"the build of `{self.origin}` left more than {MOST_MODULES} modules",
                        "fix its Kbuild",
                    )
                (result / built.name).write_bytes(_read_module(built, self.origin))
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
        done = self.compiler(tree, workshop, words)
        if done.status:
            text = done.output.replace(f"{source}/", f"{self.origin}/")
            said = text.replace(f"{headers}/", f"{FOLDER}/").splitlines()
            telling = [line for line in said if not _PROGRESS.match(line)] or said
            lines = "\n  ".join(telling[:_SHOWN_LINES])
            raise MachineError(f"`{self.origin}` does not compile:\n  {lines}", "fix the source")


def _built(folder: Path) -> Iterator[Path]:
    """Yield what a build left that is called like a module; no links, which may lead anywhere."""
    for place, _folders, names in os.walk(folder):
        found = (Path(place) / name for name in sorted(names) if name.endswith(".ko"))
        yield from (path for path in found if not path.is_symlink())


def _read_module(path: Path, origin: Path) -> bytes:
    """Return a module's content, which a hostile build may have made anything.

    Raises:
        MachineError: it is no regular file, or larger than a module is.
    """
    try:
        return files.read(path, MOST_MODULE_BYTES)
    except files.FileError as error:
        raise MachineError(
            f"the build of `{origin}` left a {path.name} that is no module: {error.reason}",
            "fix its Kbuild",
        ) from None

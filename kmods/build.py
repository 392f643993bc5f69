"""Builds modules against the guest kernel, once for each state of their sources.

The modules of this project go to ``guest/kmods-<kernel>-<sources>`` of the cache, those of a user's
folder to ``guest/module-<kernel>-<sources>``. Each such folder holds only the ``*.ko``.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from guest import build_steps, cache
from guest.build import GuestKernel
from guest.step_runner import run_step
from kmods import catalogue
from kmods.catalogue import FOLDER, NAME_MAX, Folder
from orchestrator.errors import MachineError, ModuleError
from orchestrator.files import user_files as files
from orchestrator.files.scenario_files import hash_of
from orchestrator.files.temporary import temporary_folder

_SHOWN_LINES = 20
_SOURCE, _HEADERS = "source", "headers"
_WARNING = re.compile(r"\bwarning:", re.IGNORECASE)
_PROGRESS = re.compile(r"make(\[\d+\])?:|  [A-Z]+ +(\[M\] +)?/")

_KBUILD_FILE = (
    "kbuild-file=$(if $(filter %/Makefile.modpost,$(MAKEFILE_LIST)),/dev/null,"
    "$(or $(wildcard $(src)/Kbuild),$(src)/Makefile))"
)
"""As in Linux's scripts/Kbuild.include, but Makefile.modpost does not read the Kbuild again.

It does so for KBUILD_EXTRA_SYMBOLS, of modules elsewhere, and would run its shell commands again.
"""

MOST_MODULES = 64
MOST_MODULE_BYTES = 32 * 2**20
"""Limits on the modules of a build; a congestion control has fewer and smaller ones."""


@dataclass(frozen=True)
class BuildOutput:
    """The exit status of a build command, and its output on both streams."""

    status: int
    output: str


Compile = Callable[[Path, Path, Sequence[str]], BuildOutput]
"""Runs a build command; takes the kernel's tree, the only folder it may write, and the command."""


def compile_plainly(_tree: Path, workshop: Path, command: Sequence[str]) -> BuildOutput:
    """Run a build of trusted sources, without a sandbox."""
    output: list[str] = []
    status = run_step(command, output.append, build_steps.environment(), workshop)
    return BuildOutput(status, "".join(output))


@dataclass(frozen=True)
class BuiltModules:
    """The modules for one guest kernel; ``folder`` holds tcp_<name>.ko, or the user's names."""

    folder: Path

    def sha256(self) -> dict[str, str]:
        """Return the hash of every module by its name, such as ``tcp_tibet``."""
        return {path.stem: cache.sha256(path) for path in sorted(self.folder.glob("*.ko"))}

    def holding(self, name: str) -> list[Path]:
        """Return the modules that hold a congestion control of that name."""
        # struct tcp_congestion_ops pads the name to this length, after flags that end in a zero.
        padded = b"\0" + name.encode().ljust(NAME_MAX + 1, b"\0")
        return [path for path in sorted(self.folder.glob("*.ko")) if padded in path.read_bytes()]


def modinfo(module: Path, key: str) -> list[str]:
    """Return the values that modinfo(8) shows for a key of the module."""
    # The section .modinfo holds zero-terminated key=value strings.
    entry = rb"(?<![!-~])" + re.escape(key.encode()) + rb"=([^\0]*)\0"
    values = re.findall(entry, module.read_bytes())
    return [value.decode(errors="replace") for value in values]


def sources(folder: Path = FOLDER) -> list[Path]:
    """Return every file of this project that is compiled into the modules."""
    kinds = ("*.c", "*.h", "core/*.h", "uapi/*.h", "Kbuild")
    paths = (path for kind in kinds for path in folder.glob(kind))
    return sorted(path for path in paths if not path.name.endswith(".mod.c"))


def ensure(kernel: GuestKernel, compiler: Compile, folder: Path = FOLDER) -> BuiltModules:
    """Return this project's modules for a kernel; build them when they are not cached.

    ``compiler`` runs the build, and so what the kernel's tree has.

    Raises:
        MachineError: a tool is missing, the cache cannot be written, or a module does not compile.
    """
    files = {f"{_SOURCE}/{path.relative_to(folder)}": path.read_bytes() for path in sources(folder)}
    name = f"kmods-{kernel.key}-{hash_of(files)[:16]}"
    return _find(name) or _Build(kernel, files, folder, compiler).make(name)


def ensure_folder(kernel: GuestKernel, folder: Folder, compiler: Compile) -> BuiltModules:
    """Return the modules of a user's folder for a kernel; build them when they are not cached.

    Nothing is written to the user's folder: ``compiler`` builds a copy of its files elsewhere, and
    only the modules are kept. The result depends only on the kernel, those files and this project's
    headers, if a file includes one. So does its name in the cache.

    Raises:
        ModuleError: it does not compile, with the compiler's output, or is not a module.
        MachineError: a tool is missing, or the cache cannot be written.
    """
    files = _files_of(folder)
    name = f"module-{kernel.key}-{hash_of(files)[:32]}"
    return _find(name) or _Build(kernel, files, folder.path, compiler, ModuleError).make(name)


def warnings_of(kernel: GuestKernel, folder: Folder, compiler: Compile) -> list[str]:
    """Build a user's folder for a kernel without keeping the modules; return what warns.

    These are lines of the compiler, and of modpost, which looks at what was compiled.

    Raises:
        ModuleError: as ``ensure_folder``.
        MachineError: a tool is missing.
    """
    build = _Build(kernel, _files_of(folder), folder.path, compiler, ModuleError)
    return [line for line in build.messages() if _WARNING.search(line)]


def _files_of(folder: Folder) -> dict[str, bytes]:
    """Return the files of a build of a user's folder, by their paths below the workshop."""
    files = {f"{_SOURCE}/{name}": content for name, content in folder.files.items()}
    if folder.kbuild is not None:
        files[f"{_SOURCE}/Kbuild"] = folder.kbuild.encode()
    if folder.uses_ours:
        headers = catalogue.headers().items()
        files |= {f"{_HEADERS}/{name}": path.read_bytes() for name, path in headers}
    return files


def _find(name: str) -> BuiltModules | None:
    for root in cache.search_roots():
        cached = root / "guest" / name
        if cached.is_dir():
            cache.require_trusted(cached, root)
            return BuiltModules(cached)
    return None


@dataclass(frozen=True)
class _Build:
    """One build of ``files``, by their paths below the workshop; messages name ``origin``.

    ``fault`` is the error for sources that are not valid.
    """

    kernel: GuestKernel
    files: Mapping[str, bytes]
    origin: Path
    compiler: Compile
    fault: type[MachineError] | type[ModuleError] = MachineError

    def make(self, name: str) -> BuiltModules:
        """Build in a temporary folder, and move the modules into the cache."""
        _require_tools()
        root = cache.make_root()
        cached = root / "guest" / name
        with (
            temporary_folder(cache.MODULE_BUILD, root / "guest") as temporary,
            temporary_folder("build") as away,
        ):
            # Outside the cache, which a sandbox's user may not be able to reach.
            workshop, result = away / "workshop", temporary / "result"
            self._compile(workshop)
            result.mkdir()
            for number, built in enumerate(_built(workshop / _SOURCE)):
                if number == MOST_MODULES:
                    raise self.fault(
                        f"the build of `{self.origin}` gave more than {MOST_MODULES} modules",
                        "correct its Kbuild",
                    )
                (result / built.name).write_bytes(self._read(built))
            try:
                cache.publish(result, cached)
            except OSError:
                if not cached.is_dir():  # else another process was faster
                    raise
        return BuiltModules(cached)

    def messages(self) -> list[str]:
        """Build in a temporary folder, keep nothing, and return what the build says."""
        _require_tools()
        with temporary_folder("build") as away:
            return self._compile(away / "workshop")

    def _compile(self, workshop: Path) -> list[str]:
        for path, content in self.files.items():
            target = workshop / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        source, headers, tree = workshop / _SOURCE, workshop / _HEADERS, self.kernel.tree
        flags = f"KCFLAGS=-fmacro-prefix-map={source}/="  # bit-identical wherever it is built
        flags += f" -I{headers}" if headers.exists() else ""
        command = [
            "make",
            "-C",
            str(tree),
            f"M={source}",
            "ARCH=um",
            _KBUILD_FILE,
            flags,
            "modules",
        ]
        done = self.compiler(tree, workshop, command)
        text = done.output.replace(f"{source}/", f"{self.origin}/")
        output = text.replace(f"{headers}/", f"{FOLDER}/").splitlines()
        messages = [line for line in output if not _PROGRESS.match(line)]
        if done.status:
            lines = "\n  ".join((messages or output)[:_SHOWN_LINES])
            raise self.fault(
                f"`{self.origin}` does not compile:\n  {lines}", "correct the source and run again"
            )
        return messages

    def _read(self, path: Path) -> bytes:
        """Return a module's content; a hostile build may have replaced the file by anything."""
        try:
            return files.read(path, MOST_MODULE_BYTES)
        except files.FileError as error:
            raise self.fault(
                f"the build of `{self.origin}` gave a {path.name} that is not a module: "
                f"{error.reason}",
                "correct its Kbuild",
            ) from None


def _require_tools() -> None:
    if shutil.which("make") is None or shutil.which("gcc") is None:
        raise MachineError("building modules needs make and gcc", "apt-get install build-essential")


def _built(folder: Path) -> Iterator[Path]:
    """Yield the modules of a build; symbolic links are left out, as they may lead anywhere."""
    for parent, _folders, names in os.walk(folder):
        paths = (Path(parent) / name for name in sorted(names) if name.endswith(".ko"))
        yield from (path for path in paths if not path.is_symlink())

"""Compiles the network selftests of a kernel's tree, and keeps them beside the built kernels.

Makefiles and compilers of the tree run in the same sandbox as those of the kernel's build. Nothing
that is compiled runs on this machine: it is for the guest. What is kept is a folder of the cache::

    guest/selftests/<key>/tools/...        scripts, sources and compiled programs, as in the tree
    guest/selftests/<key>/manifest.json    the tests of each folder, and what did not compile
    guest/logs/<key>.selftests.log         the output of the build

``<key>`` is that of the kernel. Documentation/dev-tools/kselftest.rst describes the lists that the
Makefiles have.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TextIO

from guest import build_steps, cache, source
from guest.build import FREE_BYTES_NEEDED, GuestKernel, require_machine
from guest.build_steps import Build, Order, Progress, StepFailedError
from guest.choice import KernelChoice
from guest.confinement import Confine, Room, Workshop
from guest.unpacking import unpack
from orchestrator.errors import KernelBuildError, MachineError
from orchestrator.files.temporary import remove_with_retries
from orchestrator.files.user_files import FileError, read_unlinked

SELFTESTS = "tools/testing/selftests"
FOLDERS = ("net", "net/tcp_ao", "net/packetdrill")
"""Folders of selftests whose tests are listed, where a tree has them."""

_BESIDE = ("net/lib",)
"""Folders of which only the programs are compiled, for tests of other folders."""
PRELOADED = f"{SELFTESTS}/virtual-time/spinning.so"
"""The library of ``spinning.c``."""

_KEPT = (f"{SELFTESTS}/net", f"{SELFTESTS}/kselftest", f"{SELFTESTS}/lib", "tools/net/ynl",
         "Documentation/netlink/specs", str(Path(PRELOADED).parent))  # fmt: skip
"""What tests read: themselves, their helpers, and what those in Python know of netlink."""

MOST_KEPT = 4
"""Kernels whose selftests are kept; those of one kernel have some 20 MB."""
MOST_FILES = 20_000
MOST_FILE_BYTES = 2**26
MOST_BYTES = 2**29

_SPINNING = Path(__file__).parent / "spinning.c"
_FOLDER = "selftests"
_FORM = 1
"""Version of the manifest; selftests of another one are compiled again."""
_LISTS = ("TEST_PROGS", "TEST_GEN_PROGS", "TEST_CUSTOM_PROGS", "TEST_GEN_FILES")
_MARK = "selftests-of"
_SHOW_LISTS = "show-lists: ; @:" + "".join(
    f"$(info {_MARK} {name} $(patsubst $(OUTPUT)/%,%,$({name})))" for name in _LISTS
)
"""A rule for make that prints the lists of a folder's Makefile."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,127}", re.ASCII)
"""A test or a program of a list; one in a folder of its own is of that folder's Makefile."""
_NO_HEADER = re.compile(r"^([\w.+-]+)\.c:.*fatal error: ([\w./+-]+): No such file", re.ASCII)
_NO_LIBRARY = re.compile(r"cannot find (-l[\w.+-]+)", re.ASCII)
_NO_PYTHON = re.compile(r"^ModuleNotFoundError: No module named '([\w.]+)'", re.ASCII)
_NOT_REMADE = re.compile(r"^make: Target '[^']*/([\w.+-]+)' not remade", re.ASCII)
_NOT_MADE = re.compile(r"\*\*\* \[[^\]]*/([\w.+-]+)\] Error", re.ASCII)
_INCLUDES = ("/usr/include", "/usr/local/include")
_PYTHON_MODULES = Path("/usr/lib/python3/dist-packages")
_OF_PYTHON = "python3-"
"""Beginning of the Debian package of a Python module."""
_COMPILER_OF_BPF = "clang"
_FIX = "see what its Makefiles do: those of Linux do not do that"


@dataclass(frozen=True)
class FolderLists:
    """The lists of a folder of selftests.

    Attributes:
        folder: its path below ``tools/testing/selftests``.
        tests: what a run of the selftests starts, in that order.
        generated: programs that are compiled, tests or for tests.
        lacking: what was missing to compile a program, by its name: a header such as "numa.h", a
            library such as "-lnuma", a compiler, a package of Python's, or "" if the log tells.
    """

    folder: str
    tests: tuple[str, ...]
    generated: tuple[str, ...] = ()
    lacking: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Selftests:
    """The compiled selftests of a kernel; ``root`` has the parts of the tree that they are in."""

    root: Path
    folders: tuple[FolderLists, ...]


def ensure(
    kernel: GuestKernel,
    choice: KernelChoice,
    confine: Confine,
    progress: Progress = build_steps.silent,
) -> Selftests:
    """Return the selftests of a kernel; compile them (two minutes) when they are not cached.

    Raises:
        KernelBuildError: the source does not unpack, a patch does not apply, or no list of tests
            can be read.
        MachineError: the kernel's source, a tool or space is missing.
    """
    for root in cache.search_roots():
        if (found := _read(root, kernel)) is not None:
            return found
    require_machine(choice)
    root = cache.make_root()
    waiting = "waiting for another build of the guest kernel"
    with cache.builder_lock(root, lambda: progress(waiting, None)) as lock:
        found = _read(root, kernel)
        if found is None:
            _compile(kernel, choice, confine, progress, root, lock)
            found = _read(root, kernel)
    assert found is not None, "it was just written"
    return found


def _read(root: Path, kernel: GuestKernel) -> Selftests | None:
    """Return what a cache has, None if it has none, or if what was lacking is here now."""
    folder = root / "guest" / _FOLDER / kernel.key
    manifest = folder / "manifest.json"
    if not manifest.exists():
        return None
    cache.require_trusted(manifest, root)
    content = json.loads(manifest.read_text())
    if content.get("form") != _FORM:
        return None
    folders = tuple(
        FolderLists(one["folder"], tuple(one["tests"]), tuple(one["generated"]), one["lacking"])
        for one in content["folders"]
    )
    if any(_is_here(lack) for one in folders for lack in one.lacking.values()):
        return None
    return Selftests(folder, folders)


def _is_here(lack: str) -> bool:
    if lack.endswith(".h"):
        return any((Path(place) / lack).exists() for place in _INCLUDES)
    if lack.startswith(_OF_PYTHON):
        return (_PYTHON_MODULES / lack.removeprefix(_OF_PYTHON)).is_dir()
    return lack == _COMPILER_OF_BPF and shutil.which(lack) is not None


def _compile(
    kernel: GuestKernel,
    choice: KernelChoice,
    confine: Confine,
    progress: Progress,
    root: Path,
    lock: int,
) -> None:
    """Compile into a temporary folder, and move the result into the cache; needs the lock."""
    folder, target = root / "guest" / cache.WORKSHOP, root / "guest" / _FOLDER / kernel.key
    log_file = root / "guest" / "logs" / f"{kernel.key}.selftests.log"
    remove_with_retries(folder)  # left by a builder that was killed
    _require_space(root)
    try:
        log_file.parent.mkdir(mode=0o755, exist_ok=True)
        folder.mkdir(mode=0o700)
        for name in ("inputs", "compiled"):
            (folder / name).mkdir(mode=0o755)
        # A folder of its own in the place of ccache's, which other builds take from.
        workshop = Workshop(folder, folder / "compiled", lock)
        order = Order(source.locate(choice), (), "", choice)
        with log_file.open("w") as log:
            unpack(order, workshop, log, progress)
            with confine(workshop) as room:
                made = _Make(order, workshop, room, log, progress)
                folders = made.all()
        result = folder / "result"
        _install(workshop.tree, result)
        found = [asdict(one) for one in _with_unmade(folders, result)]
        content = {"form": _FORM, "folders": found}
        cache.replace_text(result / "manifest.json", json.dumps(content, indent=1) + "\n")
        target.parent.mkdir(mode=0o755, exist_ok=True)
        if target.exists():
            remove_with_retries(target)
        cache.publish(result, target)
        _remove_unused(target.parent)
    except OSError as error:
        raise MachineError(
            f"compiling the selftests in {folder} failed: {error}",
            f"see {log_file}, or set {cache.CACHE_VARIABLE} to another folder",
        ) from error
    finally:
        remove_with_retries(folder)


def _require_space(root: Path) -> None:
    free = shutil.disk_usage(root).free
    if free < FREE_BYTES_NEEDED:
        raise MachineError(
            f"{root} has {free / 1e9:.1f} GB free; compiling selftests needs "
            f"{FREE_BYTES_NEEDED / 1e9:.0f} GB",
            f"free some space, or set {cache.CACHE_VARIABLE} to a folder with enough",
        )


def _remove_unused(folder: Path) -> None:
    newest = sorted(folder.iterdir(), key=lambda one: one.stat().st_mtime, reverse=True)
    for one in newest[MOST_KEPT:]:
        remove_with_retries(one)


class _Make:
    """The steps that compile the selftests of an unpacked tree; the log has their output."""

    def __init__(
        self, order: Order, workshop: Workshop, room: Room, log: TextIO, progress: Progress
    ) -> None:
        self.build = Build(order, workshop, room, log, progress)
        self.workshop, self.room, self.log, self.progress = workshop, room, log, progress

    def all(self) -> list[FolderLists]:
        """Compile everything, and return the folders that the tree has.

        Raises:
            KernelBuildError: a patch does not apply, or no headers or lists can be made.
        """
        self.build.prepare()
        self.build.apply_changes()
        self.progress("making the headers of the selftests", None)
        # User Mode Linux has no headers of its own for programs: its programs are those of x86.
        self._must(["make", "ARCH=x86", "headers"])
        self._preloaded()
        for folder in _BESIDE:
            if self._has(folder):
                self._folder(folder)
        return [self._folder(folder) for folder in FOLDERS if self._has(folder)]

    def _preloaded(self) -> None:
        own = self.room.shown(self.workshop.give("spinning.c", _SPINNING.read_bytes()))
        self._must(["mkdir", "-p", str(Path(PRELOADED).parent)])
        self._must(["gcc", "-O2", "-shared", "-fPIC", "-o", PRELOADED, own])

    def _has(self, folder: str) -> bool:
        return (self.workshop.tree / SELFTESTS / folder / "Makefile").is_file()

    def _folder(self, folder: str) -> FolderLists:
        place = f"{self.room.shown(self.workshop.tree)}/{SELFTESTS}/{folder}"
        make = ["make", f"--directory={place}", "--no-print-directory"]
        printed = self._must([*make, f"--eval={_SHOW_LISTS}", "show-lists"])
        lists = lists_of(printed)
        tests = [name for one in _LISTS[:3] for name in lists[one]]
        generated = [*lists["TEST_GEN_PROGS"], *lists["TEST_GEN_FILES"]]
        has_clang = shutil.which(_COMPILER_OF_BPF) is not None
        made = [name for name in generated if has_clang or not name.endswith(".o")]
        lacking = {name: _COMPILER_OF_BPF for name in generated if name not in made}
        if made:
            self.progress(f"compiling the selftests of {folder}", None)
            jobs = f"-j{len(os.sched_getaffinity(0))}"
            targets = [f"{place}/{name}" for name in made]
            lacking |= unmade(self._run([*make, jobs, "-Otarget", "--keep-going", *targets]))
        return FolderLists(folder, unique(tests), unique(generated), lacking)

    def _must(self, argv: Sequence[str]) -> list[str]:
        printed: list[str] = []
        try:
            build_steps.logged(self._step, argv, self.log, printed.append)
        except StepFailedError as error:
            raise KernelBuildError(
                f"{' '.join(argv[:3])} failed\n{error.tail}",
                f"see {self.log.name} for the whole log",
            ) from error
        return printed

    def _run(self, argv: Sequence[str]) -> list[str]:
        """Run make, which goes on after errors, and return the lines that it prints."""
        printed: list[str] = []
        with contextlib.suppress(StepFailedError):  # each test tells what did not compile for it
            build_steps.logged(self._step, argv, self.log, printed.append)
        return printed

    def _step(self, words: Sequence[str], take: Any) -> int:
        return self.room.run(words, take, {**build_steps.environment(), "HOME": "/tmp"})


def lists_of(lines: Sequence[str]) -> dict[str, list[str]]:
    """Return the lists that ``_SHOW_LISTS`` lets make print, by their names.

    Names with a slash are left out: they are in folders with Makefiles of their own.
    """
    found: dict[str, list[str]] = {name: [] for name in _LISTS}
    for line in lines:
        mark, name, *words = [*line.split(), "", ""]
        if mark == _MARK and name in found:
            found[name] = [word for word in words if _NAME.fullmatch(word)]
    return found


def unmade(lines: Sequence[str]) -> dict[str, str]:
    """Return what make could not make, and what that lacks, if it says so.

    A module of Python is lacking for what depends on the code that it would have written.
    """
    lacking: dict[str, str] = {}
    library = python = ""
    for line in lines:
        if (header := _NO_HEADER.search(line)) is not None:
            lacking[header[1]] = header[2]
        if (missing := _NO_LIBRARY.search(line)) is not None:
            library = missing[1]
        if (name := _NOT_MADE.search(line)) is not None:
            lacking.setdefault(name[1], library)
            library = ""
        if (module := _NO_PYTHON.search(line)) is not None:
            python = f"{_OF_PYTHON}{module[1]}"
        if (name := _NOT_REMADE.search(line)) is not None and python:
            lacking.setdefault(name[1], python)
    return lacking


def unique(names: Sequence[str]) -> tuple[str, ...]:
    """Return names in their order without repetitions."""
    return tuple(dict.fromkeys(names))


def _with_unmade(folders: Sequence[FolderLists], result: Path) -> Iterator[FolderLists]:
    """Yield the folders with what lacks of generated programs, whatever make said of them.

    What is here is not what was missing.
    """
    for one in folders:
        place = result / SELFTESTS / one.folder
        absent = [name for name in one.generated if not (place / name).is_file()]
        told = {name: one.lacking.get(name, "") for name in absent}
        lacking = {name: "" if _is_here(lack) else lack for name, lack in told.items()}
        yield FolderLists(one.folder, one.tests, one.generated, lacking)


def _install(tree: Path, result: Path) -> None:
    """Copy what is kept of a tree, which hostile programs may have written; no link is followed.

    Raises:
        KernelBuildError: there is too much of it.
    """
    total, number = 0, 0
    for name in _KEPT:
        for path in _files(tree, tree / name):
            number += 1
            try:
                content = read_unlinked(path, MOST_FILE_BYTES)
            except FileError as error:
                raise KernelBuildError(f"{path.relative_to(tree)} {error.reason}", _FIX) from None
            total += len(content)
            if number > MOST_FILES or total > MOST_BYTES:
                raise KernelBuildError("the selftests have too many or too large files", _FIX)
            copy = result / path.relative_to(tree)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)
            copy.chmod(0o755 if path.lstat().st_mode & stat.S_IXUSR else 0o644)


def _files(tree: Path, folder: Path) -> Iterator[Path]:
    """Yield the regular files below a folder, if all on the way to it are real folders."""
    parents = [tree / part for part in folder.relative_to(tree).parents]
    if any(part.is_symlink() for part in (folder, *parents)) or not folder.is_dir():
        return
    for place, _folders, names in os.walk(folder):
        for name in sorted(names):
            path = Path(place, name)
            if stat.S_ISREG(path.lstat().st_mode) and not name.endswith((".a", ".cmd")):
                yield path

"""Keeps the trees of built kernels, so that a source of which little has changed builds in seconds.

A kept tree is a folder of the cache: ``guest/trees/<name>/tree`` with sources and objects, and
``state.json`` beside it, which says what it was built from. ``make`` compiles in it what changed.
The result is that of a clean build to the bit, because a tree is used again only where the kernel's
Makefiles know what depends on a change:

- Its name has all that the result depends on but the source: compiler, configuration, patches,
  recipe and toolchain.
- Only the content of C files, headers and assembler changed, in folders that are built by the
  kernel's general rules. None was added or removed, and none is changed by a patch, too.

Everything else is built in a new tree. A build may run whatever its source has. So a tree serves
the builds of its own origin only: one tarball, by its content, or one tree or repository, by its
path. The build of a choice with patches works on a copy.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from guest import cache, git_source, partial_copy
from guest.build_steps import Order
from guest.choice import PatchFile
from guest.patch_series import Patch
from guest.source import Source
from orchestrator.files.temporary import remove_with_retries

MOST_KEPT = 2
"""A kept tree has some 2 GB."""
MOST_CHANGED = 5000

STATE = "state.json"
_FORM = 1
"""Version of the state; one of another version is not used."""

_SAFE = re.compile(
    r"(?!.*/\.\.?/)(?:block|crypto|drivers|fs|include|init|io_uring|ipc|kernel|lib|mm|net|security|virt)"
    r"/[A-Za-z0-9_./+-]+\.[chS]"
)
"""Sources that the kernel's general rules build. Those of architectures have rules of their own."""
_NAMED = re.compile(rb"^(?:---|\+\+\+) ([^\t\r\n]+)", re.MULTILINE)
_UNUSUAL = re.compile(
    rb"^(?:\*\*\* |Index:|Prereq:|GIT binary|rename |copy |(?:new|deleted) file|(?:old|new) mode"
    rb"|(?:---|\+\+\+) /dev/null)",
    re.MULTILINE,
)
_TOOLS = ("gcc", "as", "ld", "make", "flex", "bison", "bc", "perl", "ccache")
_PARTS_OF_GCC = ("--print-prog-name=cc1", "--print-file-name=libc.a")
_HEADERS = ("/usr/include/stdio.h", "/usr/include/linux/version.h")

Listing = dict[str, list[int]]
"""Size, time of change in ns, and mode of files, by their paths below a tree."""


@dataclass(frozen=True)
class State:
    """What a kept tree was built from.

    Attributes:
        patches: the series that each of our patches is from, None for one that was left out.
        commit: of a git repository, else None.
        files: those of an unpacked tree, else empty.
        generated: names in that tree that are no source, as ``make mrproper`` removed them.
        kept_s: when it was kept, in the time of files.
    """

    patches: dict[str, str | None]
    commit: str | None = None
    files: Listing = field(default_factory=dict)
    generated: list[str] = field(default_factory=list)
    kept_s: float = 0.0
    form: int = _FORM


@dataclass(frozen=True)
class KeptTree:
    """The place of a kept tree, whether there is one or not; needs the builder lock."""

    place: Path

    @property
    def tree(self) -> Path:
        """The tree itself."""
        return self.place / "tree"

    def state(self) -> State | None:
        """Return what it was built from; None where there is none that can be used."""
        try:
            content = json.loads((self.place / STATE).read_text())
            state = State(**content)
        except (OSError, ValueError, TypeError):
            return None
        in_order = state.form == _FORM and state.kept_s <= time.time()
        return state if in_order and self.tree.is_dir() else None

    def take(self, target: Path) -> None:
        """Move the tree to ``target``: until it is kept again there is none."""
        (self.place / STATE).unlink()
        self.tree.rename(target)

    def copy(self, target: Path) -> None:
        """Copy the tree to ``target``, with the times of its files."""
        cache.copy(self.tree, target)
        os.utime(self.place)  # it was used

    def copy_needed(self, target: Path, changed: Collection[str]) -> None:
        """Copy what a build after a change of some sources needs, as far as that is known."""
        partial_copy.copy(self.tree, target, changed)
        os.utime(self.place)

    def keep(self, tree: Path, state: State) -> None:
        """Move a built tree here, in place of an earlier one, and remove those used longest ago."""
        self.drop()
        self.place.mkdir(mode=0o700, parents=True)
        tree.rename(self.tree)
        document = {**asdict(state), "kept_s": time.time()}
        cache.replace_text(self.place / STATE, json.dumps(document))
        remove_unused(self.place.parent)

    def drop(self) -> None:
        """Remove the tree, if there is one."""
        if self.place.exists():
            remove_with_retries(self.place)


def place_of(root: Path, source: Source, inputs: dict[str, Any]) -> KeptTree:
    """Return the place of the tree for a source and the inputs of its build without changes.

    ``inputs`` are all that determine the result but the source.
    """
    known = {**inputs, "origin": origin(source), "toolchain": _toolchain()}
    text = json.dumps(known, sort_keys=True)
    return KeptTree(root / "guest" / cache.TREES / hashlib.sha256(text.encode()).hexdigest()[:16])


def origin(source: Source) -> str:
    """Return what a source's builds may have in common: they can change each other's results."""
    if source.commit is not None:
        return f"repository:{source.path.resolve()}"
    return f"tree:{source.path.resolve()}" if source.is_tree else source.identity()


def remove_unused(folder: Path, most: int = MOST_KEPT) -> None:
    """Remove all kept trees in a folder but the ``most`` that were used last.

    Raises:
        MachineError: one cannot be removed.
    """
    if not folder.is_dir():
        return
    places = sorted(folder.iterdir(), key=lambda place: place.stat().st_mtime, reverse=True)
    for place in places[most:]:
        remove_with_retries(place)


def state_of(source: Source) -> State:
    """Return the state of a source as it is now.

    A tarball has none, because its content is part of the name of its tree.
    """
    if source.commit is not None or not source.is_tree:
        return State({}, source.commit)
    files = {
        name: [status.st_size, status.st_mtime_ns, status.st_mode]
        for name, status in source.files()
    }
    return State({}, None, files)


def missing(tree: Path, state: State) -> list[str]:
    """Return the files of a source that its unpacked tree lacks, once it has only sources."""
    return [name for name in state.files if not os.path.lexists(tree / name)]


def changed_files(before: State, now: State, order: Order) -> list[str] | None:
    """Return the files whose content may differ from a kept tree's.

    None stands for a change that needs a new tree, or for too many of them.
    """
    if now.commit is not None and before.commit is not None:
        changed = git_source.changed_files(order.source.path, before.commit, now.commit)
    else:
        changed = _changed(before, now)
    if changed is None or len(changed) > MOST_CHANGED or not all(map(_SAFE.fullmatch, changed)):
        return None
    return None if touched(order.patches) & set(changed) else changed


def _changed(state: State, now: State) -> list[str] | None:
    generated = set(state.generated)
    before = state.files.keys() - generated
    if state.commit != now.commit or before != now.files.keys() - generated:
        return None
    changed = [name for name in before if state.files[name] != now.files[name]]
    modes = {mode for name in changed for mode in (state.files[name][2], now.files[name][2])}
    same_modes = all(state.files[name][2] == now.files[name][2] for name in changed)
    return sorted(changed) if same_modes and all(map(stat.S_ISREG, modes)) else None


def touched(patches: Iterable[Patch]) -> set[str]:
    """Return the files that our patches may change."""
    contents = (file.read_bytes() for patch in patches for file in patch.files)
    return {name for content in contents for name in _names(content)}


def touched_by_changes(changes: Sequence[PatchFile]) -> set[str] | None:
    """Return the files whose content a user's patches change; None if one needs a new tree."""
    names: set[str] = set()
    for change in changes:
        found = _names(change.content)
        if not found or _UNUSUAL.search(change.content) or not all(map(_SAFE.fullmatch, found)):
            return None
        names |= found
    return names


def _names(content: bytes) -> set[str]:
    texts = (name.decode(errors="replace").strip() for name in _NAMED.findall(content))
    return {text.partition("/")[2] for text in texts}


def _toolchain() -> str:
    """Return a hash of sizes and times of the programs and headers that a build takes from here."""
    paths = [path for tool in _TOOLS if (path := shutil.which(tool)) is not None]
    for words in _PARTS_OF_GCC:
        with contextlib.suppress(OSError):
            done = subprocess.run(["gcc", words], capture_output=True, text=True, check=False)
            paths.append(done.stdout.strip())
    marks = []
    for path in (*paths, *_HEADERS):
        with contextlib.suppress(OSError):
            status = Path(path).stat()
            marks.append(f"{path} {status.st_size} {status.st_mtime_ns}")
    return hashlib.sha256("\n".join(marks).encode()).hexdigest()

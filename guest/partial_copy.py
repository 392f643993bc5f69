"""Copies of a built tree what the build of changed sources needs: about a quarter of its files.

A kernel's tree has some 95 000 files, most of them sources that no configuration of the guest
compiles. ``make`` writes beside each object which files it was made from (``.NAME.o.cmd``,
scripts/basic/fixdep.c). In the folders of which little is compiled, the sources that none of those
files names are left out. Makefiles, Kconfig files and scripts are always copied.

A change can need a source that was left out, for example by a new ``#include``. Then the build
fails, and needs a copy of the whole tree.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Collection, Iterator
from pathlib import Path

from guest.cache import CACHE_VARIABLE
from orchestrator.errors import MachineError
from orchestrator.files.user_files import FileError, read_unlinked

_SUFFIX = r"\.(?:[chS]|dtsi?|dtso|json|rs|rst|svg|txt|yaml)"
_SPARSE = re.compile(
    r"(?:(?:Documentation|drivers|rust|samples|sound|tools)/|arch/(?!um/|x86/)).*" + _SUFFIX,
    re.DOTALL,
)
"""Files that can be left out."""
_SOURCE = re.compile(rf"[A-Za-z0-9_./+,-]+{_SUFFIX}\b".encode())
_MOST_COMMAND_BYTES = 2**24


def copy(tree: Path, target: Path, also: Collection[str]) -> None:
    """Copy what a build needs from a built tree to the new folder ``target``.

    Times and modes of files stay. No link is followed.

    Args:
        tree: the built tree, which hostile programs may have written.
        target: the new folder.
        also: paths below the tree that are needed, too, such as those that a patch changes.

    Raises:
        MachineError: it cannot be copied.
    """
    names = list(_files(tree))
    needed = {*also, *_named(tree, names)}
    wanted = [name for name in names if name in needed or not _SPARSE.fullmatch(name)]
    target.mkdir()
    listed = b"".join(b"./" + os.fsencode(name) + b"\0" for name in wanted)
    command = ["xargs", "--null", "cp", "--archive", "--reflink=auto", "--parents"]
    command.append(f"--target-directory={target.absolute()}")
    done = subprocess.run(command, input=listed, cwd=tree, capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise MachineError(
            f"{tree} cannot be copied: {said}",
            f"free some space, or set {CACHE_VARIABLE} to a folder with enough",
        )


def _files(tree: Path) -> Iterator[str]:
    """Yield the paths below a tree of files, links and empty folders."""
    folders = [""]
    while folders:
        below = folders.pop()
        empty = True
        with os.scandir(tree / below) as entries:
            for entry in entries:
                empty = False
                name = below + entry.name
                if entry.is_dir(follow_symlinks=False):
                    folders.append(f"{name}/")
                else:
                    yield name
        if empty and below:
            yield below


def _named(tree: Path, names: Collection[str]) -> set[str]:
    """Return the sources from which the tree's objects were made, as their commands name them."""
    found: set[bytes] = set()
    for name in names:
        if name.endswith(".cmd"):
            try:
                found.update(_SOURCE.findall(read_unlinked(tree / name, _MOST_COMMAND_BYTES)))
            except FileError:  # no such file was written by make
                continue
    return {os.path.normpath(os.fsdecode(source)) for source in found}

"""Takes what is kept of a built kernel out of its tree, which hostile programs may have written.

No symbolic link is followed, nothing but regular files of a bounded size is taken as a kernel, a
module or a configuration, and folders, files and links are all that the kept headers have.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from guest.cache import copy
from orchestrator.errors import KernelBuildError
from orchestrator.files.user_files import FileError, read_unlinked

TREE_PARTS = ("Makefile", "Kbuild", ".config", "Module.symvers", "scripts", "include", "arch/um",
              "arch/x86")  # fmt: skip
"""Parts of the tree that an out-of-tree module build reads: 80 MB of 1.9 GB."""

MOST_KERNEL_BYTES = 2**31
MOST_MODULE_BYTES = 2**28
MOST_MODULES = 10_000
MOST_TEXT_BYTES = 2**28
"""Of the configuration and of System.map."""

_MODULE = re.compile(r"[A-Za-z0-9_,-]{1,128}\.ko", re.ASCII)
_RELEASE = re.compile(r"[!-~]{1,64}", re.ASCII)
_FIX = "see what its Makefiles do: a build of Linux does not do that"


def install(tree: Path, result: Path, keep: bool) -> None:
    """Collect the files of a built kernel in the new folder ``result``.

    Args:
        tree: the built tree.
        result: the folder to make.
        keep: whether the tree is needed again. Otherwise its parts are moved.

    Raises:
        KernelBuildError: the tree has something else in the place of a file.
    """
    modules = result / "modules"
    modules.mkdir(mode=0o755, parents=True)
    found = sorted(_modules(tree), key=lambda path: path.name)
    if len(found) > MOST_MODULES:
        raise KernelBuildError(f"the build gave more than {MOST_MODULES} modules", _FIX)
    for module in found:
        (modules / module.name).write_bytes(content_of(tree, module, MOST_MODULE_BYTES))
    for name, kept, most in (
        (".config", "config", MOST_TEXT_BYTES),
        ("System.map", "System.map", MOST_TEXT_BYTES),
        ("linux", "linux", MOST_KERNEL_BYTES),
    ):
        (result / kept).write_bytes(content_of(tree, tree / name, most))
    (result / "linux").chmod(0o755)
    for name in TREE_PARTS:
        _take(tree, name, result / "tree", keep)
    _clean(result / "tree")


def release(result: Path) -> str:
    """Return the release of an installed kernel.

    Raises:
        KernelBuildError: it has none.
    """
    file = result / "tree/include/config/kernel.release"
    text = content_of(result, file, 4096).decode(errors="replace").strip()
    if not _RELEASE.fullmatch(text):
        raise KernelBuildError("the build gave a kernel without a release", _FIX)
    return text


def content_of(root: Path, path: Path, most_bytes: int) -> bytes:
    """Return the content of a regular file below ``root``, on the way to which no link is.

    Raises:
        KernelBuildError: it is not there, is something else, or is too large.
    """
    _require_folders(root, path.parent)
    try:
        return read_unlinked(path, most_bytes)
    except FileError as error:
        name = path.relative_to(root)
        raise KernelBuildError(f"the build gave no {name}: it {error.reason}", _FIX) from None


def _require_folders(root: Path, folder: Path) -> None:
    """Raise KernelBuildError unless all below ``root`` on the way to a folder are real folders."""
    here = root
    for part in folder.relative_to(root).parts:
        here /= part
        if not here.is_dir() or here.is_symlink():
            raise KernelBuildError(
                f"the build left something else in the place of {here.relative_to(root)}/", _FIX
            )


def _modules(tree: Path) -> list[Path]:
    """Return the modules below a tree; symbolic links and odd names are left out."""
    found = []
    for folder, _folders, names in os.walk(tree):
        paths = (Path(folder, name) for name in names if _MODULE.fullmatch(name))
        found += [path for path in paths if not path.is_symlink()]
    return found


def _take(tree: Path, name: str, target: Path, keep: bool) -> None:
    source, kept = tree / name, target / name
    _require_folders(tree, source.parent)
    if source.is_symlink() or not source.exists():
        raise KernelBuildError(f"the build gave no {name}", _FIX)
    kept.parent.mkdir(parents=True, exist_ok=True)
    if keep:
        copy(source, kept)
    else:
        source.rename(kept)


def _clean(kept: Path) -> None:
    """Remove objects, which a build of modules does not read, and what is no file or folder."""
    for folder, _folders, names in os.walk(kept):
        part = Path(folder).relative_to(kept).parts[:1]
        for name in names:
            path = Path(folder, name)
            mode = path.lstat().st_mode
            object_file = part in {("include",), ("arch",)} and _is_object(name)
            if object_file or not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
                path.unlink()


def _is_object(name: str) -> bool:
    return name.endswith((".o", ".a")) or (name.startswith(".") and name.endswith(".cmd"))

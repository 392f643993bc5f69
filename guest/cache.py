"""The cache of built kernels: its place, the check of its owner, and a lock for builds.

A kernel that root builds goes to /var/cache/orchestrator and serves every user of the machine. A
kernel that a user builds goes to the user's cache. ORCHESTRATOR_CACHE replaces both.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from orchestrator.errors import MachineError
from orchestrator.files.temporary import (
    remove_abandoned,
    remove_with_retries,
    temporary_folder,
)

CACHE_VARIABLE = "ORCHESTRATOR_CACHE"
SHARED_ROOT = Path("/var/cache/orchestrator")
MEMORY = "sources.json"
WORKSHOP = "building"
"""The folder below ``guest`` for a kernel build; the holder of the builder lock owns it."""
TREES = "trees"
"""The folder below ``guest`` for trees that are kept between builds; see ``kept_trees``."""
LONGEST_UNUSED_S = 14 * 24 * 3600.0
"""Kept trees that were not used for that long are removed."""
MODULE_BUILD = "modules"
"""The purpose of the temporary folders below ``guest`` in which modules are built."""


def own_root() -> Path:
    """Return the cache that this user builds into.

    Raises:
        MachineError: it is below a home folder that is not known.
    """
    named = os.environ.get(CACHE_VARIABLE)
    try:
        if named:
            return Path(named).expanduser().absolute()
        if os.geteuid() == 0:
            return SHARED_ROOT
        base = os.environ.get("XDG_CACHE_HOME")
        return (Path(base) if base else Path.home() / ".cache") / "orchestrator"
    except RuntimeError as error:  # from pathlib
        raise MachineError(
            "the cache of guest kernels has no place: this user has no home folder",
            f"set {CACHE_VARIABLE} to a folder that you can write to",
        ) from error


def search_roots() -> tuple[Path, ...]:
    """Return the caches to search, in this order."""
    if os.environ.get(CACHE_VARIABLE):
        return (own_root(),)
    return tuple(dict.fromkeys((own_root(), SHARED_ROOT)))


def require_trusted(path: Path, root: Path) -> None:
    """Raise MachineError when another user could have written ``path`` below the cache ``root``.

    Files of a cache are run as this user. So each file and every folder from ``root`` down must be
    owned by this user or root, and nobody else may write to it.

    Raises:
        MachineError: another user owns it or may write to it.
    """
    for part in (path, *path.parents):
        status = part.stat()
        if status.st_uid not in (0, os.geteuid()):
            raise MachineError(
                f"{part} belongs to user {status.st_uid}, not to you or root",
                f"set {CACHE_VARIABLE} to a folder of your own",
            )
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise MachineError(f"other users can write to {part}", f"chmod go-w {part}")
        if part == root:
            return


def make_root() -> Path:
    """Create this user's cache, which all may read and only its owner may write, and return it.

    Raises:
        MachineError: it cannot be created.
    """
    root = own_root()
    try:
        root.mkdir(parents=True, exist_ok=True)
        (root / "guest").mkdir(exist_ok=True)
        for folder in (root, root / "guest"):
            if folder.stat().st_uid == os.geteuid():
                folder.chmod(0o755)  # whatever the umask
    except OSError as error:
        raise MachineError(
            f"cannot create the cache {root}: {error.strerror}",
            f"set {CACHE_VARIABLE} to a folder that you can write to",
        ) from error
    return root


@contextlib.contextmanager
def builder_lock(root: Path, waiting: Callable[[], None]) -> Iterator[int]:
    """Hold the lock for builds into ``root``; call ``waiting`` first if another process has it.

    Yields the lock's descriptor. A process that inherits it also holds the lock. So processes that
    a killed builder started keep the next builder waiting until they have ended.
    """
    with (root / "guest" / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()  # closing the file releases the lock


def remove_abandoned_builds(root: Path) -> None:
    """Remove what killed builds left in the cache ``root``, and trees that nobody uses any more.

    Nothing but builds of modules is removed while another build is running.

    Raises:
        MachineError: a folder cannot be removed.
    """
    guest, workshop = root / "guest", root / "guest" / WORKSHOP
    if not guest.is_dir():
        return
    remove_abandoned(guest, MODULE_BUILD)
    oldest = time.time() - LONGEST_UNUSED_S
    unused = [place for place in (guest / TREES).glob("*") if place.stat().st_mtime < oldest]
    if workshop.exists() or unused:
        with (guest / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            for folder in (workshop, *unused):
                remove_with_retries(folder)


def publish(folder: Path, target: Path) -> None:
    """Move a finished build to ``target`` in one step. All may read it, its owner may write."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            runnable = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
            path.chmod(0o755 if runnable else 0o644)
    folder.rename(target)


def copy(source: Path, target: Path) -> None:
    """Copy a file or folder with times, modes and links; no link is followed.

    Raises:
        MachineError: it cannot be copied.
    """
    command = ["cp", "--archive", "--reflink=auto", "--", str(source), str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MachineError(
            f"{source} cannot be copied: {done.stderr.strip()}",
            f"free some space, or set {CACHE_VARIABLE} to a folder with enough",
        )


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remembered_sha256(path: Path) -> str:
    """Return the SHA-256 of a large file, as remembered while its size and time are the same."""
    return str(remembered(path, "sha256", lambda: sha256(path)))


def remembered(path: Path, name: str, compute: Callable[[], Any]) -> Any:
    """Return what is computed of a large file, as remembered while its size and time are the same.

    ``name`` is what it is called, and ``compute`` returns it, ready for JSON. Each cache remembers
    such values. When no cache can be written, it is computed each time.
    """
    status = path.stat()
    mark = [status.st_size, status.st_mtime_ns]
    for root in search_roots():
        values = _read_memory(root).get(str(path), {})
        if values.get("mark") == mark and name in values:
            return values[name]
    value = compute()
    with contextlib.suppress(MachineError, OSError):
        root = make_root()
        known = _read_memory(root)
        of_path = known.get(str(path), {})
        kept = of_path if of_path.get("mark") == mark else {}
        known[str(path)] = {**kept, "mark": mark, name: value}
        replace_text(root / MEMORY, json.dumps(known, indent=1))
    return value


def _read_memory(root: Path) -> dict[str, dict[str, object]]:
    """Return the remembered hashes; empty when there are none or the file is damaged."""
    try:
        require_trusted(root / MEMORY, root)
        known = json.loads((root / MEMORY).read_text())
    except (OSError, ValueError, MachineError):
        return {}
    return known if isinstance(known, dict) else {}


def replace_text(path: Path, text: str) -> None:
    """Replace ``path`` by a file with ``text`` in one step; all may read it."""
    with temporary_folder("draft", path.parent) as folder:
        draft = folder / path.name
        draft.write_text(text)
        draft.chmod(0o644)
        draft.replace(path)

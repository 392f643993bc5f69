"""Where built kernels are kept, who may be trusted with them, and a lock for building them.

A kernel built as root goes to /var/cache/orchestrator and serves every user of the machine; one
built by a user goes to that user's cache. ORCHESTRATOR_CACHE replaces both.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from orchestrator.errors import MachineError
from orchestrator.files.temporary import (
    remove_abandoned,
    remove_patiently,
    temporary_folder,
)

CACHE_VARIABLE = "ORCHESTRATOR_CACHE"
SHARED_ROOT = Path("/var/cache/orchestrator")
MEMORY = "sources.json"
WORKSHOP = "building"
"""The folder below ``guest`` in which a kernel is built; whoever has the builder's lock owns it."""
MODULE_BUILD = "modules"
"""The purpose of the temporary folders below ``guest`` in which modules are built."""


def own_root() -> Path:
    """Return the cache this user builds into."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named).expanduser().absolute()
    if os.geteuid() == 0:
        return SHARED_ROOT
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "orchestrator"


def search_roots() -> tuple[Path, ...]:
    """Return the caches to look into, in this order."""
    if os.environ.get(CACHE_VARIABLE):
        return (own_root(),)
    return tuple(dict.fromkeys((own_root(), SHARED_ROOT)))


def require_trusted(path: Path, root: Path) -> None:
    """Refuse ``path`` below the cache ``root`` when another user could have put it there.

    What lies in a cache is run as this user, so it and every folder from ``root`` down must be
    owned by this user or root and writable by nobody else.

    Raises:
        MachineError: somebody else owns it or may write to it.
    """
    for part in (path, *path.parents):
        status = part.stat()
        if status.st_uid not in (0, os.geteuid()):
            raise MachineError(
                f"{part} belongs to user {status.st_uid}, not to you or root",
                f"let {CACHE_VARIABLE} name a folder of your own",
            )
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise MachineError(f"{part} can be written by others", f"chmod go-w {part}")
        if part == root:
            return


def make_root() -> Path:
    """Create this user's cache, readable by all and writable by its owner only, and return it.

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
            f"let {CACHE_VARIABLE} name a folder that you can write to",
        ) from error
    return root


@contextlib.contextmanager
def builder_lock(root: Path, waiting: Callable[[], None]) -> Iterator[int]:
    """Hold the one right to build into ``root``; calls ``waiting`` first if another has it.

    Yields the descriptor of the lock. A process that it is passed to holds the lock, too, so what
    a killed builder started and what is still ending keeps the next one waiting.
    """
    with (root / "guest" / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()  # closing the file gives the right back


def remove_abandoned_builds(root: Path) -> None:
    """Remove what killed builds left in the cache ``root``, unless another build is under way.

    Raises:
        MachineError: it cannot be removed.
    """
    guest, workshop = root / "guest", root / "guest" / WORKSHOP
    if not guest.is_dir():
        return
    remove_abandoned(guest, MODULE_BUILD)
    if workshop.exists():
        with (guest / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            remove_patiently(workshop)


def publish(folder: Path, place: Path) -> None:
    """Move a finished build to its place at once, readable by all, writable by its owner only."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            runnable = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
            path.chmod(0o755 if runnable else 0o644)
    folder.rename(place)


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remembered_sha256(path: Path) -> str:
    """Return the SHA-256 of a large file, from memory while its size and time are the same.

    Each cache has such a memory. Where none can be written the file is read each time.
    """
    status = path.stat()
    mark = [status.st_size, status.st_mtime_ns]
    for root in search_roots():
        remembered = _read_memory(root).get(str(path), {})
        if remembered.get("mark") == mark:
            return str(remembered["sha256"])
    digest = sha256(path)
    with contextlib.suppress(MachineError, OSError):
        root = make_root()
        known = {**_read_memory(root), str(path): {"mark": mark, "sha256": digest}}
        replace_text(root / MEMORY, json.dumps(known, indent=1))
    return digest


def _read_memory(root: Path) -> dict[str, dict[str, object]]:
    """Return what was remembered; nothing when there is none or it is damaged."""
    try:
        require_trusted(root / MEMORY, root)
        known = json.loads((root / MEMORY).read_text())
    except (OSError, ValueError, MachineError):
        return {}
    return known if isinstance(known, dict) else {}


def replace_text(path: Path, text: str) -> None:
    """Write ``text`` to ``path``, for all to read; a reader sees the old or the new file whole."""
    with temporary_folder("draft", path.parent) as folder:
        draft = folder / path.name
        draft.write_text(text)
        draft.chmod(0o644)
        draft.replace(path)

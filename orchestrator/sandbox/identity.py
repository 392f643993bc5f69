"""The separate user of a sandbox that root starts; it owns nothing, and nothing else uses it.

Without it the sandbox would be root on the host: without capabilities, but still the owner of
root's files and of every sysctl. The sandbox of an ordinary user keeps that user.
"""

from __future__ import annotations

import contextlib
import os
import stat
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.files.temporary import temporary_root

FIRST = 0x70000000
"""systemd's list of user numbers (uids-gids.md) leaves 1879048192 to 2147483647 to nobody."""

SLOTS = 64
"""Sandboxes of one process with a user each; process ids have 22 bits, so 28 bits hold both."""

_PID_BITS = 22
_NOBODY = 65534
_OTHERS_PASS = stat.S_IXOTH

_lock = threading.Lock()
_free = list(range(SLOTS - 1, -1, -1))


@dataclass(frozen=True)
class Identity:
    """A user id and the equal group id, which no account has."""

    number: int

    def give_ownership(self, folder: Path) -> None:
        """Make this user the owner of a folder and of all it holds; nobody else may enter it."""
        for path in (folder, *folder.rglob("*")):
            os.chown(path, self.number, self.number, follow_symlinks=False)
        folder.chmod(0o700)

    def grant_read(self, folder: Path) -> None:
        """Let only this user read a folder of root's, with all it holds."""
        for path in (folder, *folder.rglob("*")):
            os.chown(path, 0, self.number, follow_symlinks=False)
            if not path.is_symlink():
                runnable = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
                path.chmod(0o750 if runnable else 0o640)

    def grant_passage(self, folder: Path) -> bool:
        """Let this user pass through a folder of ours, without listing it.

        Folders above it get the same right if they lie below the temporary folder. Folders further
        up stay as they are. Returns whether the user can pass all of them.
        """
        temporary = temporary_root().resolve()
        folder = folder.resolve()
        for directory in (folder, *folder.parents):
            mode = stat.S_IMODE(directory.stat().st_mode)
            if mode & _OTHERS_PASS:
                continue
            if temporary not in directory.parents:
                return False
            if directory == folder:
                os.chown(directory, 0, self.number)
                directory.chmod(0o710)
            else:
                directory.chmod(mode | _OTHERS_PASS)
        return True


def allocate() -> contextlib.AbstractContextManager[Identity | None]:
    """Allocate an identity that no other sandbox has; None when this process is not root.

    With more than ``SLOTS`` sandboxes at a time, the others share one.
    """
    return _allocated() if os.geteuid() == 0 else contextlib.nullcontext()


@contextlib.contextmanager
def _allocated() -> Iterator[Identity | None]:
    with _lock:
        slot = _free.pop() if _free else None
    try:
        number = _number(slot or 0)
        yield None if number is None else Identity(number)
    finally:
        if slot is not None:
            with _lock:
                _free.append(slot)


def _number(slot: int) -> int | None:
    """Return the user id of a slot; None when this user namespace maps only root.

    In such a namespace root is an ordinary user of the host.
    """
    number = FIRST + (os.getpid() % (1 << _PID_BITS)) * SLOTS + slot
    maps = [_mapped(f"/proc/self/{kind}_map") for kind in ("uid", "gid")]
    if all(any(first <= number < end for first, end in ranges) for ranges in maps):
        return number
    # A container maps only part of the ids: take them from the end of its range.
    end = min(max((end for _first, end in ranges), default=0) for ranges in maps)
    number = end - 1 - slot - (1 if end - 1 - slot <= _NOBODY < end else 0)
    both = all(any(first <= number < last for first, last in ranges) for ranges in maps)
    return number if both and number >= SLOTS else None


def _mapped(path: str) -> list[tuple[int, int]]:
    """Return (first, one past the last) of each range of a map of user_namespaces(7)."""
    rows = [line.split() for line in Path(path).read_text(encoding="ascii").splitlines()]
    return [(int(first), int(first) + int(count)) for first, _outside, count in rows]

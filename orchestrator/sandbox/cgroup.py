"""Creates a control group that limits memory and processes of a whole sandbox, where possible.

This needs version 2, with the controllers ``memory`` and ``pids`` delegated to a folder that this
user may write, and the right to move a process there. Root has both, and so has a user below a
delegated unit of systemd. Elsewhere only limits on each process hold, and ``orchestrator doctor``
says so.

Source: Documentation/admin-guide/cgroup-v2.rst, "Delegation" and "No Internal Process Constraint".
"""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.sandbox.limits import Limits

ROOT = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")
PREFIX = "orchestrator-"
_CONTROLLERS = frozenset({"memory", "pids"})
_MOST_WAIT_S = 2.0


@dataclass(frozen=True)
class ControlGroup:
    """The control group of one sandbox; ``entrance`` is its cgroup.procs, open for writing.

    A process enters by writing ``0`` to it.
    """

    folder: Path
    entrance: int

    def exceeded(self) -> list[str]:
        """Return the limits that were exceeded, in words."""
        hit = []
        if _events(self.folder / "memory.events").get("oom_kill"):
            limit = int((self.folder / "memory.max").read_text())
            hit.append(f"{limit // 2**20} MiB of memory in all")
        if _events(self.folder / "pids.events").get("max"):
            hit.append(f"{(self.folder / 'pids.max').read_text().strip()} processes in all")
        return hit


def parent() -> Path | None:
    """Return the folder in which this process can create groups, None when there is none."""
    own = _own_group()
    if own is None:
        return None
    for folder in (own, *own.parents):
        if ROOT not in (folder, *folder.parents):
            return None
        if _can_hold(folder):
            # A move needs the right to write in the common ancestor (cgroup-v2.rst, "Delegation").
            return folder if os.access(folder / "cgroup.procs", os.W_OK) else None
    return None


@contextlib.contextmanager
def create(limits: Limits) -> Iterator[ControlGroup | None]:
    """Create a group for one sandbox and remove it at the end; None where none can be created.

    Empty groups that killed processes left are removed first.
    """
    above = parent()
    if above is None:
        yield None
        return
    remove_abandoned(above)
    folder = above / f"{PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
    folder.mkdir()
    try:
        (folder / "memory.max").write_text(str(limits.memory_bytes))
        (folder / "memory.oom.group").write_text("1")
        (folder / "pids.max").write_text(str(limits.processes))
        entrance = os.open(folder / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)
        try:
            yield ControlGroup(folder, entrance)
        finally:
            os.close(entrance)
    finally:
        _remove(folder)


def remove_abandoned(above: Path) -> None:
    """Remove the groups of processes that have ended, unless a group still holds processes."""
    for folder in above.glob(f"{PREFIX}*-*"):
        maker = folder.name.removeprefix(PREFIX).partition("-")[0]
        if maker.isdigit() and not Path(f"/proc/{maker}").exists():
            with contextlib.suppress(OSError):
                folder.rmdir()


def _remove(folder: Path) -> None:
    """Remove a group whose processes were killed; wait until the last of them has ended."""
    with contextlib.suppress(OSError):  # before Linux 5.14 there is none
        (folder / "cgroup.kill").write_text("1")
    with contextlib.suppress(OSError):
        _wait_until_empty(folder / "cgroup.events", time.monotonic() + _MOST_WAIT_S)
    with contextlib.suppress(OSError):  # the next start tries again
        folder.rmdir()


def _wait_until_empty(events: Path, deadline_s: float) -> None:
    """Wait until a group has no process, but not beyond ``deadline_s`` of the monotonic clock.

    The kernel reports each change of the file as POLLPRI to those that have read it
    (cgroup-v2.rst, "[Un]populated Notification").
    """
    with events.open("rb", buffering=0) as file:
        changes = select.poll()
        changes.register(file, select.POLLPRI)
        while b"populated 1" in file.read():
            left_s = deadline_s - time.monotonic()
            if left_s <= 0 or not changes.poll(left_s * 1000):
                return
            file.seek(0)


def _own_group() -> Path | None:
    """Return the folder of this process's group in the hierarchy of version 2."""
    for line in MEMBERSHIP.read_text(encoding="utf-8").splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0" and not controllers:
            folder = ROOT / path.lstrip("/")
            return folder if (folder / "cgroup.controllers").exists() else None
    return None


def _can_hold(folder: Path) -> bool:
    """Whether groups below this folder have the controllers and can be made by this user."""
    try:
        delegated = (folder / "cgroup.subtree_control").read_text(encoding="ascii").split()
    except OSError:
        return False
    return set(delegated) >= _CONTROLLERS and os.access(folder, os.W_OK)


def _events(path: Path) -> dict[str, int]:
    """Return a file of flat keys, such as memory.events; empty when it is not there."""
    try:
        rows = [line.split() for line in path.read_text(encoding="ascii").splitlines()]
    except OSError:
        return {}
    return {name: int(value) for name, value in rows}

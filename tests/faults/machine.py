"""Find what a fault leaves on a machine, and the processes of a command."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import select
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from guest import cache
from orchestrator.files.temporary import PREFIX

_PR_SET_CHILD_SUBREAPER = 36
_RETRY_TIME_S = 10.0
_MAPPED = re.compile(r" (\d+) +/dev/shm/", re.MULTILINE)
"""The inode of a mapped file: the C library maps a semaphore before it has its name."""


def adopt_orphans() -> None:
    """Become the parent of orphans of the processes that are started here."""
    if ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError("this process cannot adopt orphans")


def children(pid: int) -> list[int]:
    """Return the children of a process; none when it has ended."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += [int(word) for word in (task / "children").read_text().split()]
    return found


def descendants(pid: int) -> list[int]:
    """Return all processes below a process, parents first."""
    return [each for child in children(pid) for each in (child, *descendants(child))]


def name_of(pid: int) -> str:
    """Return a process's short name, empty when it has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def leads_a_session(pid: int) -> bool:
    """Whether a process has called setsid(2)."""
    with contextlib.suppress(OSError):
        return os.getsid(pid) == pid
    return False


def kill(pids: list[int]) -> int:
    """Kill these processes by SIGKILL; return how many still existed."""
    killed = 0
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            killed += 1
    return killed


def remaining_orphans(but: Callable[[], Sequence[int]] = tuple) -> list[str]:
    """Wait for the end of adopted processes; return the names of those that run for too long.

    Processes that ``but`` returns are left out.
    """
    deadline = time.monotonic() + _RETRY_TIME_S
    while True:
        for pid in children(os.getpid()):
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        left = set(descendants(os.getpid())) - set(but())
        if not left or time.monotonic() > deadline:
            return [f"process {name_of(pid)} {pid}" for pid in sorted(left)]
        _wait_for_an_end(sorted(left), deadline)


def _wait_for_an_end(pids: list[int], deadline_s: float) -> None:
    """Wait until one of these children has ended; what it leaves then becomes our child, too."""
    with contextlib.ExitStack() as descriptors:
        ends = select.poll()
        for pid in pids:
            try:
                descriptor = os.pidfd_open(pid)
            except ProcessLookupError:
                return
            descriptors.callback(os.close, descriptor)
            ends.register(descriptor, select.POLLIN)
        ends.poll(max(deadline_s - time.monotonic(), 0) * 1000)


@dataclass(frozen=True)
class Traces:
    """Everything that the project could leave on this machine besides processes and results."""

    temporary: frozenset[str]
    shared_memory: frozenset[str]
    cache: frozenset[str]
    mounts: frozenset[str]
    cgroups: frozenset[str]

    @classmethod
    def look(cls, temporary: Path) -> Traces:
        """Return the traces that exist now; ``temporary`` is the folder of TMPDIR."""
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
        cgroups = Path("/sys/fs/cgroup")
        return cls(
            _names(temporary),
            _shared_memory(),
            frozenset(name for name in _names(cache.own_root() / "guest") if _is_for_a_time(name)),
            frozenset(line.split()[4] for line in mounts),
            frozenset(str(path) for path in cgroups.rglob("*") if path.is_dir()),
        )

    def since(self, before: Traces) -> list[str]:
        """Describe the traces that did not exist before."""
        return [
            f"{kind.replace('_', ' ')} {name}"
            for kind, names in vars(self).items()
            for name in sorted(names - getattr(before, kind))
        ]


def _is_for_a_time(name: str) -> bool:
    """Return whether an entry of the cache belongs to a running build."""
    return name == cache.WORKSHOP or name.startswith(PREFIX)


def _shared_memory() -> frozenset[str]:
    """Return the names in /dev/shm, but for those that processes other than ours use now.

    Other tests run beside these, and some of them start processes that share semaphores.
    """
    files = {}
    for path in Path("/dev/shm").iterdir():
        with contextlib.suppress(OSError):
            files[path.name] = str(path.stat().st_ino)
    if not files:
        return frozenset()
    ours = {os.getpid(), *descendants(os.getpid())}
    others: set[str] = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int(process.name) not in ours:
                others.update(_MAPPED.findall((process / "maps").read_text()))
    return frozenset(name for name, inode in files.items() if inode not in others)


def _names(folder: Path) -> frozenset[str]:
    return frozenset(path.name for path in folder.iterdir()) if folder.is_dir() else frozenset()

"""The process that executes a run, and whether it still exists.

A process id is used again. Together with the machine's boot id and the process's start time it
identifies one process.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ProcessIdentity:
    """One process: its id, its start in clock ticks since boot, the boot, its PID namespace."""

    pid: int
    start_ticks: int
    boot_id: str
    pid_namespace: str

    def is_dead(self) -> bool:
        """Return whether the process has certainly ended.

        A process of another PID namespace (a container) is not visible from here. It counts as
        running until the machine boots again.
        """
        if self.boot_id != _boot_id():
            return True
        if self.pid_namespace != _pid_namespace():
            return False
        return _start_ticks(self.pid) != self.start_ticks


def this_process() -> ProcessIdentity:
    """Return the owner for the calling process."""
    pid = os.getpid()
    start_ticks = _start_ticks(pid)
    assert start_ticks is not None, "a running process has a start time"
    return ProcessIdentity(pid, start_ticks, _boot_id(), _pid_namespace())


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def _pid_namespace() -> str:
    return str(Path("/proc/self/ns/pid").readlink())


def _start_ticks(pid: int) -> int | None:
    """Return field 22 of /proc/PID/stat (proc(5)), None for a process that has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The second field is the command in brackets and may itself hold spaces and brackets.
    fields = stat.rpartition(")")[2].split()
    state, start_ticks = fields[0], int(fields[19])
    return (
        None if state in "ZXx" else start_ticks
    )  # a zombie has ended, and its parent has not waited for it yet

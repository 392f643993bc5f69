"""Measures how long the processes of a test bed waited for a processor.

On a busy machine a run takes longer than it would alone. Linux counts for each thread how long it
was ready to run and did not run: the second number of ``/proc/PID/schedstat`` (Linux
Documentation/scheduler/sched-stats.rst). A guest's processes take turns, so their sum is wall time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

_GONE = (FileNotFoundError, ProcessLookupError, PermissionError)


class Waiting:
    """The waits of a process and of all below it, as last read by ``update()``.

    What a process waited after its last reading is not counted. ``proc`` is replaced by tests.
    """

    def __init__(self, pid: int, proc: Path = Path("/proc")) -> None:
        self._pid = pid
        self._proc = proc
        self._waited_ns: dict[int, int] = {}

    def update(self) -> None:
        """Read the waits of all processes that there are now."""
        for pid in [self._pid, *self._below(self._pid)]:
            with contextlib.suppress(*_GONE, ValueError, IndexError):
                fields = (self._proc / str(pid) / "schedstat").read_text().split()
                self._waited_ns[pid] = int(fields[1])

    @property
    def total_s(self) -> float | None:
        """Seconds in all; None where the kernel does not count them."""
        return sum(self._waited_ns.values()) / 1e9 if self._waited_ns else None

    def _below(self, pid: int) -> Iterator[int]:
        with contextlib.suppress(*_GONE):
            children = (self._proc / str(pid) / "task" / str(pid) / "children").read_text()
            for child in map(int, children.split()):
                yield child
                yield from self._below(child)

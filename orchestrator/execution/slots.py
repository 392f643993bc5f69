"""Lets up to a number of runs be under way on this machine, with a CPU each."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class LocalSlots:
    """``lanes`` runs at a time, on CPUs of their own as far as there are enough."""

    lanes: int
    _free_cpus: list[int] = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self) -> None:
        self._free_cpus = cpus(self.lanes)

    @contextlib.contextmanager
    def slot(self, _stopping: threading.Event) -> Iterator[int | None]:
        """Yield a CPU that no other run of this plan uses; every lane finds one at once."""
        with self._lock:
            cpu = self._free_cpus.pop(0)
        try:
            yield cpu
        finally:
            with self._lock:
                self._free_cpus.append(cpu)


def cpus(number: int) -> list[int]:
    """Return a CPU for each of ``number`` runs, beginning with the one of this process."""
    allowed = sorted(os.sched_getaffinity(0))
    here = ctypes.CDLL(None).sched_getcpu()
    first = allowed.index(here) if here in allowed else 0
    rotated = allowed[first:] + allowed[:first]
    return [rotated[each % len(rotated)] for each in range(number)]

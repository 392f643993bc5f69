"""Lets up to a number of beds be at work on this machine, with a CPU each, in the plan's order."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from orchestrator.backends.contract import Slot

_WAKE_S = 0.1


@dataclass
class LocalSlots:
    """``jobs`` beds at a time, on CPUs of their own as far as there are enough.

    One more run may be under way: it is being stored, or its bed is about to end.
    """

    jobs: int
    _cpus: list[int] = field(init=False)
    _free: threading.Semaphore = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _holding: Counter[int] = field(default_factory=Counter, init=False)
    _ending: Counter[int] = field(default_factory=Counter, init=False)

    def __post_init__(self) -> None:
        self._cpus = cpus(self.lanes)
        self._free = threading.Semaphore(self.jobs)

    @property
    def lanes(self) -> int:
        """The largest number of runs under way, each in a thread of the runner."""
        return self.jobs + 1

    @contextlib.contextmanager
    def slot(self, stopping: threading.Event) -> Iterator[Slot | None]:
        """Wait until fewer than ``jobs`` runs hold a slot; yield one, or None when stopping."""
        if not self._acquired(stopping):
            yield None
            return
        with self._lock:
            cpu = min(self._cpus, key=lambda each: (self._holding[each], self._ending[each]))
            self._holding[cpu] += 1
        left = False

        def leave() -> None:
            nonlocal left
            if not left:
                left = True
                with self._lock:
                    self._holding[cpu] -= 1
                    self._ending[cpu] += 1
                self._free.release()

        try:
            yield Slot(cpu, leave)
        finally:
            leave()
            with self._lock:
                self._ending[cpu] -= 1

    def _acquired(self, stopping: threading.Event) -> bool:
        while not stopping.is_set():
            if self._free.acquire(timeout=_WAKE_S):
                if not stopping.is_set():
                    return True
                self._free.release()
        return False


class RunOrder:
    """Keeps the threads of runs in the order of the plan.

    Args:
        runs: how many there are.
        stores_in_order: whether runs are stored in that order, too, and not as their beds end.
        stopping: once it is set, no thread waits: a run before may never begin.
    """

    def __init__(self, runs: int, stores_in_order: bool, stopping: threading.Event) -> None:
        self._stopping = stopping
        self._began = [threading.Event() for _ in range(runs)]
        self._over = [threading.Event() for _ in range(runs)]
        self._stores_in_order = stores_in_order

    @contextlib.contextmanager
    def beginning(self, index: int) -> Iterator[None]:
        """Return a context that the thread of a run enters when that of the run before has left."""
        if index:
            self._await(self._began[index - 1])
        try:
            yield
        finally:
            self._began[index].set()

    @contextlib.contextmanager
    def running(self, index: int) -> Iterator[None]:
        """Return a context for all that a run does: when it ends, the next run may be stored."""
        try:
            yield
        finally:
            self._over[index].set()

    def await_earlier(self, index: int) -> None:
        """Return when this run may be stored."""
        if index and self._stores_in_order:
            self._await(self._over[index - 1])

    def _await(self, event: threading.Event) -> None:
        while not event.wait(_WAKE_S) and not self._stopping.is_set():
            pass


def cpus(number: int) -> list[int]:
    """Return up to ``number`` CPUs that this process may use, beginning with its present one."""
    allowed = sorted(os.sched_getaffinity(0))
    here = ctypes.CDLL(None).sched_getcpu()
    first = allowed.index(here) if here in allowed else 0
    return (allowed[first:] + allowed[:first])[:number]

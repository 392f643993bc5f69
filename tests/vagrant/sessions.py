"""Stop the processes of a session (setsid(2)) for a while, then continue them."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

_ENDED, _STOPPED, _WAITING = "ZX", "tT", "D"


@contextlib.contextmanager
def stopped(session: int) -> Iterator[None]:
    """Stop all processes of a session, and continue them at the end. The session may be gone.

    Raises:
        TimeoutError: some still run after a minute.
    """
    try:
        until = time.monotonic() + 60
        while running := {p: state for p, state in members(session) if state not in _STOPPED}:
            if time.monotonic() > until:
                raise TimeoutError(f"not stopped within a minute: {running}")
            if _WAITING in running.values():
                # It may have called vfork(2), and wait until its stopped child starts a program.
                _signal([each for each, _ in members(session)], signal.SIGCONT)
                time.sleep(0.01)
            _signal(running, signal.SIGSTOP)  # what one has started meanwhile is found next time
            time.sleep(0.05)
        yield
    finally:
        _signal([each for each, _ in members(session)], signal.SIGCONT)


def members(session: int) -> list[tuple[int, str]]:
    """Return process id and state (a letter, proc(5)) of each of a session that has not ended."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            words = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(words[3]) == session and words[0] not in _ENDED:
                found.append((int(folder.name), words[0]))
    return found


def _signal(processes: Iterable[int], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)

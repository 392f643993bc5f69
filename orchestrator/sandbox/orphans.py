"""Ends processes of sandboxes that a fault has left behind, which would wait for ever.

Bubblewrap forks a child, which waits for its parent to write to an eventfd(2). Only later does the
child ask to be killed when its parent dies. If the parent and all who would kill its process group
are killed in between, the child waits for ever. It has run no command yet, and holds no lock.
Source: bubblewrap 0.8, main() in bubblewrap.c, child_wait_fd.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from orchestrator.sandbox.view import RUN_VARIABLE

_NAME = "bwrap"


def find() -> list[int]:
    """Return the process ids of bubblewraps of runs whose process group has lost its leader.

    The leader is the bubblewrap that a controller has started. Processes that this user may not
    look at are not found.
    """
    numbers = [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]
    return [number for number in numbers if _is_left(number)]


def end() -> list[int]:
    """Kill what :func:`find` finds, and return the process ids."""
    killed = []
    for number in find():
        with contextlib.suppress(OSError):
            process = os.pidfd_open(number)
            try:
                # Looked at again: before the descriptor was open, the number could change hands.
                if _is_left(number):
                    signal.pidfd_send_signal(process, signal.SIGKILL)
                    killed.append(number)
            finally:
                os.close(process)
    return killed


def _is_left(number: int) -> bool:
    place = Path("/proc") / str(number)
    try:
        if (place / "comm").read_text().strip() != _NAME:
            return False
        words = (place / "environ").read_bytes().split(b"\0")
        leader = os.getpgid(number)
    except OSError:  # ended, or another user's
        return False
    ours = any(word.startswith(f"{RUN_VARIABLE}=".encode()) for word in words)
    return ours and leader != number and not (Path("/proc") / str(leader)).exists()

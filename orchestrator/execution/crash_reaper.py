"""Cleans up after a controller that was killed: a small process that waits for its end.

A killed process cannot tidy up. The crash reaper, forked at the start of a plan, holds one end of a
pipe whose other end dies with the controller; then it ends the beds by the process groups it was
given, removes the folder, and marks the runs through ``on_orphaned``.

When both are killed, the guests end with them (bwrap --die-with-parent), the folder is removed by
the next start (see orchestrator/files/temporary.py), and whoever opens the store finds the runs
interrupted. When only the crash reaper is killed, ``lost`` says so.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Callable
from pathlib import Path

from orchestrator.errors import MachineError
from orchestrator.files.temporary import remove_with_retries

_DONE = b"."
_DISMISS_S = 10.0
"""A crash reaper that has not ended so long after it was dismissed was stopped; it is killed."""


class CrashReaper:
    """Watches over one controller; ``dismiss()`` ends it when nothing is left to clean."""

    def __init__(self, folder: Path, on_orphaned: Callable[[], None]) -> None:
        """Fork the crash reaper. Call before any thread is started.

        Args:
            folder: removed with all it holds when the controller dies.
            on_orphaned: called in the crash reaper when the controller dies.
        """
        read_end, self._write_end = os.pipe2(os.O_CLOEXEC)
        # Opened here: the controller may be dead before its child runs at all.
        controller = os.pidfd_open(os.getpid())
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._write_end)
            _watch(read_end, controller, folder, on_orphaned)
        self._end = os.pidfd_open(self.pid)
        os.close(read_end)
        os.close(controller)

    @property
    def lost(self) -> bool:
        """Whether it was killed: nobody cleans up at once if the controller is killed now."""
        return bool(select.select([self._end], [], [], 0)[0])

    def add_group(self, group: int) -> None:
        """Tell the crash reaper of a bed's process group, to be ended should the controller die."""
        self._tell(f"+{group}\n".encode())

    def remove_group(self, group: int) -> None:
        """Tell the crash reaper that this group has ended: its number may soon be another's."""
        self._tell(f"-{group}\n".encode())

    def dismiss(self) -> None:
        """End the crash reaper: the controller has cleaned up by itself."""
        self._tell(_DONE)
        os.close(self._write_end)
        if not select.select([self._end], [], [], _DISMISS_S)[0]:
            signal.pidfd_send_signal(self._end, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._end)

    def _tell(self, words: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):  # it was killed: ``lost`` says so
            os.write(self._write_end, words)


def _watch(read_end: int, controller: int, folder: Path, on_orphaned: Callable[[], None]) -> None:
    """Wait in the forked child until told to go or orphaned; never return."""
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        told = b""
        while chunk := os.read(read_end, 4096):
            told += chunk
        if not told.endswith(_DONE):
            # Its files close a moment before it counts as dead.
            select.select([controller], [], [])
            _clean_up(told, folder, on_orphaned)
    finally:
        os._exit(0)


def _clean_up(told: bytes, folder: Path, on_orphaned: Callable[[], None]) -> None:
    words = told.decode().split()
    released = {int(word[1:]) for word in words if word[0] == "-"}
    for group in {int(word[1:]) for word in words if word[0] == "+"} - released:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
    with contextlib.suppress(MachineError):  # the next start says why it cannot be removed
        remove_with_retries(folder)
    on_orphaned()

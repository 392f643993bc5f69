"""Cleans up after a controller that was killed: a small process that waits for its end.

A killed process cannot tidy up. The janitor, forked at the start of a plan, holds one end of a pipe
whose other end dies with the controller; then it ends the beds by the process groups it was
given, removes the folder, and marks the runs through ``on_orphaned``.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

_DONE = b"."


class Janitor:
    """Watches over one controller; ``dismiss()`` ends it when nothing is left to clean."""

    def __init__(self, folder: Path, on_orphaned: Callable[[], None]) -> None:
        """Fork the janitor. Call before any thread is started.

        Args:
            folder: removed with all it holds when the controller dies.
            on_orphaned: called in the janitor when the controller dies.
        """
        read_end, self._write_end = os.pipe2(os.O_CLOEXEC)
        # Opened here: the controller may be dead before its child runs at all.
        controller = os.pidfd_open(os.getpid())
        self._process = os.fork()
        if self._process == 0:
            os.close(self._write_end)
            _watch(read_end, controller, folder, on_orphaned)
        os.close(read_end)
        os.close(controller)

    def guard(self, group: int) -> None:
        """Tell the janitor of a bed's process group, to be ended should the controller die."""
        os.write(self._write_end, f"+{group}\n".encode())

    def release(self, group: int) -> None:
        """Tell the janitor that this group has ended: its number may soon be another's."""
        os.write(self._write_end, f"-{group}\n".encode())

    def dismiss(self) -> None:
        """End the janitor: the controller has cleaned up by itself."""
        os.write(self._write_end, _DONE)
        os.close(self._write_end)
        os.waitpid(self._process, 0)


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
    shutil.rmtree(folder, ignore_errors=True)
    on_orphaned()

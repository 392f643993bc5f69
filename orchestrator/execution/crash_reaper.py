"""Cleans up after a controller that was killed: a small process that waits for that.

A killed process cannot clean up. So the controller forks the crash reaper at the start of a plan.
The crash reaper reads a pipe, whose other end closes when the controller dies. Then it kills the
beds' process groups, removes the folder, and marks the runs through ``on_orphaned``.

When both are killed, the guests end with the controller (bwrap --die-with-parent). The next start
removes the folder (orchestrator/files/temporary.py) and ends what a bubblewrap that was killed at
its start has left (orchestrator/sandbox/orphans.py). Opening the store marks the runs as
interrupted. When only the crash reaper is killed, ``lost`` is True.
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
"""A crash reaper that has not ended this long after it was dismissed is killed."""


class CrashReaper:
    """The crash reaper of one controller; ``dismiss()`` ends it when its work is not needed."""

    def __init__(self, folder: Path, on_orphaned: Callable[[], None]) -> None:
        """Fork the crash reaper. Call before any thread is started.

        Args:
            folder: removed with its content when the controller dies.
            on_orphaned: called in the crash reaper when the controller dies.
        """
        read_end, self._write_end = os.pipe2(os.O_CLOEXEC)
        # Opened here, because the controller may die before its child runs.
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
        """Whether it was killed. Then nothing cleans up if the controller is killed."""
        return bool(select.select([self._end], [], [], 0)[0])

    def add_group(self, group: int) -> None:
        """Add a bed's process group, which the crash reaper kills when the controller dies."""
        self._send(f"+{group}\n".encode())

    def remove_group(self, group: int) -> None:
        """Remove a process group that has ended, because its number may be used again."""
        self._send(f"-{group}\n".encode())

    def dismiss(self) -> None:
        """End the crash reaper: the controller has cleaned up by itself."""
        self._send(_DONE)
        os.close(self._write_end)
        if not select.select([self._end], [], [], _DISMISS_S)[0]:
            signal.pidfd_send_signal(self._end, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._end)

    def _send(self, words: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):  # the reaper was killed, and ``lost`` is True
            os.write(self._write_end, words)


def _watch(read_end: int, controller: int, folder: Path, on_orphaned: Callable[[], None]) -> None:
    """Wait in the forked child for a dismissal or the controller's end; never return."""
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        messages = b""
        while chunk := os.read(read_end, 4096):
            messages += chunk
        if not messages.endswith(_DONE):
            # The kernel closes a process's files a moment before its pidfd reports the end.
            select.select([controller], [], [])
            _clean_up(messages, folder, on_orphaned)
    finally:
        os._exit(0)


def _clean_up(messages: bytes, folder: Path, on_orphaned: Callable[[], None]) -> None:
    words = messages.decode().split()
    released = {int(word[1:]) for word in words if word[0] == "-"}
    for group in {int(word[1:]) for word in words if word[0] == "+"} - released:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
    with contextlib.suppress(MachineError):  # the next start reports why it cannot be removed
        remove_with_retries(folder)
    on_orphaned()

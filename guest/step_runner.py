"""Runs the programs of a build so that none outlives the builder, even when it is killed.

``make`` starts hundreds of processes, and a killed builder cannot end them. So each step is a
session of its own on a pseudo-terminal, and only the builder holds the terminal's other end. When
the builder ends, for whatever reason, the kernel closes that end and hangs up the terminal. All
processes of the step then get SIGHUP (tty_vhangup in drivers/tty/tty_io.c), which none ignores.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import subprocess
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestrator.errors import MachineError

MOST_LINE_BYTES = 65536
"""A longer line is taken as several ones: a hostile program may never end its line."""

_WATCH_PERIOD_S = 1.0


def run_step(
    argv: Sequence[str],
    each_line: Callable[[str], None],
    environment: Mapping[str, str],
    folder: Path,
    held: Sequence[int] = (),
    timeout_s: float | None = None,
    enter: Callable[[], None] | None = None,
    options: Mapping[str, Any] | None = None,
    watch: Callable[[], None] | None = None,
) -> int:
    """Run a program without input to its end, kill what it left running, and return its status.

    Args:
        argv: the program and its arguments.
        each_line: called with each line that it prints on either stream.
        environment: all of its environment.
        folder: where it runs.
        held: descriptors of locks, which stay locked until the last process of the step has ended.
        timeout_s: the wall time after which the step is killed.
        enter: called in the new process before the program.
        options: more arguments of Popen. Their ``pass_fds`` take the place of ``held``.
        watch: called each second; the step is killed when it raises.

    Raises:
        MachineError: no pseudo-terminal is available.
        TimeoutError: the step took too long and was killed.
    """
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    with _terminal() as terminal:

        def settle() -> None:
            _settle(terminal)
            if enter is not None:
                enter()

        process = subprocess.Popen(
            argv,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=settle,
            **{"pass_fds": (terminal, *held), **(options or {})},
        )
        assert process.stdout is not None
        with process.stdout as output:
            try:
                for line in _lines(output.fileno(), process.pid, deadline, watch):
                    each_line(line)
            finally:
                _end_group(process.pid)
                process.wait()
    return process.returncode


@contextlib.contextmanager
def _terminal() -> Iterator[int]:
    """Yield one end of a pseudo-terminal; the other end is closed with the block or the process.

    The builder keeps both ends open, because closing the last descriptor of this end removes the
    terminal.
    """
    try:
        ours, terminal = os.openpty()
    except OSError as error:
        raise MachineError(
            f"no pseudo-terminal is available: {error.strerror}",
            "mount -t devpts devpts /dev/pts",
        ) from error
    try:
        yield terminal
    finally:
        os.close(ours)
        os.close(terminal)


def _settle(terminal: int) -> None:
    """Make the terminal the controlling one of the new process's session."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a builder under nohup ignores it
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


def _lines(
    output: int, pid: int, deadline: float | None, watch: Callable[[], None] | None
) -> Iterator[str]:
    """Yield the lines that a process prints, until it and all processes it started have ended."""
    end = os.pidfd_open(pid)
    waiting_for = [output, end]
    rest = b""
    watched = time.monotonic()
    try:
        while waiting_for:
            left_s = None if deadline is None else max(0.0, deadline - time.monotonic())
            if watch is not None:
                left_s = _WATCH_PERIOD_S if left_s is None else min(left_s, _WATCH_PERIOD_S)
            ready = select.select(waiting_for, [], [], left_s)[0]
            if deadline is not None and time.monotonic() >= deadline:
                raise TimeoutError("the step took too long")
            if watch is not None and time.monotonic() >= watched + _WATCH_PERIOD_S:
                watch()
                watched = time.monotonic()
            if end in ready:
                _end_group(pid)  # children of a killed make would go on
                waiting_for.remove(end)
            if output in ready:
                chunk = os.read(output, 65536)
                *lines, rest = (rest + chunk).split(b"\n")
                yield from (line.decode(errors="replace") + "\n" for line in lines)
                if len(rest) > MOST_LINE_BYTES:
                    yield rest.decode(errors="replace") + "\n"
                    rest = b""
                if not chunk:  # some programs close their output before they end
                    waiting_for.remove(output)
    finally:
        os.close(end)
    if rest:
        yield rest.decode(errors="replace") + "\n"


def _end_group(pid: int) -> None:
    """Kill all processes of a step; its first process is not reaped yet, so its id is valid."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)

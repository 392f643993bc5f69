"""Starts, watches and ends a test bed that is a process on this machine."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import re
import resource
import select
import signal
import subprocess
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import IO

from orchestrator import plaintext
from orchestrator.backends.contract import Report, RunContext
from orchestrator.backends.cpu_waiting import Waiting
from orchestrator.backends.progress import ProgressMonitor, parse_progress
from orchestrator.decode.output import OutputFolder, console_text, require_small_console
from orchestrator.errors import BedError
from orchestrator.sandbox.boundary import Boundary

_PROGRESS_S = 0.1
_PROGRESS_BYTES = 64
_CONSOLE_LINES = 12
_LINE_CHARS = 500
"""Longest line that an error quotes."""
_FAILURE_BYTES, _LINES = 4096, 40
"""Limits on the bed's failure message."""
_OF_A_STACK = re.compile(r"\s*(\[<[0-9a-f]+>\]|[0-9a-f]{8}[0-9a-f ]*$|Stack:|Call Trace:)")
"""A line of a kernel's stack dump."""


def last_output(context: RunContext) -> list[str]:
    """Return the last lines of the test bed's log and console."""
    texts = (context.output.text("bed.log"), console_text(context.folder / "console"))
    return [line for text in texts for line in last_lines(text)]


def last_lines(text: str) -> list[str]:
    """Return the last lines of a console without stack dumps of the kernel."""
    lines = [line for line in text.splitlines() if line.strip() and not _OF_A_STACK.match(line)]
    return [plaintext.shortened(line, _LINE_CHARS) for line in lines[-_CONSOLE_LINES:]]


_WANTS = (errno.ENOMEM, errno.EAGAIN)
"""Errors of a bed that has too little memory, or may begin no further process."""


def require_done(
    context: RunContext,
    duration_s: float,
    what: str,
    error: type[BedError] = BedError,
    explained: str = "",
) -> None:
    """Raise ``error`` with the reason unless the bed has ended well.

    ``explained`` names the limits of the bed. It is added for a bed that ended without a message,
    or for want of memory or processes: a guest cannot tell that a limit is why it got none.
    """
    because = f"; {explained}" if explained else ""
    output = context.output
    output.written()
    require_small_console(context.folder / "console", context.bounds)
    if progress(output, duration_s)[0] == "done":
        return
    failure = output.start("failure", _FAILURE_BYTES)
    if failure is not None:
        text = plaintext.shortened(plaintext.bounded(failure.decode("utf-8", "replace"), _LINES))
        limits = because if any(os.strerror(number) in text for number in _WANTS) else ""
        raise error(f"the test bed failed: {text}{limits}", last_output(context))
    raise error(f"{what} ended before the run did{because}", last_output(context))


@contextlib.contextmanager
def started(
    command: list[str],
    console: IO[bytes],
    environment: Mapping[str, str],
    cpus: Collection[int],
    stdin: int = subprocess.DEVNULL,
    boundary: Boundary | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Start the bed as the leader of its own process group, and always end it.

    ``boundary`` is the sandbox that the command begins with, if any.
    """

    controller = os.getpid()

    def settle() -> None:
        if boundary is not None:
            boundary.enter()
            if os.getppid() != controller:  # it died before its death could be signalled
                os._exit(1)
        os.sched_setaffinity(0, cpus)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    process = subprocess.Popen(
        command,
        stdin=stdin,
        stdout=console,
        stderr=subprocess.STDOUT,
        env=environment,
        cwd="/",
        start_new_session=True,
        preexec_fn=settle,
        **(boundary.options() if boundary is not None else {}),
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdin is not None:
            process.stdin.close()


def ends_within(
    timeout_s: float | None,
    process: subprocess.Popen[bytes],
    output: OutputFolder,
    console: Path,
) -> bool:
    """Wait for the end of a bed that reports no progress; tell whether it came in time.

    Raises:
        BedError: it writes files that are invalid or too large.
    """
    deadline_s = time.monotonic() + (math.inf if timeout_s is None else timeout_s)
    end = os.pidfd_open(process.pid)
    try:
        while not select.select([end], [], [], _PROGRESS_S)[0]:
            output.written()
            require_small_console(console, output.bounds)
            if time.monotonic() > deadline_s:
                return False
    finally:
        os.close(end)
    return True


def progress(output: OutputFolder, duration_s: float) -> tuple[str, float]:
    """Return the phase and the seconds of traffic that the bed last reported.

    Raises:
        BedError: the file is malformed.
    """
    return parse_progress(output.start("progress", _PROGRESS_BYTES) or b"", duration_s)


def watch(
    process: subprocess.Popen[bytes],
    context: RunContext,
    monitor: ProgressMonitor,
    report: Report,
) -> None:
    """Wait for the end of the bed, report its progress, and note its waits in ``context``.

    Raises:
        BedError: as ``monitor`` raises; or the bed's files are invalid or too large.
    """
    end = os.pidfd_open(process.pid)
    waiting = Waiting(process.pid)
    try:
        doubtful = b""
        while not select.select([end], [], [], _PROGRESS_S)[0]:
            waiting.update()
            try:
                written = context.output.written()
                require_small_console(context.folder / "console", context.bounds)
                text = context.output.start("progress", _PROGRESS_BYTES) or b""
                try:
                    phase, simulated_s = parse_progress(text, monitor.duration_s)
                except BedError:
                    # The bed may be in the middle of writing the file. A second equal reading is an
                    # error.
                    if text == doubtful:
                        raise
                    doubtful, phase, simulated_s = text, monitor.phase, monitor.simulated_s
                report(phase, simulated_s)
                monitor.update(phase, simulated_s, written)
            except BedError as error:
                raise monitor.error(str(error), last_output(context)) from None
    finally:
        os.close(end)
        context.waited_s.append(waiting.total_s)

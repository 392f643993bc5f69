"""A test bed that is a process of this machine: started in a group of its own, watched, ended."""

from __future__ import annotations

import contextlib
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

from orchestrator.backends.backend import Report
from orchestrator.errors import BedError
from orchestrator.sandbox.boundary import Boundary

_PROGRESS_S = 0.1
_CONSOLE_LINES = 12
_OF_A_STACK = re.compile(r"\s*(\[<[0-9a-f]+>\]|[0-9a-f]{8}[0-9a-f ]*$|Stack:|Call Trace:)")
"""A line of what a kernel dumps behind its words."""


def last_words(folder: Path) -> list[str]:
    """Return the last lines that the test bed and its console said, of a run's folder."""
    lines: list[str] = []
    for path in (folder / "out" / "bed.log", folder / "console"):
        if path.exists():
            text = path.read_text(encoding="utf-8", errors="replace")
            lines += last_lines(text)
    return lines


def last_lines(text: str) -> list[str]:
    """Return the last lines of a console that are words, and no dump of a kernel's stack."""
    lines = [line for line in text.splitlines() if line.strip() and not _OF_A_STACK.match(line)]
    return lines[-_CONSOLE_LINES:]


def require_done(folder: Path, what: str, error: type[BedError] = BedError) -> None:
    """Raise ``error``, with why, unless the bed of that folder has ended well."""
    output = folder / "out"
    if progress(output)[0] == "done":
        return
    failure = output / "failure"
    if failure.exists():
        said = failure.read_text(encoding="utf-8", errors="replace")
        raise error(f"the test bed failed: {said}", last_words(folder))
    raise error(f"{what} ended before the run did", last_words(folder))


@contextlib.contextmanager
def started(
    command: list[str],
    console: IO[bytes],
    environment: Mapping[str, str],
    cpus: Collection[int],
    stdin: int = subprocess.DEVNULL,
    boundary: Boundary | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Start the bed as the leader of its own process group; whatever happens, end it.

    ``boundary`` is the sandbox that the command begins with, if any.
    """

    def settle() -> None:
        if boundary is not None:
            boundary.enter()
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


def progress(output: Path) -> tuple[str, float]:
    """Return the phase and the seconds of traffic that the bed last reported."""
    try:
        phase, time_ns = (output / "progress").read_text(encoding="ascii").split()
        return phase, int(time_ns) / 1e9
    except (FileNotFoundError, ValueError):
        return "boot", 0.0


def watch(
    process: subprocess.Popen[bytes],
    folder: Path,
    watchdog_s: float,
    report: Report,
    what: str,
    error: type[BedError] = BedError,
) -> None:
    """Wait for the end of the bed, which is called ``what`` in words, passing its progress on.

    Raises:
        BedError: as ``error``: nothing moved for ``watchdog_s`` of wall time.
    """
    output = folder / "out"
    last: tuple[object, ...] = ()
    moved = time.monotonic()
    end = os.pidfd_open(process.pid)
    try:
        while not select.select([end], [], [], _PROGRESS_S)[0]:
            phase, simulated_s = progress(output)
            report(phase, simulated_s)
            now = (phase, simulated_s, _written(output))
            if now != last:
                last, moved = now, time.monotonic()
            elif time.monotonic() - moved > watchdog_s:
                message = f"{what} made no progress for {watchdog_s:g} s, in phase {phase}"
                raise error(message, last_words(folder))
    finally:
        os.close(end)


def _written(output: Path) -> int:
    return sum(entry.stat().st_size for entry in os.scandir(output))

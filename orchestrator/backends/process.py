"""A test bed that is a process of this machine: started in a group of its own, watched, ended."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import select
import signal
import subprocess
from collections.abc import Collection, Iterator, Mapping
from typing import IO

from orchestrator import plaintext
from orchestrator.backends.contract import Report, RunContext
from orchestrator.backends.progress import Headway, parsed
from orchestrator.decode.output import Output, console_text, require_small_console
from orchestrator.errors import BedError
from orchestrator.sandbox.boundary import Boundary

_PROGRESS_S = 0.1
_PROGRESS_BYTES = 64
_CONSOLE_LINES = 12
_LINE_CHARS = 500
"""Of a line that an error quotes."""
_FAILURE_BYTES, _LINES = 4096, 40
"""Of what the bed says went wrong."""
_OF_A_STACK = re.compile(r"\s*(\[<[0-9a-f]+>\]|[0-9a-f]{8}[0-9a-f ]*$|Stack:|Call Trace:)")
"""A line of what a kernel dumps behind its words."""


def last_words(place: RunContext) -> list[str]:
    """Return the last lines that the test bed and its console said."""
    texts = (place.output.text("bed.log"), console_text(place.folder / "console"))
    return [line for text in texts for line in last_lines(text)]


def last_lines(text: str) -> list[str]:
    """Return the last lines of a console that are words, and no dump of a kernel's stack."""
    lines = [line for line in text.splitlines() if line.strip() and not _OF_A_STACK.match(line)]
    return [plaintext.shortened(line, _LINE_CHARS) for line in lines[-_CONSOLE_LINES:]]


def require_done(
    place: RunContext,
    duration_s: float,
    what: str,
    error: type[BedError] = BedError,
    explained: str = "",
) -> None:
    """Raise ``error``, with why, unless the bed of that place has ended well.

    ``explained`` is added for a bed that ended without a word: which limits it had.
    """
    output = place.output
    output.written()
    require_small_console(place.folder / "console", place.bounds)
    if progress(output, duration_s)[0] == "done":
        return
    said = output.start("failure", _FAILURE_BYTES)
    if said is not None:
        text = plaintext.shortened(plaintext.bounded(said.decode("utf-8", "replace"), _LINES))
        raise error(f"the test bed failed: {text}", last_words(place))
    because = f"; {explained}" if explained else ""
    raise error(f"{what} ended before the run did{because}", last_words(place))


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


def progress(output: Output, duration_s: float) -> tuple[str, float]:
    """Return the phase and the seconds of traffic that the bed last reported.

    Raises:
        BedError: the file is not what a bed writes.
    """
    return parsed(output.start("progress", _PROGRESS_BYTES) or b"", duration_s)


def watch(
    process: subprocess.Popen[bytes],
    place: RunContext,
    headway: Headway,
    report: Report,
) -> None:
    """Wait for the end of the bed, passing its progress on.

    Raises:
        BedError: as ``headway`` says; or the bed writes what it must not, or too much.
    """
    end = os.pidfd_open(process.pid)
    try:
        doubtful = b""
        while not select.select([end], [], [], _PROGRESS_S)[0]:
            try:
                written = place.output.written()
                require_small_console(place.folder / "console", place.bounds)
                text = place.output.start("progress", _PROGRESS_BYTES) or b""
                try:
                    phase, simulated_s = parsed(text, headway.duration_s)
                except BedError:
                    # The bed may be in the middle of writing it: twice the same is no accident.
                    if text == doubtful:
                        raise
                    doubtful, phase, simulated_s = text, headway.phase, headway.simulated_s
                report(phase, simulated_s)
                headway.take(phase, simulated_s, written)
            except BedError as error:
                raise headway.error(str(error), last_words(place)) from None
    finally:
        os.close(end)

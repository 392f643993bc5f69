"""A program that was started at a host, until its end."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys

from orchestrator.protocol.programs import ENDED, KILLED
from orchestrator.testbed.kernel import system
from orchestrator.testbed.programs import ipv4_alone, launcher
from orchestrator.testbed.programs.launcher import NOT_STARTED
from orchestrator.testbed.programs.output import Output

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Collection

    from orchestrator.testbed.bed import Host
    from orchestrator.testbed.programs.launcher import LaunchRequest

MOST_OUTPUT_BYTES = 1 << 20
"""A program that prints more on standard output or on standard error is ended."""

_READ_BYTES = 1 << 16
_STATUS_BYTES = 32
_PYTHON = "/usr/bin/python3"
"""A lab host has another one where its inventory says so: the one that runs here."""


class RunningProgram:
    """A program, with all processes that it starts.

    Args:
        host: where it starts.
        request: what is started.
        polls: whether it may wait for another program without a pause; see
            ``system.rank_program``.
        now_ns: the time since the start of traffic.
        kept: streams whose whole output is kept, "stdout" or "stderr".

    ``exit_fd`` becomes readable when the program has ended, and each of ``streams`` when it has
    printed.
    """

    def __init__(
        self,
        host: Host,
        request: LaunchRequest,
        polls: bool,
        now_ns: int,
        kept: Collection[str] = (),
    ) -> None:
        self._begun_ns = now_ns
        self._ended_ns: int | None = None
        self._ended_by: str | None = None
        self._status: int | None = None
        self._status_fd, request["status"] = os.pipe()
        # It ranks itself, because it may run for long before this thread goes on.
        request["rank"] = system.program_rank(polls)
        python = _PYTHON if request["parent"] is None else sys.executable
        self._process = host.spawn(
            [*_command(python), launcher.__file__, json.dumps(request)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(request["status"],),
            env={},
            cwd="/",
            start_new_session=True,
        )
        os.close(request["status"])
        self.exit_fd = os.pidfd_open(self._process.pid)
        self._outputs = (Output("stdout" in kept), Output("stderr" in kept))
        self._files = [
            file for file in (self._process.stdout, self._process.stderr) if file is not None
        ]
        self.streams = {
            file.fileno(): output for file, output in zip(self._files, self._outputs, strict=True)
        }

    @property
    def is_running(self) -> bool:
        """Tell whether the program has not ended."""
        return self._ended_by is None

    @property
    def prints_too_much(self) -> bool:
        """Tell whether it has printed more than a program may."""
        return any(output.size_bytes > MOST_OUTPUT_BYTES for output in self._outputs)

    def read(self, stream: int) -> bool:
        """Take what is in one of its streams; return False at the stream's end."""
        data = os.read(stream, _READ_BYTES)
        self.streams[stream].take(data)
        return bool(data)

    def end(self, ended_by: str, now_ns: int) -> None:
        """Note the end of the program; one that runs is killed, with all that it has started.

        Raises:
            OSError: it was never started: it could not be confined, or is no program.
        """
        if not self.is_running:
            return
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()
        said = os.read(self._status_fd, _STATUS_BYTES).split()
        has_status = bool(said) and said[-1].isdigit()
        if has_status and ended_by == ENDED:
            self._status = int(said[-1])
        # Without a status the kernel has killed it, as a machine without memory does.
        self._ended_by = KILLED if ended_by == ENDED and not has_status else ended_by
        self._ended_ns = now_ns
        self._read_the_rest()
        os.close(self._status_fd)
        os.close(self.exit_fd)
        if ended_by == ENDED and (not said or NOT_STARTED in said):
            raise OSError(f"a program could not be started: {self._outputs[1].text().strip()}")

    def _read_the_rest(self) -> None:
        for stream in self.streams:
            os.set_blocking(stream, False)
            with contextlib.suppress(BlockingIOError):
                while not self.prints_too_much and self.read(stream):
                    pass
        for file in self._files:
            file.close()

    def printed(self) -> dict[str, bytes]:
        """Return what it has printed on the streams that are kept."""
        stdout, stderr = (b"".join(output.parts) for output in self._outputs)
        return {"stdout": stdout, "stderr": stderr}

    def report(self) -> dict[str, object]:
        """Return the values of the fact "program" that are of this program."""
        code = None if self._status is None else os.waitstatus_to_exitcode(self._status)
        stdout, stderr = self._outputs
        return {
            "begun_ns": self._begun_ns,
            "ended_ns": self._ended_ns,
            "ended_by": self._ended_by,
            "status": code if code is not None and code >= 0 else None,
            "signal": -code if code is not None and code < 0 else None,
            "stdout": stdout.text(),
            "stderr": stderr.text(),
            "printed_bytes": [stdout.size_bytes, stderr.size_bytes],
        }


def _command(python: str) -> list[str]:
    """Return what runs a file of Python. Where the kernel has no IPv6, nothing hides it."""
    words = [python, "-I", "-S", "-B"]
    return [*words, ipv4_alone.__file__, *words] if system.has_ipv6() else words

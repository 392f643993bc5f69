"""How a guest's kernel holds its processes: by ptrace, or by seccomp where it can.

A process of the guest is a process of the host, and its kernel must get all of its system calls and
faults. By ptrace each of these stops the process several times. Since Linux 6.17 User Mode Linux
can instead let the process filter its own calls, and report them by a signal handler and a futex:
``seccomp=on``, which is faster. Results are equal.

Such a filter binds a process less than a tracer does. One that wants to can read and write all of
the guest's memory ("insecure and should only be used with a trusted userspace", says the help of
``seccomp=`` in arch/um/os-Linux/start_up.c). The test bed is trusted; programs of a scenario are
not, so a guest with such programs holds all of its processes by ptrace. The boundary around the
guest does not depend on it.
"""

from __future__ import annotations

import functools
import mmap
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from orchestrator.errors import UsageError
from orchestrator.planning.flows import programs
from orchestrator.planning.runspec import PlannedFlow

Stubs = Literal["ptrace", "seccomp"]

SWITCH = "ORCHESTRATOR_GUEST_SECCOMP"
"""Environment variable: ``off`` holds the processes of all guests by ptrace."""

OPEN_FILES_FIX = (
    "raise the limit on open files, which `ulimit -n` shows; or let this kernel hold its processes "
    f"by ptrace, which takes longer: {SWITCH}=off"
)

_HELP = b"seccomp=<on/auto/off>"
"""The kernel's own help, which is in its program, for the option that switches it on."""


def best(linux: Path) -> Stubs:
    """Return the faster way that a kernel has, of whose program this is the path.

    Of a program that is not there it is ptrace: its boot tells that it is not there.
    """
    try:
        status = linux.stat()
    except FileNotFoundError:
        return "ptrace"
    return _best(linux, status.st_size, status.st_mtime_ns)


@functools.cache
def _best(linux: Path, size_bytes: int, _changed_ns: int) -> Stubs:
    if not size_bytes:  # there is no map of nothing
        return "ptrace"
    with linux.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        return "ptrace" if text.find(_HELP) < 0 else "seccomp"


def of_run(linux: Path, flows: Sequence[PlannedFlow]) -> Stubs:
    """Return how the kernel of a run with these flows holds its processes.

    Raises:
        UsageError: the environment variable that switches seccomp off has another value.
    """
    if programs.runs_in(flows) or _is_off():
        return "ptrace"
    return best(linux)


def require_valid_switch() -> None:
    """Raise UsageError where the environment variable that switches seccomp off is wrong."""
    _is_off()


def _is_off() -> bool:
    value = os.environ.get(SWITCH, "")
    if value not in ("", "off"):
        raise UsageError(
            f"{SWITCH} is {value!r}\n  fix: set it to off, or unset it: then guests whose kernel "
            "can hold its processes by seccomp do so"
        )
    return value == "off"

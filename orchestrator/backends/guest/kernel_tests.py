"""Runs a kernel's own tests, each in a guest of its own, in virtual time and confined.

A test that hangs, breaks the network or crashes the kernel so affects no other. Equal tests get an
equal guest: the same clock, randomness and addresses.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from guest import cache
from guest.build import GuestKernel
from orchestrator import plaintext, sandbox
from orchestrator.backends import bed_code, process
from orchestrator.compile.bounds import MIB, Bounds
from orchestrator.decode.output import OutputFolder, console_text
from orchestrator.errors import BedError
from orchestrator.files.temporary import remove_with_retries, temporary_folder

FILES = "/run/tests"
"""Where a test finds the files of all tests."""

_MEMORY_BYTES = 1024 * MIB
_EPOCH_NS = 1_700_000_000_000_000_000
_STATUS_BYTES = 64
_STATUS = re.compile(rb"(exit|late) (-?\d{1,5}) (\d{1,18})\n", re.ASCII)
_INITIALISED = re.compile(r"\b__initcall__kmod_(\w+?)__\d+_\d+_", re.ASCII)
"""___initcall_id() of include/linux/init.h makes such names."""
_BOUNDS = Bounds(file_bytes={"said": 64 * MIB, "status": _STATUS_BYTES})
_LINES = 400
"""Lines of a test's output that are kept: the first and the last ones."""

How = Literal["exit", "late", "hung", "broken"]


@dataclass(frozen=True)
class GuestTest:
    """What a guest runs: a command in a folder, by its path below the files of all tests.

    ``limit_s`` is how much of the guest's time it may take.
    """

    command: tuple[str, ...]
    folder: str
    limit_s: float


@dataclass(frozen=True)
class Ended:
    """How a test ended.

    Attributes:
        how: "exit" with ``status``, "late" by the guest's time, "hung" by the wall time, or
            "broken": the guest ended before the test did, or wrote what no guest may write.
        status: the exit status; minus the number of the signal that ended it.
        simulated_s: the guest's time that it took; 0 where that is not known.
        wall_s: wall time with the guest's boot.
        said: what it printed, bounded and without control characters.
        error: what is wrong with a broken guest.
    """

    how: How
    status: int
    simulated_s: float
    wall_s: float
    said: str
    error: str = ""


@dataclass(frozen=True)
class Bench:
    """Boots a guest for one test after the other.

    ``folder`` holds what the guests read. ``built_in`` are the modules that are built in.
    """

    kernel: GuestKernel
    folder: Path
    built_in: tuple[str, ...]
    cpu: int

    def run(self, test: GuestTest, timeout_s: float) -> Ended:
        """Run a test, which may take ``timeout_s`` of wall time.

        Raises:
            MachineError: this user cannot be confined here.
        """
        given, output, console = (self.folder / name for name in ("in", "out", "console"))
        remove_with_retries(output)
        output.mkdir()
        document = {
            "command": test.command,
            "folder": test.folder,
            "limit_s": test.limit_s,
            "built_in": self.built_in,
        }
        (given / "test.json").write_text(json.dumps(document), encoding="utf-8")
        paths = sandbox.SandboxPaths(
            self.kernel.linux, bed_code.PARTS, self.kernel.modules_dir, given, output
        )
        read = OutputFolder(output, _BOUNDS)
        began_s = time.monotonic()
        with sandbox.guest_sandbox(paths, _MEMORY_BYTES) as boundary:
            read.owner_uid = boundary.uid
            with (
                console.open("wb") as console_file,
                process.started(
                    boundary.command(_command()),
                    console_file,
                    {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "TMPDIR": "/dev/shm"},
                    {self.cpu},
                    boundary=boundary,
                ) as started,
            ):
                try:
                    in_time = process.ends_within(timeout_s, started, read, console)
                    error = ""
                except BedError as wrong:
                    in_time, error = True, str(wrong)
        return _ended(read, console, time.monotonic() - began_s, in_time, error)


@contextlib.contextmanager
def open_bench(
    kernel: GuestKernel, files: Mapping[str, Path], programs: Mapping[str, Path]
) -> Iterator[Bench]:
    """Open a bench for tests.

    Args:
        kernel: the kernel of all guests.
        files: folders that tests read and change, each for itself, by their path among them.
        programs: programs of this machine that guests find first on their PATH, by their names.

    Raises:
        MachineError: this user cannot be confined here, or a folder cannot be copied.
    """
    sandbox.require_confinement()
    bed_code.compile_code()
    with temporary_folder("tests") as folder:
        tests, own = folder / "in" / "tests", folder / "in" / "bin"
        tests.mkdir(parents=True)
        own.mkdir()
        (folder / "out").mkdir()
        for name, source in files.items():
            (tests / name).parent.mkdir(parents=True, exist_ok=True)
            cache.copy(source, tests / name)
        for name, source in programs.items():
            cache.copy(source.resolve(), own / name)
        yield Bench(kernel, folder, _built_in(kernel), max(os.sched_getaffinity(0)))


def _built_in(kernel: GuestKernel) -> tuple[str, ...]:
    """Return the modules that a kernel has built in, by the symbols of their initialisation."""
    symbols = kernel.linux.parent / "System.map"
    text = symbols.read_text(errors="replace") if symbols.is_file() else ""
    return tuple(sorted(set(_INITIALISED.findall(text))))


def _ended(read: OutputFolder, console: Path, wall_s: float, in_time: bool, error: str) -> Ended:
    """Return how a guest's test ended, by what the guest wrote, which may be anything."""
    said, found = "", None
    try:
        if (file := read.opened("said")) is not None:
            said = plaintext.bounded(file.whole().decode("utf-8", "replace"), _LINES)
        found = _STATUS.fullmatch(read.start("status", _STATUS_BYTES) or b"")
    except BedError as wrong:
        error = error or str(wrong)
    if not in_time:
        return Ended("hung", 0, 0.0, wall_s, said)
    if error or found is None:
        lines = process.last_lines(console_text(console))
        reason = error or "the guest ended before the test did"
        return Ended("broken", 0, 0.0, wall_s, "\n".join([said.rstrip(), *lines]), reason)
    how: How = "exit" if found[1] == b"exit" else "late"
    return Ended(how, int(found[2]), int(found[3]) / 1e9, wall_s, said)


def _command() -> list[str]:
    """Return the kernel's command line: that of runs, but with IPv6, which many tests are about."""
    return [
        sandbox.KERNEL,
        "time-travel=inf-cpu",
        f"time-travel-start={_EPOCH_NS}",
        "random_seed=1",
        f"mem={_MEMORY_BYTES // MIB}M",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        "quiet",
        "norandmaps",
        "con=null",
        "con0=null,fd:1",
        "uml_dir=/tmp/",
        "PYTHONHASHSEED=0",
        f"PYTHONPATH={sandbox.BED}",
        f"BED_CODE={sandbox.BED}",
        f"BED_MODULES={sandbox.MODULES}",
        f"BED_INPUT={sandbox.INPUT}",
        f"BED_TESTS={FILES}",
        f"BED_OUTPUT={sandbox.OUTPUT}",
        "init=/usr/bin/python3",
        "--",
        "-S",
        "-B",
        "-m",
        "orchestrator.testbed.kernel_test",
    ]

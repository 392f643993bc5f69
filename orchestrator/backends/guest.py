"""The default back end: the test bed inside a User Mode Linux guest in virtual time."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from guest.build import GuestKernel
from orchestrator.backends import sandbox
from orchestrator.backends.bedspec import bed_spec
from orchestrator.backends.modules import Built, Handed, hand_in
from orchestrator.backends.record import assemble, decoder
from orchestrator.errors import GuestError
from orchestrator.recording import Recording
from orchestrator.runspec import RunSpec, at_most, guest_memory_bytes

WATCHDOG_S = 120.0
"""Wall time without any progress after which a guest counts as hung."""

_EPOCH_NS = 1_700_000_000_000_000_000
_PROGRESS_S = 0.1
_CONSOLE_LINES = 12
_TESTBED = Path(__file__).resolve().parent.parent / "testbed"

Report = Callable[[str, float], None]
"""Called with the phase (setup, probes, traffic, done) and the simulated seconds of traffic."""


@dataclass(frozen=True)
class GuestOptions:
    """How to run the guest.

    ``cpu`` None picks a CPU; ``modules`` are those that are not the kernel's own; ``hook`` is a
    test's way to break the bed.
    """

    kernel: GuestKernel
    unconfined: bool = False
    cpu: int | None = None
    watchdog_s: float = WATCHDOG_S
    hook: Path | None = None
    modules: Built = field(default_factory=Built)


def workspace() -> Path:
    """Create and return a folder of this user alone for one run's files."""
    return Path(tempfile.mkdtemp(prefix="orchestrator-"))


def run(
    spec: RunSpec,
    options: GuestOptions,
    folder: Path,
    report: Report,
    guard: Callable[[int], None],
    release: Callable[[int], None],
) -> Recording:
    """Run one planned run in a guest and return its recording.

    Args:
        spec: what to run.
        options: kernel and confinement.
        folder: an empty folder (see ``workspace``) for everything the run writes.
        report: told the phase and simulated seconds, about ten times a second.
        guard: told the guest's process group once it runs.
        release: told the same when it has ended.

    Raises:
        GuestError: the guest ended early, hung, or its test bed failed; with what it said last.
        MachineError: a congestion-control module is not part of the guest kernel.
    """
    memory = guest_memory_bytes(at_most(spec.network, spec.events), len(spec.flows))
    handed = hand_in(spec, options.modules, options.kernel, folder / "in" / "modules")
    paths = _prepare(spec, options, folder, memory, handed)
    command = _command(spec, options, paths, memory)
    tcp = decoder(spec, folder)

    def passed_on(phase: str, simulated_s: float) -> None:
        tcp.advance()
        report(phase, simulated_s)

    with (folder / "console").open("wb") as console, _started(command, console, options) as process:
        guard(process.pid)
        try:
            _watch(process, paths.output, options.watchdog_s, passed_on, folder)
        finally:
            release(process.pid)
    if (paths.output / "progress").exists() and _progress(paths.output)[0] == "done":
        confined = not options.unconfined
        return assemble(spec, options.kernel, folder, tcp, modules=handed, confined=confined)
    failure = paths.output / "failure"
    if failure.exists():
        said = failure.read_text(encoding="utf-8", errors="replace")
        raise GuestError(f"the test bed failed: {said}", last_words(folder))
    raise GuestError("the guest ended before the run did", last_words(folder))


def last_words(folder: Path) -> list[str]:
    """Return the last lines that the test bed and the guest's console said."""
    lines: list[str] = []
    for path in (folder / "out" / "bed.log", folder / "console"):
        if path.exists():
            text = path.read_text(encoding="utf-8", errors="replace")
            lines += [line for line in text.splitlines() if line.strip()][-_CONSOLE_LINES:]
    return lines


def _prepare(
    spec: RunSpec, options: GuestOptions, folder: Path, memory: int, modules: Sequence[Handed]
) -> sandbox.Paths:
    document = bed_spec(spec, memory)
    kernel = options.kernel
    given, output = folder / "in", folder / "out"
    given.mkdir(exist_ok=True)  # the modules are there already
    output.mkdir()
    if options.hook is not None:
        shutil.copy(options.hook, given / "hook.py")
        document["hook"] = "hook.py"
    document["modules"] = [{"name": each.name, "parameters": each.parameters} for each in modules]
    (given / "spec.json").write_text(json.dumps(document), encoding="utf-8")
    return sandbox.Paths(kernel.linux, _TESTBED, kernel.modules_dir, given, output)


def _place(options: GuestOptions, inside: str, outside: Path) -> str:
    return str(outside) if options.unconfined else inside


def _command(spec: RunSpec, options: GuestOptions, paths: sandbox.Paths, memory: int) -> list[str]:
    """Return the whole command line: boundary, fixed address layout, kernel, boot arguments."""
    code = _place(options, sandbox.BED, paths.bed.parent)
    environment = {
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": code,
        "BED_CODE": code,
        "BED_INPUT": _place(options, sandbox.INPUT, paths.input),
        "BED_OUTPUT": _place(options, sandbox.OUTPUT, paths.output),
    }
    boot = [
        _place(options, sandbox.KERNEL, paths.linux),
        "time-travel=inf-cpu",
        f"time-travel-start={_EPOCH_NS}",
        f"random_seed={spec.seed}",
        f"mem={memory // 2**20}M",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        "norandmaps",
        "ipv6.disable=1",
        "con=null",
        "con0=null,fd:1",
        f"uml_dir={'/tmp/' if not options.unconfined else str(paths.output.parent) + '/'}",
        *(f"{name}={value}" for name, value in environment.items()),
        "init=/usr/bin/python3",
        "--",
        "-S",
        "-B",
        "-m",
        "testbed.init",
    ]
    boundary = [] if options.unconfined else sandbox.confined(paths)
    return [*boundary, "setarch", "x86_64", "-R", *boot]


@contextlib.contextmanager
def _started(
    command: list[str], console: IO[bytes], options: GuestOptions
) -> Iterator[subprocess.Popen[bytes]]:
    """Start the guest as the leader of its own process group; whatever happens, end it."""
    cpu = options.cpu if options.cpu is not None else min(os.sched_getaffinity(0))

    def settle() -> None:
        os.sched_setaffinity(0, {cpu})
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    environment = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "TMPDIR": "/dev/shm"}
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=console,
        stderr=subprocess.STDOUT,
        env=environment,
        cwd="/",
        start_new_session=True,
        preexec_fn=settle,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _progress(output: Path) -> tuple[str, float]:
    """Return the phase and the simulated seconds of traffic that the bed last reported."""
    try:
        phase, time_ns = (output / "progress").read_text(encoding="ascii").split()
        return phase, int(time_ns) / 1e9
    except (FileNotFoundError, ValueError):
        return "boot", 0.0


def _watch(
    process: subprocess.Popen[bytes],
    output: Path,
    watchdog_s: float,
    report: Report,
    folder: Path,
) -> None:
    """Wait for the guest's end, passing its progress on.

    Raises:
        GuestError: nothing moved for ``watchdog_s`` of wall time.
    """
    last: tuple[object, ...] = ()
    moved = time.monotonic()
    end = os.pidfd_open(process.pid)
    try:
        while not select.select([end], [], [], _PROGRESS_S)[0]:
            phase, simulated_s = _progress(output)
            report(phase, simulated_s)
            now = (phase, simulated_s, _written(output))
            if now != last:
                last, moved = now, time.monotonic()
            elif time.monotonic() - moved > watchdog_s:
                message = f"the guest made no progress for {watchdog_s:g} s, in phase {phase}"
                raise GuestError(message, last_words(folder))
    finally:
        os.close(end)


def _written(output: Path) -> int:
    return sum(entry.stat().st_size for entry in os.scandir(output))

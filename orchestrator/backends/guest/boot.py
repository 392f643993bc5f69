"""Boots the guest of a run on the machine that holds its input, and waits for its end."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator import sandbox
from orchestrator.backends import bed_bundle, bed_code, process
from orchestrator.backends.contract import WATCHDOG_S, Report, RunContext
from orchestrator.backends.guest import stubs
from orchestrator.backends.progress import ProgressMonitor
from orchestrator.errors import GuestError
from orchestrator.sandbox import limits, view
from orchestrator.sandbox.boundary import Boundary

_EPOCH_NS = 1_700_000_000_000_000_000
ENVIRONMENT = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "TMPDIR": "/dev/shm"}


@dataclass(frozen=True)
class GuestBoot:
    """What a machine has to know of a run, beside its input folder, to boot the guest.

    Attributes:
        memory_bytes: size of the guest's memory.
        seed: the guest's source of randomness.
        parameters: words of the kernel's command line that set parameters of built-in modules.
        processes: number of processes that the traffic engines start at most.
        duration_s: duration of the run's traffic.
        unconfined: whether the guest runs without its sandbox.
        watchdog_s: wall time without progress after which the guest counts as hung.
        hint: what a user can do about a guest that hangs or takes too long.
        stubs: how the kernel holds its processes.
    """

    memory_bytes: int
    seed: int
    parameters: tuple[str, ...]
    processes: int
    duration_s: float
    unconfined: bool = False
    watchdog_s: float = WATCHDOG_S
    hint: str = ""
    stubs: stubs.Stubs = "ptrace"


def command_of(boot: GuestBoot, paths: sandbox.SandboxPaths) -> list[str]:
    """Return the kernel's command line; without a sandbox it also fixes the address layout."""

    def seen(inside: str, outside: Path) -> str:
        return str(outside) if boot.unconfined else inside

    code = seen(sandbox.BED, bed_code.PROJECT)
    environment = {
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": code,
        "BED_CODE": code,
        "BED_INPUT": seen(sandbox.INPUT, paths.input),
        "BED_OUTPUT": seen(sandbox.OUTPUT, paths.output),
    }
    command = [
        seen(sandbox.KERNEL, paths.linux),
        "time-travel=inf-cpu",
        f"time-travel-start={_EPOCH_NS}",
        f"random_seed={boot.seed}",
        f"mem={boot.memory_bytes // 2**20}M",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        "norandmaps",
        "ipv6.disable=1",
        "con=null",
        "con0=null,fd:1",
        *(["seccomp=on"] if boot.stubs == "seccomp" else []),
        f"uml_dir={'/tmp/' if not boot.unconfined else str(paths.output.parent) + '/'}",
        *boot.parameters,
        *(f"{name}={value}" for name, value in environment.items()),
        "init=/usr/bin/python3",
        "--",
        "-S",
        "-B",
        "-m",
        "orchestrator.testbed.init",
    ]
    if boot.unconfined:
        # A sandbox ends with the controller. Without one, the guest itself must.
        return ["setpriv", "--pdeathsig", "KILL", "setarch", "x86_64", "-R", *command]
    return command


def run_guest(
    boot: GuestBoot,
    command: list[str],
    paths: sandbox.SandboxPaths,
    context: RunContext,
    report: Report,
) -> None:
    """Start the guest and return when its run has ended well.

    Raises:
        GuestError: it ended early, hung, or its test bed failed; with its last output.
        MachineError: it cannot be confined here.
    """
    limits.require_file_size(boot.memory_bytes)
    if boot.stubs == "seccomp":
        # The kernel keeps a socket to each process that it holds so.
        limits.require_open_files(_limits(boot, context).processes, stubs.OPEN_FILES_FIX)
    else:
        limits.require_open_files()
    folder = context.folder
    bed_bundle.write(paths.input)
    monitor = ProgressMonitor(
        "the guest",
        boot.duration_s,
        context.bounds.wall_s,
        boot.watchdog_s,
        GuestError,
        hint=boot.hint,
    )
    with (
        _boundary(boot, paths, context) as boundary,
        (folder / "console").open("wb") as console,
        process.started(
            command if boundary is None else boundary.command(command),
            console,
            ENVIRONMENT if boundary is None else {**ENVIRONMENT, **view.run_environment(folder)},
            {context.cpu},
            boundary=boundary,
        ) as started,
    ):
        context.add_group(started.pid)
        try:
            process.watch(started, context, monitor, report)
        finally:
            context.remove_group(started.pid)
        explained = "" if boundary is None else boundary.explain()
        process.require_done(context, boot.duration_s, "the guest", GuestError, explained)


@contextlib.contextmanager
def _boundary(
    boot: GuestBoot, paths: sandbox.SandboxPaths, context: RunContext
) -> Iterator[Boundary | None]:
    """Open the sandbox of a run; None without confinement."""
    if boot.unconfined:
        yield None
        return
    with sandbox.guest_sandbox(
        paths, boot.memory_bytes, _limits(boot, context), own_filters=boot.stubs == "seccomp"
    ) as boundary:
        context.output.owner_uid = boundary.uid
        yield boundary


def _limits(boot: GuestBoot, context: RunContext) -> limits.Limits:
    return limits.of_guest(boot.memory_bytes, boot.processes, context.bounds.total_bytes)

"""What Dask calls on a worker: it boots the guest of an order and returns what the guest wrote.

A worker needs this program, the Debian packages of a run, and the guest kernel of the controller.
It finds the kernel in its own cache by a hash of its files, or is sent it once and keeps it there.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from distributed import get_worker

from guest import build
from guest import cache as kernels
from guest.build import GuestKernel
from orchestrator import sandbox
from orchestrator.backends import bed_code
from orchestrator.backends.cluster import wire
from orchestrator.backends.cluster.wire import Order, OrderResult, Status
from orchestrator.backends.contract import RunContext
from orchestrator.backends.guest.boot import command_of, run_guest
from orchestrator.backends.remote import archive
from orchestrator.decode.output import OutputFolder
from orchestrator.errors import MachineError, OrchestratorError, RunError
from orchestrator.files.temporary import RUN_FOLDER, temporary_folder

SENT = "sent"
"""The folder of the cache for kernels that controllers have sent."""

MOST_KERNEL_BYTES = 2**28
_REPORT_PERIOD_S = 1.0
_CPU_NAME = "\0tcp-orchestrator-cpu-%d"
"""Abstract socket that a process holds while a guest of it runs on that CPU."""


class Cancelled(RunError):
    """Nobody waits for this run any more."""


def execute(message: bytes, topic: str, number: int) -> bytes:
    """Do an order and return the answer as bytes. Called in a thread of a Dask worker.

    Args:
        message: the order.
        topic: the topic of Dask's events to which progress is reported.
        number: what identifies the order in these reports.
    """
    name = platform.node()
    order = Order.from_bytes(message)
    try:
        require_same_program(order.code)
        kernel = find_kernel(order.kernel)
        if kernel is None:
            return OrderResult("kernel", name).to_bytes()
        if not order.boot.unconfined:
            _require_confinement()
        return _run(order, kernel, _reporter(topic, number)).to_bytes()
    except MachineError as error:
        return OrderResult("unfit", name, str(error)).to_bytes()


def examine(code: str, unconfined: bool) -> bytes:
    """Return as JSON the name of this machine, and why it cannot run guests, or an empty text."""
    problem = ""
    try:
        require_same_program(code)
        if not unconfined:
            _require_confinement()
    except OrchestratorError as error:
        problem = str(error)
    return json.dumps({"worker": platform.node(), "problem": problem}).encode()


def install_kernel(content: bytes, identity: str) -> None:
    """Keep a guest kernel in this user's cache, unless it is there or is not what was announced.

    ``content`` is a tar archive with ``linux`` and ``modules/*.ko``.

    Raises:
        MachineError: it has another hash, or cannot be written.
        RemoteError: it is no archive.
    """
    root = kernels.make_root()
    stored = root / SENT / identity
    stored.parent.mkdir(mode=0o755, exist_ok=True)
    if stored.exists():
        return
    with temporary_folder("kernel", stored.parent) as folder:
        unpacked = folder / "kernel"
        archive.unpack(content, unpacked, "the controller", MOST_KERNEL_BYTES)
        sent_identity = wire.files_identity(unpacked / "linux", unpacked / "modules")
        if sent_identity != identity:
            raise MachineError(
                f"a guest kernel was sent whose hash is {sent_identity[:16]}, "
                f"and not {identity[:16]}",
                "run the plan again",
            )
        (unpacked / "linux").chmod(0o755)
        with contextlib.suppress(FileExistsError):  # another process of this machine was faster
            kernels.publish(unpacked, stored)


def find_kernel(identity: str) -> GuestKernel | None:
    """Return the kernel of that hash, built here or sent before; None when there is none.

    Raises:
        MachineError: other users could have changed it.
    """
    with contextlib.suppress(MachineError):
        built = build.find()
        if built is not None and _identity(built.linux, built.modules_dir) == identity:
            return built
    root = kernels.own_root()
    stored = root / SENT / identity
    if not stored.is_dir():
        return None
    for path in (stored / "linux", stored / "modules"):
        kernels.require_trusted(path, root)
    if _identity(stored / "linux", stored / "modules") != identity:
        raise MachineError(f"{stored} is not what was stored", f"rm -r {stored}")
    return GuestKernel(identity[:16], stored / "linux", stored / "modules", "", {})


def require_same_program(code: str) -> None:
    """Raise MachineError unless a hash is that of this program's files."""
    here = wire.code_identity()
    if code != here:
        raise MachineError(
            f"the worker's program has the hash {here[:16]}, and the controller's {code[:16]}",
            f"install the same version of this project on {platform.node()}, and start the worker "
            "again",
        )


@cache
def _identity(linux: Path, modules: Path) -> str:
    return wire.files_identity(linux, modules)


@cache
def _require_confinement() -> None:
    sandbox.require_confinement()


def _run(order: Order, kernel: GuestKernel, report: Callable[[str, float], None]) -> OrderResult:
    with temporary_folder(RUN_FOLDER) as root, own_cpu() as cpu:
        folder = root / "run"  # as the sandbox expects: its parent is this process's own
        folder.mkdir()
        archive.unpack(order.input, folder / "in", "the controller")
        (folder / "out").mkdir()
        paths = sandbox.SandboxPaths(
            kernel.linux, bed_code.PARTS, kernel.modules_dir, folder / "in", folder / "out"
        )
        context = RunContext(folder, cpu, _nothing, _nothing, bounds=order.bounds)
        error = ""
        try:
            run_guest(order.boot, command_of(order.boot, paths), paths, context, report)
        except Cancelled:
            return OrderResult("cancelled", platform.node())
        except RunError as problem:
            error = str(problem)
        return _answer(context, error)


def _answer(context: RunContext, error: str) -> OrderResult:
    """Return the answer with the files that the bed wrote: all of them, or only its log."""
    names = ["bed.log"] if error else list(context.bounds.file_bytes)
    files = {}
    try:
        for name in names:
            content = _content(context.output, name)
            if content is not None:
                files[name] = content
        console = context.console.read_bytes()[: context.bounds.console_bytes]
    except (RunError, OSError) as problem:
        return OrderResult("failed", platform.node(), error or str(problem))
    status: Status = "failed" if error else "ok"
    return OrderResult(status, platform.node(), error, wire.packed(files), console)


def _content(output: OutputFolder, name: str) -> bytes | None:
    file = output.opened(name)
    return None if file is None else file.whole()


def _nothing(_group: int) -> None:
    """Keep no list of process groups: guests end with the worker's process."""


def _reporter(topic: str, number: int) -> Callable[[str, float], None]:
    """Return a function that reports progress, and raises ``Cancelled`` when nobody waits."""
    worker = get_worker()
    key = worker.get_current_task()
    last_s = float("-inf")

    def report(phase: str, simulated_s: float) -> None:
        nonlocal last_s
        task = worker.state.tasks.get(key)
        if task is None or task.state not in ("executing", "long-running"):
            raise Cancelled("nobody waits for this run")
        now_s = time.monotonic()
        if now_s - last_s >= _REPORT_PERIOD_S:
            last_s = now_s
            worker.log_event(topic, (number, phase, float(simulated_s)))

    return report


_TAKING = threading.Lock()


@contextlib.contextmanager
def own_cpu() -> Iterator[int]:
    """Yield a CPU on which no other worker of this machine runs a guest, as far as there is one."""
    allowed = sorted(os.sched_getaffinity(0))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as held:
        chosen = random.choice(allowed)
        with _TAKING:
            for cpu in allowed:
                try:
                    held.bind(_CPU_NAME % cpu)
                except OSError:
                    continue
                chosen = cpu
                break
        yield chosen

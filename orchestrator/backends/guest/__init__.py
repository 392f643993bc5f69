"""The default back end: the test bed inside a User Mode Linux guest in virtual time."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from guest import build
from guest.build import GuestKernel
from orchestrator import sandbox
from orchestrator.backends import bed_code, modules, process
from orchestrator.backends.contract import WATCHDOG_S, BackendOptions, Report, RunContext, Traits
from orchestrator.backends.guest.examination import examine
from orchestrator.backends.guest.memory import memory_bytes, require_memory
from orchestrator.backends.modules import Built, boot_parameters, provide
from orchestrator.backends.progress import ProgressMonitor
from orchestrator.compile.testbed_spec import bed_spec
from orchestrator.decode.assemble import Machine, ProvidedModule, assemble, decoder
from orchestrator.decode.output import believing_nothing
from orchestrator.errors import GuestError
from orchestrator.planning.plan import Plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol import engines
from orchestrator.recording.model import Recording
from orchestrator.sandbox import limits, view
from orchestrator.sandbox.boundary import Boundary

__all__ = ("TRAITS", "Guest", "examine", "make")

_EPOCH_NS = 1_700_000_000_000_000_000
_ENVIRONMENT = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "TMPDIR": "/dev/shm"}


TRAITS = Traits(reproducible=True)


@dataclass
class Guest:
    """The back end ``guest``: a guest for each run, several at a time, each on a CPU of its own.

    ``jobs`` is the largest number of guests at a time; together they must fit into the memory.
    Tests break the bed on purpose with ``hook``. ``modules`` are those built beside the kernel.
    """

    kernel: GuestKernel
    unconfined: bool = False
    watchdog_s: float = WATCHDOG_S
    hook: Path | None = None
    jobs: int = 1
    modules: Built = field(default_factory=Built, init=False)
    name: str = field(default="guest", init=False)
    traits: Traits = field(default=TRAITS, init=False)

    def prepare(self, plan: Plan) -> None:
        """Check that guests can be confined and fit into memory; build the plan's modules."""
        if not self.unconfined:
            sandbox.require_confinement()
        require_memory(plan.runs, self.jobs)
        self.modules = modules.build(plan.runs, self.kernel, self.unconfined)

    def run(self, spec: RunSpec, context: RunContext, report: Report) -> Recording:
        """Run one planned run in a guest and return its recording.

        Raises:
            GuestError: the guest ended early, hung, or its test bed failed; with its last output.
            MachineError: a congestion-control module is not part of the guest kernel.
        """
        folder = context.folder
        memory = memory_bytes(spec)
        provided = provide(spec, self.modules, self.kernel, folder / "in" / "modules")
        paths = _prepare(spec, self, folder, memory, provided)
        command = _command(spec, self, paths, memory)
        tcp = decoder(spec, context.output)
        monitor = ProgressMonitor(
            "the guest", spec.duration_s, context.bounds.wall_s, self.watchdog_s, GuestError
        )

        def report_progress(phase: str, simulated_s: float) -> None:
            with believing_nothing():
                tcp.advance()
            report(phase, simulated_s)

        with (
            self._boundary(spec, paths, memory, context) as boundary,
            (folder / "console").open("wb") as console,
            process.started(
                command if boundary is None else boundary.command(command),
                console,
                _ENVIRONMENT
                if boundary is None
                else {**_ENVIRONMENT, **view.run_environment(folder)},
                {context.cpu},
                boundary=boundary,
            ) as started,
        ):
            context.add_group(started.pid)
            try:
                process.watch(started, context, monitor, report_progress)
            finally:
                context.remove_group(started.pid)
            explained = "" if boundary is None else boundary.explain()
            process.require_done(context, spec.duration_s, "the guest", GuestError, explained)
        return assemble(spec, context.output, context.console, tcp, provided, self._machine())

    @contextlib.contextmanager
    def _boundary(
        self, spec: RunSpec, paths: sandbox.Paths, memory: int, context: RunContext
    ) -> Iterator[Boundary | None]:
        """Open the sandbox of a run; None without confinement."""
        if self.unconfined:
            yield None
            return
        processes = engines.processes(flow.engine for flow in spec.flows)
        allowed = limits.of_guest(memory, processes, context.bounds.total_bytes)
        with sandbox.guest_sandbox(paths, memory, allowed) as boundary:
            context.output.owner_uid = boundary.uid
            yield boundary

    def _machine(self) -> Machine:
        manifest = self.kernel.manifest
        kernel = {key: value for key, value in manifest.items() if key != "modules_sha256"}
        return Machine({"guest_kernel": kernel, "confined": not self.unconfined})

    def close(self) -> None:
        """Do nothing: guests end with their runs."""


def make(options: BackendOptions) -> Guest:
    """Return the back end, with the guest kernel built first when it is not cached.

    Raises:
        MachineError: it cannot be built here.
    """
    kernel = build.ensure(options.build_progress)
    return Guest(kernel, options.unconfined, jobs=options.jobs)


def _prepare(
    spec: RunSpec, options: Guest, folder: Path, memory: int, modules: Sequence[ProvidedModule]
) -> sandbox.Paths:
    document = bed_spec(spec, memory)
    kernel = options.kernel
    input_folder, output = folder / "in", folder / "out"
    input_folder.mkdir(exist_ok=True)  # the modules are there already
    output.mkdir()
    if options.hook is not None:
        shutil.copy(options.hook, input_folder / "hook.py")
        document["hook"] = "hook.py"
    document["modules"] = [{"name": each.name, "parameters": each.parameters} for each in modules]
    (input_folder / "spec.json").write_text(json.dumps(document), encoding="utf-8")
    return sandbox.Paths(kernel.linux, bed_code.PARTS, kernel.modules_dir, input_folder, output)


def _path_seen_by_guest(options: Guest, inside: str, outside: Path) -> str:
    return str(outside) if options.unconfined else inside


def _command(spec: RunSpec, options: Guest, paths: sandbox.Paths, memory: int) -> list[str]:
    """Return the kernel's command line; without a sandbox it also fixes the address layout."""
    code = _path_seen_by_guest(options, sandbox.BED, bed_code.PROJECT)
    environment = {
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": code,
        "BED_CODE": code,
        "BED_INPUT": _path_seen_by_guest(options, sandbox.INPUT, paths.input),
        "BED_OUTPUT": _path_seen_by_guest(options, sandbox.OUTPUT, paths.output),
    }
    boot = [
        _path_seen_by_guest(options, sandbox.KERNEL, paths.linux),
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
        *boot_parameters(spec),
        *(f"{name}={value}" for name, value in environment.items()),
        "init=/usr/bin/python3",
        "--",
        "-S",
        "-B",
        "-m",
        "orchestrator.testbed.init",
    ]
    if options.unconfined:
        # A sandbox ends with the controller. Without one, the guest itself must.
        return ["setpriv", "--pdeathsig", "KILL", "setarch", "x86_64", "-R", *boot]
    return boot

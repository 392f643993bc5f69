"""The default back end: the test bed inside a User Mode Linux guest in virtual time."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from guest import kept_checks
from guest.build import GuestKernel
from guest.choice import DEFAULT, KernelChoice
from orchestrator import sandbox
from orchestrator.backends import bed_bundle, bed_code, kernels, modules, program_files
from orchestrator.backends.contract import (
    WATCHDOG_S,
    BackendOptions,
    Report,
    RunContext,
    Traits,
)
from orchestrator.backends.guest import stubs
from orchestrator.backends.guest.boot import GuestBoot, command_of, run_guest
from orchestrator.backends.guest.examination import examine
from orchestrator.backends.guest.features import require_features, without_absent
from orchestrator.backends.guest.memory import (
    boot_memory_bytes,
    fits,
    memory_bytes,
    require_memory,
)
from orchestrator.backends.guest.next_start import NextStart
from orchestrator.backends.modules import ModuleBuilds, boot_parameters, provide
from orchestrator.compile.testbed_spec import bed_spec
from orchestrator.decode.assemble import Machine, ProvidedModule, assemble, decoder
from orchestrator.decode.output import believing_nothing
from orchestrator.planning.flows import programs
from orchestrator.planning.plan import Plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol import engines
from orchestrator.protocol.reports.trace_records import WANTED
from orchestrator.protocol.specification import TestbedSpec
from orchestrator.recording.model import Recording
from orchestrator.sandbox import trial

__all__ = ("TRAITS", "Guest", "beginning", "examine", "make")

TRAITS = Traits(
    reproducible=True,
    chooses_kernels=True,
    confines_programs=True,
    emulates_network_cards=True,
    captures=frozenset(WANTED),
)

WATCHDOG_PER_HOST_S = 0.1
"""A guest is silent so much longer for each host: when it builds them, and reads them back at the
end. That took 3 minutes for a thousand pairs of hosts on a busy machine."""


@dataclass
class Guest:
    """The back end ``guest``: a guest for each run, several at a time, each on a CPU of its own.

    ``jobs`` is the largest number of guests at a time; together they must fit into the memory. With
    a CPU and memory for one more, the next guest boots while the traffic of another one ends.
    Tests break the bed on purpose with ``hook``. ``kernel`` is that of runs that name none;
    ``kernels`` has those of others. ``modules`` are those built beside each kernel, by its key.
    """

    kernel: GuestKernel
    unconfined: bool = False
    watchdog_s: float = WATCHDOG_S
    hook: Path | None = None
    jobs: int = 1
    kernels: Mapping[KernelChoice, GuestKernel] = field(default_factory=dict)
    modules: dict[str, ModuleBuilds] = field(default_factory=dict, init=False)
    name: str = field(default="guest", init=False)
    traits: Traits = field(default=TRAITS, init=False)
    _boots_ahead: bool = field(default=False, init=False)

    def prepare(self, plan: Plan) -> None:
        """Check that guests can be confined and fit into memory; build the plan's modules."""
        require_memory(plan.runs, self.jobs)
        spare_cpu = len(os.sched_getaffinity(0)) > self.jobs
        self._boots_ahead = spare_cpu and fits(plan.runs, self.jobs + 1)
        stubs.require_valid_switch()
        with ThreadPoolExecutor(1) as beside:
            code = beside.submit(bed_bundle.prepare)
            if not self.unconfined:
                sandbox.require_confinement()
            code.result()
        by_kernel: dict[str, list[RunSpec]] = {}
        for spec in plan.runs:
            by_kernel.setdefault(self.kernel_of(spec).key, []).append(spec)
        for key, runs in by_kernel.items():
            kernel = self.kernel_of(runs[0])
            for spec in runs:
                require_features(spec, kernel.release)
            self.modules[key] = modules.build(runs, kernel, self.unconfined)

    def kernel_of(self, spec: RunSpec) -> GuestKernel:
        """Return the kernel of a run; KeyError for one that was not given to this back end."""
        if spec.kernel == DEFAULT:
            return self.kernels.get(DEFAULT, self.kernel)
        return self.kernels[spec.kernel]

    def run(self, spec: RunSpec, context: RunContext, report: Report) -> Recording:
        """Run one planned run in a guest and return its recording.

        Raises:
            GuestError: the guest ended early, hung, or its test bed failed; with its last output.
            MachineError: a congestion-control module is not part of the guest kernel.
        """
        boot = self.boot(spec)
        paths, provided = self.write_input(spec, context.folder)
        command = command_of(boot, paths)
        tcp = decoder(spec, context.output)
        next_start = NextStart(spec.duration_s, context.let_next_begin)

        def report_progress(phase: str, simulated_s: float) -> None:
            if self._boots_ahead:
                next_start.update(phase, simulated_s)
            with believing_nothing():
                tcp.advance()
            context.watch_samples(tcp)
            report(phase, simulated_s)

        run_guest(boot, command, paths, context, report_progress)
        context.let_next_begin()
        return assemble(spec, context.output, context.console, tcp, provided, self.machine(spec))

    def boot(self, spec: RunSpec) -> GuestBoot:
        """Return what the machine that boots the guest of a run has to know."""
        return GuestBoot(
            boot_memory_bytes(spec),
            spec.seed,
            tuple(boot_parameters(spec)),
            engines.processes(flow.engine for flow in spec.flows),
            spec.duration_s,
            self.unconfined,
            self.watchdog_s + WATCHDOG_PER_HOST_S * len(spec.network.hosts),
            programs.hint_without_progress(spec.flows),
            stubs.of_run(self.kernel_of(spec).linux, spec.flows),
        )

    def write_input(
        self,
        spec: RunSpec,
        folder: Path,
        specify: Callable[[RunSpec, int], TestbedSpec] = bed_spec,
    ) -> tuple[sandbox.SandboxPaths, list[ProvidedModule]]:
        """Write all that the guest of a run reads to ``folder/in``, and make ``folder/out``.

        ``specify`` returns what the test bed does, of the run and the guest's memory in bytes.

        Raises:
            MachineError: a congestion-control module is not part of the guest kernel.
        """
        kernel = self.kernel_of(spec)
        provided = provide(spec, self.modules[kernel.key], kernel, folder / "in" / "modules")
        document = specify(spec, memory_bytes(spec))
        return _prepare(spec, self, folder, document, provided), provided

    def machine(self, spec: RunSpec, worker: str | None = None) -> Machine:
        """Return the machine of the test bed; ``worker`` names another one that booted it."""
        built = self.kernel_of(spec)
        kernel = {key: value for key, value in built.manifest.items() if key != "modules_sha256"}
        kernel["check"] = kept_checks.verdict(built.key)
        if "source" in kernel:  # whose folder is nobody else's business
            kernel["source"] = Path(str(kernel["source"])).name
        known = {
            "guest_kernel": kernel,
            "guest_stubs": stubs.of_run(built.linux, spec.flows),
            "confined": not self.unconfined,
        }
        return Machine(known if worker is None else {**known, "worker": worker})

    def close(self) -> None:
        """Do nothing: guests end with their runs."""


def beginning(unconfined: bool) -> contextlib.AbstractContextManager[None]:
    """Return a context in which it is tried whether guests can be confined, for ``prepare()``."""
    return contextlib.nullcontext() if unconfined else trial.begun()


def make(options: BackendOptions) -> Guest:
    """Return the back end, with each guest kernel built first when it is not cached.

    Raises:
        MachineError: one cannot be built here.
    """
    built = {
        choice: kernels.ensure(options.build_progress, choice, options.unconfined)
        for choice in dict.fromkeys(options.kernels)
    }
    first = next(iter(built.values()))
    kernel = built.get(DEFAULT, first)
    return Guest(kernel, options.unconfined, jobs=options.jobs, kernels=built)


def _prepare(
    spec: RunSpec,
    options: Guest,
    folder: Path,
    document: TestbedSpec,
    modules: Sequence[ProvidedModule],
) -> sandbox.SandboxPaths:
    kernel = options.kernel_of(spec)
    without_absent(document, kernel.release)
    input_folder, output = folder / "in", folder / "out"
    input_folder.mkdir(exist_ok=True)  # the modules are there already
    output.mkdir()
    if options.hook is not None:
        shutil.copy(options.hook, input_folder / "hook.py")
        document["hook"] = "hook.py"
    document["modules"] = [
        {"name": module.name, "parameters": module.parameters} for module in modules
    ]
    if document["flows"]:
        program_files.provide(spec, document, input_folder)
    (input_folder / "spec.json").write_text(json.dumps(document), encoding="utf-8")
    return sandbox.SandboxPaths(
        kernel.linux, bed_code.PARTS, kernel.modules_dir, input_folder, output
    )

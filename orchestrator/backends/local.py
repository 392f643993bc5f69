"""The back end ``local``: the test bed on this machine, as root, in real time.

``testbed/local.py`` is the bed's program, which leaves the machine as it was. This module is the
controller's side: it checks the machine, starts and watches the program, and builds the recording.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from kmods import catalogue
from orchestrator.backends import process, program_files
from orchestrator.backends.bed_code import PROJECT
from orchestrator.backends.contract import (
    WATCHDOG_S,
    BackendOptions,
    Examination,
    Finding,
    Report,
    RunContext,
    Traits,
)
from orchestrator.backends.modules import ModuleBuilds, needed
from orchestrator.backends.progress import ProgressMonitor
from orchestrator.compile.testbed_spec import bed_spec
from orchestrator.decode.assemble import Machine, ProvidedModule, assemble, decoder
from orchestrator.errors import MachineError, UsageError
from orchestrator.planning.flows.programs import program_names
from orchestrator.planning.plan import Plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol import engines, examination, kernel_modules
from orchestrator.recording.model import Recording

SYSTEM_PYTHON = "/usr/bin/python3"
"""The Python that runs the bed; Mininet is installed for it."""

SWITCH_PROGRAMS = ("ovsdb-server", "ovs-vswitchd")
OURS = (kernel_modules.LINKS, *kernel_modules.OBSERVERS)
"""Modules of this project besides congestion controls."""
ANY_RUN: examination.Needs = {
    "modules": sorted({*kernel_modules.ALWAYS, "openvswitch"}),
    "ours": [],
    "programs": sorted({"modprobe", *engines.packages(), *SWITCH_PROGRAMS}),
    "io_uring": True,
}
"""What most runs need of a machine."""

PREFLIGHT_TIMEOUT_S = 60
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PYTHONPATH": str(PROJECT)}


TRAITS = Traits(
    most_jobs=1,
    jobs_reason="in real time, runs disturb each other",
    captures=frozenset({"packets"}),
)


@dataclass
class Local:
    """One run at a time on this machine. Tests break the bed on purpose with ``hook``."""

    watchdog_s: float = WATCHDOG_S
    hook: Path | None = None
    name: str = field(default="local", init=False)
    traits: Traits = field(default=TRAITS, init=False)
    unconfined: bool = field(default=False, init=False)

    def prepare(self, plan: Plan) -> None:
        """Check that this machine has what the plan's runs need."""
        require_all(ask(needs(plan.runs)))

    def run(self, spec: RunSpec, context: RunContext, report: Report) -> Recording:
        """Run one planned run and return its recording.

        Raises:
            BedError: the bed ended early, hung or failed; with its last output.
        """
        folder = context.folder
        provided = write_input(spec, folder, self.hook)
        given, output = folder / "in", folder / "out"
        monitor = ProgressMonitor(
            "the bed", spec.duration_s, context.bounds.wall_s, self.watchdog_s
        )
        command = [SYSTEM_PYTHON, "-B", "-m", "orchestrator.testbed.local", str(given), str(output)]
        with (
            (folder / "console").open("wb") as console,
            process.started(
                command, console, ENVIRONMENT, os.sched_getaffinity(0), stdin=subprocess.PIPE
            ) as started,
        ):
            context.add_group(started.pid)
            try:
                process.watch(started, context, monitor, report)
            finally:
                context.remove_group(started.pid)
        process.require_done(context, spec.duration_s, "the bed")
        return assemble(
            spec,
            context.output,
            context.console,
            decoder(spec, context.output),
            provided,
            Machine(),
        )

    def close(self) -> None:
        """Do nothing: no resource outlives a run."""


def make(_options: BackendOptions) -> Local:
    """Return the back end."""
    return Local()


def examine() -> Examination:
    """Return what this machine lacks for any run at all."""
    if os.geteuid():
        return Examination([], "needs root: sudo orchestrator doctor --backend local")
    try:
        findings = ask(ANY_RUN)
    except MachineError as error:
        return Examination([Finding("python", False, str(error).partition("\n")[0], error.fix)])
    return Examination([Finding(**finding) for finding in findings])


def write_input(
    spec: RunSpec, folder: Path, hook: Path | None = None, memory_bytes: int | None = None
) -> list[ProvidedModule]:
    """Make ``folder/in`` for a bed in real time, and an empty ``folder/out``.

    Args:
        memory_bytes: memory of the machine that will run the bed; None means this machine.

    Returns:
        The modules that the run uses. They are the machine's own.
    """
    provided = [
        ProvidedModule(name, need.parameters, {"parameters": need.parameters})
        for name, need in needed(spec, ModuleBuilds()).items()
    ]
    document = bed_spec(spec, _memory_bytes() if memory_bytes is None else memory_bytes)
    document["modules"] = [
        {"name": module.name, "parameters": module.parameters} for module in provided
    ]
    given = folder / "in"
    given.mkdir()
    (folder / "out").mkdir()
    if hook is not None:
        (given / "hook.py").write_bytes(hook.read_bytes())
        document["hook"] = "hook.py"
    program_files.provide(spec, document, given)
    (given / "spec.json").write_text(json.dumps(document), encoding="utf-8")
    return provided


def needs(runs: Iterable[RunSpec]) -> examination.Needs:
    """Return what runs need of a machine.

    Raises:
        UsageError: a run needs what only the guest supports.
    """
    modules = {*kernel_modules.ALWAYS}
    programs = {"modprobe"}
    datagrams = False
    for spec in runs:
        for flow in spec.flows:
            if flow.module is not None:
                raise UsageError(
                    f"flow {flow.name}: a module of your own is built for the guest's kernel only; "
                    "run this scenario with --backend guest"
                )
            datagrams |= flow.transport == "udp"
        programs |= set(engines.programs(flow.engine for flow in spec.flows))
        programs |= set(program_names(spec.flows))
        modules |= set(needed(spec, ModuleBuilds()))
        if spec.network.switches:
            modules.add("openvswitch")
            programs |= set(SWITCH_PROGRAMS)
        if spec.network.spray:
            modules |= set(kernel_modules.SPRAYING)
        for link in spec.network.links:
            for channel in (link.forward, link.reverse):
                if channel.rate_bps is not None and channel.queue is not None:
                    modules.add(f"sch_{channel.queue.qdisc.kind}")
                if channel.policer is not None:
                    modules.add("act_police")
    return {
        "modules": sorted(modules - kernel_modules.BUILT_IN),
        "ours": [
            name
            for name in sorted(modules)
            if name in OURS or name.removeprefix("tcp_") in catalogue.modules()
        ],
        "programs": sorted(programs),
        "io_uring": datagrams,
    }


def ask(needs: examination.Needs) -> list[examination.Finding]:
    """Return the findings of ``testbed/preflight.py`` on this machine.

    Raises:
        MachineError: its Python cannot run the preflight check.
    """
    fix = "apt-get install python3"
    try:
        done = subprocess.run(
            [SYSTEM_PYTHON, "-B", "-m", "orchestrator.testbed.preflight"],
            input=json.dumps(needs),
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            check=False,
            timeout=PREFLIGHT_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MachineError(f"{SYSTEM_PYTHON} does not run: {error}", fix) from None
    if done.returncode:
        error_lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise MachineError(f"{SYSTEM_PYTHON} cannot look at this machine: {error_lines[-1]}", fix)
    findings: list[examination.Finding] = json.loads(done.stdout)
    return findings


def require_all(findings: Iterable[examination.Finding], where: str = "this machine") -> None:
    """Raise MachineError, naming each thing that is not ok and its fix, unless all are."""
    missing = [finding for finding in findings if not finding["ok"]]
    if missing:
        lines = [f"{finding['name']}: {finding['detail']}" for finding in missing]
        fixes = dict.fromkeys(finding["fix"] for finding in missing)
        raise MachineError(
            f"{where} cannot run this in real time\n  " + "\n  ".join(lines), "; ".join(fixes)
        )


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

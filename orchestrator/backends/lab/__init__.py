"""The back end ``lab``: several real hosts, reached over SSH, with an agent on each.

Nothing of this project is installed on the hosts. Each run copies the agents' code there and
removes it again (testbed/lab). Before anything is stored, all hosts are checked in parallel
(``survey``, ``check``). The agents' records are merged as if one bed had written them
(``merge_agent_records``). Their times count from one origin, which each agent gets in its own
clock's time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from orchestrator.backends.contract import (
    BackendOptions,
    Examination,
    Finding,
    Report,
    RunContext,
    Traits,
)
from orchestrator.backends.lab import check
from orchestrator.backends.lab.agent_spec import agent_documents, plan_of
from orchestrator.backends.lab.check import LabProblem, LabState
from orchestrator.backends.lab.merge_agent_records import merge
from orchestrator.backends.lab.run import LabRun
from orchestrator.backends.lab.survey import look_at_all
from orchestrator.backends.remote.ssh import SshConnections
from orchestrator.decode.assemble import Machine, assemble, decoder
from orchestrator.decode.output import OutputFolder, believing_nothing
from orchestrator.errors import UsageError
from orchestrator.planning.plan import Plan
from orchestrator.planning.runspec import LabPlan, RunSpec
from orchestrator.recording.model import Recording
from orchestrator.scenario.inventory import InventoryHost, read_inventory

TRAITS = Traits(
    most_jobs=1,
    jobs_reason="runs would share hosts and the way between them",
    follows_live_paths=True,
    on_other_hosts=True,
    captures=frozenset({"packets"}),
)


@dataclass
class Lab:
    """One run at a time on the hosts that the scenario names."""

    name: str = field(default="lab", init=False)
    traits: Traits = field(default=TRAITS, init=False)
    unconfined: bool = field(default=False, init=False)
    _found: dict[LabPlan, LabState] = field(default_factory=dict, init=False)

    def prepare(self, plan: Plan) -> None:
        """Check all hosts of all runs in parallel.

        Raises:
            UsageError: a run has no section ``lab``.
            MachineError: hosts cannot take part; it lists each problem with its fix.
        """
        for run in plan.runs:
            if run.lab is None:
                raise UsageError(
                    "--backend lab: the scenario has no section `lab`, which says what hosts there "
                    "are; see docs/reference.md"
                )
        problems: list[LabProblem] = []
        with SshConnections() as fleet:
            for run in plan.runs:
                lab = plan_of(run)
                alike = [other for other in plan.runs if other.lab == lab]
                if lab not in self._found:
                    self._found[lab] = LabState()
                    problems += look_at_all(fleet, alike, _hosts(lab), self._found[lab])
        check.require_none(list(dict.fromkeys(problems)))

    def run(self, spec: RunSpec, context: RunContext, report: Report) -> Recording:
        """Run one run on its hosts.

        Raises:
            RemoteError: a host was lost or failed; the other hosts have been released.
            BedError: the agents' records are incomplete.
        """
        lab = plan_of(spec)
        state = self._found[lab]
        documents = agent_documents(spec, state.addresses, state.bare_ns)
        report("setup", 0.0)
        with SshConnections() as fleet:
            running = LabRun(
                fleet, spec, documents, context.stopping, report,
                context.bounds.wall_s, context.bounds.total_bytes,
            )  # fmt: skip
            try:
                parts = running.go(_hosts(lab), context.folder / "parts")
            finally:
                (context.folder / "out").mkdir()
                running.write_log(context.folder / "out" / "bed.log")
        with believing_nothing():
            merge(spec, _outputs(parts, context), running.clock_facts, context.folder / "out")
        addresses = {node: state.addresses[host.name] for host in lab.hosts for node in host.nodes}
        machine = Machine({"lab": _provenance(lab, state, running.clock_facts)}, addresses)
        tcp = decoder(spec, context.output, addresses)
        return assemble(spec, context.output, context.console, tcp, (), machine)

    def close(self) -> None:
        """Do nothing: each run closes its own connections."""


def make(_options: BackendOptions) -> Lab:
    """Return the back end."""
    return Lab()


def examine() -> Examination:
    """Return what this machine lacks to reach lab hosts; each run checks the hosts themselves."""
    detail = f"asyncssh {metadata.version('asyncssh')}; each run looks at the hosts of its scenario"
    return Examination([Finding("ssh", True, detail)])


def _outputs(parts: Mapping[str, Path], context: RunContext) -> dict[str, OutputFolder]:
    """Return access to each agent's records, which have been copied to this machine."""
    return {
        host: OutputFolder(part, context.bounds, context.stopping) for host, part in parts.items()
    }


def _hosts(lab: LabPlan) -> dict[str, InventoryHost]:
    known = read_inventory(Path(lab.inventory))
    return {host.name: known[host.name] for host in lab.hosts}


def _provenance(
    lab: LabPlan, state: LabState, clocks: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    offsets = {clock["host"]: {k: v for k, v in clock.items() if k != "host"} for clock in clocks}
    return {
        "inventory": Path(lab.inventory).name,
        "emulation": None if lab.router is None else lab.router.host,
        "offloads": "off" if lab.offloads_off else "as they were",
        "hosts": {
            host.name: {
                "role": host.role,
                "plays": list(host.nodes),
                "address": state.addresses.get(host.name),
                "survey": state.answers[host.name],
                "clock": offsets[host.name],
            }
            for host in lab.hosts
        },
        "round_trips_ns": {
            f"{a} to {b}": round_trip_ns for (a, b), round_trip_ns in state.bare_ns.items()
        },
    }

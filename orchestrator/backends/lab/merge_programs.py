"""Merges what the agents of a lab report of users' programs.

What an agent wrote is hostile input: it may report the programs that its machine ran, each once,
and keep as many bytes as it was given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from orchestrator.backends.lab.agent_spec import most_kept_bytes, plan_of
from orchestrator.backends.lab.signals import ends
from orchestrator.decode.output import OutputFolder, malformed
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.kept_files import FILE
from orchestrator.protocol.programs import CLIENT, PROGRAM, SERVER
from orchestrator.protocol.reports import facts as protocol
from orchestrator.protocol.reports.facts import Fact


def program_facts(
    run: RunSpec, facts: Mapping[str, Sequence[Fact]]
) -> Iterator[Mapping[str, object]]:
    """Yield the facts of all programs, machine by machine.

    Args:
        run: the run.
        facts: the facts of each machine's agent, by the machine's name.

    Raises:
        BedError: a machine reports a program that it did not run, or one twice.
    """
    for machine, agent_facts in facts.items():
        here = _programs_of(run, machine)
        seen: set[tuple[str, str, str]] = set()
        for fact in agent_facts:
            role = CLIENT if fact["fact"] == "extracted" else fact.get("role")
            if fact["fact"] in _OF_PROGRAMS:
                key = (str(fact["fact"]), str(fact["flow"]), str(role))
                if key[1:] not in here or key in seen:
                    raise malformed(
                        f"{machine}: it reports the {role} of flow {fact['flow']}, which it did "
                        "not run, or twice"
                    )
                seen.add(key)
                yield fact


_OF_PROGRAMS = ("program", "extracted", "kept")


def _programs_of(run: RunSpec, machine: str) -> set[tuple[str, str]]:
    """Return (flow, role) of each program that runs on a machine."""
    nodes = next(host.nodes for host in plan_of(run).hosts if host.name == machine)
    return {
        (flow.name, role)
        for flow in run.flows
        if flow.engine == PROGRAM
        for role, host in zip((SERVER, CLIENT), ends(flow), strict=True)
        if host in nodes
    }


def keeps_files(run: RunSpec) -> bool:
    """Tell whether files of programs are kept."""
    return any(flow.engine == PROGRAM and flow.traffic_parameters.get("keep") for flow in run.flows)


def kept_files(
    run: RunSpec, parts: Mapping[str, OutputFolder], facts: Mapping[str, Sequence[Fact]]
) -> Iterator[bytes]:
    """Yield the contents of kept files, in the order of ``program_facts``.

    Raises:
        BedError: a machine wrote other contents than its facts say, or more than it may.
    """
    for machine, part in parts.items():
        told = protocol.of(facts[machine], protocol.Kept)
        size_bytes = sum(one["bytes"] for fact in told for one in fact["files"])
        file = part.opened(FILE)
        data = b"" if file is None else file.whole()
        if len(data) != size_bytes or size_bytes > most_kept_bytes(run):
            raise malformed(
                f"{machine}: {FILE} has {len(data)} bytes, its facts are of {size_bytes}, and it "
                f"may keep {most_kept_bytes(run)}"
            )
        yield data

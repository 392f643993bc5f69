"""Faults between the flows of a scenario: names, settings of hosts, and paths' MTUs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path as FilePath

from orchestrator.errors import Fault
from orchestrator.kinds import tcp
from orchestrator.kinds.congestion_control import Congestion
from orchestrator.kinds.fields import Path
from orchestrator.kinds.tcp import EndTcp
from orchestrator.network import Network
from orchestrator.planning.runspec import PlannedFlow
from orchestrator.scenario import LoadedVariant, Scenario
from orchestrator.units import shown


def name_faults(
    variant: LoadedVariant, entries: Sequence[Sequence[PlannedFlow]]
) -> Iterator[Fault]:
    """Yield a fault for each entry with a flow whose name an earlier entry's flow has."""
    first: dict[str, int] = {}
    for index, entry in enumerate(entries):
        taken = next((f.name for f in entry if first.setdefault(f.name, index) != index), None)
        if taken is not None:
            mark = variant.mark(("flows", index, "name"))
            yield mark.fault(
                f"two flows are called {shown(taken)}: one of this entry and one of flow entry "
                f"{first[taken]}"
            )


def settings_faults(
    variant: LoadedVariant, entries: Sequence[Sequence[PlannedFlow]], network: Network
) -> Iterator[Fault]:
    """Yield a fault for each setting of a host that two flow entries set differently.

    A setting belongs to the sending host's namespace. It affects every flow there whose congestion
    control is of the same module, whether the flow's entry gives the setting or not.
    """
    first: dict[tuple[str, FilePath], PlannedFlow] = {}
    for control_path, control, flows in _controlled(variant, entries):
        module = variant.modules.find(control.name, control.module)
        if module is None:
            continue
        reported: set[str] = set()
        for flow in flows:
            other = first.setdefault((network.machine(flow.source), module.source), flow)
            for name in dict.fromkeys((*flow.settings, *other.settings)):
                mine, theirs = flow.settings.get(name), other.settings.get(name)
                if mine != theirs and name not in reported:
                    reported.add(name)
                    yield variant.mark((*control_path, "parameters", name)).fault(
                        f"{name} is a setting of the sending host, and flow {shown(other.name)} "
                        f"also sends from {flow.source}, "
                        + _differently(control.name, name, mine, theirs)
                    )


def listed_control_faults(
    variant: LoadedVariant, entries: Sequence[Sequence[PlannedFlow]]
) -> Iterator[Fault]:
    """Yield a fault for each entry whose file names a control that another flow has otherwise.

    A kernel has only one congestion control of a name, with one set of parameters.
    """
    listed = {
        index for index, flow in enumerate(variant.scenario.flows) if flow.traffic.names_hosts
    }
    for index in sorted(listed):
        mine = {flow.congestion: flow for flow in entries[index]}
        others = (flow for entry in entries for flow in entry if flow.congestion in mine)
        for other in others:
            flow = mine[other.congestion]
            if (other.module, other.parameters) != (flow.module, flow.parameters):
                yield variant.mark(("flows", index, "traffic", "file")).fault(
                    f"flow {shown(flow.name)} uses {flow.congestion} as the kernel has it, and "
                    f"flow {shown(other.name)} with a module or parameters of its own: a kernel "
                    "has only one. Leave `congestion` empty where it is that of the flow entry"
                )
                break


def mtu_faults(variant: LoadedVariant, entries: Sequence[Sequence[PlannedFlow]]) -> Iterator[Fault]:
    """Yield a fault for each flow entry with a host that has flows of another path MTU.

    A host has one route, and the route has the MTU of all paths.
    """
    first: dict[str, PlannedFlow] = {}
    for index, entry in enumerate(entries):
        for flow in entry:
            pairs = [(host, first.setdefault(host, flow)) for host in (flow.source, flow.sink)]
            conflict = next((pair for pair in pairs if pair[1].mtu_bytes != flow.mtu_bytes), None)
            if conflict is not None:
                host, other = conflict
                yield variant.mark(("flows", index, "group")).fault(
                    f"the path of this flow has an MTU of {flow.mtu_bytes}, and flow "
                    f"{shown(other.name)}, which also uses {host}, one of {other.mtu_bytes}: a "
                    "host has one route, so give the flows hosts of their own"
                )
                break


def _controlled(
    variant: LoadedVariant, entries: Sequence[Sequence[PlannedFlow]]
) -> Iterator[tuple[Path, Congestion, Sequence[PlannedFlow]]]:
    """Yield (path in the scenario, congestion control, its flows) of each TCP flow entry."""
    for index, entry in enumerate(entries):
        flow = variant.scenario.flows[index]
        parts = flow.traffic.parts()
        size = len(entry) // len(parts)
        for number, part in enumerate(parts):
            if part.demand.transport == "tcp":
                control_path = ("flows", index, *part.place)
                flows = entry[number * size : (number + 1) * size]
                yield control_path, part.congestion or flow.congestion, flows


def flow_ends(
    scenario: Scenario, entries: Sequence[Sequence[PlannedFlow]], network: Network
) -> Iterator[EndTcp]:
    """Yield both ends of every TCP flow, with the options that it requests of its machines."""
    for index, entry in enumerate(entries):
        options = tcp.options_of(scenario.tcp, scenario.flows[index].tcp)
        for flow in entry:
            if flow.transport == "tcp":
                source, sink = map(network.machine, (flow.source, flow.sink))
                yield EndTcp(index, flow.name, source, "sender", options)
                yield EndTcp(index, flow.name, sink, "receiver", options)


def _differently(control: str, name: str, mine: int | None, theirs: int | None) -> str:
    if theirs is None:
        return f"with {control} and without {name}: set the same value for that flow"
    if mine is None:
        return f"where it sets {theirs}: set the same value for this flow"
    return f"where it sets {theirs}, not {mine}: set the same value for both"

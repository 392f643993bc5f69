"""Flows of Multipath TCP: a flow for each subflow of a connection.

The first subflow carries the connection's name. The kernel opens the others, so they have no
sockets of their own in the test bed: a socket between their two hosts with the connection's port is
theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.errors import Fault
from orchestrator.kinds.fields import Path
from orchestrator.kinds.mptcp import Mptcp
from orchestrator.network import Network
from orchestrator.planning.runspec import PlannedFlow
from orchestrator.protocol.engines import ENGINES
from orchestrator.scenario import LoadedVariant
from orchestrator.scenario.model import Flow
from orchestrator.units import shown


def entry_faults(flow: Flow, network: Network) -> Iterator[tuple[Path, str]]:
    """Yield (path in the flow entry, message) of what Multipath TCP cannot do in this network."""
    if flow.mptcp is None:
        return
    demands = [part.demand for part in flow.traffic.parts()]
    if not all(ENGINES[demand.engine].multipath for demand in demands):
        text = f"`mptcp` is for bulk traffic with the built-in engine, not for {flow.traffic.kind}"
        yield ("mptcp",), f"{text} of the engine {demands[0].engine}"
    if any(demand.window is not None for demand in demands):
        yield ("traffic", "window"), "the windows of subflows cannot be limited: leave `window` out"
    first, *others = flow.mptcp.paths
    machines = _machines(network, first)
    for number, name in enumerate(others, start=1):
        if _machines(network, name) != machines:
            yield (
                ("mptcp", "paths", number),
                f"{shown(name)} and {shown(first)} have not the same machines: list both in the "
                "topology's `multihomed`, or use `kind: multipath`",
            )


def _machines(network: Network, group: str) -> list[tuple[str, str]]:
    found = network.group(group)
    pairs = zip(found.sources, found.sinks, strict=True)
    return [(network.machine(source), network.machine(sink)) for source, sink in pairs]


def machine_faults(
    variant: LoadedVariant, entries: Sequence[Sequence[PlannedFlow]], network: Network
) -> Iterator[Fault]:
    """Yield a fault for each entry whose settings are not those of another one of its machines."""
    first: dict[str, tuple[int, Mptcp]] = {}
    for index, entry in enumerate(entries):
        mine = variant.scenario.flows[index].mptcp
        if mine is None:
            continue
        for flow in entry:
            others = [
                first.setdefault(network.machine(host), (index, mine))
                for host in (flow.source, flow.sink)
            ]
            other = next((number for number, theirs in others if theirs != mine), None)
            if other is not None:
                name = variant.scenario.flows[other].name
                yield variant.mark(("flows", index, "mptcp")).fault(
                    f"these are settings of the machine of {flow.source}, and flow {shown(name)} "
                    "has others there: give both the same ones"
                )
                break


@dataclass(frozen=True)
class Connection:
    """The subflows of a connection by their numbers, the first one first."""

    subflows: tuple[PlannedFlow, ...]

    @property
    def name(self) -> str:
        """That of the connection."""
        subflow = self.subflows[0].subflow
        assert subflow is not None, "see connections()"
        return subflow.connection


def connections(flows: Sequence[PlannedFlow]) -> list[Connection]:
    """Return the Multipath TCP connections of a run, in the order of their first subflows."""
    found: dict[str, list[PlannedFlow]] = {}
    for flow in flows:
        if flow.subflow is not None:
            found.setdefault(flow.subflow.connection, []).append(flow)
    return [Connection(tuple(subflows)) for subflows in found.values()]


def starts_s(flows: Sequence[PlannedFlow], drawn_s: Sequence[float]) -> list[float]:
    """Return the start of each flow: of a subflow that of its connection."""
    first: Mapping[str, float] = {
        flow.subflow.connection: start_s
        for flow, start_s in reversed(list(zip(flows, drawn_s, strict=True)))
        if flow.subflow is not None
    }
    return [
        start_s if flow.subflow is None else first[flow.subflow.connection]
        for flow, start_s in zip(flows, drawn_s, strict=True)
    ]

"""Checks lists of packets to lose against the flows of a scenario, and describes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from orchestrator.kinds.events.reroute import Reroute
from orchestrator.kinds.fields import Path
from orchestrator.network import Hop, Network
from orchestrator.planning.runspec import PlannedFlow
from orchestrator.protocol.links.chosen import ChosenPackets, text
from orchestrator.scenario import Scenario
from orchestrator.suggestions import suggest
from orchestrator.units import shown
from topologies.links import DIRECTIONS

Finding = tuple[Path, str]
_SHOWN_NAMES = 12


def list_faults(
    scenario: Scenario,
    network: Network,
    scenario_paths: Mapping[str, Path],
    flows: Sequence[PlannedFlow],
) -> Iterator[Finding]:
    """Yield (path in the scenario, message) of lists of packets of flows that do not exist.

    Lists of events are checked with the events.
    """
    for hop in _hops(network):
        loss = hop.channel.loss
        if loss is not None and loss.chosen is not None:
            problem = flow_problem(loss.chosen, hop.name, flows, reroutes(scenario))
            if problem:
                where = scenario_paths.get(hop.link.name, ())
                yield (*where, "loss", hop.direction, "flow"), problem


def reroutes(scenario: Scenario) -> bool:
    """Return whether events change paths of flows."""
    return any(
        isinstance(event, Reroute) or getattr(event, "reroute", False) for event in scenario.events
    )


def flow_problem(
    chosen: ChosenPackets, channel: str, flows: Sequence[PlannedFlow], rerouted: bool
) -> str:
    """Return why no packet of the list's flow passes the channel; empty when packets may.

    Subflows of one connection have one port, by which a link knows a flow. So where several of them
    pass it is a problem, too. ``rerouted`` tells that paths may change, so that any flow may pass.
    """
    if chosen.flow is None:
        return ""
    names = [flow.name for flow in flows]
    if chosen.flow not in names:
        listed = ", ".join(names[:_SHOWN_NAMES])
        more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
        return (
            f"there is no flow {shown(chosen.flow)}{suggest(chosen.flow, names)}; "
            f"the flows are: {listed}{more}"
        )
    flow = flows[names.index(chosen.flow)]
    if flow.transport == "icmp":
        return f"packets of flow {shown(flow.name)} are not known: ICMP has no ports"
    if other := next(_alike(flow, channel, flows, rerouted), None):
        return (
            f"packets of flow {shown(flow.name)} are not told from those of {shown(other.name)} "
            "here: both are subflows of one connection, and have its port"
        )
    if rerouted or channel in (*flow.path, *flow.ack_path):
        return ""
    passed = [name for name in flow.path if name.rpartition(":")[0] not in (flow.source, flow.sink)]
    return f"flow {shown(flow.name)} does not pass {channel}; its data pass {', '.join(passed)}"


def _alike(
    flow: PlannedFlow, channel: str, flows: Sequence[PlannedFlow], rerouted: bool
) -> Iterator[PlannedFlow]:
    """Yield the other subflows of a subflow's connection whose packets may pass the channel."""
    for other in flows:
        if flow.subflow is None or other.subflow is None or other is flow:
            continue
        passes = rerouted or channel in (*other.path, *other.ack_path)
        if passes and other.subflow.connection == flow.subflow.connection:
            yield other


@dataclass(frozen=True)
class ChosenLossDescription:
    """Packets that a channel loses by their numbers, such as ``3, 5-6``.

    ``count`` tells which packets are counted: those with data, or all; of ``flow``, or of all.
    """

    name: str
    packets: str
    count: Literal["data", "all"]
    flow: str | None


def described(network: Network) -> list[ChosenLossDescription]:
    """Return the packets that each channel loses by their numbers as a run begins."""
    return [
        ChosenLossDescription(
            hop.name, text(chosen.ranges), "data" if chosen.data_only else "all", chosen.flow
        )
        for hop in _hops(network)
        if hop.channel.loss is not None and (chosen := hop.channel.loss.chosen) is not None
    ]


def _hops(network: Network) -> Iterator[Hop]:
    return (Hop(link, direction) for link in network.links for direction in DIRECTIONS)

"""The network as a run's last events leave it, and the round trips that can be measured then."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from orchestrator.network import Channel, Hop, Network
from orchestrator.planning.runspec import Pair, RunSpec
from orchestrator.protocol.units import nanoseconds


@dataclass(frozen=True)
class ProbedPath:
    """The path between two hosts of a flow and back, at the end of a run."""

    source: str
    sink: str
    hops: tuple[Hop, ...]


def network_at_end(run: RunSpec) -> Network:
    """Return the network with the state of each channel after the last event."""
    last: dict[str, Channel] = {
        hop.name: hop.channel
        for link in run.network.links
        for hop in link.hops
        if hop.channel.delay_trace is not None
    }
    for event in run.events:
        last.update({name: state.channel for name, state in event.channels.items()})
    end_ns = nanoseconds(run.duration_s)
    for name, channel in last.items():
        if channel.delay_trace is not None:
            last[name] = replace(channel, delay_s=channel.delay_trace.last(end_ns))
    links = (
        replace(
            link,
            forward=last.get(f"{link.name}:forward", link.forward),
            reverse=last.get(f"{link.name}:reverse", link.reverse),
        )
        for link in run.network.links
    )
    return replace(run.network, links=tuple(links)) if last else run.network


def trips_at_end(run: RunSpec) -> Iterator[ProbedPath]:
    """Yield the round trips of flows that a probe can make after traffic.

    Left out are paths over a link that is down, and over one that follows a trace or a model. A
    trace lets nothing through after its last opportunity, and a model draws its last rate. So are
    paths without a switch, because traffic is stopped at the switches.
    """
    network = network_at_end(run)
    links = {link.name: link for link in network.links}
    routes: dict[Pair, tuple[str, ...]] = {}
    for flow in run.flows:
        routes.setdefault((flow.source, flow.sink), flow.path)
        routes.setdefault((flow.sink, flow.source), flow.ack_path)
    up: dict[str, bool] = {}
    for event in run.events:
        routes.update(event.routes)
        up.update({name: state.up for name, state in event.channels.items()})
    for source, sink in dict.fromkeys((flow.source, flow.sink) for flow in run.flows):
        there, back = routes[source, sink], routes[sink, source]
        hops = []
        for name in (*there, *back):
            link, _, direction = name.rpartition(":")
            hops.append(Hop(links[link], "forward" if direction == "forward" else "reverse"))
        passable = all(up.get(hop.name, True) and not hop.channel.rate_varies for hop in hops)
        if passable and min(len(there), len(back)) > 1:
            yield ProbedPath(source, sink, tuple(hops))


def least_passing_share(hops: tuple[Hop, ...]) -> float:
    """Return the share of packets that come through in the worst states of all loss models."""
    return math.prod(
        (1 - max([channel.mean_loss, *(channel.loss.state_losses if channel.loss else ())]))
        * (1 - channel.corruption)
        for channel in (hop.channel for hop in hops)
    )

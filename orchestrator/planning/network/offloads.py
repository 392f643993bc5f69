"""What network cards do for hosts: which hosts have it, and which links do not go with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from orchestrator.kinds.fields import Path
from orchestrator.network import Network
from orchestrator.scenario import Scenario
from orchestrator.units import shown

_PATH: Path = ("host", "offloads")


def with_offloads(scenario: Scenario, network: Network) -> Network:
    """Return the network with the hosts that have TSO, and those that have small queues."""
    host = scenario.host
    if host is None:
        return network
    return replace(
        network,
        tso_hosts=network.hosts if "tso" in host.offloads else (),
        small_queue_hosts=network.hosts if host.small_queues else (),
    )


def offload_faults(network: Network) -> Iterator[tuple[Path, str]]:
    """Yield (path, message) of links that do not go with the offloads of hosts.

    ``network`` has them, and what events change.

    A policer comes before the place where super-packets become frames. netem damages packets in
    their first piece only. So a host sends in one piece where packets are corrupted, and then the
    kernel has no TSO.
    """
    if network.live and (network.tso_hosts or network.small_queue_hosts):
        yield ("host",), "the topology live-path has real hosts, so no network card is emulated"
    yield from _socket_queues(network)
    if not network.tso_hosts:
        return
    for link in network.links:
        for hop in link.hops:
            node = link.a if hop.direction == "forward" else link.b
            if node in network.tso_hosts and hop.channel.policer is not None:
                yield (
                    _PATH,
                    f"{shown(hop.name)} begins at a host and has a policer, which would judge "
                    "super-packets: leave out `tso`, or put the policer on another link",
                )
            if hop.channel.most_corruption:
                yield (
                    _PATH,
                    f"{shown(hop.name)} corrupts packets, which needs hosts that send each frame "
                    "in one piece: leave out `tso` or `corruption`",
                )


def _socket_queues(network: Network) -> Iterator[tuple[Path, str]]:
    """Yield the links of hosts with small queues whose queue would treat sockets as its own.

    sch_fq paces each packet by its socket, and no router knows it.
    """
    for link in network.links:
        for hop in link.hops:
            node = link.a if hop.direction == "forward" else link.b
            queue = hop.channel.queue
            if node in network.small_queue_hosts and queue is not None and queue.kind == "fq":
                yield (
                    ("host", "small_queues"),
                    f"{shown(hop.name)} begins at a host and has the queue `fq`, which would pace "
                    "by its sockets: give that link another queue",
                )

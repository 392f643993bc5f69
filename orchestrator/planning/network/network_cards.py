"""What network cards do for hosts: which hosts have it, and which links do not go with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from orchestrator.kinds.fields import Path
from orchestrator.kinds.host import HostCard, HostOptions
from orchestrator.network import Hop, Network
from orchestrator.scenario import Scenario
from orchestrator.suggestions import suggest
from orchestrator.units import listed, shown

Fault = tuple[Path, str]


def with_cards(scenario: Scenario, network: Network) -> Network:
    """Return the network with the hosts that have TSO, and those that have small queues."""
    if scenario.host is None:
        return network
    cards = _by_host(scenario.host, network)
    return replace(
        network,
        tso_hosts=tuple(host for host in cards if "tso" in cards[host].offloads),
        small_queue_hosts=tuple(host for host in cards if cards[host].small_queues),
    )


def unknown_names(scenario: Scenario, network: Network) -> Iterator[Fault]:
    """Yield (path, message) of each group or host of ``host`` that the network has not."""
    options = scenario.host
    if options is None:
        return
    groups = [group.name for group in network.groups]
    for key, given, valid in (
        ("group", options.groups, groups),
        ("host", options.hosts, network.hosts),
    ):
        for name in given or ():
            if name not in valid:
                some = [*valid[:10], *(["..."] if len(valid) > 10 else [])]
                yield (
                    ("host", f"{key}s", name),
                    f"there is no {key} {shown(name)}{suggest(name, valid)}; "
                    f"defined: {listed(some) or 'none'}",
                )


def card_faults(scenario: Scenario, network: Network) -> Iterator[Fault]:
    """Yield (path, message) of links that do not go with the network cards of hosts.

    ``network`` has them, and what events change.
    """
    if scenario.host is None:
        return
    if network.live and (network.tso_hosts or network.small_queue_hosts):
        yield ("host",), "the topology live-path has real hosts, so no network card is emulated"
    places = {host: card.places for host, card in _by_host(scenario.host, network).items()}
    for node, hop in _hops_by_start(network):
        if node in network.small_queue_hosts:
            yield from _socket_queues(places[node]["small_queues"], hop)
        if node in network.tso_hosts:
            yield from _policed(places[node]["offloads"], hop)
    if network.tso_hosts:
        yield from _corrupted(places[network.tso_hosts[0]]["offloads"], network)


def _hops_by_start(network: Network) -> Iterator[tuple[str, Hop]]:
    for link in network.links:
        for hop in link.hops:
            yield (link.a if hop.direction == "forward" else link.b), hop


def _policed(path: Path, hop: Hop) -> Iterator[Fault]:
    """Yield the policer that comes before the place where super-packets become frames."""
    if hop.channel.policer is not None:
        yield (
            path,
            f"{shown(hop.name)} begins at a host and has a policer, which would judge "
            "super-packets: leave out `tso`, or put the policer on another link",
        )


def _corrupted(path: Path, network: Network) -> Iterator[Fault]:
    """Yield the links that corrupt packets.

    netem damages packets in their first piece only. So a host sends in one piece where packets are
    corrupted, and then the kernel has no TSO.
    """
    for _node, hop in _hops_by_start(network):
        if hop.channel.most_corruption:
            yield (
                path,
                f"{shown(hop.name)} corrupts packets, which needs hosts that send each frame "
                "in one piece: leave out `tso` or `corruption`",
            )


def _socket_queues(path: Path, hop: Hop) -> Iterator[Fault]:
    """Yield the link of a host with small queues whose queue would treat sockets as its own.

    sch_fq paces each packet by its socket, and no router knows it.
    """
    queue = hop.channel.queue
    if queue is not None and queue.kind == "fq":
        yield (
            path,
            f"{shown(hop.name)} begins at a host and has the queue `fq`, which would pace "
            "by its sockets: give that link another queue",
        )


def _by_host(options: HostOptions, network: Network) -> dict[str, HostCard]:
    """Return what the network card of each host has."""
    groups: dict[str, list[str]] = {host: [] for host in network.hosts}
    for group in network.groups:
        for host in dict.fromkeys((*group.sources, *group.sinks)):
            groups[host].append(group.name)
    return {host: options.of_host(host, groups[host]) for host in network.hosts}

"""What network cards do for hosts: which hosts have it, and which links do not go with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain

from orchestrator.kinds.fields import Path
from orchestrator.kinds.host import HostCard, HostOptions
from orchestrator.kinds.host_qdiscs import frames_of_packet, host_queue
from orchestrator.network import Channel, Hop, Network
from orchestrator.protocol.links.link import ReceiveRing
from orchestrator.protocol.units import nanoseconds
from orchestrator.scenario import Scenario
from orchestrator.suggestions import suggest
from orchestrator.units import listed, shown
from topologies import RequestedQueue

Fault = tuple[Path, str]


def with_cards(scenario: Scenario, network: Network) -> Network:
    """Return the network with what the network cards of its hosts have."""
    if scenario.host is None:
        return network
    cards = _by_host(scenario.host, network)
    return replace(
        network,
        tso_hosts=tuple(host for host in cards if "tso" in cards[host].offloads),
        small_queue_hosts=tuple(host for host in cards if cards[host].small_queues),
        gro_hosts=tuple(host for host in cards if "gro" in cards[host].offloads),
        qdisc_hosts=tuple(host for host in cards if cards[host].qdisc != "none"),
        links=tuple(
            replace(
                link,
                forward=_ending(link.forward, cards.get(link.b)),
                reverse=_ending(link.reverse, cards.get(link.a)),
            )
            for link in network.links
        ),
    )


def _ending(channel: Channel, card: HostCard | None) -> Channel:
    """Return a channel that ends at a host with that network card, None at a switch."""
    if card is None or card.coalesce is None or not card.moderates:
        return channel
    time_ns, frames = nanoseconds(card.coalesce.time), card.coalesce.frames or 0
    return replace(channel, ring=ReceiveRing(time_ns, frames, card.ring or 0))


def with_qdiscs(
    scenario: Scenario, network: Network, queues: Mapping[str, RequestedQueue]
) -> dict[str, RequestedQueue]:
    """Return the requested queues by channel, with those of hosts where their links begin."""
    found = dict(queues)
    if scenario.host is None or not network.qdisc_hosts:
        return found
    cards = _by_host(scenario.host, network)
    for node, hop in _hops_by_start(network):
        if node in network.qdisc_hosts and hop.name in queues:
            card = cards[node]
            frames = frames_of_packet(hop.channel.mtu_bytes) if "tso" in card.offloads else 1
            spec = host_queue(card.qdisc, frames)
            if spec is not None:
                found[hop.name] = RequestedQueue(spec, (*card.places["qdisc"], "limit"))
    return found


def has_cards(network: Network) -> bool:
    """Return whether a host of the network has a network card that does anything."""
    return bool(
        network.tso_hosts
        or network.small_queue_hosts
        or network.gro_hosts
        or network.qdisc_hosts
        or any(hop.channel.ring is not None for link in network.links for hop in link.hops)
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
    if network.live and has_cards(network):
        yield ("host",), "the topology live-path has real hosts, so no network card is emulated"
    cards = _by_host(scenario.host, network)
    places = {host: card.places for host, card in cards.items()}
    for of_card in (_rings, _unowned):
        yield from dict.fromkeys(chain.from_iterable(map(of_card, cards.values())))
    for node, hop in _hops_by_start(network):
        if node in network.qdisc_hosts:
            yield from _queues_of_both(places[node]["qdisc"], hop)
        elif node in network.small_queue_hosts:
            yield from _socket_queues(places[node]["small_queues"], hop)
        if node in network.tso_hosts:
            yield from _policed(places[node]["offloads"], hop)
    if network.tso_hosts:
        yield from _corrupted(places[network.tso_hosts[0]]["offloads"], network)


def _hops_by_start(network: Network) -> Iterator[tuple[str, Hop]]:
    for link in network.links:
        for hop in link.hops:
            yield (link.a if hop.direction == "forward" else link.b), hop


def _rings(card: HostCard) -> Iterator[Fault]:
    """Yield a ring in which no frame ever waits, unless moderation is switched off there."""
    if card.ring is not None and card.coalesce is None:
        yield (
            card.places["ring"],
            "no frame waits in a `ring` without moderation of interrupts: give `coalesce`, such as "
            "50us, or leave out `ring`",
        )


def _unowned(card: HostCard) -> Iterator[Fault]:
    """Yield an `fq` whose packets belong to no socket, so that it cannot pace any."""
    if card.qdisc == "fq" and not card.small_queues:
        yield (
            card.places["qdisc"],
            "`fq` paces packets by their sockets, to which they belong with small queues only: "
            "give `small_queues: true`, or another `qdisc`",
        )


def _queues_of_both(path: Path, hop: Hop) -> Iterator[Fault]:
    """Yield the link of a host with a queueing discipline that cannot have it."""
    if hop.channel.rate_bps is None:
        yield (
            path,
            f"{shown(hop.name)} begins at a host and has no rate, so nothing waits in a `qdisc`: "
            "give the link a `rate`",
        )
    elif hop.channel.is_bottleneck:
        yield (
            path,
            f"{shown(hop.name)} begins at a host and has a `queue` of its own: leave out that or "
            "`qdisc`",
        )


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
            "by its sockets: give that link another queue, or `host` "
            "the `qdisc: fq`",
        )


def _by_host(options: HostOptions, network: Network) -> dict[str, HostCard]:
    """Return what the network card of each host has."""
    groups: dict[str, list[str]] = {host: [] for host in network.hosts}
    for group in network.groups:
        for host in dict.fromkeys((*group.sources, *group.sinks)):
            groups[host].append(group.name)
    return {host: options.of_host(host, groups[host]) for host in network.hosts}

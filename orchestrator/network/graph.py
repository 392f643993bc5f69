"""The graph: hosts, switches, links, and the paths between hosts."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from orchestrator.network.channel import Channel
from orchestrator.protocol.links.frames import (
    transmission_ns,
)
from orchestrator.protocol.units import nanoseconds

DirectionName = Literal["forward", "reverse"]


@dataclass(frozen=True)
class Link:
    """A link between nodes ``a`` and ``b``: ``forward`` runs a to b, ``reverse`` b to a."""

    name: str
    a: str
    b: str
    forward: Channel
    reverse: Channel

    def channel(self, direction: DirectionName) -> Channel:
        """Return the channel of that direction."""
        return self.forward if direction == "forward" else self.reverse

    @property
    def hops(self) -> tuple[Hop, Hop]:
        """The link crossed forward and in reverse."""
        return Hop(self, "forward"), Hop(self, "reverse")


@dataclass(frozen=True)
class Hop:
    """One link crossed in one direction."""

    link: Link
    direction: DirectionName

    @property
    def channel(self) -> Channel:
        """The crossed link's channel in the crossed direction."""
        return self.link.channel(self.direction)

    @property
    def name(self) -> str:
        """Unique name of the channel, such as ``bottleneck:forward``."""
        return f"{self.link.name}:{self.direction}"


@dataclass(frozen=True)
class Group:
    """Hosts of one group: flow i of a flow entry goes from ``sources[i]`` to ``sinks[i]``."""

    name: str
    sources: tuple[str, ...]
    sinks: tuple[str, ...]


_Cost = tuple[int, int]
"""Delay in nanoseconds, and hops; sums of whole numbers do not depend on the order."""
_Edge = tuple[int, str, Hop]
"""A link's number, the node at its other end, and the hop to that node."""


@dataclass(frozen=True)
class Network:
    """A graph of hosts and switches; ``bottlenecks`` names the bottleneck links.

    A ``live`` network is a real one, whose rates, delays and losses are unknown.

    Packets follow the path of least delay, then of fewest hops. Of equal paths, each node takes the
    first link. So every switch can decide the next hop by itself. With an ``ecmp_seed``, each node
    takes one of the equal paths by a hash of the two ends. With ``spray``, each switch takes one of
    them at random for every packet; ``path`` is the first one then, and ``spread`` has all. The
    ``tso_hosts`` hand super-packets to their links, where they become frames. What
    the ``small_queue_hosts`` have in their own links belongs to their sockets until it has been
    sent. The kernels of the ``gro_hosts`` merge segments that come at once.
    The ``qdisc_hosts`` have a queueing discipline of their own in front of their links.

    A host has one link and one address. Each of ``machines`` lists hosts that are the interfaces of
    one machine, in the order of ``hosts``; the first one names it.
    """

    hosts: tuple[str, ...]
    switches: tuple[str, ...]
    links: tuple[Link, ...]
    groups: tuple[Group, ...]
    bottlenecks: tuple[str, ...]
    live: bool = False
    ecmp_seed: int | None = None
    spray: bool = False
    tso_hosts: tuple[str, ...] = ()
    small_queue_hosts: tuple[str, ...] = ()
    gro_hosts: tuple[str, ...] = ()
    qdisc_hosts: tuple[str, ...] = ()
    machines: tuple[tuple[str, ...], ...] = ()
    _leaves: set[str] = field(init=False, repr=False, compare=False, default_factory=set)
    _numbers: dict[str, int] = field(init=False, repr=False, compare=False, default_factory=dict)
    _edges: dict[str, list[_Edge]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )
    _inner: dict[str, list[_Edge]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )
    _known: dict[str, dict[str, _Cost]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )
    _groups_of_hosts: dict[str, str] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )
    _machines_of_hosts: dict[str, str] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        self._leaves.update(self.hosts)
        self._numbers.update(
            {name: number for number, name in enumerate((*self.hosts, *self.switches))}
        )
        self._machines_of_hosts.update(
            {host: hosts[0] for hosts in self.machines for host in hosts}
        )
        for number, link in enumerate(self.links):
            there, back = link.hops
            for node, edge in ((link.a, (number, link.b, there)), (link.b, (number, link.a, back))):
                self._edges.setdefault(node, []).append(edge)
                if not self._leaves & {link.a, link.b}:
                    self._inner.setdefault(node, []).append(edge)

    def begins_at(self, link_name: str, direction: str) -> str:
        """Return the node at which a direction of a link begins; LookupError without the link."""
        link = next((link for link in self.links if link.name == link_name), None)
        if link is None:
            raise LookupError(link_name)
        return link.a if direction == "forward" else link.b

    def group(self, name: str) -> Group:
        """Return the group of that name; KeyError when there is none."""
        for group in self.groups:
            if group.name == name:
                return group
        raise KeyError(name)

    @property
    def hosts_of_groups(self) -> tuple[str, ...]:
        """The hosts of all groups, in the order of the groups, each once."""
        ends = ((*group.sources, *group.sinks) for group in self.groups)
        return tuple(dict.fromkeys(host for group in ends for host in group))

    def group_of(self, host: str) -> str | None:
        """Return the name of the first group that has the host; None when none has."""
        if not self._groups_of_hosts:
            for group in self.groups:
                for each in (*group.sources, *group.sinks):
                    self._groups_of_hosts.setdefault(each, group.name)
        return self._groups_of_hosts.get(host)

    def machine(self, host: str) -> str:
        """Return the first interface of the machine that a host is an interface of, or the host."""
        return self._machines_of_hosts.get(host, host)

    def interfaces(self, machine: str) -> tuple[str, ...]:
        """Return the hosts that are interfaces of a machine; a host alone is its own machine."""
        return next((hosts for hosts in self.machines if hosts[0] == machine), (machine,))

    def path(self, source: str, sink: str) -> tuple[Hop, ...]:
        """Return the hops from ``source`` to ``sink``.

        Raises:
            LookupError: no path joins the two.
        """
        path: list[Hop] = []
        node = source
        while node != sink:
            hop = self._chosen_hop(node, source, sink)
            path.append(hop)
            node = hop.link.b if hop.direction == "forward" else hop.link.a
        return tuple(path)

    def next_hop(self, node: str, sink: str) -> Hop:
        """Return the hop by which a packet for ``sink`` leaves ``node``: the first of equal ones.

        Raises:
            LookupError: no path joins the two.
        """
        return self.equal_hops(node, sink)[0]

    def spread(self, source: str, sink: str) -> tuple[Hop, ...]:
        """Return the hops that packets from ``source`` to ``sink`` may take, the path's first.

        Raises:
            LookupError: no path joins the two.
        """
        hops = {hop.name: hop for hop in self.path(source, sink)}
        nodes = [source] if self.spray else []
        for node in nodes:
            for hop in self.equal_hops(node, sink):
                hops.setdefault(hop.name, hop)
                other = hop.link.b if hop.direction == "forward" else hop.link.a
                if other != sink and other not in nodes:
                    nodes.append(other)
        return tuple(hops.values())

    def shares(self, source: str, sink: str) -> list[tuple[Hop, Fraction]]:
        """Return the hops from ``source`` to ``sink``, and the mean share of packets on each.

        The hops are those of ``spread``. Each node that sprays gives its equal hops equal parts.

        Raises:
            LookupError: no path joins the two.
        """
        if not self.spray:
            return [(hop, Fraction(1)) for hop in self.path(source, sink)]
        shares: list[tuple[Hop, Fraction]] = []
        # Equal paths have equally many hops, so a node comes after all that send to it.
        arriving = {source: Fraction(1)}
        while arriving:
            node = next(iter(arriving))
            hops = self.equal_hops(node, sink)
            part = arriving.pop(node) / len(hops)
            for hop in hops:
                shares.append((hop, part))
                other = hop.link.b if hop.direction == "forward" else hop.link.a
                if other != sink:
                    arriving[other] = arriving.get(other, Fraction(0)) + part
        return shares

    def equal_hops(self, node: str, sink: str) -> list[Hop]:
        """Return the hops from a node on paths of the least cost, in the order of the links.

        Raises:
            LookupError: no path joins the two.
        """
        costs = self._costs(sink)
        options = [
            (_beyond(hop, costs[other]), number, hop)
            for number, other, hop in self._leaving(node, sink)
            if other in costs
        ]
        if not options:
            raise LookupError(f"no path from {node} to {sink}")
        least = min(cost for cost, _number, _hop in options)
        equal = [(number, hop) for cost, number, hop in options if cost == least]
        return [hop for _number, hop in sorted(equal, key=lambda option: option[0])]

    def _chosen_hop(self, node: str, source: str, sink: str) -> Hop:
        """Return the hop by which packets between two ends leave a node.

        ECMP takes the equal hop whose number is a hash modulo their number. The hash is the first
        eight bytes, big-endian, of sha256("<seed>:ecmp:<source>:<sink>:<node>") with the numbers of
        the nodes, so names do not change it.
        """
        if self.ecmp_seed is None:
            return self.next_hop(node, sink)
        hops = self.equal_hops(node, sink)
        if len(hops) == 1:
            return hops[0]
        numbers = (self._numbers[each] for each in (source, sink, node))
        text = ":".join(map(str, (self.ecmp_seed, "ecmp", *numbers)))
        drawn = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        return hops[drawn % len(hops)]

    def _leaving(self, node: str, sink: str) -> Iterator[_Edge]:
        """Yield the edges from a node that may lead to ``sink``; other hosts forward nothing."""
        if node in self._leaves:
            yield from self._edges.get(node, [])
            return
        yield from self._inner.get(node, [])
        if sink in self._leaves:
            for edge in self._edges.get(sink, []):
                if edge[1] == node:
                    yield _turned(edge, sink)

    def _costs(self, sink: str) -> dict[str, _Cost]:
        """Return the distance from the sink and every switch to the sink.

        Dijkstra from the sink over the switches: hosts do not forward.
        """
        if sink in self._known:
            return self._known[sink]
        costs: dict[str, _Cost] = {sink: (0, 0)}
        heap: list[tuple[_Cost, str]] = [((0, 0), sink)]
        while heap:
            cost, node = heapq.heappop(heap)
            if cost > costs[node]:
                continue
            for edge in (self._edges if node in self._leaves else self._inner).get(node, []):
                other, (_number, _node, hop) = edge[1], _turned(edge, node)
                reached = _beyond(hop, cost)
                if other not in self._leaves and (other not in costs or reached < costs[other]):
                    costs[other] = reached
                    heapq.heappush(heap, (reached, other))
        self._known[sink] = costs
        return costs

    def propagation_rtt_s(self, source: str, sink: str) -> float:
        """Return the sum of propagation delays there and back, in seconds."""
        return path_delay_s(self.path(source, sink)) + path_delay_s(self.path(sink, source))


def _beyond(hop: Hop, cost: _Cost) -> _Cost:
    return cost[0] + nanoseconds(hop.channel.delay_s), cost[1] + 1


def _turned(edge: _Edge, node: str) -> _Edge:
    """Return the edge in the other direction: it leads to ``node``."""
    number, _other, hop = edge
    return number, node, Hop(hop.link, "reverse" if hop.direction == "forward" else "forward")


def path_delay_s(path: Iterable[Hop]) -> float:
    """Return the sum of the propagation delays of the hops, in seconds."""
    return sum(hop.channel.delay_s for hop in path)


def crossing_ns(path: Iterable[Hop], frame_bytes: int) -> int:
    """Return how long a frame takes over idle links that store and forward it, in ns.

    Each link transmits it at its rate, and then it propagates. At its end it may wait for the
    interrupt of a network card.
    """
    return sum(
        transmission_ns(frame_bytes, hop.channel.rate_bps)
        + nanoseconds(hop.channel.delay_s)
        + (0 if hop.channel.ring is None else hop.channel.ring.alone_ns)
        for hop in path
    )


def passing_share(channels: Iterable[Channel]) -> float:
    """Return the share of packets that no hop loses or corrupts, apart from drops in queues."""
    kept = 1.0
    for channel in channels:
        kept *= (1 - channel.mean_loss) * (1 - channel.corruption)
    return kept


def mtu_bytes(hops: Iterable[Hop]) -> int:
    """Return the largest IP packet that passes a path."""
    return min(hop.channel.mtu_bytes for hop in hops)

"""What a topology describes: a pure graph of hosts, switches and links, in SI units.

A topology never acts; the test bed builds what is described here.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

DirectionName = Literal["forward", "reverse"]


@dataclass(frozen=True)
class Queue:
    """A link's queue in one direction; exactly one of the limits is set.

    ``limit_packets`` counts packets of any size, ``limit_bytes`` link-layer bytes.
    """

    kind: str
    limit_packets: int | None = None
    limit_bytes: int | None = None


@dataclass(frozen=True)
class Channel:
    """One direction of a link: rate and queue first, then delay and independent loss.

    ``rate_bps`` None means no rate limit and then no queue; ``delay_s`` is one way;
    ``loss`` is a probability per packet. ``judged`` marks a queue where drops are
    expected (a bottleneck); drops at any other queue are a fault of the emulation.
    """

    delay_s: float
    rate_bps: int | None = None
    queue: Queue | None = None
    loss: float = 0.0
    judged: bool = False


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
    """Hosts of one group: flow i of a line goes from ``sources[i]`` to ``sinks[i]``."""

    name: str
    sources: tuple[str, ...]
    sinks: tuple[str, ...]


@dataclass(frozen=True)
class Network:
    """A graph of hosts and switches. ``bottlenecks`` names the links whose queues are studied."""

    hosts: tuple[str, ...]
    switches: tuple[str, ...]
    links: tuple[Link, ...]
    groups: tuple[Group, ...]
    bottlenecks: tuple[str, ...]
    _adjacent: dict[str, list[tuple[str, Hop]]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )
    _leaves: set[str] = field(init=False, repr=False, compare=False, default_factory=set)

    def __post_init__(self) -> None:
        self._leaves.update(self.hosts)
        for link in self.links:
            self._adjacent.setdefault(link.a, []).append((link.b, Hop(link, "forward")))
            self._adjacent.setdefault(link.b, []).append((link.a, Hop(link, "reverse")))

    def group(self, name: str) -> Group:
        """Return the group of that name; KeyError when there is none."""
        for group in self.groups:
            if group.name == name:
                return group
        raise KeyError(name)

    def path(self, source: str, sink: str) -> tuple[Hop, ...]:
        """Return the hops of the path of least delay (ties: fewest hops, then link order).

        Raises:
            LookupError: no path joins the two.
        """
        best: dict[str, tuple[float, int]] = {source: (0.0, 0)}
        heap: list[tuple[float, int, int, str, tuple[Hop, ...]]] = [(0.0, 0, 0, source, ())]
        serial = 0
        while heap:
            delay, hops, _, node, path = heapq.heappop(heap)
            if node == sink:
                return path
            if best.get(node, (delay, hops)) < (delay, hops):
                continue
            for neighbour, hop in self._adjacent.get(node, []):
                if neighbour in self._leaves and neighbour != sink:
                    continue  # hosts do not forward
                reached = (delay + hop.channel.delay_s, hops + 1)
                if neighbour not in best or reached < best[neighbour]:
                    best[neighbour] = reached
                    serial += 1
                    heapq.heappush(heap, (*reached, serial, neighbour, (*path, hop)))
        raise LookupError(f"no path from {source} to {sink}")

    def base_rtt_s(self, source: str, sink: str) -> float:
        """Return the sum of one-way delays there and back, without serialisation, in seconds."""
        return path_delay_s(self.path(source, sink)) + path_delay_s(self.path(sink, source))


def path_delay_s(path: Iterable[Hop]) -> float:
    """Return the sum of the one-way delays of the hops, in seconds."""
    return sum(hop.channel.delay_s for hop in path)

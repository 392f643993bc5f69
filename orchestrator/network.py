"""The network of a topology as data, in SI units: a graph of hosts, switches and links."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, Protocol

from orchestrator.protocol import netem
from orchestrator.protocol.chosen import ChosenPackets
from orchestrator.protocol.frames import (
    DEFAULT_MTU_BYTES,
    ETHERNET_BYTES,
    FRAME_BYTES,
    transmission_ns,
)
from orchestrator.protocol.qdisc import Qdisc
from orchestrator.protocol.units import nanoseconds

DirectionName = Literal["forward", "reverse"]


@dataclass(frozen=True)
class Queue:
    """A link's queue in one direction; exactly one of the limits is set.

    ``limit_packets`` counts packets of any size, ``limit_bytes`` link-layer bytes. ``qdisc`` has
    the kernel's settings. ``drops_queued`` tells whether it may drop packets that it has queued.
    """

    kind: str
    qdisc: Qdisc
    limit_packets: int | None = None
    limit_bytes: int | None = None
    drops_queued: bool = False


@dataclass(frozen=True)
class Policer:
    """A token bucket that drops packets above its rate and never queues; in link-layer units."""

    rate_bps: int
    burst_bytes: int


@dataclass(frozen=True)
class Trace:
    """A capacity as opportunities to send a full-size frame; it repeats.

    ``opportunities`` are (millisecond, frames) in the order of time, none later than ``period_ms``,
    after which they repeat. ``file`` and ``sha256`` are those of the trace file.
    """

    file: str
    sha256: str
    period_ms: int
    opportunities: tuple[tuple[int, int], ...]

    @property
    def rate_bps(self) -> int:
        """The mean rate on the link layer."""
        frames = sum(number for _time, number in self.opportunities)
        return frames * FRAME_BYTES * 8 * 1000 // self.period_ms

    def until(self, end_ms: int) -> Iterator[tuple[int, int]]:
        """Yield (millisecond, frames) up to and including ``end_ms``, each millisecond once."""
        last_ms = frames = 0
        for begin_ms in itertools.count(0, self.period_ms):
            for time_ms, number in self.opportunities:
                if begin_ms + time_ms != last_ms:
                    if frames:
                        yield last_ms, frames
                    last_ms, frames = begin_ms + time_ms, 0
                if last_ms > end_ms:
                    return
                frames += number


class LossModel(Protocol):
    """A channel's loss model; the models are in ``orchestrator.kinds.losses``."""

    @property
    def kind(self) -> str:
        """Name of the model."""

    @property
    def caption(self) -> str:
        """What a drawing writes before the mean loss, such as "markov loss"."""

    @property
    def netem_resets(self) -> bool:
        """Whether netem resets its state when the delay changes."""

    @property
    def mean(self) -> float:
        """Long-run probability that a packet is lost."""

    @property
    def chosen(self) -> ChosenPackets | None:
        """The packets that it loses by their numbers; None of models that lose by chance."""

    @property
    def loses(self) -> bool:
        """Whether it may lose a packet."""

    def impairment(self) -> netem.Loss:
        """Return the loss by chance as the run begins."""

    def drops(self, packets: int, chance: float, hidden: float = 0.0) -> tuple[int, int]:
        """Return the least and largest plausible number of drops with ``impairment()``."""

    def changes(self, seed: int, duration_s: float) -> Iterator[tuple[float, float]]:
        """Yield (time in seconds, probability from then on) while the run lasts."""

    @property
    def state_losses(self) -> tuple[float, ...]:
        """The probabilities that ``changes()`` yields."""

    @property
    def states_per_s(self) -> float:
        """Mean number of states per second that it enters by its own clock."""


class RateModel(Protocol):
    """A model that changes a channel's rate by its own clock."""

    def rates(self, seed: int, duration_s: float) -> Iterator[tuple[float, int]]:
        """Yield (time in seconds, rate in bit/s from then on) while the run lasts."""


class JitterModel(Protocol):
    """A model of varying delays; see orchestrator.kinds.impairments."""

    @property
    def keep_order(self) -> bool:
        """Whether packets never overtake each other."""

    @property
    def reach_ns(self) -> tuple[int, int]:
        """Largest deviation of a packet's delay below and above the channel's, in ns."""

    @property
    def states_per_s(self) -> float:
        """Mean number of delays per second of the channel, 0 when each packet draws its own."""

    def impairment(self) -> netem.Jitter:
        """Return the jitter as it begins."""

    def changes(self, seed: int, duration_s: float) -> Iterator[tuple[float, netem.Jitter]]:
        """Yield (time in seconds, jitter from then on) while the run lasts."""


class ReorderingModel(Protocol):
    """A model of packets that skip the delay; see orchestrator.kinds.impairments."""

    @property
    def probability(self) -> float:
        """Probability that a packet skips the delay, after ``gap`` - 1 that did not."""

    @property
    def gap(self) -> int:
        """Least distance, in packets, between two packets that skip the delay."""

    def impairment(self) -> netem.Reordering | None:
        """Return the reordering, None when no packet is ever reordered."""


@dataclass(frozen=True)
class Channel:
    """One direction of a link: policer, rate and queue, then loss, delay and all else.

    ``rate_bps`` None means no rate limit and no queue; ``delay_s`` is one way. ``is_bottleneck``
    marks a queue where drops are expected; drops at any other queue are a fault of the emulation.
    ``mtu_bytes`` is the largest IP packet, the same in both directions of a link.
    ``duplication`` and ``corruption`` are probabilities of each packet. The rate of a channel with
    a ``trace`` is the trace's mean. A ``rate_model`` changes the rate while traffic runs, in step
    with the loss.

    Events change the rest: ``later_rates`` in the order of time, ``later_losses``, and the largest
    ``later_corruption``. ``delay_changes`` and ``impairment_changes`` (any but loss) tell whether
    an event changes them.
    """

    delay_s: float
    rate_bps: int | None = None
    queue: Queue | None = None
    loss: LossModel | None = None
    is_bottleneck: bool = False
    policer: Policer | None = None
    trace: Trace | None = None
    rate_model: RateModel | None = None
    jitter: JitterModel | None = None
    reordering: ReorderingModel | None = None
    duplication: float = 0.0
    corruption: float = 0.0
    later_rates: tuple[int, ...] = ()
    later_losses: tuple[LossModel, ...] = ()
    later_corruption: float = 0.0
    delay_changes: bool = False
    impairment_changes: bool = False
    mtu_bytes: int = DEFAULT_MTU_BYTES

    @property
    def frame_bytes(self) -> int:
        """Size of a full frame on the link layer."""
        return self.mtu_bytes + ETHERNET_BYTES

    @property
    def rate_varies(self) -> bool:
        """Whether the rate changes by a trace or a model of its own."""
        return self.trace is not None or self.rate_model is not None

    @property
    def mean_loss(self) -> float:
        """Long-run probability that a packet is lost after the queue."""
        return 0.0 if self.loss is None else self.loss.mean

    @property
    def impaired(self) -> bool:
        """Whether packets after the queue have any impairment but a delay."""
        models = (self.jitter, self.reordering)
        chances = self.duplication or self.corruption
        return bool(
            self.loses or chances or self.impairment_changes or any(m is not None for m in models)
        )

    @property
    def most_corruption(self) -> float:
        """Largest probability with which packets are corrupted at any time."""
        return max(self.corruption, self.later_corruption)

    @property
    def loses(self) -> bool:
        """Whether packets are lost deliberately after the queue, at any time."""
        models = [model for model in (self.loss, *self.later_losses) if model is not None]
        return any(model.loses for model in models)

    @property
    def begins_with_list(self) -> bool:
        """Whether it has a list of packets to lose by their numbers as the run begins."""
        return self.loss is not None and self.loss.chosen is not None

    @property
    def chosen(self) -> tuple[ChosenPackets, ...]:
        """The lists of packets that are lost by their numbers, at the beginning and by events."""
        models = [model for model in (self.loss, *self.later_losses) if model is not None]
        return tuple(model.chosen for model in models if model.chosen is not None)


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
    first link. So every switch can decide the next hop by itself.
    """

    hosts: tuple[str, ...]
    switches: tuple[str, ...]
    links: tuple[Link, ...]
    groups: tuple[Group, ...]
    bottlenecks: tuple[str, ...]
    live: bool = False
    _leaves: set[str] = field(init=False, repr=False, compare=False, default_factory=set)
    _edges: dict[str, list[_Edge]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )
    _inner: dict[str, list[_Edge]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )
    _known: dict[str, dict[str, _Cost]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        self._leaves.update(self.hosts)
        for number, link in enumerate(self.links):
            there, back = Hop(link, "forward"), Hop(link, "reverse")
            for node, edge in ((link.a, (number, link.b, there)), (link.b, (number, link.a, back))):
                self._edges.setdefault(node, []).append(edge)
                if not self._leaves & {link.a, link.b}:
                    self._inner.setdefault(node, []).append(edge)

    def group(self, name: str) -> Group:
        """Return the group of that name; KeyError when there is none."""
        for group in self.groups:
            if group.name == name:
                return group
        raise KeyError(name)

    def path(self, source: str, sink: str) -> tuple[Hop, ...]:
        """Return the hops from ``source`` to ``sink``.

        Raises:
            LookupError: no path joins the two.
        """
        path: list[Hop] = []
        node = source
        while node != sink:
            hop = self.next_hop(node, sink)
            path.append(hop)
            node = hop.link.b if hop.direction == "forward" else hop.link.a
        return tuple(path)

    def next_hop(self, node: str, sink: str) -> Hop:
        """Return the hop by which a packet for ``sink`` leaves ``node``.

        Raises:
            LookupError: no path joins the two.
        """
        costs = self._costs(sink)
        best = min(
            ((_beyond(hop, costs[other]), number, hop)
             for number, other, hop in self._leaving(node, sink) if other in costs),
            key=lambda option: option[:2],
            default=None,
        )  # fmt: skip
        if best is None:
            raise LookupError(f"no path from {node} to {sink}")
        return best[2]

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

    Each link transmits it at its rate, and then it propagates.
    """
    return sum(
        transmission_ns(frame_bytes, hop.channel.rate_bps) + nanoseconds(hop.channel.delay_s)
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

"""Describes planned runs, with estimates of their size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from guest.choice import DEFAULT, KernelChoice
from kmods.catalogue import Folder
from orchestrator.files.scenario_files import NamedFile, ResolvedScenario
from orchestrator.kinds.events import LinkState
from orchestrator.kinds.tcp import HostTcp
from orchestrator.kinds.traffic import FULL_SEGMENT, Connections, TcpSegment, Transport
from orchestrator.network import Channel, Hop, Network, Queue
from orchestrator.protocol.links.frames import DEFAULT_MTU_BYTES, FRAME_BYTES
from orchestrator.protocol.units import NS_PER_MS, nanoseconds
from orchestrator.recording.trace import Capture
from orchestrator.repetitions import RepetitionRule
from orchestrator.windows import Window

DIGEST_PERIOD_S, MANY_CONNECTIONS_PERIOD_S = 0.1, 1.0
"""Periods of the samples for the digest, of both ends of every flow. The second period is that of
many-connection flows; see protocol/sampling_schedule.py."""
GRID_LEAST_NS, GRID_MOST_NS, GRID_LIVE_NS = 1_000_000, 100_000_000, 10_000_000
"""Limits of the metrics' grid, and the grid over a live path, whose RTTs no plan knows."""
DISK_PER_RUN_BYTES = 80_000
DISK_PER_TCP_ROW_BYTES = 30
DISK_PER_QUEUE_ROW_BYTES = 8
DISK_PER_COUNTERS_BYTES = 16

BASE_MEMORY_BYTES = 768 * 2**20
PACKET_MEMORY_BYTES = 4096
FLOW_MEMORY_BYTES = 2**18
MOST_GUEST_BYTES = 500 * 2**30
"""A guest maps all its memory below 511 GiB (Linux's arch/x86/um/os-Linux/task_size.c): one of
500 GiB boots, one of 520 GiB does not."""


@dataclass(frozen=True)
class Subflow:
    """What a flow is of a Multipath TCP connection.

    ``connection`` is the connection's name, and ``port`` the one that it listens at. The subflow
    number 0 opens the connection. ``sysctls`` are of both machines.
    """

    connection: str
    number: int
    port: int
    backup: bool
    sysctls: dict[str, str | int]


@dataclass(frozen=True)
class PlannedFlow:
    """One flow, ready to be started.

    ``source`` sends in either direction; ``server`` listens. ``congestion`` is None for UDP.
    ``start_s`` includes the jitter; ``start_window_s`` is the time within which it was drawn.
    ``stop_s`` None means the end of the run; ``bytes`` None means no limit. ``traffic_parameters``
    are those of its engine (see testbed/traffic). ``path`` names the channels that the data cross,
    and ``ack_path`` those of the return path. Where packets are sprayed over equal paths, these are
    the first ones, and ``sprayed`` and ``ack_sprayed`` name the channels of the others. ``segment``
    describes a full TCP segment.

    Three RTTs are those of the idle network as the run begins. ``propagation_rtt_s`` is the sum of
    the delays there and back, without transmission. ``base_rtt_s`` is that of a small packet (an
    ICMP echo), and ``segment_rtt_s`` that of a full segment and its ACK.

    ``mtu_bytes`` is the smallest MTU of its path and of its ACKs' path.

    ``parameters`` apply to the congestion control's module, so to the whole kernel. ``settings``
    apply to the namespace of ``source``. Both are in the units of their names. ``module`` is the
    user's folder that it is built from, None for Linux's and ours. ``shown`` has (meaning, unit) of
    the fields of its info attribute, empty when unknown.
    """

    name: str
    group: str
    source: str
    sink: str
    congestion: str | None
    parameters: dict[str, int]
    settings: dict[str, int]
    module: Folder | None
    shown: tuple[tuple[str, str], ...]
    traffic: str
    engine: str
    start_s: float
    stop_s: float | None
    bytes: int | None
    transport: Transport
    traffic_parameters: dict[str, Any]
    port: int
    propagation_rtt_s: float
    base_rtt_s: float
    segment_rtt_s: float
    path: tuple[str, ...]
    ack_path: tuple[str, ...]
    start_window_s: float = 0.0
    connections: Connections = "one"
    segment: TcpSegment = FULL_SEGMENT
    server: Literal["sink", "source"] = "sink"
    mtu_bytes: int = DEFAULT_MTU_BYTES
    sprayed: tuple[str, ...] = ()
    ack_sprayed: tuple[str, ...] = ()
    subflow: Subflow | None = None
    """None of a flow that is no Multipath TCP."""

    @property
    def listening_port(self) -> int:
        """The port at which its connections end; of a subflow that of the whole connection."""
        return self.port if self.subflow is None else self.subflow.port

    @property
    def crossed(self) -> tuple[str, ...]:
        """The channels that data cross, over all paths."""
        return (*self.path, *self.sprayed)

    @property
    def ack_crossed(self) -> tuple[str, ...]:
        """The channels that ACKs cross, over all paths."""
        return (*self.ack_path, *self.ack_sprayed)


@dataclass(frozen=True)
class ChannelState:
    """A channel's state after an event.

    When it is ``down``, it loses all packets behind its queue. On ``hold`` none leaves its queue.
    """

    channel: Channel
    state: LinkState = "up"

    @property
    def up(self) -> bool:
        """Whether it carries packets."""
        return self.state == "up"


Pair = tuple[str, str]
"""A host that sends and one that receives."""


@dataclass(frozen=True)
class PlannedEvent:
    """An event at one of its times.

    ``requested`` is what the scenario gives. ``channels`` has the new state of each
    channel that changes. ``routes`` has the new channels from the first host of a pair to the
    second.
    """

    time_ns: int
    requested: dict[str, Any]
    channels: dict[str, ChannelState] = field(default_factory=dict)
    routes: dict[Pair, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class LabHost:
    """A lab machine: its role, its interfaces, and the hosts of the network that it represents."""

    name: str
    role: str
    interfaces: tuple[str, ...]
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class LabRouter:
    """The machine that emulates ``link``; forward is from its interface ``left`` to ``right``."""

    host: str
    left: str
    right: str
    link: str


@dataclass(frozen=True)
class LabPlan:
    """The machines of a lab run; ``inventory`` is the file that says how to reach them.

    Without a ``router`` nothing is emulated.
    """

    inventory: str
    hosts: tuple[LabHost, ...]
    router: LabRouter | None
    offloads_off: bool


@dataclass(frozen=True)
class RunSpec:
    """One run; ``resolved`` is a complete scenario that gives only this run.

    ``variant_sets`` has, for each axis of named values, the values that it sets by path.
    """

    scenario_name: str
    description: str
    variant: dict[str, object]
    repetition: int
    seed: int
    duration_s: float
    warmup_s: float
    network: Network
    flows: tuple[PlannedFlow, ...]
    sample_tcp_s: float
    sample_queue_s: float
    windows: tuple[Window, ...]
    scenario_text: str
    scenario_sha256: str
    resolved: ResolvedScenario
    experiment_sha256: str | None = None
    """See orchestrator.planning.identity; None in a run that is planned again by itself."""
    variant_sets: dict[str, dict[str, object]] = field(default_factory=dict)
    repetition_rule: RepetitionRule | None = None
    """The scenario's rule for the number of repetitions; None for a fixed number."""
    events: tuple[PlannedEvent, ...] = ()
    hosts: dict[str, HostTcp] = field(default_factory=dict)
    """TCP settings of each host; other hosts keep Linux's defaults."""
    lab: LabPlan | None = None
    files: dict[str, NamedFile] = field(default_factory=dict, repr=False)
    """What the scenario names by paths: files by their places."""
    sample_counters_s: float | None = None
    """Period of the SNMP counters of hosts; None reads them at the edges of windows only."""
    capture: Capture | None = None
    """What is traced of packets and connections; it changes nothing of the run."""
    kernel: KernelChoice = DEFAULT
    """The guest's kernel; other back ends take the default only."""

    @property
    def grid_ns(self) -> int | None:
        """Period at which TCP senders are read for metrics, whatever the scenario samples.

        It is the smallest base RTT of the run's TCP flows as traffic starts, in whole milliseconds,
        at least 1 ms and at most 100 ms. None without flows that have one connection at a time.
        """
        rtts_s = [
            flow.base_rtt_s
            for flow in self.flows
            if flow.transport == "tcp" and flow.connections != "many"
        ]
        if not rtts_s:
            return None
        if self.network.live:
            return GRID_LIVE_NS
        whole_ns = nanoseconds(min(rtts_s)) // NS_PER_MS * NS_PER_MS
        return min(max(whole_ns, GRID_LEAST_NS), GRID_MOST_NS)

    @property
    def tcp_rows(self) -> int:
        """Number of TCP samples that the run will store, for both ends of each flow."""
        flows = [flow for flow in self.flows if flow.transport == "tcp"]
        many = sum(flow.connections == "many" for flow in flows)
        often = (len(flows) - many) * ticks(self.duration_s, self.sample_tcp_s)
        return 2 * (often + many * ticks(self.duration_s, MANY_CONNECTIONS_PERIOD_S))

    @property
    def queue_rows(self) -> int:
        """Number of queue samples that the run will store, for each queue and each netem."""
        channels = [
            channel for link in self.network.links for channel in (link.forward, link.reverse)
        ]
        qdiscs = sum((channel.queue is not None) + channel.impaired for channel in channels)
        return qdiscs * ticks(self.duration_s, self.sample_queue_s)

    @property
    def counter_readings(self) -> int:
        """Number of readings of a host's SNMP counters by the scenario's period."""
        period_s = self.sample_counters_s
        hosts = {host for flow in self.flows for host in (flow.source, flow.sink)}
        return 0 if period_s is None else len(hosts) * ticks(self.duration_s, period_s)

    @property
    def estimated_disk_bytes(self) -> int:
        """Estimated size in the results store, in compressed blocks.

        The quickstart takes 150 kB. 100 flows of 100 pairs of hosts over 30 s take 2.9 MB, with
        60 000 TCP rows and 121 000 queue rows.
        """
        tcp_bytes = DISK_PER_TCP_ROW_BYTES * self.tcp_rows
        queue_bytes = DISK_PER_QUEUE_ROW_BYTES * self.queue_rows
        counter_bytes = DISK_PER_COUNTERS_BYTES * self.counter_readings
        return DISK_PER_RUN_BYTES + tcp_bytes + queue_bytes + counter_bytes


def at_most(network: Network, events: Sequence[PlannedEvent]) -> Network:
    """Return the network with each channel's largest rate, delay and queue over the run."""
    states: dict[str, list[Channel]] = {}
    for event in events:
        for name, state in event.channels.items():
            states.setdefault(name, []).append(state.channel)

    def largest(hop: Hop) -> Channel:
        seen = [hop.channel, *states.get(hop.name, [])]
        rates_bps = [channel.rate_bps for channel in seen if channel.rate_bps is not None]
        sizes = [
            (_limit_bytes(channel.queue, channel.frame_bytes), channel.queue)
            for channel in seen
            if channel.queue is not None
        ]
        return replace(
            hop.channel,
            rate_bps=max(rates_bps, default=None),
            delay_s=max(channel.most_delay_s for channel in seen),
            queue=max(sizes, key=lambda size: size[0])[1] if sizes else None,
        )

    links = (
        replace(link, forward=largest(Hop(link, "forward")), reverse=largest(Hop(link, "reverse")))
        for link in network.links
    )
    varies = any(hop.channel.delay_trace for link in network.links for hop in link.hops)
    return replace(network, links=tuple(links)) if events or varies else network


def _limit_bytes(queue: Queue, frame_bytes: int) -> int:
    return queue.limit_bytes or (queue.limit_packets or 0) * frame_bytes


def guest_memory_bytes(network: Network, flows: int) -> int:
    """Return the guest's memory: a base, and room for packets queued or in flight."""
    packets = 0.0
    for link in network.links:
        for channel in (link.forward, link.reverse):
            # A larger frame takes as much more memory; a smaller one hardly less.
            size = max(1.0, channel.frame_bytes / FRAME_BYTES)
            packets += size * sum(held_packets(channel))
    needed = BASE_MEMORY_BYTES + int(packets) * PACKET_MEMORY_BYTES + flows * FLOW_MEMORY_BYTES
    return (needed + 2**20 - 1) & ~(2**20 - 1)


def held_packets(channel: Channel) -> tuple[float, float]:
    """Return how many full-size packets can be in flight on a channel, and in its queue."""
    if channel.rate_bps is None:
        return 0.0, 0.0
    in_flight = channel.rate_bps * channel.delay_s / 8 / channel.frame_bytes
    if channel.queue is None or not channel.is_bottleneck:
        return in_flight, 0.0
    limit = channel.queue
    return in_flight, limit.limit_packets or (limit.limit_bytes or 0) / channel.frame_bytes


def ticks(duration_s: float, period_s: float) -> int:
    """Return how many whole periods a duration has."""
    return nanoseconds(duration_s) // nanoseconds(period_s)

"""What a plan consists of: runs with everything decided, and what they will cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from kmods.catalogue import Folder
from orchestrator.errors import Fault
from orchestrator.scenario.tcp import HostTcp
from orchestrator.scenario.traffic import FULL_SEGMENT, Connections, Segment, Transport
from topologies.model import Channel, Hop, Network, Queue

FRAME_BYTES = 1514
ETHERNET_BYTES = 14
"""A full-size frame on the link layer: 1500 bytes of IP and the Ethernet header."""

# Estimates: measured on a small machine, to the order of magnitude.
WALL_START_S = 1.0
WALL_PER_PACKET_S = 8e-6
WALL_PER_DATAGRAM_S = 5e-6
WALL_PER_TCP_ROW_S = 25e-6
CROWD_PERIOD_S = 1.0
"""Of the samples of a flow with many connections at a time: see testbed/schedule.py."""
WALL_PER_GRANT_S = 200e-6
WALL_PER_STATE_S = 3e-4
DISK_PER_TCP_ROW_BYTES = 400
DISK_PER_QUEUE_ROW_BYTES = 80

BASE_MEMORY_BYTES = 768 * 2**20
PACKET_MEMORY_BYTES = 4096
FLOW_MEMORY_BYTES = 2**18
MOST_GUEST_BYTES = 500 * 2**30
"""A guest maps all its memory below 511 GiB (Linux's arch/x86/um/os-Linux/task_size.c): one of
500 GiB boots, one of 520 GiB does not."""


@dataclass(frozen=True)
class Window:
    """A part of the run with metrics of its own, in seconds since the start of traffic."""

    name: str
    from_s: float
    to_s: float


@dataclass(frozen=True)
class PlannedFlow:
    """One flow, ready to be started.

    ``source`` sends, whatever the direction; ``server`` listens. ``congestion`` is None of UDP;
    ``start_s`` includes the jitter, and ``start_window_s`` is the time within which it was drawn;
    ``stop_s`` None means to the end; ``bytes`` None means without end. ``traffic_parameters`` are
    its engine's own (see testbed/traffic). ``base_rtt_s`` is the sum of
    the delays there and back, without serialisation; ``path`` names the channels that the data
    cross, and ``ack_path`` those of the way back. ``segment`` is a full one of TCP.

    ``parameters`` hold for the congestion control's module, so for the whole kernel, and
    ``settings`` for the namespace of ``source``; both in the units of their names. ``module`` is
    the user's folder that it is built from, None for Linux's and ours; ``shown`` is what its own
    info attribute means (meaning, unit), empty when only the kernel's layout is known.
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
    base_rtt_s: float
    path: tuple[str, ...]
    ack_path: tuple[str, ...]
    start_window_s: float = 0.0
    connections: Connections = "one"
    segment: Segment = FULL_SEGMENT
    server: Literal["sink", "source"] = "sink"


@dataclass(frozen=True)
class ChannelState:
    """A channel as an event leaves it; one that is not ``up`` loses what leaves its queue."""

    channel: Channel
    up: bool = True


Pair = tuple[str, str]
"""A host that sends and one that receives."""


@dataclass(frozen=True)
class PlannedEvent:
    """An event at one of its times.

    ``asked`` is as the scenario has it. ``channels`` are those that it touches, as they are from
    then on; ``routes`` are the channels that packets from the first host of a pair to the second
    cross from then on.
    """

    time_ns: int
    asked: dict[str, Any]
    channels: dict[str, ChannelState] = field(default_factory=dict)
    routes: dict[Pair, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class RunSpec:
    """One run. ``resolved`` is a scenario by itself that makes just this run again."""

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
    resolved: dict[str, Any]
    events: tuple[PlannedEvent, ...] = ()
    hosts: dict[str, HostTcp] = field(default_factory=dict)
    """What the stack of each host is told; one that is not named is told nothing."""

    @property
    def tcp_rows(self) -> int:
        """TCP samples that the run will store: both ends of each flow."""
        flows = [flow for flow in self.flows if flow.transport == "tcp"]
        many = sum(flow.connections == "many" for flow in flows)
        often = (len(flows) - many) * _ticks(self.duration_s, self.sample_tcp_s)
        return 2 * (often + many * _ticks(self.duration_s, CROWD_PERIOD_S))

    @property
    def queue_rows(self) -> int:
        """Queue samples that the run will store: a queue and a delay for each channel."""
        channels = [
            channel for link in self.network.links for channel in (link.forward, link.reverse)
        ]
        qdiscs = len(channels) + sum(channel.queue is not None for channel in channels)
        return qdiscs * _ticks(self.duration_s, self.sample_queue_s)

    @property
    def estimated_wall_s(self) -> float:
        """1 s + 8 us a data packet at the bottlenecks' rates + 25 us a TCP row + 300 us a state.

        A datagram that is sent, wherever it is lost, is 5 us more.
        The states are those of losses and jitters with clocks of their own; 200 us more a
        millisecond in which a trace has an opportunity to send.
        """
        rates = [
            hop.channel.rate_bps or 0
            for hop in _bottlenecks(self.network)
            if any(hop.name in flow.path for flow in self.flows)
        ]
        packets = sum(rates) / (8 * FRAME_BYTES) * self.duration_s
        channels = [one for link in self.network.links for one in (link.forward, link.reverse)]
        traces = [one.trace for one in channels if one.trace is not None]
        grants = sum(1e3 * len(each.opportunities) / each.period_ms for each in traces)
        grants *= self.duration_s
        models = [model for one in channels for model in (one.loss, one.jitter)]
        states = sum(model.states_per_s for model in models if model is not None) * self.duration_s
        return (
            WALL_START_S + WALL_PER_PACKET_S * packets + WALL_PER_TCP_ROW_S * self.tcp_rows
            + WALL_PER_STATE_S * states + WALL_PER_GRANT_S * grants
            + WALL_PER_DATAGRAM_S * sum(map(self._datagrams, self.flows))
        )  # fmt: skip

    def _datagrams(self, flow: PlannedFlow) -> float:
        """Return how many packets a UDP flow sends."""
        sends = flow.traffic_parameters
        if flow.transport != "udp":
            return 0.0
        end_s = self.duration_s if flow.stop_s is None else flow.stop_s
        share = 1.0
        if sends["on"] is not None:
            share = sends["on"]["mean"] / (sends["on"]["mean"] + sends["off"]["mean"])
        sent_bits: float = sends["rate_bps"] * share * (end_s - flow.start_s)
        packet_bytes: int = sends["packet_bytes"] + ETHERNET_BYTES
        return sent_bits / 8 / packet_bytes

    @property
    def estimated_disk_bytes(self) -> int:
        """400 bytes for each TCP row + 80 for each queue row."""
        tcp_bytes = DISK_PER_TCP_ROW_BYTES * self.tcp_rows
        return tcp_bytes + DISK_PER_QUEUE_ROW_BYTES * self.queue_rows


@dataclass(frozen=True)
class Plan:
    """The runs of a scenario, variant by variant and repetition by repetition.

    ``warnings`` are of what is valid and still looks like a mistake.
    """

    experiment: str
    runs: list[RunSpec]
    warnings: list[Fault] = field(default_factory=list)

    def describe(self) -> dict[str, Any]:
        """Return what will be run, JSON-ready, with estimates of wall time and disk."""
        return {
            "schema": 1,
            "experiment": self.experiment,
            "scenario": self.runs[0].scenario_name,
            "estimated_wall_s": round(sum(run.estimated_wall_s for run in self.runs), 1),
            "estimated_disk_bytes": sum(run.estimated_disk_bytes for run in self.runs),
            "runs": [_describe_run(run) for run in self.runs],
            "warnings": [
                {"where": f"{each.file}:{each.line}:{each.column}", "message": each.message}
                for each in self.warnings
            ],
        }


def at_most(network: Network, events: Sequence[PlannedEvent]) -> Network:
    """Return the network with the largest rate, delay and queue that each channel ever has."""
    states: dict[str, list[Channel]] = {}
    for event in events:
        for name, state in event.channels.items():
            states.setdefault(name, []).append(state.channel)

    def largest(hop: Hop) -> Channel:
        seen = [hop.channel, *states.get(hop.name, [])]
        rates_bps = [each.rate_bps for each in seen if each.rate_bps is not None]
        sizes = [(_limit_bytes(each.queue), each.queue) for each in seen if each.queue is not None]
        return replace(
            hop.channel,
            rate_bps=max(rates_bps, default=None),
            delay_s=max(each.delay_s for each in seen),
            queue=max(sizes, key=lambda size: size[0])[1] if sizes else None,
        )

    links = (
        replace(link, forward=largest(Hop(link, "forward")), reverse=largest(Hop(link, "reverse")))
        for link in network.links
    )
    return replace(network, links=tuple(links)) if events else network


def _limit_bytes(queue: Queue) -> int:
    return queue.limit_bytes or (queue.limit_packets or 0) * FRAME_BYTES


def guest_memory_bytes(network: Network, flows: int) -> int:
    """Return the guest's memory: a base, and room for what can be queued or in flight."""
    packets = 0.0
    for link in network.links:
        for channel in (link.forward, link.reverse):
            packets += sum(held_packets(channel))
    wanted = BASE_MEMORY_BYTES + int(packets) * PACKET_MEMORY_BYTES + flows * FLOW_MEMORY_BYTES
    return (wanted + 2**20 - 1) & ~(2**20 - 1)


def held_packets(channel: Channel) -> tuple[float, float]:
    """Return how many full-size packets can be in flight on a channel, and in its queue."""
    if channel.rate_bps is None:
        return 0.0, 0.0
    in_flight = channel.rate_bps * channel.delay_s / 8 / FRAME_BYTES
    if channel.queue is None or not channel.judged:
        return in_flight, 0.0
    limit = channel.queue
    return in_flight, limit.limit_packets or (limit.limit_bytes or 0) / FRAME_BYTES


def _bottlenecks(network: Network) -> list[Hop]:
    studied = [link for link in network.links if link.name in network.bottlenecks]
    return [hop for link in studied for hop in (Hop(link, "forward"), Hop(link, "reverse"))]


def _ticks(duration_s: float, period_s: float) -> int:
    return round(duration_s * 1e9) // round(period_s * 1e9)


def _describe_run(run: RunSpec) -> dict[str, Any]:
    return {
        "variant": run.variant,
        "repetition": run.repetition,
        "seed": run.seed,
        "duration_s": run.duration_s,
        "warmup_s": run.warmup_s,
        "estimated_wall_s": round(run.estimated_wall_s, 1),
        "estimated_disk_bytes": run.estimated_disk_bytes,
        "flows": [_describe_flow(flow) for flow in run.flows],
        "events": [{"time_s": event.time_ns / 1e9, **event.asked} for event in run.events],
        "bottlenecks": [_describe_bottleneck(hop, run.flows) for hop in _bottlenecks(run.network)],
        "policers": [
            {"name": hop.name, **vars(hop.channel.policer)}
            for link in run.network.links
            for hop in (Hop(link, "forward"), Hop(link, "reverse"))
            if hop.channel.policer is not None
        ],
    }


def _describe_flow(flow: PlannedFlow) -> dict[str, Any]:
    return {
        "name": flow.name,
        "group": flow.group,
        "source": flow.source,
        "sink": flow.sink,
        "congestion": flow.congestion,
        "parameters": {**flow.parameters, **flow.settings},
        "module": None if flow.module is None else str(flow.module.path),
        "traffic": flow.traffic,
        "transport": flow.transport,
        "rate_bps": flow.traffic_parameters.get("rate_bps"),
        "engine": flow.engine,
        "start_s": flow.start_s,
        "stop_s": flow.stop_s,
        "bytes": flow.bytes,
        "base_rtt_s": flow.base_rtt_s,
        "path": list(flow.path),
    }


def _describe_bottleneck(hop: Hop, flows: tuple[PlannedFlow, ...]) -> dict[str, Any]:
    """Return a bottleneck's BDP (of the largest base RTT) and queue, in full-size frames too.

    Both are of the first rate; "rate_changes" is None of a rate that changes by a trace or model.
    """
    channel = hop.channel
    rate_bps, queue = channel.rate_bps, channel.queue
    rates_bps = [] if rate_bps is None else [rate_bps, *channel.later_rates]
    rtts_s = [flow.base_rtt_s for flow in flows if hop.name in (*flow.path, *flow.ack_path)]
    summary: dict[str, Any] = {
        "name": hop.name,
        "rate_bps": rate_bps,
        "rate_min_bps": min(rates_bps, default=None),
        "rate_max_bps": max(rates_bps, default=None),
        "rate_end_bps": rates_bps[-1] if rates_bps else None,
        "rate_changes": None if channel.rate_varies else len(channel.later_rates),
        "delay_s": channel.delay_s,
        "loss": channel.mean_loss,
        "bdp_bytes": None,
        "queue_kind": None,
        "queue_packets": None,
        "queue_bytes": None,
        "queue_ms": None,
    }
    if rate_bps and rtts_s:
        summary["bdp_bytes"] = int(rate_bps * max(rtts_s) / 8)
    if rate_bps and queue:
        packets = queue.limit_packets or (queue.limit_bytes or 0) / FRAME_BYTES
        size_bytes = queue.limit_bytes or packets * FRAME_BYTES
        summary["queue_kind"] = queue.kind
        summary["queue_packets"] = round(packets, 1)
        summary["queue_bytes"] = int(size_bytes)
        summary["queue_ms"] = round(8000 * size_bytes / rate_bps, 3)
    return summary

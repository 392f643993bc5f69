"""What a plan consists of: runs with everything decided, and what they will cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kmods.catalogue import Folder
from topologies.model import Hop, Network

FRAME_BYTES = 1514
"""A full-size frame on the link layer: 1500 bytes of IP and the Ethernet header."""

# Estimates: measured on a small machine, to the order of magnitude.
WALL_START_S = 1.0
WALL_PER_PACKET_S = 8e-6
WALL_PER_TCP_ROW_S = 25e-6
DISK_PER_TCP_ROW_BYTES = 400
DISK_PER_QUEUE_ROW_BYTES = 80


@dataclass(frozen=True)
class Window:
    """A part of the run with metrics of its own, in seconds since the start of traffic."""

    name: str
    from_s: float
    to_s: float


@dataclass(frozen=True)
class PlannedFlow:
    """One flow, ready to be started.

    ``source`` sends, whatever the direction; ``start_s`` includes the jitter; ``stop_s`` None
    means to the end; ``bytes`` None means without end. ``base_rtt_s`` is the sum of the delays
    there and back, without serialisation; ``path`` names the channels that the data cross, and
    ``ack_path`` those of the way back.

    ``parameters`` hold for the congestion control's module, so for the whole kernel, and
    ``settings`` for the namespace of ``source``; both in the units of their names. ``module`` is
    the user's folder that it is built from, None for Linux's and ours; ``shown`` is what its own
    info attribute means (meaning, unit), empty when only the kernel's layout is known.
    """

    name: str
    group: str
    source: str
    sink: str
    congestion: str
    parameters: dict[str, int]
    settings: dict[str, int]
    module: Folder | None
    shown: tuple[tuple[str, str], ...]
    traffic: str
    engine: str
    start_s: float
    stop_s: float | None
    bytes: int | None
    port: int
    base_rtt_s: float
    path: tuple[str, ...]
    ack_path: tuple[str, ...]


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

    @property
    def tcp_rows(self) -> int:
        """TCP samples that the run will store: both ends of each flow."""
        return 2 * len(self.flows) * _ticks(self.duration_s, self.sample_tcp_s)

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
        """1 s + 8 us for each data packet at the bottlenecks' rates + 25 us for each TCP row."""
        rates = [
            hop.channel.rate_bps or 0
            for hop in _bottlenecks(self.network)
            if any(hop.name in flow.path for flow in self.flows)
        ]
        packets = sum(rates) / (8 * FRAME_BYTES) * self.duration_s
        return WALL_START_S + WALL_PER_PACKET_S * packets + WALL_PER_TCP_ROW_S * self.tcp_rows

    @property
    def estimated_disk_bytes(self) -> int:
        """400 bytes for each TCP row + 80 for each queue row."""
        tcp_bytes = DISK_PER_TCP_ROW_BYTES * self.tcp_rows
        return tcp_bytes + DISK_PER_QUEUE_ROW_BYTES * self.queue_rows


@dataclass(frozen=True)
class Plan:
    """The runs of a scenario, variant by variant and repetition by repetition."""

    experiment: str
    runs: list[RunSpec]

    def describe(self) -> dict[str, Any]:
        """Return what will be run, JSON-ready, with estimates of wall time and disk."""
        return {
            "schema": 1,
            "experiment": self.experiment,
            "scenario": self.runs[0].scenario_name,
            "estimated_wall_s": round(sum(run.estimated_wall_s for run in self.runs), 1),
            "estimated_disk_bytes": sum(run.estimated_disk_bytes for run in self.runs),
            "runs": [_describe_run(run) for run in self.runs],
        }


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
        "bottlenecks": [_describe_bottleneck(hop, run.flows) for hop in _bottlenecks(run.network)],
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
        "engine": flow.engine,
        "start_s": flow.start_s,
        "stop_s": flow.stop_s,
        "bytes": flow.bytes,
        "base_rtt_s": flow.base_rtt_s,
        "path": list(flow.path),
    }


def _describe_bottleneck(hop: Hop, flows: tuple[PlannedFlow, ...]) -> dict[str, Any]:
    """Return a bottleneck's BDP (of the largest base RTT) and queue, in full-size frames too."""
    channel = hop.channel
    rate_bps, queue = channel.rate_bps, channel.queue
    rtts_s = [flow.base_rtt_s for flow in flows if hop.name in (*flow.path, *flow.ack_path)]
    summary: dict[str, Any] = {
        "name": hop.name,
        "rate_bps": rate_bps,
        "delay_s": channel.delay_s,
        "loss": channel.loss,
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

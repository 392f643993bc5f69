"""Turns a planned run into the document that the test bed reads: plain integers, no names of ours.

Nothing in it depends on how nodes, links or flows are called: addresses, seeds and ports come
from their order, so a renamed scenario runs the same to the bit.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from typing import Any

from orchestrator.runspec import PlannedFlow, RunSpec
from topologies.model import Channel, Hop, Network, Queue, path_delay_s

FRAME_BYTES = 1514
DELAY_LIMIT_PACKETS = 10_000_000
"""netem's own limit, far above any bandwidth-delay product: a delay line never drops."""

CLIENT_PORT_OFFSET = 20_000
_LEAST_BUFFER_BYTES = 6 * 1024 * 1024
_MOST_BUFFER_BYTES = 1024 * 1024 * 1024
_BUFFER_PIPES = 8
_PROBE_MARGIN_PACKETS = 64
_PROBE_MOST_PACKETS = 20_000
_PROBE_ARRIVALS = 40
_SETTLE_S = 0.2


def bed_spec(run: RunSpec, memory_bytes: int) -> dict[str, Any]:
    """Return the JSON-ready specification of one run for a guest of so much memory."""
    network = run.network
    pairs = {(flow.source, flow.sink): flow for flow in run.flows}
    peers: dict[str, set[str]] = {}
    for source, sink in pairs:
        peers.setdefault(source, set()).add(sink)
        peers.setdefault(sink, set()).add(source)
    endpoints = [host for host in network.hosts if host in peers]
    edges = {run.warmup_s, *(e for w in run.windows for e in (w.from_s, w.to_s))}
    return {
        "version": 1,
        "duration_ns": nanoseconds(run.duration_s),
        "edges_ns": sorted(nanoseconds(edge) for edge in edges),
        "sample": {
            "tcp_ns": nanoseconds(run.sample_tcp_s),
            "queue_ns": nanoseconds(run.sample_queue_s),
        },
        "hosts": [
            {
                "name": host,
                "address": f"10.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}",
                "mac": f"02:00:00:{n >> 16 & 255:02x}:{n >> 8 & 255:02x}:{n & 255:02x}",
                "peers": sorted(peers.get(host, ()), key=network.hosts.index),
            }
            for n, host in enumerate(network.hosts, start=1)
        ],
        "switches": [
            {"name": name, "device": f"sw{n}"} for n, name in enumerate(network.switches, start=1)
        ],
        "links": [
            {
                "name": link.name,
                "a": link.a,
                "b": link.b,
                "forward": _channel(link.forward, run.seed, n, 0),
                "reverse": _channel(link.reverse, run.seed, n, 1),
            }
            for n, link in enumerate(network.links)
        ],
        "forwarding": _forwarding(network, endpoints),
        "flows": [_flow(flow) for flow in run.flows],
        "sysctls": _host_sysctls(run),
        "namespaces": _namespaces(run.flows),
        "global_sysctls": _global_sysctls(memory_bytes),
        "probes": {
            "round_trips": [
                {
                    "source": source,
                    "sink": sink,
                    "expected_ns": nanoseconds(network.base_rtt_s(source, sink)),
                }
                for source, sink in pairs
            ],
            "bursts": list(_bursts(network, run.flows)),
        },
    }


def nanoseconds(seconds: float) -> int:
    """Return whole nanoseconds."""
    return round(seconds * 1e9)


def queue_packets(queue: Queue) -> int:
    """Return how many full-size frames the queue holds."""
    if queue.limit_packets is not None:
        return queue.limit_packets
    assert queue.limit_bytes is not None, "one of the limits is set"
    return queue.limit_bytes // FRAME_BYTES


def _channel(channel: Channel, seed: int, link: int, direction: int) -> dict[str, Any]:
    digest = hashlib.sha256(f"{seed}:loss:{link}:{direction}".encode()).digest()
    queue = None
    if channel.queue is not None and channel.rate_bps is not None:
        queue = {
            "kind": channel.queue.kind,
            "limit_packets": channel.queue.limit_packets,
            "limit_bytes": channel.queue.limit_bytes,
        }
    return {
        "rate_bps": channel.rate_bps,
        "queue": queue,
        "delay_ns": nanoseconds(channel.delay_s),
        "loss": channel.loss,
        "seed": int.from_bytes(digest[:8], "little"),
        "delay_limit_packets": DELAY_LIMIT_PACKETS,
    }


def _flow(flow: PlannedFlow) -> dict[str, Any]:
    return {
        "name": flow.name,
        "source": flow.source,
        "sink": flow.sink,
        "congestion": flow.congestion,
        "engine": flow.engine,
        "start_ns": nanoseconds(flow.start_s),
        "stop_ns": None if flow.stop_s is None else nanoseconds(flow.stop_s),
        "bytes": flow.bytes,
        "port": flow.port,
        "client_port": flow.port + CLIENT_PORT_OFFSET,
    }


def _forwarding(network: Network, destinations: list[str]) -> dict[str, dict[str, str]]:
    """Return {switch: {destination host: link it leaves by}} along paths of least delay."""
    table: dict[str, dict[str, str]] = {switch: {} for switch in network.switches}
    for switch in network.switches:
        for destination in destinations:
            try:
                table[switch][destination] = network.path(switch, destination)[0].link.name
            except LookupError:
                continue  # another part of a network in parts; flows were checked to have paths
    return table


def _host_sysctls(run: RunSpec) -> dict[str, str | int]:
    """Return what every host is set to: buffers that never limit, nothing remembered."""
    most = max((_pipe_bytes(run.network, flow) for flow in run.flows), default=0)
    buffer = min(max(_LEAST_BUFFER_BYTES, _BUFFER_PIPES * most), _MOST_BUFFER_BYTES)
    return {
        "net.ipv4.tcp_rmem": f"4096 131072 {buffer}",
        "net.ipv4.tcp_wmem": f"4096 16384 {buffer}",
        "net.ipv4.tcp_no_metrics_save": 1,
        # A SYN lost by chance must not turn a DCTCP flow into a Reno flow for good.
        "net.ipv4.tcp_ecn_fallback": 0,
    }


def _namespaces(flows: Iterable[PlannedFlow]) -> dict[str, dict[str, int]]:
    """Return {host: {sysctl: value}} of the hosts that are told something of their own."""
    found: dict[str, dict[str, int]] = {}
    for flow in flows:
        for name, value in flow.settings.items():
            found.setdefault(flow.source, {})[f"net.ipv4.{name}"] = value
    return found


def _pipe_bytes(network: Network, flow: PlannedFlow) -> int:
    """Return the bytes that fit in the flow's path: its bandwidth-delay product and queues."""
    hops = network.path(flow.source, flow.sink)
    limited = [hop.channel for hop in hops if hop.channel.rate_bps is not None]
    rate = min((channel.rate_bps or 0 for channel in limited), default=10**10)
    queues = sum(
        queue_packets(channel.queue) * FRAME_BYTES
        for channel in limited
        if channel.queue is not None and channel.judged
    )
    return int(rate * flow.base_rtt_s / 8) + queues


def _global_sysctls(memory_bytes: int) -> dict[str, str | int]:
    pages = memory_bytes // 4096
    return {
        "net.core.netdev_max_backlog": 1_000_000,
        "net.ipv4.tcp_mem": f"{pages // 4} {pages // 3} {pages // 2}",
        "net.ipv4.tcp_child_ehash_entries": 64,
    }


def _bursts(network: Network, flows: Iterable[PlannedFlow]) -> Iterable[dict[str, Any]]:
    """Yield a probe for each judged queue that data cross and that one burst can overfill."""
    seen: set[str] = set()
    for flow in flows:
        hops = network.path(flow.source, flow.sink)
        for position, hop in enumerate(hops):
            if hop.name in seen or not hop.channel.judged:
                continue
            probe = _burst(flow, hops, position)
            if probe is not None:
                seen.add(hop.name)
                yield probe


def _burst(flow: PlannedFlow, hops: tuple[Hop, ...], position: int) -> dict[str, Any] | None:
    """Return the probe of the queue at ``position``, None when this path cannot measure it.

    The rate before the queue must be higher (or the queue never fills) and every rate behind it
    must not be lower (or the spacing is another link's).
    """
    channel = hops[position].channel
    rate, queue = channel.rate_bps, channel.queue
    if rate is None or queue is None or queue.kind != "droptail":
        return None
    before = [hop.channel.rate_bps for hop in hops[:position] if hop.channel.rate_bps is not None]
    behind = [hop.channel.rate_bps for hop in hops[position + 1 :] if hop.channel.rate_bps]
    feed = min(before, default=None)
    if (feed is not None and feed < 1.05 * rate) or min(behind, default=rate) < rate:
        return None
    filling = 1.0 if feed is None else 1.0 - rate / feed
    packets = int(queue_packets(queue) / filling * 1.05) + _PROBE_MARGIN_PACKETS
    if packets > _PROBE_MOST_PACKETS:
        return None
    frame_s = FRAME_BYTES * 8 / rate
    settle_s = _SETTLE_S + path_delay_s(hops) + packets * frame_s
    return {
        "channel": hops[position].name,
        "source": flow.source,
        "sink": flow.sink,
        "packets": packets,
        "rounds": max(1, math.ceil(_PROBE_ARRIVALS / max(1, queue_packets(queue)))),
        "settle_ns": nanoseconds(settle_s),
        "rate_bps": rate,
        "feed_frame_ns": 0 if feed is None else nanoseconds(FRAME_BYTES * 8 / feed),
        "path_ns": nanoseconds(path_delay_s(hops)),
        "queue_packets": queue_packets(queue),
        "loss": 1.0 - _product(1.0 - hop.channel.loss for hop in hops),
    }


def _product(values: Iterable[float]) -> float:
    result = 1.0
    for value in values:
        result *= value
    return result

"""Estimates how long a run takes, from constants. ``learning`` corrects it by earlier runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass

from orchestrator.network import Hop, Network
from orchestrator.planning.runspec import (
    DIGEST_PERIOD_S,
    MANY_CONNECTIONS_PERIOD_S,
    PlannedFlow,
    RunSpec,
    ticks,
)
from orchestrator.protocol.links.frames import ETHERNET_BYTES
from orchestrator.protocol.units import NS_PER_S

# Seconds of CPU time, which is the wall time of a guest that has a CPU of its own. The constants
# are fitted to the CPU time (user and system) of guests on a busy, shared x86-64 machine with two
# CPUs. Seconds of runs, measured and then estimated; some runs were shortened:
#
#   quickstart                          2.5   2.0    1 Gbit/s for 5 s, one flow          5.9   5.0
#   quickstart, samples every 10 ms     4.0   3.9    logwestwood/fig03, 60 s             4.1   5.9
#   60 hosts, 100 Mbit/s for 30 s       6.6   6.9    logwestwood/fig08, 62 hosts, 30 s   6.6   8.4
#   westwoodplus/fig12, 420 hosts, 60 s  31    26    tutorial/53, a trace                3.9   3.5
#   westwoodplus/table1, 400 s          9.2   8.5    tutorial/62, web                    5.1   4.5
#   libra/fig12, seven hops, 10 s       6.6   5.4    tutorial/41, UDP on and off         2.5   1.7
#   tibet/fig18, 34 flows, 30 s         4.6   4.3    tutorial/60, TCP on and off         1.4   1.5
#
# Those runs had links of an earlier model. The constants of start and packets are fitted to idle
# CPUs and the present links. Seconds of whole processes, measured and then estimated
# (docs/performance.md):
#
#   100 Mbit/s for 30 s                 3.3   3.2    1 Gbit/s for 10 s                   6.3   6.8
#   60 hosts for 2 s                    3.5   3.6    quickstart                          2.4   2.2
WALL_START_S = 1.5
WALL_PER_HOST_S = 0.03
WALL_PER_PACKET_HOP_S = 1.4e-6
WALL_PER_TCP_SAMPLE_S = 40e-6
WALL_PER_QUEUE_ROW_S = 13e-6
WALL_PER_DATAGRAM_S = 7e-6
WALL_PER_COUNTERS_S = 110e-6
WALL_PER_CONNECTION_S = 1.5e-3
WALL_PER_GRANT_S = 280e-6
WALL_PER_STATE_S = 3e-4

# Random losses at rate p hold Reno's goodput to 1.22 segments / (RTT * sqrt(p)) (Mathis et al.,
# ACM CCR 27(3), 1997). Other controls had 0.7 to 6.5 times that in logwestwood/fig04.
RENO_AT_LOSSES = 1.22
OTHERS_TO_RENO = 4.0
AS_RENO = {"reno", "newreno_ns2"}
NOT_HELD_BY_LOSSES = {"bbr", "idealtcp"}


@dataclass(frozen=True)
class Costs:
    """The parts of a run's wall time, each in seconds of the machine of the constants.

    Attributes:
        start_s: to boot, and to build and probe the network.
        packets_s: packets on links, and UDP's end points.
        samples_s: samples of flows, queues and counters of hosts.
        changes_s: connections that begin, and links that change by themselves.
    """

    start_s: float
    packets_s: float
    samples_s: float
    changes_s: float

    @property
    def total_s(self) -> float:
        """All of it."""
        return float(sum(astuple(self)))


def costs(run: RunSpec, losses: bool = True) -> Costs:
    """Return what a run costs on a CPU of its own, in all within a factor of 2.

    A bottleneck counts as full, unless its flows' rates, windows or sizes allow less, or what most
    controls send at independent losses. Without ``losses`` these count as none, for controls that
    send on. Every packet counts on each link of its path, with an ACK for every second one.
    """
    channels = [channel for link in run.network.links for channel in (link.forward, link.reverse)]
    traces = [channel.trace for channel in channels if channel.trace is not None]
    grants = sum(1e3 * len(trace.opportunities) / trace.period_ms for trace in traces)
    models = [model for channel in channels for model in (channel.loss, channel.jitter)]
    states = sum(model.states_per_s for model in models if model is not None)
    delays = [channel.delay_trace for channel in channels if channel.delay_trace is not None]
    states += sum(trace.per_s for trace in delays)
    begun = sum(flow.traffic_parameters.get("arrivals_per_s") or 0.0 for flow in run.flows)
    listed = [flow.traffic_parameters.get("times_ns", ()) for flow in run.flows]
    begun += sum(map(len, listed)) / run.duration_s
    changing_s = WALL_PER_CONNECTION_S * begun + WALL_PER_GRANT_S * grants
    changing_s += WALL_PER_STATE_S * states
    datagrams = sum(_datagrams(flow, run.duration_s) for flow in run.flows)
    return Costs(
        WALL_START_S + WALL_PER_HOST_S * len(run.network.hosts),
        WALL_PER_PACKET_HOP_S * _packet_hops(run, losses) + WALL_PER_DATAGRAM_S * datagrams,
        WALL_PER_TCP_SAMPLE_S * _tcp_samples(run)
        + WALL_PER_QUEUE_ROW_S * run.queue_rows
        + WALL_PER_COUNTERS_S * run.counter_readings,
        changing_s * run.duration_s,
    )


def wall_s(run: RunSpec) -> float:
    """Return the seconds that a run takes on a CPU of its own, from the constants alone."""
    return costs(run).total_s


def bottleneck_hops(network: Network) -> list[Hop]:
    """Return both channels of every bottleneck."""
    links = [link for link in network.links if link.name in network.bottlenecks]
    return [hop for link in links for hop in link.hops]


def _tcp_samples(run: RunSpec) -> int:
    """Return how many samples of flows' senders and receivers the test bed takes.

    Those on the metrics' grid count, too: the kernel's answers cost most.
    """
    flows = [flow for flow in run.flows if flow.transport == "tcp"]
    many = sum(flow.connections == "many" for flow in flows)
    seldom = ticks(run.duration_s, DIGEST_PERIOD_S)
    grid = 0 if run.grid_ns is None else ticks(run.duration_s, run.grid_ns / NS_PER_S)
    often = max(seldom, ticks(run.duration_s, run.sample_tcp_s), grid)
    many_samples = 2 * many * ticks(run.duration_s, MANY_CONNECTIONS_PERIOD_S)
    return (len(flows) - many) * (seldom + often) + many_samples


def _packet_hops(run: RunSpec, losses: bool) -> float:
    """Return how many links all packets cross together."""
    lost = _independent_losses(run.network) if losses else {}
    rates_bps = {hop.name: hop.channel.rate_bps or 0 for hop in bottleneck_hops(run.network)}
    crossing: dict[str, list[PlannedFlow]] = {}
    for flow in run.flows:
        for name in rates_bps.keys() & set(flow.path):
            crossing.setdefault(name, []).append(flow)
    total = 0.0
    for name, flows in crossing.items():
        most_bps = sum(
            min(_most_bps(flow, run.duration_s), _most_at_losses_bps(flow, lost)) for flow in flows
        )
        frame_bytes = sum(map(_frame_bytes, flows)) / len(flows)
        packets = min(rates_bps[name], most_bps) * run.duration_s / 8 / frame_bytes
        # A packet that crosses several bottlenecks counts at each of them: divide by their number.
        links = [_links(flow) / len(rates_bps.keys() & set(flow.path)) for flow in flows]
        total += packets * sum(links) / len(flows)
    return total


def _links(flow: PlannedFlow) -> float:
    """Return how many links a packet crosses, and its share of an ACK."""
    return len(flow.path) + (len(flow.ack_path) / 2 if flow.transport == "tcp" else 0.0)


def _most_bps(flow: PlannedFlow, duration_s: float) -> float:
    """Return the largest mean rate at which a flow can send over the run."""
    parameters = flow.traffic_parameters
    if flow.transport != "tcp":
        return _datagrams(flow, duration_s) * _frame_bytes(flow) * 8 / duration_s
    limits_bps = [math.inf]
    if parameters.get("arrivals_per_s") and parameters.get("rate_bps"):
        limits_bps.append(parameters["rate_bps"])
    if flow.bytes:
        limits_bps.append(flow.bytes * 8 / duration_s)
    if "times_ns" in parameters:
        size_bytes: int = sum(size["mean"] for size in parameters["sizes"])
        limits_bps.append(size_bytes * 8 / duration_s)
    if parameters.get("window_bytes") and flow.connections != "many" and flow.base_rtt_s:
        limits_bps.append(parameters["window_bytes"] * 8 / flow.base_rtt_s)
    return min(limits_bps)


def _independent_losses(network: Network) -> dict[str, float]:
    """Return the probability of loss of each channel that loses packets independently.

    Those whose loss an event changes are left out: it may end soon.
    """
    return {
        hop.name: hop.channel.mean_loss
        for link in network.links
        for hop in link.hops
        if hop.channel.loss is not None
        and hop.channel.loss.kind == "independent"
        and not hop.channel.later_losses
    }


def _most_at_losses_bps(flow: PlannedFlow, losses: Mapping[str, float]) -> float:
    """Return the goodput that random losses leave a lasting TCP connection."""
    loss = sum(losses.get(name, 0.0) for name in flow.path)
    unheld = flow.congestion is None or flow.congestion in NOT_HELD_BY_LOSSES
    if not loss or unheld or flow.connections == "many" or not flow.base_rtt_s:
        return math.inf
    segment_bps = flow.segment.payload_bytes * 8 / flow.base_rtt_s
    factor = 1.0 if flow.congestion in AS_RENO else OTHERS_TO_RENO
    return factor * RENO_AT_LOSSES * segment_bps / math.sqrt(loss)


def _datagrams(flow: PlannedFlow, duration_s: float) -> float:
    """Return how many packets a flow without TCP sends."""
    sends = flow.traffic_parameters
    if flow.transport == "tcp":
        return 0.0
    end_s = duration_s if flow.stop_s is None else flow.stop_s
    if "interval_ns" in sends:  # requests, and as many replies
        return 2 * (end_s - flow.start_s) * NS_PER_S / float(sends["interval_ns"])
    if "packets" in sends:
        left_ns = (end_s - flow.start_s) * NS_PER_S
        return float(sum(time_ns < left_ns for time_ns, _size_bytes in sends["packets"]))
    share = 1.0
    if sends["on"] is not None:
        share = sends["on"]["mean"] / (sends["on"]["mean"] + sends["off"]["mean"])
    sent_bits: float = sends["rate_bps"] * share * (end_s - flow.start_s)
    return sent_bits / 8 / _frame_bytes(flow)


def _frame_bytes(flow: PlannedFlow) -> int:
    """Return the bytes of a flow's packets on the link layer."""
    if flow.transport != "tcp":
        packet_bytes: int = flow.traffic_parameters["packet_bytes"]
        if "packets" in flow.traffic_parameters:
            sizes = [size_bytes for _time_ns, size_bytes in flow.traffic_parameters["packets"]]
            packet_bytes = sum(sizes) // len(sizes)
        return packet_bytes + ETHERNET_BYTES
    return flow.segment.payload_bytes + flow.segment.headers_bytes

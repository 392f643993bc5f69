"""Turns a planned run into the specification that the test bed reads.

Addresses, seeds and ports come from the order of nodes, links and flows, not from their names. So a
run with other names gives bit-identical results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from orchestrator.compile import multipath
from orchestrator.compile.link import chosen_settings, link_document
from orchestrator.compile.netem import netem_document
from orchestrator.compile.policer import policer_document
from orchestrator.compile.probes import probes, queue_packets
from orchestrator.compile.schedule import pair_rules, planned_steps, traces
from orchestrator.compile.seeds import traffic_seed
from orchestrator.kinds.tcp import KERNELS_OWN, RTAX_MTU
from orchestrator.network import Channel, Network
from orchestrator.planning.flows import programs
from orchestrator.planning.runspec import Pair, PlannedFlow, RunSpec, at_most
from orchestrator.protocol.links.link import Cuts
from orchestrator.protocol.numbering import host_address, host_mac
from orchestrator.protocol.ports import CLIENT_PORT_OFFSET
from orchestrator.protocol.specification import (
    ChannelSpec,
    FlowSpec,
    HostSpec,
    SpraySpec,
    TestbedSpec,
)
from orchestrator.protocol.units import nanoseconds
from orchestrator.protocol.version import SPECIFICATION_VERSION

_LEAST_BUFFER_BYTES = 6 * 1024 * 1024
_MOST_BUFFER_BYTES = 1024 * 1024 * 1024
_BUFFER_PIPES = 8


_READINGS_NS, _SELDOM_READINGS_NS = 100_000_000, 1_000_000_000
_MANY_QUEUES = 200
"""Reading all queues once costs about 15 us each. So networks with many are read seldom."""


MOST_FULLY_MESHED = 100
"""Hosts that all reach each other where a user types commands: each needs an entry at each."""


def readings_ns(network: Network) -> int:
    """Return the period at which the queues of a network are read for checks.

    It does not depend on what the scenario samples, so the checks do not either. Queues that are
    backlogged are read more often; see testbed/sampling/readings.py.
    """
    channels = [one for link in network.links for one in (link.forward, link.reverse)]
    queues = sum(channel.queue is not None for channel in channels)
    return _READINGS_NS if queues <= _MANY_QUEUES else _SELDOM_READINGS_NS


def bed_spec(run: RunSpec, memory_bytes: int) -> TestbedSpec:
    """Return the JSON-ready specification of one run for a bed with that much memory."""
    network = run.network
    pairs = {(flow.source, flow.sink): flow for flow in run.flows}
    peers: dict[str, set[str]] = {}
    for source, sink in pairs:
        peers.setdefault(source, set()).add(sink)
        peers.setdefault(sink, set()).add(source)
    places = {host: index for index, host in enumerate(network.hosts)}
    endpoints = [host for host in network.hosts if host in peers]
    edges = {run.warmup_s, *(e for w in run.windows for e in (w.from_s, w.to_s))}
    document: TestbedSpec = {
        "version": SPECIFICATION_VERSION,
        "duration_ns": nanoseconds(run.duration_s),
        "edges_ns": sorted(nanoseconds(edge) for edge in edges),
        "sample": {
            "tcp_ns": nanoseconds(run.sample_tcp_s),
            "queue_ns": nanoseconds(run.sample_queue_s),
            "readings_ns": readings_ns(network),
            "grid_ns": run.grid_ns,
        },
        "hosts": [
            _host(network, n, host, sorted(peers.get(host, ()), key=places.__getitem__))
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
                "mtu_bytes": link.forward.mtu_bytes,
                "forward": _channel(link.forward, run, n, 0, link.a),
                "reverse": _channel(link.reverse, run, n, 1, link.b),
            }
            for n, link in enumerate(network.links)
        ],
        "forwarding": _forwarding(network, endpoints),
        "flows": [_flow(flow, run, n) for n, flow in enumerate(run.flows)],
        "planned_steps": planned_steps(run),
        "traces": traces(run),
        "sysctls": _shared_sysctls(run),
        "namespaces": _namespaces(run),
        "route_metrics": {
            host: {str(metric): value for metric, value in metrics.items()}
            for host, metrics in _route_metrics(run).items()
        },
        "global_sysctls": _global_sysctls(memory_bytes, run),
        "probes": probes(run),
    }
    if any(flow.subflow is not None for flow in run.flows):
        document["path_managers"] = multipath.path_managers(run)
    if network.tso_hosts:
        document["tso_hosts"] = list(network.tso_hosts)
    if network.gro_hosts:
        document["gro_hosts"] = list(network.gro_hosts)
    if network.ecmp_seed is not None:
        document["pair_rules"] = pair_rules(run)
    if network.spray:
        document["sprays"] = _sprays(network, endpoints)
    if run.sample_counters_s is not None:
        document["sample"]["counters_ns"] = nanoseconds(run.sample_counters_s)
    if run.capture is not None:
        document["capture"] = {
            "wanted": run.capture.wanted,
            "from_ns": run.capture.from_ns,
            "to_ns": run.capture.to_ns,
            "limit_bytes": run.capture.limit_bytes,
            "snap_bytes": run.capture.snap_bytes,
        }
    return document


def _host(network: Network, number: int, name: str, peers: list[str]) -> HostSpec:
    host: HostSpec = {
        "name": name,
        "address": host_address(number),
        "mac": host_mac(number),
        "peers": peers,
    }
    if network.machine(name) != name:
        host["machine"] = network.machine(name)
    return host


def interactive_spec(run: RunSpec, memory_bytes: int) -> TestbedSpec:
    """Return the specification of a run's network for a user's commands, without flows.

    All hosts reach each other, if there are at most MOST_FULLY_MESHED; of more hosts, those that
    are the two ends of a flow do. Where machines have several interfaces, an interface has those
    that a path leads to.
    """
    document = bed_spec(run, memory_bytes)
    network = run.network
    if len(network.hosts) <= MOST_FULLY_MESHED:
        for host in document["hosts"]:
            host["peers"] = [
                other for other in network.hosts if _reaches(network, host["name"], other)
            ]
        document["forwarding"] = _forwarding(network, list(network.hosts))
        document.pop("pair_rules", None)
        if network.spray:
            document["sprays"] = _sprays(network, list(network.hosts))
    document["flows"], document["planned_steps"], document["traces"] = [], [], []
    document["interactive"] = True
    return document


def _reaches(network: Network, host: str, other: str) -> bool:
    """Tell whether a host has another one as a peer in a network for commands."""
    if host == other:
        return False
    if network.machines:
        try:
            network.next_hop(host, other)
        except LookupError:
            return False
    return True


def _route_metrics(run: RunSpec) -> dict[str, dict[int, int]]:
    """Return {host: {RTAX_*: value}}: TCP options, and the MTU of paths if the host's is larger.

    Switches forward frames and send no ICMP errors, so a host cannot discover a smaller MTU.
    """
    by_host = {
        host: dict(host_settings.metrics)
        for host, host_settings in run.hosts.items()
        if host_settings.metrics
    }
    channels = _channels(run.network)
    for flow in run.flows:
        for host, path in ((flow.source, flow.path), (flow.sink, flow.ack_path)):
            if channels[path[0]].mtu_bytes > flow.mtu_bytes:
                by_host.setdefault(host, {})[RTAX_MTU] = flow.mtu_bytes
    return by_host


def _channels(network: Network) -> dict[str, Channel]:
    return {hop.name: hop.channel for link in network.links for hop in link.hops}


_DROPS_ON_ARRIVAL_ONLY = ("pfifo", "bfifo", "fq")


def _cuts(channel: Channel, node: str, network: Network) -> Cuts:
    """Return when a link that begins at a host with TSO makes frames.

    A queue of the host's has super-packets whole. Frames of one that drops packets which wait could
    not be counted, and the limit of a queue that the scenario gives the link is in frames.
    """
    of_host = node in network.small_queue_hosts or node in network.qdisc_hosts
    kind = "pfifo" if channel.queue is None else channel.queue.qdisc.kind
    last = of_host and not channel.is_bottleneck and kind in _DROPS_ON_ARRIVAL_ONLY
    return "last" if last else "first"


def _channel(channel: Channel, run: RunSpec, link: int, direction: int, node: str) -> ChannelSpec:
    """Return one direction of a link, which begins at ``node``."""
    owned = node in run.network.small_queue_hosts
    cuts = _cuts(channel, node, run.network) if node in run.network.tso_hosts else None
    shaped = channel.queue is not None and channel.rate_bps is not None
    document: ChannelSpec = {
        "link": link_document(channel, cuts, owned),
        "queue": channel.queue.qdisc.document() if shaped and channel.queue else None,
        "netem": netem_document(channel, run.seed, link, direction),
        "policer": None if channel.policer is None else policer_document(channel.policer),
    }
    if channel.loss is not None and channel.loss.chosen is not None:
        settings = chosen_settings(channel.loss.chosen, run.flows)
        document["chosen"] = [setting.document() for setting in settings]
    return document


def _flow(flow: PlannedFlow, run: RunSpec, number: int) -> FlowSpec:
    return {
        "name": flow.name,
        "source": flow.source,
        "sink": flow.sink,
        "congestion": flow.congestion,
        "engine": flow.engine,
        "start_ns": nanoseconds(flow.start_s),
        "stop_ns": None if flow.stop_s is None else nanoseconds(flow.stop_s),
        "parameters": {
            **flow.traffic_parameters,
            **multipath.parameters_of(flow, multipath.addresses_of(run)),
            "bytes": flow.bytes,
        },
        "seed": traffic_seed(run.seed, number),
        "port": flow.port,
        "client_port": flow.port + CLIENT_PORT_OFFSET,
        "connections": flow.connections,
        "server": flow.server,
    }


def _forwarding(network: Network, destinations: list[str]) -> dict[str, dict[str, str]]:
    """Return {switch: {destination host: outgoing link}} along paths of least delay."""
    table: dict[str, dict[str, str]] = {switch: {} for switch in network.switches}
    for switch in network.switches:
        for destination in destinations:
            try:
                table[switch][destination] = network.next_hop(switch, destination).link.name
            except LookupError:
                continue  # in an unconnected part of the network; every flow has a path
    return table


def _sprays(network: Network, destinations: list[str]) -> list[SpraySpec]:
    """Return the equal links of each switch, with the destinations that have them in common."""
    sprays: list[SpraySpec] = []
    for switch in network.switches:
        common: dict[tuple[str, ...], list[str]] = {}
        for destination in destinations:
            try:
                hops = network.equal_hops(switch, destination)
            except LookupError:
                continue
            common.setdefault(tuple(hop.link.name for hop in hops), []).append(destination)
        sprays += [
            {"switch": switch, "links": list(links), "destinations": hosts}
            for links, hosts in common.items()
            if len(links) > 1
        ]
    return sprays


def _host_sysctls(run: RunSpec) -> dict[str, str | int]:
    """Return the sysctls of every host: buffers that never limit, and no cached metrics."""
    most = max(_pipes_bytes(run), default=0)
    buffer = min(max(_LEAST_BUFFER_BYTES, _BUFFER_PIPES * most), _MOST_BUFFER_BYTES)
    return {
        "net.ipv4.tcp_rmem": f"4096 131072 {buffer}",
        "net.ipv4.tcp_wmem": f"4096 16384 {buffer}",
        "net.ipv4.tcp_no_metrics_save": 1,
        # A SYN lost by chance must not turn a DCTCP flow into a Reno flow for good.
        "net.ipv4.tcp_ecn_fallback": 0,
    }


def _left_to_the_kernel(run: RunSpec) -> set[str]:
    """Return the sysctls that keep the kernel's own value at some host."""
    values = (item for settings in run.hosts.values() for item in settings.sysctls.items())
    return {name for name, value in values if value == KERNELS_OWN}


def _shared_sysctls(run: RunSpec) -> dict[str, str | int]:
    """Return the sysctls of every host, without those that some host leaves to the kernel."""
    left = _left_to_the_kernel(run)
    return {name: value for name, value in _host_sysctls(run).items() if name not in left}


def _namespaces(run: RunSpec) -> dict[str, dict[str, str | int]]:
    """Return {host: {sysctl: value}} of the machines that have sysctls of their own.

    A sysctl of every host that one of them leaves to the kernel is set at each of the others.
    """
    left = _left_to_the_kernel(run)
    others = {name: value for name, value in _host_sysctls(run).items() if name in left}
    of_programs, of_multipath = programs.sysctls(run.flows), multipath.sysctls(run)
    by_host: dict[str, dict[str, str | int]] = {}
    for host in dict.fromkeys(map(run.network.machine, run.network.hosts)):
        values = {**others, **(run.hosts[host].sysctls if host in run.hosts else {})}
        for interface in run.network.interfaces(host):
            values |= of_programs.get(interface, {})
        values |= of_multipath.get(host, {})
        values = {name: value for name, value in values.items() if value != KERNELS_OWN}
        if values:
            by_host[host] = values
    for flow in run.flows:
        for name, value in flow.settings.items():
            host = run.network.machine(flow.source)
            by_host.setdefault(host, {})[f"net.ipv4.{name}"] = value
    return by_host


def _pipes_bytes(run: RunSpec) -> Iterator[int]:
    """Yield the most bytes that each flow's path can hold: bandwidth-delay product and queues.

    A connection of several subflows keeps what it sends on all of them for the longest round trip,
    because the receiver puts the data in order.
    """
    network = at_most(run.network, run.events)
    channels = _channels(network)
    routes: dict[Pair, set[tuple[str, ...]]] = {}
    for event in run.events:
        for pair, route in event.routes.items():
            routes.setdefault(pair, set()).add(route)
    pipes: dict[str, list[_Pipe]] = {}
    for flow in run.flows:
        paths = {flow.path, *routes.get((flow.source, flow.sink), ())}
        back_paths = {flow.ack_path, *routes.get((flow.sink, flow.source), ())}
        back_s = max(sum(channels[name].delay_s for name in path) for path in back_paths)
        own = [_pipe([channels[name] for name in path], back_s) for path in paths]
        yield from (int(pipe.rate_bps * pipe.rtt_s / 8) + pipe.queue_bytes for pipe in own)
        if flow.subflow is not None:
            pipes.setdefault(flow.subflow.connection, []).extend(own)
    for subflows in pipes.values():
        longest_s = max(pipe.rtt_s + pipe.queue_bytes * 8 / pipe.rate_bps for pipe in subflows)
        yield int(sum(pipe.rate_bps for pipe in subflows) * longest_s / 8)


class _Pipe(NamedTuple):
    """What a path can hold."""

    rate_bps: int
    rtt_s: float
    queue_bytes: int


def _pipe(channels: Sequence[Channel], back_s: float) -> _Pipe:
    limited = [channel for channel in channels if channel.rate_bps is not None]
    rate_bps = min((channel.rate_bps or 0 for channel in limited), default=10**10)
    queue_bytes = sum(
        queue_packets(channel.queue, channel.frame_bytes) * channel.frame_bytes
        for channel in limited
        if channel.queue is not None and channel.is_bottleneck
    )
    rtt_ns = nanoseconds(sum(channel.delay_s for channel in channels) + back_s)
    return _Pipe(rate_bps, rtt_ns / 1e9, queue_bytes)


def _global_sysctls(memory_bytes: int, run: RunSpec) -> dict[str, str | int]:
    pages = memory_bytes // 4096
    return {
        **(programs.GLOBAL_SYSCTLS if programs.runs_in(run.flows) else {}),
        "net.core.netdev_max_backlog": 1_000_000,
        "net.ipv4.tcp_mem": f"{pages // 4} {pages // 3} {pages // 2}",
        "net.ipv4.tcp_child_ehash_entries": 64,
    }

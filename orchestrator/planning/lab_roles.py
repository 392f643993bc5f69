"""Assigns lab hosts to a run's hosts, and finds what lab hosts cannot do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from orchestrator.kinds.events.link import LinkEvent
from orchestrator.kinds.fields import Path
from orchestrator.kinds.tcp import HostTcp, TcpOptions
from orchestrator.network import Channel, LossModel, Network
from orchestrator.planning.runspec import LabHost, LabPlan, LabRouter, PlannedFlow
from orchestrator.protocol.engines import ENGINES
from orchestrator.protocol.links.frames import DEFAULT_MTU_BYTES
from orchestrator.protocol.programs import PROGRAM
from orchestrator.scenario import Scenario
from orchestrator.scenario.lab import LabEnd
from orchestrator.units import shown
from topologies.links import DIRECTIONS

Finding = tuple[Path, str]


def lab_plan(scenario: Scenario, network: Network) -> LabPlan | None:
    """Return the machines' roles, None without a section ``lab``; check ``lab_faults`` first."""
    lab = scenario.lab
    if lab is None:
        return None
    sources, sinks = _ends(network)
    hosts = [*_played("sender", lab.senders, sources), *_played("receiver", lab.receivers, sinks)]
    router = None
    if lab.router is not None:
        router = LabRouter(
            lab.router.host, lab.router.left, lab.router.right, _bottlenecks(network)[0]
        )
        interfaces = (router.left, router.right)
        hosts.append(LabHost(router.host, "router", interfaces, ()))
    return LabPlan(str(lab.path), tuple(hosts), router, lab.offloads == "off")


def _ends(network: Network) -> tuple[list[str], list[str]]:
    """Return all sources and all sinks, group by group."""
    sources = [host for group in network.groups for host in group.sources]
    return list(dict.fromkeys(sources)), list(
        dict.fromkeys(host for group in network.groups for host in group.sinks)
    )


def _played(role: str, ends: Sequence[LabEnd], nodes: Sequence[str]) -> Iterator[LabHost]:
    for number, end in enumerate(ends):
        yield LabHost(end.host, role, (end.interface,), tuple(nodes[number :: len(ends)]))


def _bottlenecks(network: Network) -> list[str]:
    return list(network.bottlenecks)


def lab_faults(
    scenario: Scenario,
    network: Network,
    scenario_paths: Mapping[str, Path],
    entries: Sequence[Sequence[PlannedFlow]],
    hosts: Mapping[str, HostTcp],
) -> Iterator[Finding]:
    """Yield (path in the scenario, message) for each value that lab hosts do not support.

    Args:
        scenario: the scenario.
        network: the topology's network.
        scenario_paths: the path to each link's values in the scenario, by the link's name.
        entries: the flows of each flow entry.
        hosts: the TCP settings of each of the network's hosts.
    """
    if scenario.lab is None:
        if network.live:
            yield ("topology", "kind"), "a live path needs lab hosts: add the section `lab`"
        return
    if network.machines:
        yield ("lab",), "a lab host has one interface for all paths: `lab` cannot be multi-homed"
    yield from _router_faults(scenario, network, scenario_paths)
    yield from _traffic_faults(scenario, entries)
    yield from _option_faults(scenario)
    yield from _event_faults(scenario, network)
    for link in network.links:
        for direction in DIRECTIONS:
            if _counts_all(link.channel(direction).loss):
                path = scenario_paths.get(link.name, ("topology",))
                yield (*path, "loss", direction), _FLOW_NEEDED
        if link.forward.mtu_bytes != DEFAULT_MTU_BYTES:
            path = scenario_paths.get(link.name, ("topology",))
            yield (*path, "mtu"), f"`lab` supports an MTU of {DEFAULT_MTU_BYTES} only"
    sources, sinks = _ends(network)
    ends = (("senders", sources, "sources"), ("receivers", sinks, "sinks"))
    for key, nodes, what in ends:
        named: Sequence[LabEnd] = getattr(scenario.lab, key)
        if len(named) > len(nodes):
            text = f"the topology has only {len(nodes)} {what}: this host would have no role"
            yield ("lab", key, len(nodes)), text
            continue
        for number, host in enumerate(_played(key, named, nodes)):
            messages = (*_differing(host, hosts, entries), *_programs_beside(host, entries))
            yield from ((("lab", key, number), message) for message in messages)


def _router_faults(
    scenario: Scenario, network: Network, scenario_paths: Mapping[str, Path]
) -> Iterator[Finding]:
    lab = scenario.lab
    assert lab is not None, "checked by the caller"
    if network.live:
        if lab.router is not None:
            yield ("lab", "router"), "a live path is not emulated: leave `router` out"
        return
    if lab.router is None:
        yield (
            ("lab",),
            "`router` is missing: name the host that emulates the bottleneck, or use the topology "
            "`live-path` for a network without emulation",
        )
    if lab.offloads == "leave":
        yield (
            ("lab", "offloads"),
            "an emulated bottleneck needs offloads off: with them 64 KB leave as one packet",
        )
    if len(_bottlenecks(network)) != 1:
        yield (
            ("topology", "kind"),
            "a lab has one router, which emulates one bottleneck, not "
            f"{len(_bottlenecks(network))}: use `dumbbell` or `live-path`",
        )
    reported: set[Path] = set()
    for link in network.links:
        path = scenario_paths.get(link.name, ("topology",))
        for direction in DIRECTIONS:
            channel = link.channel(direction)
            if link.name in network.bottlenecks:
                if channel.corruption:
                    yield (*path, "corruption"), _NO_CORRUPTION
                if channel.policer is not None:
                    text = "`lab` does not support a policer, only a queue"
                    yield (*path, "policer"), text
            elif _emulates(channel) and path not in reported:
                reported.add(path)
                yield path, _PLAIN_ONLY.format(link.name)


_FLOW_NEEDED = (
    "`lab` needs a `flow` here: packets of other programs pass the router, too, and would count"
)
_NO_CORRUPTION = (
    "`lab` does not support corruption: on a forwarding host netem damages only the headers"
)
_PLAIN_ONLY = (
    "{} is a real link of the lab, and only the router emulates: with `lab`, `delay: 0ms` is the "
    "only valid setting here"
)


def _counts_all(loss: LossModel | None) -> bool:
    """Return whether a loss model counts packets of all senders."""
    return loss is not None and loss.chosen is not None and loss.chosen.flow is None


def _emulates(channel: Channel) -> bool:
    return bool(
        channel.delay_s
        or channel.rate_bps is not None
        or channel.policer is not None
        or channel.impaired
    )


def _event_faults(scenario: Scenario, network: Network) -> Iterator[Finding]:
    for number, event in enumerate(scenario.events):
        path = ("events", number)
        if not isinstance(event, LinkEvent) or event.reroute:
            yield path, "`lab` does not support a reroute: lab hosts have only one path"
            continue
        others = [name for name in event.link if name not in network.bottlenecks]
        if others:
            text = f"{shown(others[0])} is a real link: an event can change only the emulated one"
            yield (*path, "link"), text
        if event.corruption is not None:
            yield (*path, "corruption"), _NO_CORRUPTION
        if _counts_all(event.loss):
            yield (*path, "loss"), _FLOW_NEEDED


def _option_faults(scenario: Scenario) -> Iterator[Finding]:
    given: list[tuple[Path, TcpOptions]] = [((), scenario.tcp)]
    given += [(("flows", number), flow.tcp) for number, flow in enumerate(scenario.flows)]
    for path, options in given:
        if options.values().get("initial_ssthresh") is not None:
            key = "profile" if options.initial_ssthresh is None else "initial_ssthresh"
            text = "`lab` does not support an initial ssthresh: setting it needs one shared kernel"
            yield (*path, "tcp", key), text


def _traffic_faults(
    scenario: Scenario, entries: Sequence[Sequence[PlannedFlow]]
) -> Iterator[Finding]:
    for number, (entry, flows) in enumerate(zip(scenario.flows, entries, strict=True)):
        flow = flows[0]
        if not ENGINES[flow.engine].fit_for_lab:
            yield (
                ("flows", number, "traffic", "kind"),
                f"`lab` does not support {entry.traffic.kind} traffic: " + _why_not(flow),
            )
        elif flow.connections == "many" and flow.engine != PROGRAM:
            how = "arrive at random: use a `gap`"
            if entry.traffic.names_hosts:
                how = "a file lists: use `transfers` with a `gap`"
            text = f"`lab` does not support connections that {how}"
            yield ("flows", number, "traffic", "arrivals"), text
        if entry.mptcp is not None:
            text = "`lab` does not support Multipath TCP: a lab host has one path"
            yield ("flows", number, "mptcp"), text
        if any(flow.module is not None for flow in flows):
            yield (
                ("flows", number, "congestion"),
                "`lab` does not build your modules: install it on the lab hosts, and name it "
                "without `module`",
            )


def _why_not(flow: PlannedFlow) -> str:
    """Return why lab hosts do not make the traffic of an engine that is not fit for them."""
    if ENGINES[flow.engine].notes_all:
        return "the test bed sends it in its own network only"
    return "its two ends share a random source, and lab hosts cannot"


def _differing(
    host: LabHost, hosts: Mapping[str, HostTcp], entries: Sequence[Sequence[PlannedFlow]]
) -> Iterator[str]:
    """Yield a message when a machine plays several hosts whose TCP settings differ."""
    settings: dict[str, dict[str, int]] = {}
    for flow in (flow for entry in entries for flow in entry):
        settings.setdefault(flow.source, {}).update(flow.settings)
    tcp = {node: hosts.get(node, HostTcp()) for node in host.nodes}
    values = {
        node: {**host_tcp.sysctls, **host_tcp.metrics, **settings.get(node, {})}
        for node, host_tcp in tcp.items()
    }
    first = host.nodes[0]
    for node in host.nodes[1:]:
        if values[node] != values[first]:
            yield (
                f"{shown(host.name)} plays {first} and {node}, whose TCP settings differ: name a "
                "machine for each"
            )
            return


def _programs_beside(host: LabHost, entries: Sequence[Sequence[PlannedFlow]]) -> Iterator[str]:
    """Yield a message when a machine plays a host with programs beside another host.

    Connections of programs are found by addresses, and their hosts have sysctls of their own.
    """
    ends = {
        end
        for entry in entries
        for flow in entry
        if flow.engine == PROGRAM
        for end in (flow.source, flow.sink)
    }
    here = [node for node in host.nodes if node in ends]
    if here and len(host.nodes) > 1:
        yield (
            f"{shown(host.name)} plays {len(host.nodes)} hosts, and programs run at {here[0]}: "
            "name a machine for each host"
        )

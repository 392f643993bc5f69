"""Which lab host plays which part of a run, and what of a scenario lab hosts cannot do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from orchestrator.kinds.events.link import LinkEvent
from orchestrator.kinds.fields import Path
from orchestrator.kinds.tcp import HostTcp, TcpOptions
from orchestrator.network import Channel, Network
from orchestrator.planning.runspec import LabHost, LabPlan, LabRouter, PlannedFlow
from orchestrator.scenario import Scenario
from orchestrator.scenario.lab import LabEnd
from orchestrator.units import shown
from topologies.links import DIRECTIONS

ENGINES = ("builtin", "iperf3", "onoff", "transfers", "udp")
"""Those whose two ends need to know of each other no more than what a connection carries."""

Finding = tuple[Path, str]


def lab_plan(scenario: Scenario, network: Network) -> LabPlan | None:
    """Return who plays what, None without a section ``lab``; see ``lab_faults`` first."""
    lab = scenario.lab
    if lab is None:
        return None
    sources, sinks = _ends(network)
    hosts = [*_played("sender", lab.senders, sources), *_played("receiver", lab.receivers, sinks)]
    router = None
    if lab.router is not None:
        router = LabRouter(lab.router.host, lab.router.left, lab.router.right, _studied(network)[0])
        interfaces = (router.left, router.right)
        hosts.append(LabHost(router.host, "router", interfaces, ()))
    return LabPlan(lab.inventory, tuple(hosts), router, lab.offloads == "off")


def _ends(network: Network) -> tuple[list[str], list[str]]:
    """Return all sources and all sinks, group by group."""
    sources = [host for group in network.groups for host in group.sources]
    return list(dict.fromkeys(sources)), list(
        dict.fromkeys(host for group in network.groups for host in group.sinks)
    )


def _played(role: str, ends: Sequence[LabEnd], nodes: Sequence[str]) -> Iterator[LabHost]:
    for number, end in enumerate(ends):
        yield LabHost(end.host, role, (end.interface,), tuple(nodes[number :: len(ends)]))


def _studied(network: Network) -> list[str]:
    return list(network.bottlenecks)


def lab_faults(
    scenario: Scenario,
    network: Network,
    places: Mapping[str, Path],
    lines: Sequence[Sequence[PlannedFlow]],
    told: Mapping[str, HostTcp],
) -> Iterator[Finding]:
    """Yield (path in the scenario, message) of what a scenario with lab hosts cannot have.

    Args:
        scenario: the scenario.
        network: its network, as the topology gives it.
        places: from a link's name to its values in the scenario.
        lines: the flows of each of its lines.
        told: what each of the network's hosts is told of TCP.
    """
    if scenario.lab is None:
        if network.live:
            yield ("topology", "kind"), "a live path joins lab hosts: the section `lab` is missing"
        return
    yield from _router_faults(scenario, network, places)
    yield from _traffic_faults(scenario, lines)
    yield from _option_faults(scenario)
    yield from _event_faults(scenario, network)
    sources, sinks = _ends(network)
    ends = (("senders", sources, "sources"), ("receivers", sinks, "sinks"))
    for key, nodes, what in ends:
        named: Sequence[LabEnd] = getattr(scenario.lab, key)
        if len(named) > len(nodes):
            text = f"the topology has {len(nodes)} {what} only: this host would have no part"
            yield ("lab", key, len(nodes)), text
            continue
        for number, host in enumerate(_played(key, named, nodes)):
            yield from (
                (("lab", key, number), message) for message in _differing(host, told, lines)
            )


def _router_faults(
    scenario: Scenario, network: Network, places: Mapping[str, Path]
) -> Iterator[Finding]:
    lab = scenario.lab
    assert lab is not None, "its caller looked"
    if network.live:
        if lab.router is not None:
            yield ("lab", "router"), "a live path is not emulated: leave `router` out"
        return
    if lab.router is None:
        yield (
            ("lab",),
            "`router` is missing: a host has to emulate the bottleneck; a network as it is has "
            "the topology `live-path`",
        )
    if lab.offloads == "leave":
        yield (
            ("lab", "offloads"),
            "where a bottleneck is emulated they have to be off: 64 KB would leave in one piece",
        )
    if len(_studied(network)) != 1:
        yield (
            ("topology", "kind"),
            f"a lab has one router, which emulates one bottleneck, not {len(_studied(network))}: "
            "take `dumbbell` or `live-path`",
        )
    told: set[Path] = set()
    for link in network.links:
        place = places.get(link.name, ("topology",))
        for direction in DIRECTIONS:
            channel = link.channel(direction)
            if link.name in network.bottlenecks:
                if channel.corruption:
                    yield (*place, "corruption"), _NO_CORRUPTION
                if channel.policer is not None:
                    text = "a policer cannot be had with `lab`, only a queue"
                    yield (*place, "policer"), text
            elif _does_something(channel) and place not in told:
                told.add(place)
                yield place, _PLAIN_ONLY.format(link.name)


_NO_CORRUPTION = (
    "packets that a real host forwards cannot be corrupted: netem would damage their headers only"
)
_PLAIN_ONLY = (
    "{} is a real link of the lab: only what the router emulates can be said, so `delay: 0ms` is "
    "all that is valid here with `lab`"
)


def _does_something(channel: Channel) -> bool:
    return bool(
        channel.delay_s
        or channel.rate_bps is not None
        or channel.policer is not None
        or channel.impaired
    )


def _event_faults(scenario: Scenario, network: Network) -> Iterator[Finding]:
    for number, event in enumerate(scenario.events):
        place = ("events", number)
        if not isinstance(event, LinkEvent) or event.reroute:
            yield place, "lab hosts have one way: a reroute cannot be had with `lab`"
            continue
        others = [name for name in event.link if name not in network.bottlenecks]
        if others:
            text = f"{shown(others[0])} is a real link: only what the router emulates can change"
            yield (*place, "link"), text
        if event.corruption is not None:
            yield (*place, "corruption"), _NO_CORRUPTION


def _option_faults(scenario: Scenario) -> Iterator[Finding]:
    given: list[tuple[Path, TcpOptions]] = [((), scenario.tcp)]
    given += [(("flows", number), flow.tcp) for number, flow in enumerate(scenario.flows)]
    for place, options in given:
        if options.values().get("initial_ssthresh") is not None:
            key = "profile" if options.initial_ssthresh is None else "initial_ssthresh"
            text = "a first threshold is taught by connections within one kernel: not with `lab`"
            yield (*place, "tcp", key), text


def _traffic_faults(
    scenario: Scenario, lines: Sequence[Sequence[PlannedFlow]]
) -> Iterator[Finding]:
    for number, (asked, flows) in enumerate(zip(scenario.flows, lines, strict=True)):
        flow = flows[0]
        if flow.engine not in ENGINES:
            yield (
                ("flows", number, "traffic", "kind"),
                f"{asked.traffic.kind} traffic cannot be had with `lab`: its two ends draw from "
                "one source, and are on two hosts there",
            )
        elif flow.connections == "many":
            text = "connections that arrive at random cannot be had with `lab`: take a `gap`"
            yield ("flows", number, "traffic", "arrivals"), text
        if any(each.module is not None for each in flows):
            yield (
                ("flows", number, "congestion"),
                "a module of your own has to be installed on lab hosts by hand, and is then "
                "named without `module`",
            )


def _differing(
    host: LabHost, told: Mapping[str, HostTcp], lines: Sequence[Sequence[PlannedFlow]]
) -> Iterator[str]:
    """Yield what is wrong with one host that plays several, which are told different things."""
    settings: dict[str, dict[str, int]] = {}
    for flow in (flow for line in lines for flow in line):
        settings.setdefault(flow.source, {}).update(flow.settings)
    tcp = {node: told.get(node, HostTcp()) for node in host.nodes}
    values = {
        node: {**each.sysctls, **each.metrics, **settings.get(node, {})}
        for node, each in tcp.items()
    }
    first = host.nodes[0]
    for node in host.nodes[1:]:
        if values[node] != values[first]:
            yield (
                f"{shown(host.name)} plays {first} and {node}, which are told different things "
                "of TCP: name a host for each"
            )
            return

"""What users' programs need of a run: who may open which connections at a host."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from orchestrator.errors import Fault
from orchestrator.network import Network
from orchestrator.planning.runspec import PlannedFlow
from orchestrator.protocol.ports import MANY_PORTS
from orchestrator.protocol.programs import PROGRAM, ROLES
from orchestrator.scenario import LoadedVariant
from orchestrator.units import listed, shown

SYSCTLS: dict[str, str | int] = {
    "net.ipv4.ip_local_port_range": f"{MANY_PORTS[0]} {MANY_PORTS[-1]}",
    "net.ipv4.ping_group_range": "0 2147483647",
}
"""Of hosts with programs: their connections come from ports that no other flow listens at, and
ping needs no rights."""

GLOBAL_SYSCTLS: dict[str, str | int] = {"user.max_user_namespaces": 0}
"""Of a guest with programs: none becomes root in a namespace of its own."""


def runs_in(flows: Sequence[PlannedFlow]) -> bool:
    """Tell whether some of the flows are those of programs."""
    return any(flow.engine == PROGRAM for flow in flows)


def program_names(flows: Iterable[PlannedFlow], roles: Iterable[str] = ROLES) -> Iterator[str]:
    """Yield the programs of flows that their machine must have."""
    for flow in flows:
        if flow.engine == PROGRAM:
            for role in roles:
                command = flow.traffic_parameters[role]
                if command is not None and (command[0].startswith("/") or "/" not in command[0]):
                    yield command[0]


def hint_without_progress(flows: Sequence[PlannedFlow]) -> str:
    """Return what to do about a guest whose virtual time stands still; empty without programs."""
    names = [flow.name for flow in flows if flow.engine == PROGRAM]
    if not names:
        return ""
    has_patterns = any("extract" in flow.traffic_parameters for flow in flows)
    return (
        "computing takes no simulated time in a guest, and a reading of the clock very little, "
        "so a program that does not wait hangs it. Let the programs of "
        f"{listed(names)} sleep or wait for their sockets, or use --backend local"
        f"{_OF_PATTERNS if has_patterns else ''}"
    )


_OF_PATTERNS = (
    ". A pattern of `extract` may backtrack for ever, too: nest no `+` or `*` in another one"
)


def sysctls(flows: Sequence[PlannedFlow]) -> dict[str, dict[str, str | int]]:
    """Return {host: {sysctl: value}} of the hosts where programs run."""
    by_host: dict[str, dict[str, str | int]] = {}
    for flow in flows:
        if flow.engine == PROGRAM:
            control = {"net.ipv4.tcp_congestion_control": str(flow.congestion)}
            for host in (flow.source, flow.sink):
                by_host[host] = {**SYSCTLS, **control}
    return by_host


def port_that_tells(flow: PlannedFlow, flows: Sequence[PlannedFlow]) -> int | None:
    """Return the port of a program's connections, where others run between the same two hosts."""
    if len([other for other in flows if _hosts(other) == _hosts(flow)]) > 1:
        return _ready_port(flow)
    return None


def program_faults(
    variant: LoadedVariant, entries: Sequence[Sequence[PlannedFlow]], network: Network
) -> Iterator[Fault]:
    """Yield a fault for each flow entry whose programs could not be told from another's."""
    flows = [flow for entry in entries for flow in entry]
    listening = {flow.port: flow for flow in flows if flow.engine != PROGRAM}
    ports: dict[tuple[frozenset[str], int | None], PlannedFlow] = {}
    controls: dict[str, PlannedFlow] = {}
    servers: dict[tuple[str, int], PlannedFlow] = {}
    for index, entry in enumerate(entries):
        for flow in entry:
            if flow.engine != PROGRAM:
                continue
            problem = (
                _several_interfaces(flow, network)
                or _beside_multipath(flow, flows, network)
                or _port_fault(flow, listening)
                or _twice(flow, flows, ports)
                or _other_control(flow, controls)
                or _same_server(flow, servers)
            )
            if problem is not None:
                path, text = problem
                yield variant.mark(("flows", index, *path)).fault(text)
                break


_Problem = tuple[tuple[str, ...], str]


def _several_interfaces(flow: PlannedFlow, network: Network) -> _Problem | None:
    for host in (flow.source, flow.sink):
        if len(network.interfaces(network.machine(host))) > 1:
            return ("traffic",), (
                f"{host} is one of the interfaces of a machine, and a program takes any of them: "
                "give programs hosts of their own"
            )
    return None


def _beside_multipath(
    flow: PlannedFlow, flows: Sequence[PlannedFlow], network: Network
) -> _Problem | None:
    machines = {
        network.machine(host)
        for other in flows
        if other.subflow is not None
        for host in (other.source, other.sink)
    }
    for host in (flow.source, flow.sink):
        if network.machine(host) in machines:
            return ("traffic",), (
                f"{host} has connections of Multipath TCP, and the ports of their subflows are "
                "those that programs would take: give programs hosts of their own"
            )
    return None


def _port_fault(flow: PlannedFlow, listening: dict[int, PlannedFlow]) -> _Problem | None:
    port = _ready_port(flow)
    if port in listening:
        return ("traffic", "ready"), (
            f"flow {shown(listening[port].name)} of this run listens at the port {port}"
        )
    if port in MANY_PORTS:
        return ("traffic", "ready"), (
            f"the ports {MANY_PORTS[0]} to {MANY_PORTS[-1]} are those of clients"
        )
    return None


def _twice(
    flow: PlannedFlow,
    flows: Sequence[PlannedFlow],
    ports: dict[tuple[frozenset[str], int | None], PlannedFlow],
) -> _Problem | None:
    others = [other for other in flows if _hosts(other) == _hosts(flow) and other is not flow]
    if not others:
        return None
    port = _ready_port(flow)
    other = ports.setdefault((frozenset(_hosts(flow) or ()), port), flow)
    if port is not None and other is flow:
        return None
    return ("traffic",), (
        f"programs of flow {shown(others[0].name)} run between {flow.source} and {flow.sink}, too: "
        "give each of them a `ready: {port: ...}` of its own, by which their connections are told "
        "apart"
    )


def _other_control(flow: PlannedFlow, controls: dict[str, PlannedFlow]) -> _Problem | None:
    for host in (flow.source, flow.sink):
        other = controls.setdefault(host, flow)
        if other.congestion != flow.congestion:
            return ("congestion",), (
                f"programs use their host's congestion control, and flow {shown(other.name)} at "
                f"{host} has {other.congestion}, not {flow.congestion}: give them hosts of their "
                "own, or the same one"
            )
    return None


def _same_server(flow: PlannedFlow, servers: dict[tuple[str, int], PlannedFlow]) -> _Problem | None:
    port = _ready_port(flow)
    if port is None or flow.traffic_parameters["server"] is None:
        return None
    host = flow.source if flow.server == "source" else flow.sink
    other = servers.setdefault((host, port), flow)
    if other is flow:
        return None
    return ("traffic", "ready"), (
        f"the server of flow {shown(other.name)} at {host} has the port {port}, too"
    )


def _hosts(flow: PlannedFlow) -> frozenset[str] | None:
    return frozenset((flow.source, flow.sink)) if flow.engine == PROGRAM else None


def _ready_port(flow: PlannedFlow) -> int | None:
    ready = flow.traffic_parameters["ready"]
    return None if ready is None else int(ready["port"])

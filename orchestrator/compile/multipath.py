"""What the test bed gets of Multipath TCP connections: sockets, endpoints and limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.planning.flows.multipath import Connection, connections
from orchestrator.planning.runspec import PlannedFlow, RunSpec
from orchestrator.protocol.numbering import host_address
from orchestrator.protocol.ports import SUBFLOW_PORTS
from orchestrator.protocol.specification import EndpointSpec, PathManagerSpec


def parameters_of(flow: PlannedFlow, addresses: Mapping[str, str]) -> dict[str, Any]:
    """Return the parameters of a flow's engine that say what it is of a connection."""
    if flow.subflow is None:
        return {}
    if flow.subflow.number == 0:
        return {"multipath": True}
    return {
        "connection_port": flow.listening_port,
        "addresses": [addresses[flow.source], addresses[flow.sink]],
    }


def sysctls(run: RunSpec) -> dict[str, dict[str, str | int]]:
    """Return {machine: {sysctl: value}} of the machines with Multipath TCP connections."""
    ports = {"net.ipv4.ip_local_port_range": f"{SUBFLOW_PORTS[0]} {SUBFLOW_PORTS[-1]}"}
    return {
        run.network.machine(host): {"net.mptcp.enabled": 1, **ports, **flow.subflow.sysctls}
        for flow in run.flows
        if flow.subflow is not None
        for host in (flow.source, flow.sink)
    }


def addresses_of(run: RunSpec) -> dict[str, str]:
    """Return the address of each host of the network."""
    return {host: host_address(n) for n, host in enumerate(run.network.hosts, start=1)}


def path_managers(run: RunSpec) -> list[PathManagerSpec]:
    """Return the settings of the kernel's path manager at each machine.

    The side that connects is the source. A subflow between two further addresses begins when the
    sink announces its own, because the source's routes choose the other end. One to an address that
    the connection has already begins from an address that the source was given for that.
    """
    addresses = addresses_of(run)
    found: dict[str, PathManagerSpec] = {}
    for connection in connections(run.flows):
        for machine in _machines(run, connection):
            manager = found.setdefault(
                machine, {"host": machine, "further_subflows": 0, "endpoints": []}
            )
            further = len(connection.subflows) - 1
            manager["further_subflows"] = max(manager["further_subflows"], further)
        sinks = {connection.subflows[0].sink}
        for flow in connection.subflows:
            assert flow.subflow is not None, "all of a connection have it"
            announced = flow.sink not in sinks
            sinks.add(flow.sink)
            if flow.subflow.number == 0 and not flow.subflow.backup:
                continue
            host = flow.sink if announced else flow.source
            endpoint: EndpointSpec = {
                "address": addresses[host],
                "announced": announced,
                "backup": flow.subflow.backup,
            }
            endpoints = found[run.network.machine(host)]["endpoints"]
            if endpoint not in endpoints:
                endpoints.append(endpoint)
    return list(found.values())


def _machines(run: RunSpec, connection: Connection) -> tuple[str, str]:
    first = connection.subflows[0]
    return run.network.machine(first.source), run.network.machine(first.sink)

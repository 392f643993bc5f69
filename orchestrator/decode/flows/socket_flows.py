"""Finds the flow of a socket by its ports, or by its hosts where a user's program opened it."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from orchestrator.kinds.traffic import Connections
from orchestrator.planning.flows.programs import port_that_tells
from orchestrator.planning.runspec import PlannedFlow, RunSpec
from orchestrator.protocol.numbering import host_address
from orchestrator.protocol.ports import (
    CLIENT_PORT_OFFSET,
    MANY_PORTS,
    SEQUENTIAL_PORTS,
    SUBFLOW_PORTS,
)
from orchestrator.protocol.programs import PROGRAM
from orchestrator.recording.model import RECEIVER, SENDER

_ADDRESS_BYTES = 16
"""Of each address of struct inet_diag_sockid, behind both ports; IPv4 has the first four."""


class FlowPorts(NamedTuple):
    """The ports by which a flow's sockets are found.

    With one connection both ports are known. With more, the client's port is any port that is
    reserved for such flows. ``sender_listens`` is set when the receiver connects.

    A program opens what it likes between its two hosts. ``hosts`` are their addresses then, of the
    host that sends most data and of the other. Only connections with the port ``program_port`` are
    the flow's; all are, if it is None. Of them the client's ports are from ``first_client`` on. A
    further subflow of Multipath TCP is found like this, too, by its connection's port.
    """

    client: int
    server: int
    connections: Connections = "one"
    sender_listens: bool = False
    hosts: tuple[bytes, bytes] | None = None
    program_port: int | None = None
    first_client: int = MANY_PORTS[0]


def flow_ports(spec: RunSpec, addresses: Mapping[str, str] | None = None) -> list[FlowPorts]:
    """Return how the sockets of each flow of a run are found.

    Args:
        spec: the run.
        addresses: the IPv4 address of each host with flows, where it is not the network's.
    """
    if addresses is None:
        numbered = enumerate(spec.network.hosts, start=1)
        addresses = {host: host_address(number) for number, host in numbered}
    packed = {host: socket.inet_aton(address) for host, address in addresses.items()}
    return [
        FlowPorts(
            flow.port + CLIENT_PORT_OFFSET,
            flow.port,
            flow.connections,
            flow.server == "source",
            *_by_hosts(flow, spec, (packed[flow.source], packed[flow.sink])),
        )
        for flow in spec.flows
    ]


def _by_hosts(
    flow: PlannedFlow, spec: RunSpec, hosts: tuple[bytes, bytes]
) -> tuple[()] | tuple[tuple[bytes, bytes], int | None, int]:
    """Return the last fields of the FlowPorts of a flow that is found by its hosts."""
    if flow.engine == PROGRAM:
        return hosts, port_that_tells(flow, spec.flows), MANY_PORTS[0]
    if flow.subflow is not None and flow.subflow.number:
        return hosts, flow.listening_port, SUBFLOW_PORTS[0]
    return ()


def ends(
    raw: npt.NDArray[np.uint8], at: int, ports: Sequence[FlowPorts]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return (flow, endpoint) of each answer, flow -1 for a socket of no flow.

    Args:
        raw: a row of bytes for each answer.
        at: where both ports lie in a row.
        ports: of each flow.
    """
    if not ports:
        return np.full(len(raw), -1), np.zeros(len(raw), np.int64)
    known = np.array(
        [each[:4] for each in ports],
        np.dtype([("client", "i8"), ("server", "i8"), ("kind", "U10"), ("sender_listens", "?")]),
    )
    flow_of = np.full(1 << 16, -1, np.int64)
    by_ports = np.array([each.hosts is None for each in ports])
    flow_of[known["server"][by_ports]] = np.flatnonzero(by_ports)
    local, remote = _ports(raw, at)
    listens = flow_of[local] >= 0
    flow: npt.NDArray[np.int64] = np.where(listens, flow_of[local], flow_of[remote])
    client: npt.NDArray[np.uint16] = np.where(listens, remote, local)
    several: npt.NDArray[np.bool] = known["kind"][flow] != "one"
    expected: npt.NDArray[np.int64] = known["client"][flow]
    right = np.where(several, client >= SEQUENTIAL_PORTS[0], client == expected)
    right &= flow >= 0
    sender_listens: npt.NDArray[np.bool] = known["sender_listens"][flow]
    endpoint = np.where(listens == sender_listens, SENDER, RECEIVER)
    flow = np.where(right, flow, -1)
    for number in np.flatnonzero(~by_ports).tolist():
        at_sender, at_receiver = _between_hosts(raw, at, ports[number])
        mine = (at_sender | at_receiver) & (flow < 0)
        flow[mine] = number
        endpoint[mine] = np.where(at_sender, SENDER, RECEIVER)[mine]
    return flow, endpoint


def _between_hosts(
    raw: npt.NDArray[np.uint8], at: int, flow: FlowPorts
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Mark the sockets of a flow by its hosts: at the host that sends most, and at the other."""
    assert flow.hosts is not None, "checked by the caller"
    local, remote = _ports(raw, at)
    chosen = (local >= flow.first_client) | (remote >= flow.first_client)
    if flow.program_port is not None:
        chosen &= (local == flow.program_port) | (remote == flow.program_port)
    source, destination = (
        raw[:, at + 4 + offset : at + 8 + offset] for offset in (0, _ADDRESS_BYTES)
    )
    sender, receiver = (np.frombuffer(address, np.uint8) for address in flow.hosts)

    def between(here: npt.NDArray[np.uint8], there: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
        mine: npt.NDArray[np.bool_] = (source == here).all(axis=1) & (destination == there).all(
            axis=1
        )
        return mine & chosen

    return between(sender, receiver), between(receiver, sender)


def _ports(
    raw: npt.NDArray[np.uint8], at: int
) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint16]]:
    """Return the local and the remote port of each answer."""
    sockets = np.ascontiguousarray(raw[:, at : at + 4]).view(
        np.dtype([("local", ">u2"), ("remote", ">u2")])
    )
    sockets = sockets.reshape(-1)
    return sockets["local"], sockets["remote"]

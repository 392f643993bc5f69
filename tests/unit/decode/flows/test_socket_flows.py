"""The flow of a socket, by its ports or by the hosts of a program."""

from __future__ import annotations

import socket
import struct

import numpy as np
import numpy.typing as npt

from orchestrator.decode.flows.socket_flows import FlowPorts, ends
from orchestrator.recording.model import RECEIVER, SENDER

A, B, C = (socket.inet_aton(f"10.0.0.{n}") for n in (1, 2, 3))
BULK = FlowPorts(25001, 5001)
PROGRAM = FlowPorts(25002, 5002, "many", sender_listens=True, hosts=(A, B))


def sockets(*rows: tuple[int, int, bytes, bytes]) -> npt.NDArray[np.uint8]:
    """Return answers with (local port, remote port, own address, peer's address)."""
    packed = [
        struct.pack("!HH16s16s", local, remote, own + bytes(12), peer + bytes(12))
        for local, remote, own, peer in rows
    ]
    return np.frombuffer(b"".join(packed), np.uint8).reshape(len(rows), -1)


def test_a_programs_sockets_are_found_by_their_hosts() -> None:
    raw = sockets(
        (8000, 45001, A, B),  # of the server, which sends most
        (45001, 8000, B, A),  # of the client
        (45002, 22, B, A),  # whatever else it opens
        (45003, 8000, C, A),  # of another host
        (5001, 25001, A, B),  # of another flow between the same hosts
        (8000, 30000, A, B),  # from a port that no program has
    )
    flow, endpoint = ends(raw, 0, [BULK, PROGRAM])
    assert flow.tolist() == [1, 1, 1, -1, 0, -1]
    assert endpoint.tolist()[:3] == [SENDER, RECEIVER, RECEIVER]


def test_programs_between_the_same_hosts_are_told_apart_by_a_port() -> None:
    first = PROGRAM._replace(program_port=8000)
    second = PROGRAM._replace(server=5003, program_port=8001)
    raw = sockets((8000, 45001, A, B), (45002, 8001, B, A), (45003, 8002, B, A))
    flow, _endpoint = ends(raw, 0, [first, second])
    assert flow.tolist() == [0, 1, -1]


def test_a_programs_port_number_is_not_another_flows() -> None:
    flow, _endpoint = ends(sockets((5002, 45001, A, C)), 0, [BULK, PROGRAM])
    assert flow.tolist() == [-1]

"""Merges what the agents of a lab captured into one trace, whose times count from one origin.

Each frame has the time by the clock of its own machine. What an agent wrote is hostile input: it
may have frames of the hosts that it represents, and nothing else.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence

from orchestrator.backends.lab.agent_spec import nodes_with_flows, plan_of
from orchestrator.decode.output import OutputFolder, malformed
from orchestrator.decode.trace import stream
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.numbering import host_address
from orchestrator.protocol.reports import facts as protocol
from orchestrator.protocol.reports import trace_records as records
from orchestrator.protocol.reports.facts import Fact
from orchestrator.recording.trace import Capture
from orchestrator.units import listed

_TIME = struct.Struct("=Q")
"""The begin of a record."""


def frames(
    run: RunSpec,
    capture: Capture,
    parts: Mapping[str, OutputFolder],
    facts: Mapping[str, Sequence[Fact]],
) -> Iterator[bytes]:
    """Yield the records of all machines, one machine after the other.

    Args:
        run: the run.
        capture: what it captures.
        parts: the files of each machine's agent, by the machine's name.
        facts: the facts of each machine's agent.

    Raises:
        BedError: an agent did not write what it captured, or wrote something else.
    """
    numbers = {node: number for number, node in enumerate(run.network.hosts, start=1)}
    left = capture.limit_bytes
    for machine, nodes in _capturing(run).items():
        own = {socket.inet_aton(host_address(numbers[node])) for node in nodes}
        (done,) = protocol.of(facts[machine], protocol.Done)
        data = parts[machine].whole(records.FILE)
        moved = _moved(machine, data, own, capture.snap_bytes, done["origin_ns"])
        left -= len(moved)
        if left < 0:
            raise malformed(f"{machine}: {records.FILE} is larger than the limit of the capture")
        yield moved


def captures(run: RunSpec, facts: Mapping[str, Iterable[Fact]]) -> protocol.Captures:
    """Return what came to the captures of all machines.

    Raises:
        BedError: an agent did not tell of the hosts that it had to capture at.
    """
    hosts: list[protocol.CapturedFrames] = []
    for machine, nodes in _capturing(run).items():
        told = [one for fact in protocol.of(facts[machine], protocol.Captures)
                for one in fact["hosts"]]  # fmt: skip
        if sorted(one["host"] for one in told) != sorted(nodes):
            wanted = f"not at its {len(nodes)}: {listed(nodes)}"
            raise malformed(f"{machine}: it captured at {len(told)} hosts, {wanted}")
        hosts += told
    return {"fact": "captures", "hosts": hosts}


def _capturing(run: RunSpec) -> dict[str, list[str]]:
    """Return the hosts that each machine captures at; machines without any are left out."""
    hosts = {host.name: nodes_with_flows(run, host) for host in plan_of(run).hosts}
    return {name: nodes for name, nodes in hosts.items() if nodes}


def _moved(machine: str, data: bytes, own: set[bytes], snap_bytes: int, origin_ns: int) -> bytes:
    """Return an agent's records with times since the start of traffic instead of by its clock."""
    offsets = stream.offsets(data)
    if len(offsets[records.FRAME]) != sum(map(len, offsets.values())):
        raise malformed(f"{machine}: {records.FILE} has more than frames")
    made = bytearray(data)
    for at in offsets[records.FRAME]:
        frame = stream.frame_at(data, at, snap_bytes)
        since_ns = frame.time_ns - origin_ns
        if frame.address not in own or frame.step not in records.AT_HOSTS or since_ns < 0:
            raise malformed(f"{machine}: the frame at {at} of {records.FILE} is not one of its own")
        _TIME.pack_into(made, at, since_ns)
    return bytes(made)

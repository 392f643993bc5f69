"""Tells of which flow and which channel packets are, by addresses, ports and interfaces."""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from orchestrator.decode.output import malformed
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.numbering import (
    CHANNEL_ENDS,
    LINK_ENDS,
    WIRE_INDEX_BASE,
    host_address,
)
from orchestrator.protocol.reports import trace_records as records

_IP_TYPE = b"\x08\x00"
_WITH_PORTS = (6, 17)
"""TCP and UDP."""
_ETHERNET_BYTES, _LEAST_IP_BYTES = 14, 20
_PROTOCOL, _SOURCE = _ETHERNET_BYTES + 9, _ETHERNET_BYTES + 12
_ADDRESSES = struct.Struct("=II")
_PORTS = struct.Struct(">HH")


class Endpoints:
    """Tells the flow of a packet by addresses and ports.

    Args:
        spec: the run.
        addresses: the IPv4 address of each host with flows, where it is not the network's.
    """

    def __init__(self, spec: RunSpec, addresses: Mapping[str, str] | None = None) -> None:
        if addresses is None:
            numbered = enumerate(spec.network.hosts, start=1)
            addresses = {host: host_address(number) for number, host in numbered}
        # Records have addresses in the order of the network, and are read by a little-endian CPU.
        own = {
            host: int.from_bytes(socket.inet_aton(address), "little")
            for host, address in addresses.items()
        }
        self._of: dict[tuple[int, int, int], tuple[int, int]] = {}
        for number, flow in enumerate(spec.flows):
            source, sink = own[flow.source], own[flow.sink]
            server, client = (sink, source) if flow.server == "sink" else (source, sink)
            # (from, to, the server's port): the flow, and whether packets go to the sink.
            self._of[client, server, flow.listening_port] = number, int(server == sink)
            self._of[server, client, flow.listening_port] = number, int(server != sink)

    def find(self, source: int, sink: int, source_port: int, sink_port: int) -> tuple[int, int]:
        """Return (number of the flow, whether it goes to the flow's sink); (-1, 0) for none."""
        return (
            self._of.get((source, sink, sink_port))
            or self._of.get((source, sink, source_port))
            or (-1, 0)
        )

    def columns(
        self, rows: npt.NDArray[np.void]
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
        """Return :meth:`find` of each row."""
        names = ("source_address", "sink_address", "source_port", "sink_port")
        if not len(rows):
            return np.empty(0, np.int32), np.empty(0, np.uint8)
        keys = np.stack([rows[name].astype(np.int64) for name in names], axis=1)
        unique, which = np.unique(keys, axis=0, return_inverse=True)
        found = np.array([self.find(*key) for key in unique.tolist()], np.int32)
        return found[which.ravel(), 0], found[which.ravel(), 1].astype(np.uint8)

    def of_frame(self, frame: bytes) -> int:
        """Return the number of the flow of a frame, by as much of it as is known; -1 for none."""
        if len(frame) < _ETHERNET_BYTES + _LEAST_IP_BYTES or frame[12:14] != _IP_TYPE:
            return -1
        ports = _ETHERNET_BYTES + 4 * (frame[_ETHERNET_BYTES] & 15)
        if frame[_PROTOCOL] not in _WITH_PORTS or len(frame) < ports + _PORTS.size:
            return -1
        addresses = _ADDRESSES.unpack_from(frame, _SOURCE)
        return self.find(*addresses, *_PORTS.unpack_from(frame, ports))[0]


def channels_of(indices: npt.NDArray[np.uint32], spec: RunSpec) -> npt.NDArray[np.int32]:
    """Return the number of the channel that leaves by each interface: two for each link.

    Raises:
        BedError: an interface is no link's.
    """
    numbers = indices.astype(np.int64) - WIRE_INDEX_BASE
    ends = len(LINK_ENDS)
    if len(numbers) and not (numbers.min() >= 0 and numbers.max() < ends * len(spec.network.links)):
        raise malformed(f"{records.FILE}: a record is of an interface that is no link's")
    leaves = [CHANNEL_ENDS[way][1] for way in ("forward", "reverse")]
    ways = np.array([leaves.index(end) for end in LINK_ENDS])
    return np.asarray(numbers // ends * len(leaves) + ways[numbers % ends], np.int32)

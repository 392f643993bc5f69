"""Sends ICMP echo requests at even intervals, and notes when their replies arrive.

A raw socket gets every echo reply of the peer that reaches the host, so a reply is known by the
flow's port as its identifier and by its sequence number.
"""

from __future__ import annotations

import contextlib
import socket
import struct

from orchestrator.protocol.links.frames import ICMP_BYTES, IPV4_BYTES
from orchestrator.protocol.reports.outcomes import NETWORK_ERRORS
from orchestrator.testbed.kernel.arrivals import receive, timestamp_arrivals
from orchestrator.testbed.traffic import FlowEngine
from orchestrator.testbed.traffic.outcomes import ONLY
from orchestrator.testbed.traffic.reactor import INCOMING, Reactor

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from orchestrator.protocol.engine_parameters import PingParameters
    from orchestrator.protocol.specification import FlowSpec
    from orchestrator.testbed.bed import Bed
    from orchestrator.testbed.traffic import EngineClass, Services

_REQUEST, _REPLY = 8, 0
_HEADER = struct.Struct("!BBHHH")
_SEQUENCES = 1 << 16


class PingFlow(FlowEngine):
    """``source`` sends requests to ``sink``. An echo is a transfer, which ends with its reply.

    A request is awaited until its sequence number is used again, 65536 requests later.
    """

    def __init__(self, bed: Bed, spec: FlowSpec, services: Services) -> None:
        super().__init__(spec, services)
        self._parameters: PingParameters = spec["parameters"]
        self._reactor = Reactor(bed, spec["source"], services)
        self._end_ns = bed.spec["duration_ns"] if spec["stop_ns"] is None else spec["stop_ns"]
        self._payload = bytes(self._parameters["packet_bytes"] - IPV4_BYTES - ICMP_BYTES)
        self._origin_ns = self._sent = self._last_ns = 0
        self._awaited: dict[int, int] = {}  # when each request left, by its sequence number
        with bed.enter(spec["source"]):
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
            timestamp_arrivals(self._socket)
            self._socket.bind((bed.address(spec["source"]), 0))
            self._socket.connect((bed.address(spec["sink"]), 0))
        self._reactor.watch(self._socket, self._arrived, INCOMING)

    def start(self, origin_ns: int) -> None:
        """Start the flow's thread."""
        self._origin_ns = origin_ns
        self.outcomes.begins(ONLY, self.spec["start_ns"])
        self.outcomes.connected(ONLY)  # there is no handshake
        self._reactor.at(self.spec["start_ns"], self._request, self.spec["start_ns"])
        self._reactor.start(origin_ns)

    def finish(self) -> None:
        """Record the requests that have no reply, and that the flow ended."""
        self._reactor.finish(self._note_unanswered)
        if self._sent == self._parameters["number"] or self.spec["stop_ns"] is not None:
            self.outcomes.ended(ONLY, self._last_ns)
        super().finish()

    def _request(self, time_ns: int) -> None:
        if time_ns >= self._end_ns or self._sent == self._parameters["number"]:
            return
        sequence = self._sent % _SEQUENCES
        if sequence in self._awaited:
            self.services.transfer(self._awaited.pop(sequence), -1, 0)
        self._sent += 1
        self._awaited[sequence] = self._last_ns = self._reactor.now_ns()
        try:
            self._socket.send(self._packet(sequence))
        except OSError as error:
            if error.errno not in NETWORK_ERRORS:
                raise
            self.outcomes.failed(ONLY, self._last_ns, error.errno)
        next_ns = self.spec["start_ns"] + self._sent * self._parameters["interval_ns"]
        self._reactor.at(next_ns, self._request, next_ns)

    def _packet(self, sequence: int) -> bytes:
        identity = self.spec["port"]
        # Of zeros alone, the payload does not change the checksum (RFC 1071).
        total = (_REQUEST << 8) + identity + sequence
        total = (total >> 16) + (total & 0xFFFF)
        return _HEADER.pack(_REQUEST, 0, ~total & 0xFFFF, identity, sequence) + self._payload

    def _arrived(self, _events: int) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                packet, arrived_ns = receive(self._socket, socket.MSG_DONTWAIT)
                if len(packet) < IPV4_BYTES + ICMP_BYTES:
                    continue
                kind, _code, _sum, identity, sequence = _HEADER.unpack_from(packet, IPV4_BYTES)
                if (kind, identity) == (_REPLY, self.spec["port"]) and sequence in self._awaited:
                    end_ns = arrived_ns - self._origin_ns
                    size_bytes = self._parameters["packet_bytes"]
                    self.services.transfer(self._awaited.pop(sequence), end_ns, size_bytes)

    def _note_unanswered(self) -> None:
        for start_ns in self._awaited.values():
            self.services.transfer(start_ns, -1, 0)


ENGINES: dict[str, EngineClass] = {"ping": PingFlow}

"""Writes what metrics use of each TCP sender, whenever it differs from what was written before.

The metrics' grid may be as fine as a millisecond. A kernel's answer about a socket has 350 bytes
and more. So the few values that metrics use are taken out here, and equal ones are left out. A
sender changes with an acknowledgement at most, so the rows never outnumber these.
"""

from __future__ import annotations

import socket
import struct

from orchestrator.protocol.engines import SUBFLOW
from orchestrator.protocol.reports.records import SENDER_STATE_ROW
from orchestrator.testbed.kernel import mptcp
from orchestrator.testbed.kernel import netlink as nl
from orchestrator.testbed.kernel.tcpdiag import SOCK_DIAG_BY_FAMILY

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from orchestrator.protocol.specification import FlowSpec
    from orchestrator.testbed.sampling.records import Records

_MESSAGE = struct.Struct("=IH")  # nlmsg_len, nlmsg_type of struct nlmsghdr
_LEAST_BYTES = 16 + 72 + 128  # request sockets have no tcp_info
_STATE, _PORTS, _COOKIE, _ATTRIBUTES = 17, 20, 60, 88  # with the netlink header
_COOKIE_FORM = struct.Struct("=Q")
_INFO = 2  # INET_DIAG_INFO
_BANDWIDTHS = (16, 0x3CC0)
"""Attributes that begin with a bandwidth of 64 bits: INET_DIAG_BBRINFO, and that of our modules."""
_RTT, _CWND, _RETRANS = 68, 80, 100  # tcpi_rtt, tcpi_snd_cwnd, tcpi_total_retrans
_INFO_BYTES = 104
_ESTABLISHED = 1
_GONE = b"\x07" + bytes(21)  # TCP_CLOSE
_HEAD = struct.Struct("<qII")
assert _HEAD.size + len(_GONE) == SENDER_STATE_ROW.size


class SenderStates:
    """Takes the kernel's answers about senders and writes rows to ``records``.

    Args:
        flows: (number, specification) of the flows with one connection at a time.
        records: where the rows go.
    """

    def __init__(self, flows: Iterable[tuple[int, FlowSpec]], records: Records) -> None:
        self._records = records
        self._flow_of: dict[bytes, int] = {}
        self._several: list[tuple[slice, bytes, int]] = []
        self._subflows: dict[bytes, int] = {}
        """Numbers of subflows that the kernel opens, by their identities; see ``_subflow``."""
        for number, flow in flows:
            if flow["engine"] == SUBFLOW:
                ends = map(socket.inet_aton, flow["parameters"]["addresses"])
                identity = b"".join([_port(flow["parameters"]["connection_port"]), *ends])
                self._subflows[identity] = number
                continue
            server, client = (_port(flow[end]) for end in ("port", "client_port"))
            sends = flow["server"] == "source"
            if flow["connections"] == "one":
                self._flow_of[server + client if sends else client + server] = number
            else:
                end = slice(0, 2) if sends else slice(2, 4)
                self._several.append((end, server, number))
        self._last: dict[int, tuple[int, int, bytes]] = {}
        """Of each flow: the cookie and the number of its connection, and its state."""
        self._layouts: dict[tuple[int, int], _Layout] = {}

    def take(self, time_ns: int, answers: bytes, flows: Sequence[int]) -> None:
        """Write the states that have changed.

        Args:
            time_ns: since the start of traffic.
            answers: about all sockets of some namespaces, or nothing.
            flows: numbers of the flows whose senders are in these namespaces.
        """
        present = self._present(answers)
        for flow in flows:
            answer = present.get(flow)
            if answer is not None:
                (_established, cookie), offset, length = answer
                self._note(time_ns, flow, cookie, self._state(answers, offset, length, flow))
            elif flow in self._last:
                self._note(time_ns, flow, self._last[flow][0], _GONE)

    def subflows(self, answers: bytes, flows: Collection[int]) -> Iterator[tuple[int, int | None]]:
        """Yield (flow, flags) of each of the flows that has an established sender.

        The flags are those of ``mptcp.subflow_flags``; None for plain TCP.
        """
        for flow, ((established, _cookie), offset, length) in self._present(answers).items():
            if established and flow in flows:
                end = offset + length
                yield flow, mptcp.subflow_flags(answers, offset + _ATTRIBUTES, end)

    def _present(self, answers: bytes) -> dict[int, tuple[tuple[bool, int], int, int]]:
        """Return of each sender's flow (whether it is established, cookie), place and length.

        Of several sockets of a flow it is the last one that is established.
        """
        present: dict[int, tuple[tuple[bool, int], int, int]] = {}
        offset, most = 0, len(answers) - _LEAST_BYTES
        while offset <= most:
            length, kind = _MESSAGE.unpack_from(answers, offset)
            if kind == SOCK_DIAG_BY_FAMILY and length >= _LEAST_BYTES:
                flow = self._flow(answers[offset + _PORTS : offset + _PORTS + 4])
                if flow < 0 and self._subflows:
                    flow = self._subflow(answers, offset + _PORTS)
                if flow >= 0:
                    (cookie,) = _COOKIE_FORM.unpack_from(answers, offset + _COOKIE)
                    rank = (answers[offset + _STATE] == _ESTABLISHED, cookie)
                    if flow not in present or rank > present[flow][0]:
                        present[flow] = (rank, offset, length)
            offset += (length + 3) & ~3
        return present

    def _note(self, time_ns: int, flow: int, cookie: int, state: bytes) -> None:
        last = self._last.get(flow)
        connection = 0
        if last is not None:
            if last[2] == state and last[0] == cookie:
                return
            connection = last[1] + (last[0] != cookie)
        self._last[flow] = cookie, connection, state
        self._records.sender_state(_HEAD.pack(time_ns, flow, connection) + state)

    def _flow(self, ports: bytes) -> int:
        """Return the flow of a sender by (local, remote) port; -1 of every other socket."""
        flow = self._flow_of.get(ports)
        if flow is None:
            flow = next((flow for end, port, flow in self._several if ports[end] == port), -1)
            self._flow_of[ports] = flow
        return flow

    def _subflow(self, answers: bytes, at: int) -> int:
        """Return the subflow of a sender by the remote port and both addresses; -1 of others.

        ``at`` is where struct inet_diag_sockid begins: two ports, and 16 bytes of each address.
        """
        identity = answers[at + 2 : at + 8] + answers[at + 20 : at + 24]
        return self._subflows.get(identity, -1)

    def _state(self, answers: bytes, offset: int, length: int, flow: int) -> bytes:
        """Return the state, as SENDER_STATE_ROW has it behind its first three fields."""
        known = self._layouts.get((flow, length))
        if known is None or not known.fits(answers, offset):
            known = self._layouts[flow, length] = _Layout(answers, offset, length)
        info = offset + known.info
        estimate = offset + known.bandwidth
        return b"".join(
            (
                answers[info : info + 2],
                answers[info + _RTT : info + _RTT + 4],
                answers[info + _CWND : info + _CWND + 4],
                answers[info + _RETRANS : info + _RETRANS + 4],
                answers[estimate : estimate + 8] if known.bandwidth else bytes(8),
            )
        )


class _Layout:
    """Where tcp_info and the bandwidth are in a message; 0 stands for no bandwidth.

    Messages of one length about a flow are alike unless its congestion control changes. So the
    heads of the attributes are compared.

    Raises:
        ValueError: the message has no tcp_info.
    """

    def __init__(self, answers: bytes, offset: int, length: int) -> None:
        self.info = self.bandwidth = 0
        self._heads: list[tuple[int, bytes]] = []
        spans = nl.attribute_spans(answers, offset + _ATTRIBUTES, offset + length)
        begin, end = spans.get(_INFO, (0, 0))
        if end - begin >= _INFO_BYTES:
            self.info = begin - offset
        for kind in _BANDWIDTHS:
            begin, end = spans.get(kind, (0, 0))
            if end - begin >= 8:
                self.bandwidth = begin - offset
        if not self.info:
            raise ValueError("the kernel's answer about a TCP socket has no tcp_info")
        for begin in filter(None, (self.info, self.bandwidth)):
            self._heads.append((begin - 4, answers[offset + begin - 4 : offset + begin]))

    def fits(self, answers: bytes, offset: int) -> bool:
        """Tell whether the attributes are where they were in the first such message."""
        for position, head in self._heads:
            if answers[offset + position : offset + position + 4] != head:
                return False
        return True


def _port(number: int) -> bytes:
    """Return a port as inet_diag_sockid has it."""
    return struct.pack("!H", number)

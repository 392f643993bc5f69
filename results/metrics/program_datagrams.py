"""UDP datagrams of users' programs, by SNMP counters of the hosts where they run."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.protocol.programs import PROGRAM
from results.metrics.base import RunData, Span, metric
from results.metrics.counters import End, grown, is_between_edges, namespaces

_SENT, _RECEIVED = "Udp:OutDatagrams", "Udp:InDatagrams"


@metric(
    "udp_sent_packets",
    unit="packets",
    subject="flow",
    scopes=("flow",),
    title="UDP datagrams sent",
)
def udp_sent_packets(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """UDP datagrams that the programs at the flow's source sent: the growth of OutDatagrams there.

    Of the host's /proc/net/snmp (RFC 4113). Datagrams that a program hands over together
    (UDP_SEGMENT) count as one. Only of flows of programs. None where another flow of programs or of
    UDP has an end at one of the flow's hosts, and where neither of them sent or received any
    datagram in the run.
    """
    return _grown(data, flows[0], span, "source", _SENT)


@metric(
    "udp_received_packets",
    unit="packets",
    subject="flow",
    scopes=("flow",),
    title="UDP datagrams received",
)
def udp_received_packets(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """UDP datagrams that the programs at the flow's sink have read: the growth of InDatagrams.

    Copies count, and datagrams that still wait in a socket's buffer do not. None as of
    `udp_sent_packets`.
    """
    return _grown(data, flows[0], span, "sink", _RECEIVED)


@metric(
    "udp_reverse_sent_packets",
    unit="packets",
    subject="flow",
    scopes=("flow",),
    title="UDP datagrams sent back",
)
def udp_reverse_sent_packets(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """UDP datagrams that the programs at the flow's sink sent, such as requests and ACKs of QUIC.

    The growth of OutDatagrams there; see `udp_sent_packets`.
    """
    return _grown(data, flows[0], span, "sink", _SENT)


@metric(
    "udp_reverse_received_packets",
    unit="packets",
    subject="flow",
    scopes=("flow",),
    title="UDP datagrams received back",
)
def udp_reverse_received_packets(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """UDP datagrams that the programs at the flow's source have read: the growth of InDatagrams.

    See `udp_received_packets`.
    """
    return _grown(data, flows[0], span, "source", _RECEIVED)


def _grown(data: RunData, flow: int, span: Span, end: End, name: str) -> int | None:
    """Return the growth of a counter at an end of a flow of programs that use UDP."""
    record = data.flows[flow]
    both = namespaces(data, {flow}, ("source", "sink"))
    if record.engine != PROGRAM or not both or not is_between_edges(data, span):
        return None
    others = {
        index
        for index, other in enumerate(data.flows)
        if index != flow and (other.engine == PROGRAM or other.transport == "udp")
    }
    if both & namespaces(data, others, ("source", "sink")):
        return None
    # A run has the names of counters that grew at some host; the kernel has both of these.
    if not grown(data, both, Span(0.0, data.duration_s), (_SENT, _RECEIVED)):
        return None
    return grown(data, namespaces(data, {flow}, (end,)), span, (name,)) or 0

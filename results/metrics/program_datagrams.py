"""UDP datagrams of users' programs, as our module run_counts counts them at both of their hosts."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.protocol.programs import PROGRAM
from orchestrator.protocol.reports.counter_facts import datagrams_line
from results.metrics.base import RunData, Span, TableColumn, metric
from results.metrics.counters import End, grown, is_between_edges, namespaces

_COUNTS = ("SentPackets", "ReceivedPackets")
_OTHER = "OtherSentPackets"
_ENDS: tuple[End, End] = ("source", "sink")


@metric(
    "udp_sent_packets",
    unit="packets",
    subject="flow",
    scopes=("flow",),
    title="UDP datagrams sent",
)
def udp_sent_packets(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """UDP datagrams that the programs at the flow's source sent to its sink.

    They count where a socket hands them to IP: before fragmentation, and before any queue. Those
    that a program hands over together (UDP_SEGMENT) count each. Other flows of programs between the
    same hosts are told apart by the port of `ready`. Only of flows of programs. None where neither
    of them sent or received any datagram in the run, and without a port that tells them from
    another flow of UDP between the same hosts.
    """
    return _grown(data, flows[0], span, "source", "SentPackets")


@metric(
    "udp_received_packets",
    unit="packets",
    subject="flow",
    scopes=("flow",),
    title="UDP datagrams received",
)
def udp_received_packets(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """UDP datagrams that came to the flow's sink from its source, complete with all fragments.

    Copies count, and what a socket without room or a wrong checksum then drops. See
    `udp_sent_packets`.
    """
    return _grown(data, flows[0], span, "sink", "ReceivedPackets")


@metric("udp_sent_bytes", unit="bytes", subject="flow", scopes=("flow",), title="UDP bytes sent")
def udp_sent_bytes(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Payload of the datagrams of `udp_sent_packets`, without the headers of UDP and IP."""
    return _grown(data, flows[0], span, "source", "SentBytes")


@metric(
    "udp_received_bytes", unit="bytes", subject="flow", scopes=("flow",), title="UDP bytes received"
)
def udp_received_bytes(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Payload of the datagrams of `udp_received_packets`, without the headers of UDP and IP."""
    return _grown(data, flows[0], span, "sink", "ReceivedBytes")


@metric(
    "udp_goodput_bps",
    unit="bit/s",
    subject="flow",
    scopes=("flow",),
    title="UDP goodput",
    averages=True,
    columns=(TableColumn("tcp", 12, "UDP goodput", where_not_zero=True),),
)
def udp_goodput(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Payload that came to the flow's sink by UDP (`udp_received_bytes`), x 8 / time.

    That is RFC 2647 section 3.17, but what QUIC sends again counts, because only QUIC knows it.
    """
    return _rate_bps(_grown(data, flows[0], span, "sink", "ReceivedBytes"), span)


@metric(
    "udp_loss_ratio",
    unit="1",
    subject="flow",
    scopes=("flow",),
    title="UDP loss ratio",
    shown_as="percent",
    most=1.0,
    columns=(TableColumn("tcp", 14, "UDP loss ratio", in_text=False, where_not_zero=True),),
)
def udp_loss_ratio(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Datagrams that did not come to the sink / datagrams sent: 1 - received / sent (RFC 7680).

    By `udp_sent_packets` and `udp_received_packets`, so one under way at the span's end is lost,
    and a copy makes up for a loss. None when nothing was sent.
    """
    return _lost(data, flows[0], span, "source", "sink")


@metric(
    "udp_reverse_sent_packets",
    unit="packets",
    subject="flow",
    scopes=("flow",),
    title="UDP datagrams sent back",
)
def udp_reverse_sent_packets(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """UDP datagrams that the programs at the flow's sink sent, such as requests and ACKs of QUIC.

    See `udp_sent_packets`.
    """
    return _grown(data, flows[0], span, "sink", "SentPackets")


@metric(
    "udp_reverse_received_packets",
    unit="packets",
    subject="flow",
    scopes=("flow",),
    title="UDP datagrams received back",
)
def udp_reverse_received_packets(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """UDP datagrams that came to the flow's source from its sink. See `udp_received_packets`."""
    return _grown(data, flows[0], span, "source", "ReceivedPackets")


@metric(
    "udp_reverse_sent_bytes",
    unit="bytes",
    subject="flow",
    scopes=("flow",),
    title="UDP bytes sent back",
)
def udp_reverse_sent_bytes(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Payload of the datagrams of `udp_reverse_sent_packets`."""
    return _grown(data, flows[0], span, "sink", "SentBytes")


@metric(
    "udp_reverse_received_bytes",
    unit="bytes",
    subject="flow",
    scopes=("flow",),
    title="UDP bytes received back",
)
def udp_reverse_received_bytes(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Payload of the datagrams of `udp_reverse_received_packets`."""
    return _grown(data, flows[0], span, "source", "ReceivedBytes")


@metric(
    "udp_reverse_goodput_bps",
    unit="bit/s",
    subject="flow",
    scopes=("flow",),
    title="UDP goodput back",
    averages=True,
)
def udp_reverse_goodput(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Payload that came to the flow's source by UDP, x 8 / time. See `udp_goodput_bps`."""
    return _rate_bps(_grown(data, flows[0], span, "source", "ReceivedBytes"), span)


@metric(
    "udp_reverse_loss_ratio",
    unit="1",
    subject="flow",
    scopes=("flow",),
    title="UDP loss ratio back",
    shown_as="percent",
    most=1.0,
)
def udp_reverse_loss_ratio(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """The share of the datagrams from the sink that did not come to the source.

    See `udp_loss_ratio`.
    """
    return _lost(data, flows[0], span, "sink", "source")


@metric(
    "udp_other_packets",
    unit="packets",
    subject="flow",
    scopes=("flow",),
    title="UDP datagrams at other ports",
)
def udp_other_packets(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """UDP datagrams that the flow's hosts sent to each other at other ports than that of `ready`.

    Those of both directions, of other flows, too. So what is more than the datagrams of the other
    flows between these hosts is counted for none. None where there were none in the run, as where
    no other flow of UDP is between the hosts: then datagrams of all ports are the flow's.
    """
    if data.flows[flows[0]].engine != PROGRAM or not is_between_edges(data, span):
        return None
    whole = Span(0.0, data.duration_s)
    if not any(_at(data, flows[0], end, whole, (_OTHER,)) for end in _ENDS):
        return None
    return sum(_at(data, flows[0], end, span, (_OTHER,)) or 0 for end in _ENDS)


def _lost(data: RunData, flow: int, span: Span, sender: End, receiver: End) -> float | None:
    sent = _grown(data, flow, span, sender, "SentPackets")
    came = _grown(data, flow, span, receiver, "ReceivedPackets")
    return max(1 - came / sent, 0.0) if sent and came is not None else None


def _rate_bps(size_bytes: int | None, span: Span) -> float | None:
    return None if size_bytes is None else size_bytes * 8 / span.length_s


def _grown(data: RunData, flow: int, span: Span, end: End, name: str) -> int | None:
    """Return the growth of a count at an end of a flow of programs that use UDP."""
    if data.flows[flow].engine != PROGRAM or not is_between_edges(data, span):
        return None
    # A run has the names of counters that grew at some host.
    whole = Span(0.0, data.duration_s)
    if not any(_at(data, flow, each, whole, _COUNTS) for each in _ENDS):
        return None
    return _at(data, flow, end, span, (name,)) or 0


def _at(data: RunData, flow: int, end: End, span: Span, names: Sequence[str]) -> int | None:
    """Return the growth of counts at an end of a flow; None of a run that counted none of them."""
    host = getattr(data.flows[flow], end)
    there = [
        index
        for index, other in enumerate(data.flows)
        if other.engine == PROGRAM and host in (other.source, other.sink)
    ]
    line = datagrams_line(there.index(flow))
    full = [f"{line}:{name}" for name in names]
    return grown(data, namespaces(data, {flow}, (end,)), span, full)

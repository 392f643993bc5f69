"""Multipath TCP: a connection over all of its subflows, and the share of each."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.protocol.units import nanoseconds
from orchestrator.recording.model import SENDER
from results.metrics.base import RunData, Span, TableColumn, growth, metric
from results.metrics.goodput import goodput


def _growth(data: RunData, flow: int, end: str, counter: str, span: Span) -> int | None:
    """Return by how much a counter of a flow's connection grew; None of any other flow.

    None, too, in a part of a window, because counters are read at the edges of windows only.
    """
    connection = data.multipath(flow)
    if connection is None:
        return None
    first, last = (
        connection.at(end, counter, nanoseconds(edge_s)) for edge_s in (span.from_s, span.to_s)
    )
    return None if first is None or last is None else last - first


@metric(
    "mptcp_goodput_bps",
    unit="bit/s",
    subject="flow",
    scopes=("flow",),
    title="Goodput of the MPTCP connection",
    columns=(TableColumn("tcp", 11, "of its connection", where_not_zero=True),),
)
def mptcp_goodput(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Data that the flow's Multipath TCP connection received in order, x 8 / time.

    mptcpi_bytes_received of include/uapi/linux/mptcp.h at the receiver, over all subflows. What
    came twice, over two subflows, counts once, and twice in the sum of their goodputs. None of
    other flows.
    """
    size_bytes = _growth(data, flows[0], "receiver", "received_bytes", span)
    return None if size_bytes is None else size_bytes * 8 / span.length_s


@metric(
    "mptcp_share",
    unit="1",
    most=1.0,
    subject="flow",
    scopes=("flow",),
    title="Share of the MPTCP connection",
    shown_as="percent",
    columns=(TableColumn("tcp", 12, "share", where_not_zero=True),),
)
def mptcp_share(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Goodput of the flow / sum of the goodputs of all subflows of its Multipath TCP connection.

    None of other flows, and where nothing arrived.
    """
    subflows = _subflows(data, flows[0])
    total, own = goodput(data, subflows, span), goodput(data, flows, span)
    return own / total if subflows and total and own is not None else None


@metric(
    "mptcp_reinjected_bytes",
    unit="bytes",
    subject="flow",
    scopes=("flow",),
    title="Data sent again over another subflow",
)
def mptcp_reinjected_bytes(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Data that the flow's Multipath TCP connection sent again over another subflow.

    What its subflows sent or have queued (tcpi_bytes_sent - tcpi_bytes_retrans +
    tcpi_notsent_bytes) without mptcpi_bytes_sent, the data that it sent. What a subflow itself
    sends again counts in its own retransmissions. None of other flows.
    """
    new_bytes = _growth(data, flows[0], "sender", "sent_bytes", span)
    return None if new_bytes is None else _queued_bytes(data, flows[0], span) - new_bytes


def _queued_bytes(data: RunData, flow: int, span: Span) -> int:
    """Return how many bytes all subflows of the flow's connection got in the span."""
    queued = 0
    for number in _subflows(data, flow):
        columns = data.tcp_columns(number, SENDER)
        if len(columns["time_ns"]):
            counter = columns["bytes_sent"] - columns["bytes_retrans"] + columns["notsent_bytes"]
            queued += growth(columns["time_ns"], counter, span)
    return queued


def _subflows(data: RunData, flow: int) -> list[int]:
    """Return all subflows of a flow's connection; none of any other flow."""
    connection = data.multipath(flow)
    names = () if connection is None else connection.subflows
    return [number for number, other in enumerate(data.flows) if other.name in names]


@metric(
    "mptcp_subflows",
    unit="1",
    subject="flow",
    scopes=("flow",),
    title="Subflows of the MPTCP connection",
)
def mptcp_subflows(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Subflows of the flow's Multipath TCP connection at the end of the time, as its sender counts.

    mptcpi_subflows_total of include/uapi/linux/mptcp.h. 0 before the connection and after its end.
    None of other flows.
    """
    connection = data.multipath(flows[0])
    return (
        None if connection is None else connection.at("sender", "subflows", nanoseconds(span.to_s))
    )

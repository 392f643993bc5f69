"""Loss of a flow, as its sender estimates it, and of a link, as its qdiscs count it."""

from __future__ import annotations

from collections.abc import Sequence

from results.metrics.base import RunData, Span, TableColumn, metric, of_channel, queue_growth
from results.metrics.datagrams import datagram_growth
from results.metrics.retransmission import sent
from results.metrics.utilisation import busiest


@metric(
    "loss_ratio",
    unit="1",
    subject="flow",
    scopes=("flow",),
    shown_as="percent",
    columns=(TableColumn("udp", 40, "loss ratio"),),
)
def flow_loss_ratio(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Of TCP, data segments lost / data segments sent, estimated at the sender.

    Lost segments are the retransmitted ones less those that the receiver reported by DSACK as
    duplicates: M. Allman, W. Eddy, S. Ostermann, "Estimating Loss Rates With TCP", ACM SIGMETRICS
    Performance Evaluation Review 31(3), 2003 (LEAST); RFC 3708. None when nothing was sent.

    Of UDP, datagrams that were not received / datagrams expected. As in RFC 3550 A.3, those up to
    the latest received one are expected, so datagrams in flight do not count as lost. None when
    none was received.
    """
    if data.flows[flows[0]].transport == "udp":
        expected = datagram_growth(data, flows[0], "expected_packets", span)
        came = datagram_growth(data, flows[0], "received_packets", span)
        return max(1 - came / expected, 0.0) if expected and came is not None else None
    segments = sent(data, flows, span, "data_segs_out")
    again = sent(data, flows, span, "total_retrans_segments")
    needless = sent(data, flows, span, "dsack_dups")
    if not segments or again is None or needless is None:
        return None
    return max(again - needless, 0) / segments


@metric(
    "loss_ratio",
    unit="1",
    most=1.0,
    subject="link",
    scopes=("run", "link"),
    shown_as="percent",
    columns=(
        TableColumn("run", 40, "loss ratio"),
        TableColumn("link", 5, "loss ratio", in_text=False),
    ),
)
def loss_ratio(data: RunData, links: Sequence[int], span: Span) -> float | None:
    """Packets dropped / (packets dropped + packets that passed), by policer, queue and loss model.

    RFC 5166 section 2.2 (packet loss rate), RFC 7680. Of a run that of
    its busiest bottleneck. None when no packet came.
    """
    link = busiest(data, links, span)
    if link is None:
        return None
    behind = of_channel(data, link, "delay")
    stages = {*of_channel(data, link, "policer"), link, *behind}
    drops = [queue_growth(data, index, "drops", span) for index in stages]
    out = queue_growth(data, behind[-1] if behind else link, "packets", span)
    lost = sum(drop for drop in drops if drop is not None)
    if None in drops or out is None or lost + out == 0:
        return None
    return lost / (lost + out)

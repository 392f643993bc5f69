"""Retransmissions."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.recording.model import SENDER
from results.metrics.base import RunData, Span, TableColumn, growth, metric


@metric(
    "retransmitted_segments",
    unit="segments",
    subject="flow",
    scopes=("run", "flow"),
    columns=(TableColumn("tcp", 60, "retransmits"),),
)
def retransmitted_segments(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Retransmitted segments: growth of tcpi_total_retrans.

    RFC 4898 tcpEStatsPerfSegsRetrans. Of a run the sum over its flows.
    """
    return sent(data, flows, span, "total_retrans_segments")


@metric(
    "retransmission_ratio",
    unit="1",
    subject="flow",
    scopes=("run", "flow"),
    shown_as="percent",
    columns=(
        TableColumn("run", 50, "retransmission ratio", in_text=False),
        TableColumn("tcp", 70, "retransmission ratio", in_text=False),
    ),
)
def retransmission_ratio(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Retransmitted segments / data segments sent, which include them.

    RFC 4898 tcpEStatsPerfSegsRetrans and tcpEStatsPerfDataSegsOut; RFC 5166 section 2.2. None when
    nothing was sent.
    """
    segments = sent(data, flows, span, "data_segs_out")
    again = retransmitted_segments(data, flows, span)
    return again / segments if again is not None and segments else None


def sent(data: RunData, flows: Sequence[int], span: Span, counter: str) -> int | None:
    """Return the growth of a sender's counter summed over flows, None when none was sampled."""
    series = [data.tcp_columns(flow, SENDER) for flow in flows]
    known = [
        growth(columns["time_ns"], columns[counter], span)
        for columns in series
        if len(columns["time_ns"])
    ]
    return sum(known) if known else None

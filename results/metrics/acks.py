"""Acknowledgements."""

from __future__ import annotations

from collections.abc import Sequence

from results.metrics.base import RunData, Span, metric
from results.metrics.retransmission import sent


@metric("acks_per_segment", unit="1", subject="flow", scopes=("run", "flow"))
def acks_per_segment(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Packets without data that came to the sender / data segments that it sent.

    Growth of tcpi_segs_in less that of tcpi_data_segs_in, by that of tcpi_data_segs_out (RFC 4898
    tcpEStatsPerfSegsIn, ...DataSegsIn, ...DataSegsOut). A receiver that delays ACKs gives 0.5; one
    whose network card moderates interrupts and whose kernel merges segments (GRO) gives less. None
    when nothing was sent.
    """
    came, with_data, segments = (
        sent(data, flows, span, counter) for counter in ("segs_in", "data_segs_in", "data_segs_out")
    )
    if came is None or with_data is None or not segments:
        return None
    return (came - with_data) / segments

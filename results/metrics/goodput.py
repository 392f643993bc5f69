"""Goodput."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orchestrator.recording.model import RECEIVER, SENDER
from results.metrics.base import RunData, Span, TableColumn, growth, metric, sum_known
from results.samples.received import received_bytes

_SYN_SENT = 2  # include/net/tcp_states.h


@metric(
    "goodput_bps",
    unit="bit/s",
    subject="flow",
    scopes=("run", "flow"),
    averages=True,
    columns=(
        TableColumn("run", 20, "goodput", in_text=False),
        TableColumn("runs", 10, "goodput"),
        TableColumn("tcp", 10, "goodput"),
        TableColumn("udp", 10, "goodput"),
    ),
)
def goodput(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Application bytes that receivers read, x 8 / time; of a run the sum over its flows.

    RFC 2647 section 3.17 and RFC 5166 section 2.1 (retransmissions do not count). Of UDP each
    datagram counts once. A flow whose receiver was never sampled has no value and adds nothing. If
    its connection was never established, the value is 0.
    """
    size_bytes = sum_known([_bytes_read(data, flow, span) for flow in flows])
    return None if size_bytes is None else size_bytes * 8 / span.length_s


def _bytes_read(data: RunData, flow: int, span: Span) -> int | None:
    record = data.flows[flow]
    udp = record.transport == "udp"
    columns = data.datagram_columns(flow) if udp else data.tcp_columns(flow, RECEIVER)
    times = columns["time_ns"]
    if len(times):
        read = columns.derived("bytes read", lambda: received_bytes(record, columns))
        return growth(times, read, span)
    states = data.tcp_columns(flow, SENDER)["state"]
    return 0 if len(states) and np.all(states == _SYN_SENT) else None

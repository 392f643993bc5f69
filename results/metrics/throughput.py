"""Throughput."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orchestrator.recording.model import SENDER
from results.metrics.base import RunData, Span, TableColumn, growth, metric, sum_known
from results.metrics.datagrams import datagram_growth

# Ethernet (no preamble, no FCS: what a qdisc counts), IPv4 and TCP without options, or UDP.
_HEADER_BYTES = 14 + 20 + 20
_UDP_HEADER_BYTES = 14 + 20 + 8
_TIMESTAMP_BYTES = 12
_TIMESTAMPS = 1  # TCPI_OPT_TIMESTAMPS of include/uapi/linux/tcp.h


@metric(
    "throughput_bps",
    unit="bit/s",
    subject="flow",
    scopes=("run", "flow"),
    averages=True,
    columns=(TableColumn("tcp", 15, "throughput", in_text=False),),
)
def throughput(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Link-layer bytes that senders sent, TCP's retransmissions included, x 8 / time.

    RFC 5166 section 2.1. Bytes are bytes_sent (RFC 4898 tcpEStatsPerfHCDataOctetsOut) and the
    headers of data_segs_out: 54 bytes each, 66 with timestamps, and 42 of a datagram. Pure ACKs and
    SACK options are left out. Of a run the sum over its flows.
    """
    size_bytes = sum_known([_wire_bytes(data, flow, span) for flow in flows])
    return None if size_bytes is None else size_bytes * 8 / span.length_s


def _wire_bytes(data: RunData, flow: int, span: Span) -> int | None:
    if data.flows[flow].transport == "udp":
        payload = datagram_growth(data, flow, "sent_bytes", span)
        packets = datagram_growth(data, flow, "sent_packets", span)
        if payload is None or packets is None:
            return None
        return payload + packets * _UDP_HEADER_BYTES
    columns = data.tcp_columns(flow, SENDER)
    times = columns["time_ns"]
    if not len(times):
        return None
    # The handshake negotiates options, so they apply to every segment with data.
    stamped = bool(np.any(columns["options"] & _TIMESTAMPS))
    header = _HEADER_BYTES + (_TIMESTAMP_BYTES if stamped else 0)
    return growth(times, columns["bytes_sent"] + columns["data_segs_out"] * header, span)

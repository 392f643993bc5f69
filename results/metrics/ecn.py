"""Packets and bytes that came with each ECN field (RFC 3168), and what AccECN said of them.

Packets are SNMP counters of the receiver's host, on every kernel and for UDP, too. Segments and
bytes are fields of tcp_info since Linux 6.18.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orchestrator.recording.counters import ECN_PACKETS
from orchestrator.recording.model import RECEIVER, SENDER
from results.metrics.base import RunData, Span, last_before, metric, sum_known
from results.metrics.counters import counted
from results.samples.sample_tables import Columns

_OPTION_SEEN = 2  # TCP_ACCECN_OPT_COUNTER_SEEN of include/uapi/linux/tcp.h
_HALF = 2**31


@metric("ce_packets", unit="packets", subject="flow", scopes=("run", "flow"), title="CE packets")
def ce_packets(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Packets that came to the receiver's host with CE: marked on the way (RFC 3168).

    The growth of InCEPkts there (/proc/net/netstat). Of a flow None where another flow has an end
    at this host; of a run the sum over the hosts. None of a run that was stored without counters.
    """
    return _came(data, flows, span, "ce")


@metric(
    "ect0_packets", unit="packets", subject="flow", scopes=("run", "flow"), title="ECT(0) packets"
)
def ect0_packets(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Packets that came to the receiver's host with ECT(0): the growth of InECT0Pkts.

    None as of `ce_packets`.
    """
    return _came(data, flows, span, "ect0")


@metric(
    "ect1_packets", unit="packets", subject="flow", scopes=("run", "flow"), title="ECT(1) packets"
)
def ect1_packets(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Packets that came to the receiver's host with ECT(1), as of L4S (RFC 9331): InECT1Pkts.

    None as of `ce_packets`.
    """
    return _came(data, flows, span, "ect1")


@metric(
    "not_ect_packets",
    unit="packets",
    subject="flow",
    scopes=("run", "flow"),
    title="Not-ECT packets",
)
def not_ect_packets(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Packets that came to the receiver's host without ECN: the growth of InNoECTPkts.

    None as of `ce_packets`.
    """
    return _came(data, flows, span, "not_ect")


def _came(data: RunData, flows: Sequence[int], span: Span, field: str) -> int | None:
    return counted(data, flows, span, (ECN_PACKETS[field],), ("sink",), ("tcp", "udp"))


@metric(
    "received_ce_segments",
    unit="segments",
    subject="flow",
    scopes=("run", "flow"),
    title="Received CE segments",
)
def received_ce_segments(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Segments with CE that the receiver got: the growth of its tcpi_received_ce.

    None before Linux 6.18, whose tcp_info has no such field, and for UDP.
    """
    return _received(data, flows, span, "received_ce_segments")


@metric(
    "received_ce_bytes", unit="bytes", subject="flow", scopes=("run", "flow"), title="Received CE"
)
def received_ce_bytes(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Bytes of data with CE that the receiver got: the growth of its tcpi_received_ce_bytes.

    None as of `received_ce_segments`.
    """
    return _received(data, flows, span, "received_ce_bytes")


@metric(
    "received_ect0_bytes", unit="bytes", subject="flow", scopes=("run", "flow"),
    title="Received ECT(0)",
)  # fmt: skip
def received_ect0_bytes(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Bytes of data with ECT(0) that the receiver got: the growth of its tcpi_received_e0_bytes.

    None as of `received_ce_segments`.
    """
    return _received(data, flows, span, "received_e0_bytes")


@metric(
    "received_ect1_bytes", unit="bytes", subject="flow", scopes=("run", "flow"),
    title="Received ECT(1)",
)  # fmt: skip
def received_ect1_bytes(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Bytes of data with ECT(1) that the receiver got: the growth of its tcpi_received_e1_bytes.

    None as of `received_ce_segments`.
    """
    return _received(data, flows, span, "received_e1_bytes")


@metric(
    "delivered_ce_bytes", unit="bytes", subject="flow", scopes=("run", "flow"),
    title="Delivered with CE",
)  # fmt: skip
def delivered_ce_bytes(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Bytes of data that reached the receiver with CE, as its AccECN option told the sender.

    RFC 9768 section 3.2.3: the growth of the sender's tcpi_delivered_ce_bytes. None where no such
    option with counters came, and as of `received_ce_segments`.
    """
    return _told(data, flows, span, "delivered_ce_bytes")


@metric(
    "delivered_ect0_bytes", unit="bytes", subject="flow", scopes=("run", "flow"),
    title="Delivered with ECT(0)",
)  # fmt: skip
def delivered_ect0_bytes(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Bytes of data that reached the receiver with ECT(0): the growth of tcpi_delivered_e0_bytes.

    None as of `delivered_ce_bytes`.
    """
    return _told(data, flows, span, "delivered_e0_bytes")


@metric(
    "delivered_ect1_bytes", unit="bytes", subject="flow", scopes=("run", "flow"),
    title="Delivered with ECT(1)",
)  # fmt: skip
def delivered_ect1_bytes(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Bytes of data that reached the receiver with ECT(1): the growth of tcpi_delivered_e1_bytes.

    None as of `delivered_ce_bytes`.
    """
    return _told(data, flows, span, "delivered_e1_bytes")


def _received(data: RunData, flows: Sequence[int], span: Span, name: str) -> int | None:
    return sum_known([_grown(data.tcp_columns(flow, RECEIVER), name, span) for flow in flows])


def _told(data: RunData, flows: Sequence[int], span: Span, name: str) -> int | None:
    series = [data.tcp_columns(flow, SENDER) for flow in flows]
    return sum_known([
        _grown(columns, name, span)
        for columns in series
        if np.any(columns["accecn_opt_seen"] == _OPTION_SEEN)
    ])  # fmt: skip


def _grown(columns: Columns, name: str, span: Span) -> int | None:
    """Return the growth of a counter of 32 bits; None where the kernel does not have it.

    It is zero before its first sample. Between two samples, which are at most 100 ms apart while
    the flow runs, it grows by less than 2^31. What a sender is told may fall a little, too.
    """
    first, last = (last_before(columns["time_ns"], edge) for edge in (span.from_s, span.to_s))
    if last is None or np.isnan(columns[name][last]):
        return None
    counter = np.concatenate(([0.0], np.nan_to_num(columns[name]))).astype(np.int64)
    steps = np.diff(counter[0 if first is None else first + 1 : last + 2])
    return int(((steps + _HALF) % (2 * _HALF) - _HALF).sum())

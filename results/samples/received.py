"""Cumulative application bytes at a flow's receiver: for the goodput metric and for charts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from orchestrator.recording.model import FIN_RECEIVED, FlowRecord
from results.samples.sample_tables import Array

_TCP_COLUMNS = ("bytes_received", "rqueue_bytes", "state")
_UDP_COLUMNS = ("received_bytes",)


def columns_of(flow: FlowRecord) -> tuple[str, ...]:
    """Return the columns that :func:`received_bytes` needs: of datagrams, or of the receiver."""
    return _UDP_COLUMNS if flow.transport == "udp" else _TCP_COLUMNS


def received_bytes(flow: FlowRecord, columns: Mapping[str, Array]) -> Array:
    """Return the bytes that the application had read at each sample, retransmissions left out.

    tcpi_bytes_received follows rcv_nxt, so it counts a FIN as a byte once the FIN has come. The
    receive queue counts the FIN too, until the application has read to the end.
    """
    if flow.transport == "udp":
        return columns["received_bytes"]
    queued = columns["rqueue_bytes"]
    fin_read = np.isin(columns["state"], FIN_RECEIVED) & (queued == 0)
    read: Array = columns["bytes_received"] - queued - fin_read.astype(np.int64)
    return read

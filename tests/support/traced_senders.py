"""Traces that are made up: a sender and a receiver of the first flow, and what happens to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from orchestrator.protocol.reports import trace_records as records
from orchestrator.recording.trace import TABLES, Capture, Trace

SENDER, RECEIVER = 1, 2
ADDRESSES = {SENDER: (0x0100000A, 40000), RECEIVER: (0x0200000A, 5001)}
"""10.0.0.1 and 10.0.0.2 as a little-endian machine has them, and the ports."""

Row = Mapping[str, Any]


def acked(time_ns: int, end: int = SENDER, **values: Any) -> Row:
    """A state after a segment."""
    return {"time_ns": time_ns, "end": end, "by": records.BY_SEGMENT, **values}


def happened(time_ns: int, what: int, end: int = SENDER, **values: Any) -> Row:
    """An event."""
    return {"time_ns": time_ns, "end": end, "what": what, **values}


def counted(time_ns: int, name: str, value: int = 1, end: int = SENDER) -> Row:
    """The event that a counter grew."""
    return happened(time_ns, records.COUNTER, end, name=name.encode(), value=value)


def sender_trace(
    acks: Sequence[Row], events: Sequence[Row] = (), congestion: str = "cubic", **others: Any
) -> Trace:
    """A trace of the flow 0 with these states and events; ``others`` are rows of other tables."""
    ends = []
    for end, peer in ((SENDER, RECEIVER), (RECEIVER, SENDER)):
        (address, port), (peer_address, peer_port) = ADDRESSES[end], ADDRESSES[peer]
        ends.append({"end": end, "flow": 0, "is_sender": end == SENDER, "address": address,
                     "port": port, "peer_address": peer_address, "peer_port": peer_port,
                     "congestion": congestion.encode()})  # fmt: skip
    given = {"ends": ends, "acks": acks, "events": events, **others}
    tables = {}
    for name, dtype in TABLES.items():
        rows = given.get(name, ())
        tables[name] = np.zeros(len(rows), dtype)
        for number, row in enumerate(rows):
            for column, value in row.items():
                tables[name][column][number] = value
    return Trace(Capture(0, 10**10, frozenset({"acks", "tcp"})), tables)

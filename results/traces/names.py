"""Names of what traces have as numbers: steps, events, states, timers, counters."""

from __future__ import annotations

from orchestrator.protocol.reports import trace_records as records

STEPS = {
    records.ENQUEUED: "enqueued",
    records.BEGUN: "transmitted",
    records.ARRIVED: "arrived",
    records.REFUSED: "dropped on arrival",
    records.DROPPED: "dropped from the queue",
    records.LOST_BY_NUMBER: "lost by its number",
    records.LOST_BY_LINE: "lost by the line",
    records.MARKED: "marked",
    records.DUPLICATED: "duplicated",
    records.LOST_BY_RING: "dropped at a full ring",
    records.SENT: "sent",
    records.RECEIVED: "received",
}
"""Steps of a packet: those of links, and two of frames at hosts."""

LOSSES = (
    records.REFUSED, records.DROPPED, records.LOST_BY_NUMBER, records.LOST_BY_LINE,
    records.LOST_BY_RING,
)  # fmt: skip
"""Steps after which a packet is gone."""

EVENTS = {
    records.CA_STATE: "congestion state",
    records.RETRANSMIT: "retransmission",
    records.COUNTER: "counter",
    records.TCP_STATE: "TCP state",
    records.TIMER: "timer",
    records.CWND: "window changed by itself",
}

RETRANSMISSION_TIMER, LOSS_PROBE_TIMER = 1, 5
"""ICSK_TIME_* of include/net/inet_connection_sock.h."""

LIMITS = {0: "", 1: "window", 2: "receive window", 3: "send buffer"}
"""enum tcp_chrono of include/linux/tcp.h: what limits a sender that has data. A sender that is
"busy" there is limited by its congestion window or by pacing."""

"""The fixed-size records that the test bed writes."""

from __future__ import annotations

DATAGRAM_COUNTERS = (
    "sent_packets",
    "sent_bytes",
    "received_packets",
    "received_bytes",
    "expected_packets",
    "reordered_packets",
    "duplicate_packets",
    "delay_sum_ns",
    "delay_squares_us2",
    "delay_changes_ns",
    "delay_min_ns",
    "delay_max_ns",
)
"""Of a flow of datagrams since it began; bytes are payload; what came twice was received once.

Expected are those up to the latest that came; reordered came behind a later one. Delays are one
way, of those received; their changes are absolute, from one received to the next. The least and
largest delay are of the time since the last sample, -1 when nothing came.
"""

"""The fixed-size records that the test bed writes; little endian, without padding."""

from __future__ import annotations

import struct

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

TCP_HEAD = struct.Struct("<qI")
"""A record of tcp.bin: time in ns since the start of traffic, and how many bytes of netlink
answers about TCP end points follow (``testbed/kernel/tcpdiag.py``)."""

QUEUE_TIME = struct.Struct("<q")
"""A row of queue.bin: time in ns, then 32-bit words: QUEUE_COUNTERS of each qdisc, all further
words of the qdiscs in the same order, QUEUE_COUNTERS of each policer."""

QUEUE_COUNTERS = (
    "bytes_low",
    "bytes_high",
    "packets",
    "drops",
    "overlimits",
    "requeues",
    "backlog_bytes",
    "backlog_packets",
)
"""Of a qdisc or policer since it was made. A policer counts bytes without the Ethernet header."""

TRANSFER_FIELDS = ("flow", "start_ns", "end_ns", "bytes")
TRANSFER_ROW = struct.Struct(f"<{len(TRANSFER_FIELDS)}q")
"""A row of transfers.bin: TRANSFER_FIELDS, with the flow's place among the run's flows."""

DATAGRAMS_FIELDS = ("time_ns", "flow", *DATAGRAM_COUNTERS)
DATAGRAMS_ROW = struct.Struct(f"<{len(DATAGRAMS_FIELDS)}q")
"""A row of datagrams.bin: DATAGRAMS_FIELDS."""

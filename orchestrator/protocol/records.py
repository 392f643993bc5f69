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
"""Counters of a UDP flow since its start. Bytes are payload; a duplicate is not counted again.

Expected datagrams are those up to the latest one received. Reordered ones arrived after a later
one. Delays are one-way delays of received datagrams. Delay changes are absolute differences between
successive ones. The least and largest delay cover the time since the last sample, -1 without a
datagram.
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
"""Counters of a qdisc or policer since its creation.

A policer counts bytes without the Ethernet header.
"""

READING_HEAD = struct.Struct("<qI")
"""A row of readings.bin: time in ns, the place of a qdisc or policer in the fact "queues" (policers
come last), then its QUEUE_COUNTERS as 32-bit words."""

TRANSFER_FIELDS = ("flow", "start_ns", "end_ns", "bytes")
TRANSFER_ROW = struct.Struct(f"<{len(TRANSFER_FIELDS)}q")
"""A row of transfers.bin: TRANSFER_FIELDS, with the flow's number in the run."""

DATAGRAMS_FIELDS = ("time_ns", "flow", *DATAGRAM_COUNTERS)
DATAGRAMS_ROW = struct.Struct(f"<{len(DATAGRAMS_FIELDS)}q")
"""A row of datagrams.bin: DATAGRAMS_FIELDS."""

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

SENDER_STATE_FIELDS = (
    ("time_ns", "q"),
    ("flow", "I"),
    ("connection", "I"),
    ("state", "B"),
    ("ca_state", "B"),
    ("rtt_us", "I"),
    ("snd_cwnd_segments", "I"),
    ("total_retrans_segments", "I"),
    ("estimate_bytes_per_s", "Q"),
)
"""Name and struct format of what metrics use of a TCP sender; see SENDER_STATE_ROW."""

SENDER_STATE_ROW = struct.Struct("<" + "".join(form for _name, form in SENDER_STATE_FIELDS))
"""A row of senders.bin: the state of a flow's sender, written when it differs from the row before.

It was read at the metrics' grid or at an edge of a window. ``connection`` numbers the connections
of the flow from 0. The estimate is the first integer that the congestion control reports of a
connection, where that is a bandwidth (BBR and our modules), 0 for others. Without an open socket
the state is CLOSE (7) and the rest 0."""

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

SOJOURN_FIELDS = ("packets", "sum_ns", "largest_ns", "aggregates", "lost_packets")
"""What a link counts of the times that packets waited in its queue; see link.SOJOURN_ATTRIBUTES.

``lost_packets`` are those that were lost by their numbers. All are since the link was made, but for
the largest time, which is that since the row before.
"""
SOJOURN_CODE = 1 << 16
"""In a row of sojourn.bin the code of the first of SOJOURN_FIELDS; smaller ones are buckets."""
SOJOURN_ROW = struct.Struct("<qIIQ")
"""A row of sojourn.bin: time in ns, the place of a queue in the fact "queues", a code, a value.

The value is one of SOJOURN_FIELDS, or the packets of a bucket modulo 2^32. Empty buckets have no
rows."""

COUNTER_FIELDS = (("time_ns", "q"), ("host", "I"), ("counter", "I"), ("value", "q"))
COUNTER_ROW = struct.Struct("<" + "".join(form for _name, form in COUNTER_FIELDS))
"""A row of counters.bin: time in ns, the places of a network namespace and of an SNMP counter in
the fact "counters", and by how much the counter has grown since right before traffic.

Rows are written at the edges of windows, and at the period of the specification if it has one, of
counters that changed since the reading before."""

TRANSFER_FIELDS = ("flow", "start_ns", "end_ns", "bytes")
TRANSFER_ROW = struct.Struct(f"<{len(TRANSFER_FIELDS)}q")
"""A row of transfers.bin: TRANSFER_FIELDS, with the flow's number in the run."""

DATAGRAMS_FIELDS = ("time_ns", "flow", *DATAGRAM_COUNTERS)
DATAGRAMS_ROW = struct.Struct(f"<{len(DATAGRAMS_FIELDS)}q")
"""A row of datagrams.bin: DATAGRAMS_FIELDS."""

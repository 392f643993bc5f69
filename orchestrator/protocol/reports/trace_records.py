"""The records of a trace, as the kernel module run_trace hands them out: kmods/uapi/run_trace.h.

A trace is a stream of records. Each begins with a HEAD, which has its length and its kind. Numbers
are in the machine's byte order, but for IPv4 addresses, which are four bytes.
"""

from __future__ import annotations

import struct

DEVICE = "/proc/run_trace"
FILE = "trace.bin"
"""What the test bed writes the records to, in its output folder."""

VERSION = 1
SNAP_BYTES, MOST_SNAP_BYTES = 116, 9216
"""How many bytes of a frame are kept unless another number is asked for, and at most."""

DEFAULT_LIMIT_BYTES = 256 * 2**20
LEAST_LIMIT_BYTES, MOST_LIMIT_BYTES = 2**20, 900 * 2**20
"""Of the records of a trace. The bytes of frames are one value of the store, and SQLite takes at
most 10^9 bytes in one."""

PORTS_END = 38
"""A frame of IPv4 without options has its ports before this byte: 14 of Ethernet, 20 of IPv4, 4."""

WANTED = {"packets": 1, "acks": 2, "queue": 4, "tcp": 8, "drops": 16}
"""What can be traced, by the names that users write, as bits of SETUP. ``drops`` are those steps of
``queue`` that tell of losses and marks."""

CLOSEST = ("packets", "acks", "queue", "tcp")
"""What has all that can be traced."""

SETUP = struct.Struct("=IIQQQII")
"""Version, wanted, from_ns and to_ns of CLOCK_MONOTONIC, limit_bytes, snap_bytes, reserved."""

HEAD = struct.Struct("=QHBBI")
"""Time in ns, length with this head, kind, what it is, and of which socket or interface."""

SOCKET, STATE, EVENT, FRAME, LINK, DROP, FULL = range(1, 8)
"""Kinds of records. FULL is the last one of a trace whose limit was reached."""

NAME_BYTES = 48
CA_NAME_BYTES = 16
CA_INFO_BYTES = 24

SOCKET_BODY = struct.Struct("=4s4sHHI16s")
"""Own address, the peer's, own port, the peer's, reserved, congestion control."""

STATE_FIELDS: tuple[tuple[str, str], ...] = (
    ("seq", "u4"),
    ("end_seq", "u4"),
    ("ack_seq", "u4"),
    ("snd_una", "u4"),
    ("snd_nxt", "u4"),
    ("snd_wnd_bytes", "u4"),
    ("rcv_wnd_bytes", "u4"),
    ("cwnd_segments", "u4"),
    ("ssthresh_segments", "u4"),
    ("srtt_us", "u4"),
    ("rttvar_us", "u4"),
    ("rtt_us", "u4"),
    ("min_rtt_us", "u4"),
    ("rto_us", "u4"),
    ("packets_out_segments", "u4"),
    ("sacked_segments", "u4"),
    ("lost_out_segments", "u4"),
    ("retrans_out_segments", "u4"),
    ("delivered_segments", "u4"),
    ("delivered_ce_segments", "u4"),
    ("lost_segments", "u4"),
    ("total_retrans_segments", "u4"),
    ("reordering_segments", "u4"),
    ("mss_bytes", "u4"),
    ("pacing_rate_bytes_per_s", "u8"),
    ("ca_state", "u1"),
    ("backoff", "u1"),
    ("limited_by", "u1"),
    ("app_limited", "u1"),
    ("pending_timer", "u1"),
    ("info_kind", "u1"),
    ("info_bytes", "u1"),
    ("reserved", "u1"),
    ("info", "V24"),
)
"""Fields of struct run_trace_state behind its head, with their types in numpy's words."""

EVENT_FIELDS: tuple[tuple[str, str], ...] = (
    ("value", "u4"),
    ("before", "u4"),
    ("seq", "u4"),
    ("end_seq", "u4"),
    ("cwnd_segments", "u4"),
    ("ssthresh_segments", "u4"),
    ("name", f"S{NAME_BYTES}"),
)
"""Fields of struct run_trace_event behind its head."""

FLOW_FIELDS: tuple[tuple[str, str], ...] = (
    ("source_address", "u4"),
    ("sink_address", "u4"),
    ("source_port", "u2"),
    ("sink_port", "u2"),
    ("seq", "u4"),
    ("ack_seq", "u4"),
    ("payload_bytes", "u2"),
    ("ip_id", "u2"),
    ("protocol", "u1"),
    ("tcp_flags", "u1"),
    ("ecn", "u1"),
    ("reserved", "u1"),
)
"""Fields of struct run_trace_flow. Addresses are in the order of the network."""

LINK_FIELDS: tuple[tuple[str, str], ...] = (
    *FLOW_FIELDS,
    ("frame_bytes", "u4"),
    ("queue_packets", "u4"),
    ("queue_bytes", "u4"),
    ("sojourn_ns", "u8"),
)
"""Fields of struct run_trace_link behind its head."""

DROP_FIELDS: tuple[tuple[str, str], ...] = (*FLOW_FIELDS, ("name", f"S{NAME_BYTES}"))
"""Fields of struct run_trace_drop behind its head."""

FRAME_BODY = struct.Struct("=4sIII")
"""Address of the host, length of the frame, captured bytes, reserved; the bytes follow."""

BY_SEGMENT, BY_TIMER = 1, 2
"""What a STATE is after."""

CA_STATE, RETRANSMIT, COUNTER, TCP_STATE, TIMER, CWND = range(1, 7)
"""What an EVENT is."""

(
    ENQUEUED, BEGUN, ARRIVED, REFUSED, DROPPED, LOST_BY_NUMBER, LOST_BY_LINE, MARKED, DUPLICATED,
    LOST_BY_RING,
) = range(1, 11)  # fmt: skip
"""Steps of a packet's way through a link: TC_LINK_* of kmods/uapi/pkt_sch_link.h."""

SENT, RECEIVED = AT_HOSTS = (16, 17)
"""What a FRAME is at a host."""

FRAME_STEPS = (ENQUEUED, BEGUN, REFUSED, DROPPED, *AT_HOSTS)
"""What a FRAME is anywhere: at a queue it is one of the steps."""

CA_STATES = ("Open", "Disorder", "CWR", "Recovery", "Loss")
"""enum tcp_ca_state of include/uapi/linux/tcp.h."""

"""The recording of one run that a back end returns: samples as arrays, facts and read-back values.

Back ends fill it, and the results store keeps it. All times are since the start of traffic. All
counters are cumulative since the test bed was built, and are only compared with each other.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from orchestrator.protocol.reports.facts import Fact
from orchestrator.protocol.reports.outcomes import ENDED
from orchestrator.protocol.reports.records import DATAGRAM_COUNTERS
from orchestrator.recording.kept import KeptFiles
from orchestrator.recording.trace import Trace

Verdict = Literal["faithful", "doubtful", "unfaithful"]

SSTHRESH_INFINITE = 0x7FFFFFFF
"""TCP_INFINITE_SSTHRESH of include/net/tcp.h: no loss yet. Stored as NULL."""

# struct tcp_info of include/uapi/linux/tcp.h (6.12), in its order; a name's suffix is its unit.
# The eight bytes before rto_us are single fields and bit fields.
TCP_INFO_FIELDS: tuple[tuple[str, str], ...] = (
    ("state", "u1"),
    ("ca_state", "u1"),
    ("retransmits", "u1"),
    ("probes", "u1"),
    ("backoff", "u1"),
    ("options", "u1"),
    ("wscale", "u1"),  # snd_wscale in the low four bits, rcv_wscale in the high four
    ("flags", "u1"),  # delivery_rate_app_limited in bit 0, fastopen_client_fail in bits 1-2
    ("rto_us", "u4"),
    ("ato_us", "u4"),
    ("snd_mss_bytes", "u4"),
    ("rcv_mss_bytes", "u4"),
    ("unacked_segments", "u4"),
    ("sacked_segments", "u4"),
    ("lost_segments", "u4"),
    ("retrans_segments", "u4"),
    ("fackets_segments", "u4"),
    ("last_data_sent_ms", "u4"),
    ("last_ack_sent_ms", "u4"),
    ("last_data_recv_ms", "u4"),
    ("last_ack_recv_ms", "u4"),
    ("pmtu_bytes", "u4"),
    ("rcv_ssthresh_bytes", "u4"),
    ("rtt_us", "u4"),
    ("rttvar_us", "u4"),
    ("snd_ssthresh_segments", "u4"),
    ("snd_cwnd_segments", "u4"),
    ("advmss_bytes", "u4"),
    ("reordering_segments", "u4"),
    ("rcv_rtt_us", "u4"),
    ("rcv_space_bytes", "u4"),
    ("total_retrans_segments", "u4"),
    ("pacing_rate_bytes_per_s", "u8"),
    ("max_pacing_rate_bytes_per_s", "u8"),
    ("bytes_acked", "u8"),
    ("bytes_received", "u8"),
    ("segs_out", "u4"),
    ("segs_in", "u4"),
    ("notsent_bytes", "u4"),
    ("min_rtt_us", "u4"),
    ("data_segs_in", "u4"),
    ("data_segs_out", "u4"),
    ("delivery_rate_bytes_per_s", "u8"),
    ("busy_time_us", "u8"),
    ("rwnd_limited_us", "u8"),
    ("sndbuf_limited_us", "u8"),
    ("delivered_segments", "u4"),
    ("delivered_ce_segments", "u4"),
    ("bytes_sent", "u8"),
    ("bytes_retrans", "u8"),
    ("dsack_dups", "u4"),
    ("reord_seen", "u4"),
    ("rcv_ooopack", "u4"),
    ("snd_wnd_bytes", "u4"),
    ("rcv_wnd_bytes", "u4"),
    ("rehash", "u4"),
    ("total_rto", "u2"),
    ("total_rto_recoveries", "u2"),
    ("total_rto_time_ms", "u4"),
)

RECENT_COUNTERS = ("rehash", "total_rto", "total_rto_recoveries", "total_rto_time_ms")
RECENT_INFO_FIELDS = ("rcv_wnd_bytes", *RECENT_COUNTERS)
"""Fields that Linux 6.1 does not have: those of timeouts came with 6.7, the others with 6.2."""

# What Linux 6.18 and later have behind these; Accurate ECN (RFC 9768) has the byte counters.
ECN_INFO_FIELDS: tuple[tuple[str, str], ...] = (
    ("received_ce_segments", "u4"),
    ("delivered_e1_bytes", "u4"),
    ("delivered_e0_bytes", "u4"),
    ("delivered_ce_bytes", "u4"),
    ("received_e1_bytes", "u4"),
    ("received_e0_bytes", "u4"),
    ("received_ce_bytes", "u4"),
    ("ecn_bits", "u4"),  # those of ECN_STATES from bit 0 on, and 24 reserved ones
)
ECN_COUNTERS = tuple(name for name, _form in ECN_INFO_FIELDS[:-1])
ECN_STATES = {"ecn_mode": 2, "accecn_opt_seen": 2, "accecn_fail_mode": 4}
"""The bit fields of tcp_info about ECN, and the bits of each."""
ABSENT_COLUMNS = (*RECENT_INFO_FIELDS, *ECN_COUNTERS, *ECN_STATES)
"""Columns of tcp_info that some kernels do not report."""
ABSENT = -1
"""In a sample, the value of such a column that the kernel does not report. It reads back as NaN."""

# INET_DIAG_SKMEMINFO (include/uapi/linux/sock_diag.h), bytes unless named otherwise.
SKMEM_FIELDS: tuple[tuple[str, str], ...] = tuple(
    (name, "u4")
    for name in (
        "skmem_rmem_alloc_bytes",
        "skmem_rcvbuf_bytes",
        "skmem_wmem_alloc_bytes",
        "skmem_sndbuf_bytes",
        "skmem_fwd_alloc_bytes",
        "skmem_wmem_queued_bytes",
        "skmem_optmem_bytes",
        "skmem_backlog_bytes",
        "skmem_drops",
    )
)

CONGESTION_SLOTS = 8
"""Number of integers of a congestion control's info attribute in each sample."""

SENDER, RECEIVER = 0, 1

FIN_RECEIVED = (6, 8, 9, 11)
"""States (include/net/tcp_states.h) of an end that has received the other's FIN: TIME_WAIT,
CLOSE_WAIT, LAST_ACK, CLOSING. bytes_received then counts the FIN as a byte."""

TCP_DTYPE = np.dtype(
    [("time_ns", "i8"), ("flow", "i4"), ("endpoint", "u1"), ("rqueue_bytes", "u4"),
     ("wqueue_bytes", "u4")]
    + [(name, "i8" if name in RECENT_INFO_FIELDS else form) for name, form in TCP_INFO_FIELDS]
    + list(SKMEM_FIELDS)
    + [(name, "i8") for name in ECN_COUNTERS]
    + [(name, "i1") for name in ECN_STATES]
    + [(f"congestion_{slot}", "i8") for slot in range(CONGESTION_SLOTS)]
)  # fmt: skip
"""A sample of one end of one flow. ``flow`` indexes ``Recording.flows``; ``endpoint`` is SENDER or
RECEIVER. The columns rqueue and wqueue are those of the diag message. They count the unread
receive queue and the send queue. orchestrator.decode.flows.connections describes samples of flows
with many connections."""

SENDER_STATE_DTYPE = np.dtype(
    [("time_ns", "i8"), ("flow", "i4"), ("connection", "i4"), ("state", "u1"), ("ca_state", "u1"),
     ("rtt_us", "u4"), ("snd_cwnd_segments", "u4"), ("total_retrans_segments", "u4"),
     ("estimate_bytes_per_s", "i8")]
)  # fmt: skip
"""The state of a flow's sender from that time on, as the metrics' grid found it. It is there where
it differs from the one before. ``connection`` numbers the flow's connections. The estimate is 0 for
a congestion control that reports no bandwidth. Without an open socket the state is CLOSE (7) and
the rest is 0."""

STATISTIC_SLOTS = 12
"""Number of statistics of a queue's kind in each sample. DualPI2 has most, and fills them."""

QUEUE_DTYPE = np.dtype(
    [("time_ns", "i8"), ("queue", "i4"), ("bytes", "i8"), ("packets", "i8"), ("drops", "i8"),
     ("overlimits", "i8"), ("requeues", "i8"), ("backlog_bytes", "i8"), ("backlog_packets", "i8")]
    + [(f"statistic_{slot}", "i8") for slot in range(STATISTIC_SLOTS)]
)  # fmt: skip
"""A sample of one qdisc or policer. ``queue`` indexes ``Recording.queues``. ``bytes`` (of the link
layer) and ``packets`` count what left it."""

TOTAL = -1
SOJOURN_DTYPE = np.dtype(
    [("time_ns", "i8"), ("queue", "i4"), ("bucket", "i4"), ("packets", "i8"), ("sum_ns", "i8"),
     ("largest_ns", "i8"), ("aggregates", "i8"), ("lost_packets", "i8")]
)  # fmt: skip
"""How long the packets waited in a queue whose transmission began in an interval.

An interval ends at ``time_ns``, an edge of a window, and begins at the edge before. Its first row
has the bucket TOTAL with all values of the interval. The other rows have the packets of a bucket of
the histogram (orchestrator.protocol.links.link.bucket_span_ns), and no other value. A time is from
the enqueueing to the begin of the transmission. ``aggregates`` are packets of several frames,
which a queue may split; then the times are not exact. ``lost_packets`` were lost behind the queue,
by their numbers."""

COUNTER_DTYPE = np.dtype([("time_ns", "i8"), ("host", "i4"), ("counter", "i4"), ("value", "i8")])
"""An SNMP counter of a host that changed since the host was last read.

``host`` and ``counter`` are numbers of orchestrator.recording.counters.CounterNames. ``value`` is
the growth since right before traffic. Hosts are read at the begin of traffic, at the edges of
windows, and at the scenario's period if it has one. A counter without a row there has not
changed."""

DATAGRAM_DTYPE = np.dtype(
    [("time_ns", "i8"), ("flow", "i4"), *((name, "i8") for name in DATAGRAM_COUNTERS)]
)
"""A sample of a UDP flow: what its source sent and its sink received since it began.

- Bytes are payload. Copies of a packet count as received once.
- Expected packets are those up to the latest received one (RFC 3550 A.3). Reordered packets are
  those received after a later one (RFC 4737).
- Delays are one-way delays of received packets, from the time when a packet was due to its arrival.
  There are their sum, the sum of their squares, and the sum of the absolute differences of
  successive delays. The smallest and the largest are those since the previous sample; -1 (stored as
  NULL) when no packet came.
"""

TRANSFER_DTYPE = np.dtype([("flow", "i4"), ("start_ns", "i8"), ("end_ns", "i8"), ("bytes", "i8")])
"""A transfer of a flow that makes many. It begins with the request or the connection's first packet
and ends when the receiver has read the last byte. Of a transfer that is incomplete at the end of
the run, end_ns is -1 (stored as NULL) and bytes are those that came."""


@dataclass(frozen=True)
class Check:
    """One property of the emulation, as expected and as measured.

    ``tolerance`` is absolute, in ``unit``. ``ok`` is None when the run had too few data for the
    check; ``detail`` then says why.
    """

    name: str
    unit: str
    expected: float | str | None
    measured: float | str | None
    tolerance: float | None
    ok: bool | None
    detail: str = ""


@dataclass(frozen=True)
class FlowRecord:
    """One expanded flow. ``start_s`` includes the drawn jitter; ``stop_s`` None means to the end.

    ``congestion_control`` is what the kernel reported for the socket, None when it never
    connected; ``congestion_asked`` is None for UDP. ``traffic`` is its kind. ``path`` names the
    channels that the data cross, such as ``bottleneck:forward``. ``congestion_fields`` names (name,
    unit) what the ``congestion_N`` columns hold.

    ``outcome`` is one of orchestrator.protocol.reports.outcomes.OUTCOMES. It is "ended", too, for a
    flow that went on until the end of the run; ``ended_s`` is None then. Otherwise this is when the
    receiver had read everything, or the stop time if it never had. Of a flow whose connections
    failed, ``outcome``, ``ended_s`` and ``errno`` are those of the first one, and ``failed_s`` has
    the time of each. A connection that nobody had answered by the end of the run has no
    ``ended_s``, and counts there as failed at the end.

    ``connections`` is how many TCP connections the kernel had of a flow that may have several, one
    after another or at a time; None for others.

    Of a flow with a user's program, ``outcome`` and ``ended_s`` are those of the client program.
    ``begun_s`` is when it began, and ``exit_status`` what it ended with.
    """

    name: str
    group: str
    source: str
    sink: str
    engine: str
    congestion_asked: str | None
    congestion_control: str | None
    start_s: float
    stop_s: float | None
    base_rtt_s: float
    base_rtt_measured_s: float | None
    path: tuple[str, ...]
    congestion_fields: tuple[tuple[str, str], ...] = ()
    transport: Literal["tcp", "udp", "icmp"] = "tcp"
    traffic: str = "bulk"
    outcome: str = ENDED
    ended_s: float | None = None
    errno: int | None = None
    begun_s: float | None = None
    exit_status: int | None = None
    connections: int | None = None
    failed_s: tuple[float, ...] = ()


@dataclass(frozen=True)
class QueueRecord:
    """One qdisc of one channel, or its policer.

    ``role`` is ``queue`` (rate and queue), ``delay`` (delay, loss) or ``policer`` (before both, of
    ``rate_bps`` and a bucket of ``limit_bytes``). A channel without impairments has no ``delay``,
    and its queue has ``delay_s``. ``rate_bps`` of a queue, ``delay_s``, and a delay's ``kind`` and
    limit are read back from the kernel. A queue's kind and limits, ``loss`` and a
    policer's values are those requested. ``loss`` is None of a list of packets to lose.
    ``bottleneck`` marks the queues of bottlenecks. ``statistics`` has (name, unit) of each
    ``statistic_N`` column; see orchestrator.protocol.links.qdisc.Statistic. ``rate_steps`` are
    (seconds since the start of traffic, bit/s from then on) of a rate that changes; those of a
    trace are its means over 20 ms.
    """

    name: str
    link: str
    direction: Literal["forward", "reverse"]
    role: Literal["queue", "delay", "policer"]
    kind: str
    bottleneck: bool
    rate_bps: int | None = None
    limit_packets: int | None = None
    limit_bytes: int | None = None
    delay_s: float | None = None
    loss: float | None = None
    statistics: tuple[tuple[str, str], ...] = ()
    rate_steps: tuple[tuple[float, int], ...] = ()


@dataclass
class Recording:
    """All data of one run.

    A back end returns it without a verdict, because the runner judges. ``facts`` are those of the
    test bed in its order, JSON-ready (see orchestrator/testbed/run.py). ``readings`` are those of
    orchestrator.recording.readings. ``windows`` has (limit,
    largest advertised window) in bytes of each flow with a limited receive window.
    orchestrator.execution.judging fills ``verdict``, ``checks`` and ``checks_version``.

    ``tcp`` is an array of TCP_DTYPE, ``queue_samples`` one of QUEUE_DTYPE, ``sojourn`` one of
    SOJOURN_DTYPE, ``counters`` one of COUNTER_DTYPE and ``datagrams`` one of DATAGRAM_DTYPE, in the
    order of time. ``transfers`` is an array of TRANSFER_DTYPE, in the order of flows and their
    starts. ``sender_states`` is an array of SENDER_STATE_DTYPE, in the order of time.
    ``provenance`` is JSON-ready, and its ``counters`` name what ``counters`` numbers:
    kernel release, module hashes, sysctls, qdisc and offload state as read back, tool versions.
    ``trace`` is what the run's capture asked for, if it has one. ``kept`` has files of programs.
    ``console`` and ``log`` are the guest's console and the test bed's log, as text.
    ``kernel_warnings`` has the number of warnings that the guest's kernel printed while traffic
    ran, and the first one; None for a real machine.
    """

    kernel: str
    simulated_s: float
    digest: str
    flows: list[FlowRecord]
    queues: list[QueueRecord]
    tcp: npt.NDArray[np.void]
    queue_samples: npt.NDArray[np.void]
    sojourn: npt.NDArray[np.void] = field(default_factory=lambda: np.zeros(0, SOJOURN_DTYPE))
    counters: npt.NDArray[np.void] = field(default_factory=lambda: np.zeros(0, COUNTER_DTYPE))
    datagrams: npt.NDArray[np.void] = field(default_factory=lambda: np.zeros(0, DATAGRAM_DTYPE))
    transfers: npt.NDArray[np.void] = field(default_factory=lambda: np.zeros(0, TRANSFER_DTYPE))
    sender_states: npt.NDArray[np.void] = field(
        default_factory=lambda: np.zeros(0, SENDER_STATE_DTYPE)
    )
    provenance: dict[str, Any] = field(default_factory=dict)
    console: str = ""
    log: str = ""
    facts: list[Fact] = field(default_factory=list)
    readings: npt.NDArray[np.void] | None = None
    kernel_warnings: tuple[int, str] | None = None
    windows: dict[str, tuple[int, int]] = field(default_factory=dict)
    verdict: Verdict | None = None
    checks: list[Check] = field(default_factory=list)
    checks_version: str | None = None
    trace: Trace | None = None
    kept: KeptFiles = field(default_factory=KeptFiles)


def by_queue(samples: npt.NDArray[np.void], queues: int) -> list[npt.NDArray[np.void]]:
    """Return each queue's samples in the order of time."""
    ordered = samples[np.argsort(samples["queue"], kind="stable")]
    edges = np.searchsorted(ordered["queue"], np.arange(queues + 1))
    return [ordered[first:last] for first, last in itertools.pairwise(edges)]

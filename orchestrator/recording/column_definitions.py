"""What each column of samples means, for docs/metrics.md. A test finds columns without a line.

A column's unit is the end of its name. Fields of ``struct tcp_info`` are of
include/uapi/linux/tcp.h, and the rest of an answer about a socket of
include/uapi/linux/inet_diag.h and sock_diag.h.
"""

from __future__ import annotations

from orchestrator.recording.model import CONGESTION_SLOTS, STATISTIC_SLOTS

TIME = "simulated time since the start of traffic"
FLOW = "index of the flow in the run"

TCP = {
    "time_ns": TIME,
    "flow": FLOW,
    "endpoint": "0 sender, 1 receiver",
    "rqueue_bytes": "received data that the application has not read (idiag_rqueue)",
    "wqueue_bytes": "data in the send queue, sent or not, that are not acknowledged (idiag_wqueue)",
    "state": "state of the connection: 1 ESTABLISHED ... 7 CLOSE (include/net/tcp_states.h)",
    "ca_state": "state of loss recovery: 0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss",
    "retransmits": "retransmission timeouts of the segment in a row",
    "probes": "zero-window probes without an answer",
    "backoff": "doublings of the retransmission timeout",
    "options": "negotiated options: bit 0 timestamps, 1 SACK, 2 window scale, 3 ECN, 4 ECN seen, "
    "5 SYN data",
    "wscale": "window scales: of the sender in bits 0 to 3, of the receiver in bits 4 to 7",
    "flags": "bit 0: the application limits the delivery rate; bits 1 and 2: Fast Open failed",
    "rto_us": "retransmission timeout",
    "ato_us": "timeout of delayed ACKs",
    "snd_mss_bytes": "largest segment that is sent",
    "rcv_mss_bytes": "estimated size of received segments",
    "unacked_segments": "segments in flight, or lost and not sent again (packets_out)",
    "sacked_segments": "segments acknowledged by SACK, or duplicate ACKs",
    "lost_segments": "segments in flight that are taken as lost",
    "retrans_segments": "retransmitted segments in flight",
    "fackets_segments": "always 0 since Linux 4.15",
    "last_data_sent_ms": "time since data were last sent",
    "last_ack_sent_ms": "always 0: the kernel does not count it",
    "last_data_recv_ms": "time since data were last received",
    "last_ack_recv_ms": "time since an ACK was last received",
    "pmtu_bytes": "path MTU",
    "rcv_ssthresh_bytes": "largest window that the receiver would advertise now",
    "rtt_us": "smoothed round-trip time (RFC 6298); 0 before the first one",
    "rttvar_us": "variation of the round-trip time (RFC 6298)",
    "snd_ssthresh_segments": "slow-start threshold; empty while it is infinite",
    "snd_cwnd_segments": "congestion window",
    "advmss_bytes": "advertised MSS",
    "reordering_segments": "distance of reordering that is not taken as loss",
    "rcv_rtt_us": "round-trip time as the receiver estimates it",
    "rcv_space_bytes": "bytes that the application reads in a round trip, for buffer tuning",
    "total_retrans_segments": "segments sent again since the connection began",
    "pacing_rate_bytes_per_s": "pacing rate; empty without a limit",
    "max_pacing_rate_bytes_per_s": "largest allowed pacing rate; empty without a limit",
    "bytes_acked": "bytes acknowledged (RFC 4898 tcpEStatsAppHCThruOctetsAcked)",
    "bytes_received": "bytes received in order (tcpEStatsAppHCThruOctetsReceived); a FIN counts as "
    "a byte",
    "segs_out": "segments sent, ACKs too (tcpEStatsPerfSegsOut)",
    "segs_in": "segments received (tcpEStatsPerfSegsIn)",
    "notsent_bytes": "bytes in the send queue that were never sent",
    "min_rtt_us": "smallest round-trip time of the last 300 s (net.ipv4.tcp_min_rtt_wlen); "
    "4294967295 before the first one",
    "data_segs_in": "segments with data received (tcpEStatsDataSegsIn)",
    "data_segs_out": "segments with data sent (tcpEStatsDataSegsOut)",
    "delivery_rate_bytes_per_s": "latest rate at which data were delivered (tcp_rate.c)",
    "busy_time_us": "time with unsent or unacknowledged data",
    "rwnd_limited_us": "time limited by the receive window",
    "sndbuf_limited_us": "time limited by the send buffer",
    "delivered_segments": "segments delivered, retransmitted ones too",
    "delivered_ce_segments": "delivered segments that ECN reported as marked",
    "bytes_sent": "bytes of data sent, retransmitted ones too (tcpEStatsPerfHCDataOctetsOut)",
    "bytes_retrans": "bytes of data sent again (tcpEStatsPerfOctetsRetrans)",
    "dsack_dups": "duplicates that the receiver reported by DSACK (tcpEStatsStackDSACKDups)",
    "reord_seen": "reorderings seen",
    "rcv_ooopack": "segments received out of order",
    "snd_wnd_bytes": "window that the peer advertises",
    "rcv_wnd_bytes": "window that is advertised to the peer",
    "rehash": "changes of the path's hash after timeouts",
    "total_rto": "retransmission timeouts",
    "total_rto_recoveries": "recoveries after timeouts, the present one too",
    "total_rto_time_ms": "time in recoveries after timeouts",
    "skmem_rmem_alloc_bytes": "memory of received data",
    "skmem_rcvbuf_bytes": "limit of the receive buffer",
    "skmem_wmem_alloc_bytes": "memory of data handed to the device",
    "skmem_sndbuf_bytes": "limit of the send buffer",
    "skmem_fwd_alloc_bytes": "memory reserved and not used",
    "skmem_wmem_queued_bytes": "memory of the send queue",
    "skmem_optmem_bytes": "memory of socket options",
    "skmem_backlog_bytes": "memory of packets that wait for the socket's lock",
    "skmem_drops": "packets that the socket dropped",
    "received_ce_segments": "segments with CE received, ACKs too; this and the next nine are empty "
    "before Linux 6.18",
    "delivered_e1_bytes": "bytes of data that reached the peer with ECT(1), as its AccECN option "
    "says (RFC 9768); the kernel keeps 32 bits of this and the next five",
    "delivered_e0_bytes": "the same with ECT(0)",
    "delivered_ce_bytes": "the same with CE",
    "received_e1_bytes": "bytes of data received with ECT(1)",
    "received_e0_bytes": "bytes of data received with ECT(0)",
    "received_ce_bytes": "bytes of data received with CE",
    "ecn_mode": "what was negotiated: 0 no ECN, 1 that of RFC 3168, 2 Accurate ECN, 3 not decided "
    "yet; this and the next two are empty of flows with many connections",
    "accecn_opt_seen": "the peer's AccECN option: 0 not seen, 1 seen empty, 2 seen with counters, "
    "3 failed",
    "accecn_fail_mode": "what failed of Accurate ECN: bit 0 sending and 1 receiving the ACE field, "
    "2 sending and 3 receiving the option",
    **{
        f"congestion_{slot}": f"number {slot} of what the congestion control reports; the run's "
        "`congestion_fields` name it"
        for slot in range(CONGESTION_SLOTS)
    },
}

SENDER_STATES = {
    "time_ns": f"{TIME}; the state holds from then on",
    "flow": FLOW,
    "connection": "number of the flow's connection, from 0",
    "state": TCP["state"] + "; 7 without an open socket",
    "ca_state": TCP["ca_state"],
    "rtt_us": TCP["rtt_us"],
    "snd_cwnd_segments": TCP["snd_cwnd_segments"],
    "total_retrans_segments": TCP["total_retrans_segments"],
    "estimate_bytes_per_s": "bandwidth that the congestion control estimates; 0 without one",
}

QUEUES = {
    "time_ns": TIME,
    "queue": "index of the qdisc or policer in the run",
    "bytes": "bytes of the link layer that left it",
    "packets": "packets that left it",
    "drops": "packets that it dropped",
    "overlimits": "packets that had to wait, or exceeded a rate; by the kind of qdisc",
    "requeues": "packets put back; of a netem, packets that skipped the delay",
    "backlog_bytes": "bytes that wait in it",
    "backlog_packets": "packets that wait in it",
    **{
        f"statistic_{slot}": f"statistic {slot} of the queue's kind; the queue's `statistics` name "
        "it"
        for slot in range(STATISTIC_SLOTS)
    },
}

SOJOURN_TIMES = {
    "time_ns": "end of the interval: an edge of a window; it begins at the edge before",
    "queue": "index of the qdisc in the run",
    "bucket": "bucket of the histogram (protocol/links/link.py); -1 in the row of the whole "
    "interval",
    "packets": "packets whose transmission began in the interval",
    "sum_ns": "sum of the times from the enqueueing to the begin of the transmission",
    "largest_ns": "largest of these times",
    "aggregates": "packets of several frames, whose times are not exact",
    "lost_packets": "packets lost behind the queue, by their numbers",
}

COUNTERS = {
    "time_ns": TIME,
    "host": "index of the host, or of the hosts that share a namespace, in the run's provenance "
    "`counters`",
    "counter": "index of the counter's name there, such as TcpExt:TCPTimeouts (/proc/net/netstat "
    "and /proc/net/snmp)",
    "value": "growth since right before traffic; a gauge such as Tcp:CurrEstab may fall",
}

DATAGRAMS = {
    "time_ns": TIME,
    "flow": FLOW,
    "sent_packets": "datagrams sent",
    "sent_bytes": "payload sent",
    "received_packets": "datagrams received; copies count once",
    "received_bytes": "payload received; copies count once",
    "expected_packets": "datagrams up to the latest received one (RFC 3550 A.3)",
    "reordered_packets": "datagrams that came after a later one (RFC 4737)",
    "duplicate_packets": "further copies of datagrams (RFC 5560)",
    "delay_sum_ns": "sum of the one-way delays of received datagrams (RFC 7679)",
    "delay_squares_us2": "sum of the squares of the one-way delays",
    "delay_changes_ns": "sum of the absolute differences of successive delays",
    "delay_min_ns": "smallest delay since the sample before; empty without a datagram",
    "delay_max_ns": "largest delay since the sample before; empty without a datagram",
}

TRANSFERS = {
    "flow": FLOW,
    "start_ns": "when the request, or the connection's first packet, was sent",
    "end_ns": "when the receiver had read the last byte; empty of an incomplete transfer",
    "bytes": "application bytes; of an incomplete transfer those that came",
}

TABLES = {
    "tcp_samples": TCP,
    "sender_states": SENDER_STATES,
    "queue_samples": QUEUES,
    "sojourn_times": SOJOURN_TIMES,
    "counter_samples": COUNTERS,
    "datagram_samples": DATAGRAMS,
    "transfers": TRANSFERS,
}
"""The definitions by table of the store."""

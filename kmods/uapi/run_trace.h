/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * What run_trace hands out: a stream of records in the machine's byte order.
 *
 * orchestrator/protocol/reports/trace_records.py has the same records for Python.
 */
#ifndef _UAPI_RUN_TRACE_H
#define _UAPI_RUN_TRACE_H

#include <linux/types.h>

#define RUN_TRACE_VERSION	1
#define RUN_TRACE_CA_NAME	16
#define RUN_TRACE_CA_INFO	24	/* union tcp_cc_info has 20 bytes */
#define RUN_TRACE_NAME		48
#define RUN_TRACE_SNAP_MAX	9216

/* Which records are wanted; a sum */
enum {
	RUN_TRACE_PACKETS = 1,
	RUN_TRACE_ACKS = 2,
	RUN_TRACE_QUEUE = 4,
	RUN_TRACE_TCP = 8,
	RUN_TRACE_DROPS = 16,		/* of the queue, what is lost, marked or CE */
};

/* Written to /proc/run_trace: begins a trace */
struct run_trace_setup {
	__u32 version;
	__u32 wanted;
	__u64 from_ns;			/* of CLOCK_MONOTONIC; what happens then is in */
	__u64 to_ns;			/* what happens then is out */
	__u64 limit_bytes;		/* of all records */
	__u32 snap_bytes;		/* of a frame */
	__u32 reserved;
};

/* Kinds of records */
enum {
	RUN_TRACE_SOCKET = 1,		/* a connection's end; comes before all that is of it */
	RUN_TRACE_STATE,		/* a connection's end after a segment or a timer */
	RUN_TRACE_EVENT,		/* what happened to a connection's end */
	RUN_TRACE_FRAME,		/* at a host's interface, or at a queue */
	RUN_TRACE_LINK,			/* a step of a packet's way through a link */
	RUN_TRACE_DROP,			/* a packet that the kernel dropped outside of links */
	RUN_TRACE_FULL,			/* the limit was reached: nothing follows */
};

struct run_trace_head {
	__u64 time_ns;
	__u16 bytes;			/* of the record with this head, a multiple of 8 */
	__u8 kind;
	__u8 what;			/* by the kind */
	__u32 of;			/* number of a connection's end, or an interface index */
};

struct run_trace_socket {
	struct run_trace_head head;
	__be32 saddr;			/* its own address and port, then the peer's */
	__be32 daddr;
	__u16 sport;
	__u16 dport;
	__u32 reserved;
	char ca_name[RUN_TRACE_CA_NAME];
};

/* What a state is after */
enum {
	RUN_TRACE_BY_SEGMENT = 1,
	RUN_TRACE_BY_TIMER,
};

struct run_trace_state {
	struct run_trace_head head;
	__u32 seq;			/* of the received segment; 0 after a timer */
	__u32 end_seq;
	__u32 ack_seq;
	__u32 snd_una;
	__u32 snd_nxt;
	__u32 snd_wnd;
	__u32 rcv_wnd;
	__u32 cwnd;			/* segments */
	__u32 ssthresh;
	__u32 srtt_us;
	__u32 rttvar_us;
	__u32 rtt_us;			/* the last sample of RACK */
	__u32 min_rtt_us;
	__u32 rto_us;
	__u32 packets_out;
	__u32 sacked_out;
	__u32 lost_out;
	__u32 retrans_out;
	__u32 delivered;
	__u32 delivered_ce;
	__u32 lost;
	__u32 total_retrans;
	__u32 reordering;
	__u32 mss;
	__u64 pacing_rate;		/* bytes/s */
	__u8 ca_state;			/* enum tcp_ca_state */
	__u8 backoff;
	__u8 limited;			/* tcp_chrono: 1 busy, 2 receive window, 3 send buffer */
	__u8 app_limited;
	__u8 pending;			/* ICSK_TIME_*, the timer that runs */
	__u8 info_kind;			/* INET_DIAG_*; 0: the first bytes of the private state */
	__u8 info_bytes;
	__u8 reserved;
	__u8 info[RUN_TRACE_CA_INFO];
};

/* What an event is */
enum {
	RUN_TRACE_CA_STATE = 1,		/* value: the new state, before: the old one */
	RUN_TRACE_RETRANSMIT,		/* value: the state, before: TCPCB_* of the segment */
	RUN_TRACE_COUNTER,		/* value: by how much the SNMP counter "name" grew */
	RUN_TRACE_TCP_STATE,		/* value: the new state, before: the old one */
	RUN_TRACE_TIMER,		/* value: ICSK_TIME_*, before: the timeout in us */
	RUN_TRACE_CWND,			/* cwnd changed without a segment or a timer; before: old */
};

struct run_trace_event {
	struct run_trace_head head;
	__u32 value;
	__u32 before;
	__u32 seq;
	__u32 end_seq;
	__u32 cwnd;			/* segments */
	__u32 ssthresh;
	char name[RUN_TRACE_NAME];
};

/* What a packet's headers say */
struct run_trace_flow {
	__be32 saddr;
	__be32 daddr;
	__u16 sport;
	__u16 dport;
	__u32 seq;
	__u32 ack_seq;
	__u16 payload;			/* bytes */
	__u16 id;			/* of IP */
	__u8 protocol;
	__u8 flags;			/* of TCP */
	__u8 ecn;
	__u8 reserved;
};

/* What: TC_LINK_* of pkt_sch_link.h */
struct run_trace_link {
	struct run_trace_head head;
	struct run_trace_flow flow;
	__u32 bytes;			/* of the frame */
	__u32 queue_packets;		/* that wait after the step */
	__u32 queue_bytes;
	__u64 sojourn_ns;		/* when its transmission begins */
};

/* What a frame is, beside TC_LINK_ENQUEUED, TC_LINK_BEGUN, TC_LINK_REFUSED, TC_LINK_DROPPED */
enum {
	RUN_TRACE_SENT = 16,
	RUN_TRACE_RECEIVED,
};

struct run_trace_frame {
	struct run_trace_head head;
	__be32 address;			/* of the host where it was sent or received */
	__u32 bytes;			/* of the frame */
	__u32 captured;			/* of these, in the record */
	__u32 reserved;
	__u8 frame[];
};

struct run_trace_drop {
	struct run_trace_head head;
	struct run_trace_flow flow;
	char name[RUN_TRACE_NAME];	/* of the reason, without SKB_DROP_REASON_ */
};

#endif /* _UAPI_RUN_TRACE_H */

/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * The netlink interface of sch_link: attributes, statistics.
 *
 * orchestrator/protocol/links/link.py has the same numbers for the test bed.
 */
#ifndef _UAPI_PKT_SCH_LINK_H
#define _UAPI_PKT_SCH_LINK_H

#include <linux/types.h>

/* Raised whenever a packet may arrive at another time than before */
#define TC_LINK_MODEL		3

#define TC_LINK_RATE_MAX_BPS	100000000000ULL
#define TC_LINK_DELAY_MAX_NS	3600000000000ULL
#define TC_LINK_COALESCE_MAX_NS	1000000000ULL
#define TC_LINK_LOSSES_MAX	256	/* ranges: an answer has room for so many */

/* Minor numbers of the classes */
enum {
	TC_LINK_QUEUE = 1,	/* packets that wait for their transmission */
	TC_LINK_LINE = 2,	/* takes packets at the end of their transmission */
};

/* Steps of a packet's way, in the trace event link:link_packet */
enum {
	TC_LINK_ENQUEUED = 1,	/* in the queue */
	TC_LINK_BEGUN,		/* left the queue: its transmission begins */
	TC_LINK_ARRIVED,	/* left the link */
	TC_LINK_REFUSED,	/* dropped when a packet came: this one, or one in its favour */
	TC_LINK_DROPPED,	/* dropped when the queue was asked for a packet */
	TC_LINK_LOST_BY_NUMBER,
	TC_LINK_LOST_BY_LINE,	/* by the qdisc that takes transmitted packets */
	TC_LINK_MARKED,		/* its ECN codepoint, when it came; follows TC_LINK_ENQUEUED */
	TC_LINK_DUPLICATED,	/* by that qdisc, which gave the link another packet */
	TC_LINK_LOST_BY_RING,	/* the receive ring was full */
};

/* In TCA_OPTIONS, which must have NLA_F_NESTED */
enum {
	TCA_LINK_UNSPEC,
	TCA_LINK_MODEL,		/* u32, TC_LINK_MODEL; a request may name the expected one */
	TCA_LINK_RATE_BPS,	/* u64, bit/s; 0 transmits in no time */
	TCA_LINK_DELAY_NS,	/* u64, propagation delay */
	TCA_LINK_GRANTED,	/* u8, 1: transmit by grants; 0: by the rate */
	TCA_LINK_GRANT_BYTES,	/* u32, one more grant */
	TCA_LINK_BYPASS,	/* u8, 1: packets pass by line and ring, as if there were none */
	TCA_LINK_PAD,
	TCA_LINK_LOSSES,	/* struct tc_link_range[], packets to lose; counts anew */
	TCA_LINK_LOSSES_PORT,	/* u16, of the packets that count; 0: of any */
	TCA_LINK_LOSSES_DATA,	/* u8, 1: only packets with payload count; 0: all */
	TCA_LINK_INTERVAL,	/* u8, 1: begin an interval of the largest sojourn time */
	TCA_LINK_HELD,		/* u8, 1: the transmitter stands still; 0: it goes on */
	TCA_LINK_CUTS,		/* u8, TC_LINK_CUTS_*: when super-packets become frames */
	TCA_LINK_OWNED,		/* u8, 1: packets belong to their socket until they are sent */
	TCA_LINK_COALESCE_NS,	/* u64, from a frame in the receive ring to its interrupt */
	TCA_LINK_COALESCE_FRAMES, /* u32, so many frames raise it at once; 0: no number does */
	TCA_LINK_RING,		/* u32, frames that the receive ring holds; 0: no limit */
	__TCA_LINK_MAX
};

#define TCA_LINK_MAX		(__TCA_LINK_MAX - 1)

/*
 * When super-packets (GSO) are cut into frames. Where the queue is a host's qdisc, which has them
 * whole, they are cut as their transmission begins. It must drop packets only when it gets one.
 */
#define TC_LINK_CUTS_NEVER	0
#define TC_LINK_CUTS_FIRST	1	/* before they wait in the queue */
#define TC_LINK_CUTS_LAST	2	/* after */

/* Packets by their numbers, from 1 on; both ends are included */
struct tc_link_range {
	__u32	first;
	__u32	last;
};

/*
 * TCA_STATS_APP of the qdisc. A FIFO is asked for its packets late, see
 * sch_link. So its own counters may be those of before; these are those of now.
 */
struct tc_link_xstats {
	__u64	sent_bytes;		/* of packets whose transmission has begun */
	__u64	sent_packets;
	__u64	queue_bytes;		/* left the queue, since that qdisc was made */
	__u64	queue_packets;
	__u32	queue_backlog;		/* bytes that wait */
	__u32	queue_qlen;		/* packets that wait */
	__u64	line_drops;		/* by the line, and packets lost by their numbers */
	__u64	losses_packets;		/* counted since the present list was set */
	__u64	losses_lost;		/* of these */
	__u64	losses_earlier_packets;	/* counted by all lists before */
	__u64	losses_earlier_lost;
	__u64	cut_packets;		/* super-packets that came, to be cut */
	__u64	cut_frames;		/* that they have */
	__u64	aggregates;		/* super-packets that were not cut in time */
	__u64	ring_interrupts;	/* of the NIC at which the link ends */
	__u64	ring_delivered;		/* frames that its host got by them */
	__u64	ring_drops;		/* frames that found the receive ring full */
	__u64	ring_frames;		/* frames that wait there */
	__u64	queue_drops;		/* by the queue; of a super-packet all its frames */
};

/*
 * In TCA_STATS_APP of the class TC_LINK_QUEUE: how long packets waited, from the
 * enqueueing to the begin of the transmission. Only packets that were transmitted
 * count. All are since the qdisc was made, but for the largest times.
 */
enum {
	TCA_LINK_SOJOURN_UNSPEC,
	TCA_LINK_SOJOURN_PAD,
	TCA_LINK_SOJOURN_PACKETS,	/* u64 */
	TCA_LINK_SOJOURN_SUM_NS,	/* u64 */
	TCA_LINK_SOJOURN_LARGEST_NS,	/* u64, since the interval began */
	TCA_LINK_SOJOURN_BEFORE_NS,	/* u64, the largest one in the interval before */
	TCA_LINK_SOJOURN_AGGREGATES,	/* u64, GSO packets: a queue may split them, then
					 * the times of the parts are unknown
					 */
	TCA_LINK_SOJOURN_BUCKETS,	/* struct tc_link_bucket[], without empty ones */
	__TCA_LINK_SOJOURN_MAX
};

#define TCA_LINK_SOJOURN_MAX	(__TCA_LINK_SOJOURN_MAX - 1)

/*
 * A bucket of the histogram. Times are in units of 8 ns. Bucket i < 128 has the
 * time i. From there on each octave has 64 buckets of equal width: with
 * shift = i / 64 - 1, bucket i begins at (i % 64 + 64) << shift and is 1 << shift
 * wide. The last one has all longer times, too.
 */
struct tc_link_bucket {
	__u32	index;
	__u32	packets;		/* modulo 2^32 */
};

#define TC_LINK_BUCKET_UNIT_NS	8
#define TC_LINK_BUCKETS		1984

#endif /* _UAPI_PKT_SCH_LINK_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sch_link: what its files share.
 *
 * link_qdisc.c     the qdisc: attributes, statistics, classes
 * link_cut.c       super-packets that become frames, before or after they wait in the queue
 * link_transmit.c  packets on their way through queue, transmitter and line
 * link_grants.c    transmission by grants
 * link_losses.c    packets that are lost by their numbers
 * link_ring.c      the receive ring of a NIC, and its interrupts
 * link_sojourn.c   how long packets waited
 * link_trace.c     the trace event of packets
 */
#ifndef LINK_H
#define LINK_H

#include <linux/netlink.h>
#include <linux/percpu.h>
#include <linux/skbuff.h>
#include <linux/types.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>

#include "core/chosen.h"
#include "core/sojourn.h"
#include "uapi/pkt_sch_link.h"

struct gnet_dump;

/* Packets to lose by their numbers */
struct link_losses {
	struct chosen_place place;
	u64 lost;
	__be16 port;			/* 0: any */
	bool data_only;
	u32 count;
	struct chosen_range ranges[];
};

/* How long packets waited in the queue */
struct link_sojourn {
	u64 packets;
	u64 sum_ns;
	u64 largest_ns;			/* in the present interval */
	u64 before_ns;			/* the largest one in the interval before */
	u64 aggregates;
	u32 *buckets;			/* SOJOURN_BUCKETS */
};

/* Frames that the NIC of the host has received, and that the host has not got */
struct link_ring {
	struct sk_buff *first, *last;
	u64 coalesce_ns;		/* from the first frame to the interrupt; 0: no ring */
	u64 interrupt_ns;		/* when it comes, while frames wait */
	u32 coalesce_frames;		/* so many raise it at once; 0: no number does */
	u32 limit;			/* in frames; 0: none */
	u32 frames;
	u32 due;			/* of these, what the last interrupt was for */
	u64 interrupts;
	u64 delivered;
	u64 drops;
};

struct link_sched_data {
	struct Qdisc *queue;		/* packets that wait for the transmitter */
	struct Qdisc *line;		/* takes packets when transmitted, or noop_qdisc */
	struct sk_buff *first, *last;	/* transmitted, not arrived; in order of arrival */
	u64 before_last_ns;		/* when the packet before the last one arrives */
	u64 last_delay_ns;		/* the delay that the last one has */
	u64 rate_bps;
	u64 delay_ns;
	u64 free_ns;			/* when the transmitter has sent what it has begun */
	u64 rest_bit_ns;		/* left over by the last division, in bit * ns */
	u64 held_left_ns;		/* held: what is left of the transmission that it broke */
	bool waited;			/* whether a packet waits for the transmitter */
	bool granted;
	bool held;			/* whether the transmitter stands still */
	bool bypass;			/* whether packets pass by line and ring */
	bool impairing;			/* whether the line is being given a packet */
	u8 cuts;			/* when super-packets become frames, TC_LINK_CUTS_* */
	bool owned;			/* whether packets belong to sockets until they are sent */
	struct sk_buff *unsent;		/* of those on their way, the first that does */
	u64 cut_packets;
	u64 cut_frames;			/* of these */
	struct sk_buff *pieces;		/* frames of the super-packet that is being sent */
	u32 pieces_frames;
	u32 pieces_bytes;
	u32 more_frames;		/* that waiting super-packets have, beyond one each */
	u64 refused_frames;		/* the same of those that the queue has dropped */
	struct link_losses *losses;	/* packets to lose, NULL until there is a list */
	u64 earlier_packets;		/* counted by all lists before */
	u64 earlier_lost;
	struct sk_buff *partial;	/* by grants: the packet of which a part has been sent */
	u32 partial_bytes;		/* bytes of it that are left */
	u64 credit_bytes;		/* of grants */
	struct link_sojourn sojourn;
	struct link_ring ring;
	struct qdisc_watchdog watchdog;
};

/* What a FIFO would have handed out by now */
struct link_due {
	u32 packets;
	u32 bytes;
};

/* FIFOs do not look at the clock */
static inline bool link_is_fifo(const struct Qdisc *queue)
{
	return queue->ops == &pfifo_qdisc_ops || queue->ops == &bfifo_qdisc_ops;
}

/* Whether the queue may be asked later than the transmitter is free */
static inline bool link_asks_late(const struct link_sched_data *q)
{
	return link_is_fifo(q->queue) && q->cuts != TC_LINK_CUTS_LAST;
}

/* Whether something waits for the transmitter */
static inline bool link_waits(const struct link_sched_data *q)
{
	return q->queue->q.qlen || q->pieces;
}

/* link_cut.c */
int link_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free);
struct sk_buff *link_cut_last(struct Qdisc *sch, struct sk_buff *whole, u64 now_ns);
struct sk_buff *link_next_piece(struct link_sched_data *q);
void link_drop_pieces(struct link_sched_data *q);

/* link_transmit.c */
int link_enqueue_one(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free);
struct sk_buff *link_dequeue(struct Qdisc *sch);
void link_catch_up(struct Qdisc *sch, u64 now_ns);
void link_set_rate(struct link_sched_data *q, u64 rate_bps, u64 now_ns);
void link_set_held(struct link_sched_data *q, bool held, u64 now_ns);
struct link_due link_due(const struct link_sched_data *q, u64 now_ns);
void link_drop_all(struct link_sched_data *q);
struct sk_buff *link_next(struct Qdisc *sch, u64 begins_ns);
struct sk_buff *link_arrived(struct Qdisc *sch, u64 now_ns);
void link_put(struct link_sched_data *q, struct sk_buff *skb, u64 sent_ns);

/* link_grants.c */
void link_transmit_by_grants(struct Qdisc *sch, u64 now_ns);
void link_set_granted(struct Qdisc *sch, bool granted, u64 now_ns);
void link_grant(struct link_sched_data *q, u32 bytes);

/* link_losses.c */
struct link_losses *link_losses_new(const struct nlattr *ranges, u16 port, bool data_only,
				    struct netlink_ext_ack *extack);
bool link_losses_choose(struct link_losses *losses, const struct sk_buff *skb);
int link_losses_dump(const struct link_losses *losses, struct sk_buff *skb);

/* link_ring.c */
struct sk_buff *link_ring_next(struct Qdisc *sch, u64 now_ns);
void link_ring_drop_all(struct link_ring *ring);

/* link_sojourn.c */
int link_sojourn_init(struct link_sojourn *sojourn);
void link_sojourn_begin(struct sk_buff *skb, u64 now_ns);
u64 link_sojourn_begun_ns(const struct sk_buff *skb);
u64 link_sojourn_end(struct link_sojourn *sojourn, const struct sk_buff *skb, u64 now_ns);
void link_sojourn_new_interval(struct link_sojourn *sojourn);
int link_sojourn_dump(const struct link_sojourn *sojourn, struct sk_buff *skb);

/*
 * link_trace.c; its functions are called only where the event is on.
 *
 * link_asked is the link whose queue this CPU is asking for a packet, NULL if the event is off. A
 * packet that is freed meanwhile is one that the queue drops. The queue gives no list of these, so
 * only a probe of kfree_skb sees them.
 */
DECLARE_PER_CPU(struct Qdisc *, link_asked);
bool link_traces_enqueue(const struct sk_buff *skb);
u8 link_ecn(const struct sk_buff *skb);
void link_trace_now(struct Qdisc *sch, struct sk_buff *skb, u8 step);
void link_trace_enqueue(struct Qdisc *sch, struct sk_buff *skb, u8 ecn, int result,
			struct sk_buff *freed, struct sk_buff *before, u64 now_ns);
void link_trace_freed(struct Qdisc *sch, struct sk_buff *freed, struct sk_buff *before, u8 step,
		      u64 now_ns);

#endif /* LINK_H */

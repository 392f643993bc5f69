// SPDX-License-Identifier: GPL-2.0-only
/*
 * sch_link: the receive ring of the NIC at which a link ends, and its interrupts.
 *
 * A frame that arrives waits in the ring. The interrupt comes a time after the first one that
 * waits, or at once when as many frames wait as are set. Then the host gets all of them. A frame
 * that finds the ring full is lost.
 *
 * The host's kernel is what handles them: the device of the link sends the frames to that of the
 * host one by one, at one time. Where that has GRO, its NAPI merges them.
 */

#include <linux/minmax.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <net/sch_generic.h>

#include "link.h"
#include "link_trace.h"

/* Put a frame that arrives now into the ring. */
static void link_ring_put(struct Qdisc *sch, struct sk_buff *skb, u64 now_ns)
{
	struct link_sched_data *q = qdisc_priv(sch);
	struct link_ring *ring = &q->ring;

	if (ring->limit && ring->frames >= ring->limit) {
		trace_link_packet(sch, q->queue, skb, TC_LINK_LOST_BY_RING, now_ns, 0);
		qdisc_qstats_backlog_dec(sch, skb);
		sch->q.qlen--;
		qdisc_qstats_drop(sch);
		ring->drops++;
		kfree_skb_reason(skb, SKB_DROP_REASON_QDISC_DROP);
		return;
	}
	if (ring->frames == ring->due)	/* the first one since the last interrupt */
		ring->interrupt_ns = now_ns + ring->coalesce_ns;
	skb->next = NULL;
	if (ring->last)
		ring->last->next = skb;
	else
		ring->first = skb;
	ring->last = skb;
	ring->frames++;
	if (ring->coalesce_frames && ring->frames - ring->due >= ring->coalesce_frames)
		ring->interrupt_ns = now_ns;
}

/* Return the next frame that the host gets now. */
struct sk_buff *link_ring_next(struct Qdisc *sch, u64 now_ns)
{
	struct link_sched_data *q = qdisc_priv(sch);
	struct link_ring *ring = &q->ring;
	struct sk_buff *skb;

	while ((skb = link_arrived(sch, now_ns)))
		link_ring_put(sch, skb, now_ns);
	if (!ring->due && ring->frames && ring->interrupt_ns <= now_ns) {
		ring->due = ring->frames;
		ring->interrupts++;
	}
	if (!ring->due)
		return NULL;
	skb = ring->first;
	ring->first = skb->next;
	if (!ring->first)
		ring->last = NULL;
	skb_mark_not_on_list(skb);
	ring->due--;
	ring->frames--;
	ring->delivered++;
	return skb;
}

/* Free all frames of the ring. */
void link_ring_drop_all(struct link_ring *ring)
{
	rtnl_kfree_skbs(ring->first, ring->last);
	ring->first = NULL;
	ring->last = NULL;
	ring->frames = 0;
	ring->due = 0;
}

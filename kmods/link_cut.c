// SPDX-License-Identifier: GPL-2.0-only
/*
 * Super-packets that become frames, as a NIC cuts them (TSO).
 *
 * A host with segmentation offload hands several segments to its device as one skb. Frames are what
 * a link carries: each is marked, lost and delayed alone. The kernel makes them, by the code that
 * makes them for a device without TSO. So they have the headers that a NIC writes: sequence numbers
 * and IP identifications that go on, CWR on the first one, FIN and PSH on the last one, and ECN's
 * codepoint on all.
 *
 * They are made before anything else, or when the transmission of the first one begins. In the
 * latter case the queue has super-packets, as a host's qdisc has. Their socket is told of a
 * super-packet when its last frame has been sent, as by a NIC.
 */

#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>

#include "compat.h"
#include "link.h"
#include "link_trace.h"

/*
 * Queue each frame of a super-packet. The device of the link has no offloads, so the kernel makes
 * frames for it.
 */
static int link_cut(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct link_sched_data *q = qdisc_priv(sch);
	int result = NET_XMIT_DROP, of_one;
	struct sk_buff *frames, *next;
	bool again = false;

	q->cut_packets++;
	frames = validate_xmit_skb_list(skb, qdisc_dev(sch), &again);
	if (unlikely(!frames)) {	/* it has been freed */
		qdisc_qstats_drop(sch);
		return NET_XMIT_DROP;
	}
	skb_list_walk_safe(frames, skb, next) {
		skb_mark_not_on_list(skb);
		cc_count_as_frame(skb);
		q->cut_frames++;
		of_one = link_enqueue_one(skb, sch, to_free);
		if (result != NET_XMIT_SUCCESS)
			result = of_one;
	}
	return result;
}

/* Queue a super-packet as such. Its frames count from now on. */
static int link_enqueue_whole(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	u32 more = max_t(u32, skb_shinfo(skb)->gso_segs, 1) - 1;
	struct link_sched_data *q = qdisc_priv(sch);
	int result;

	q->cut_packets++;
	q->cut_frames += more + 1;
	result = link_enqueue_one(skb, sch, to_free);
	if (result == NET_XMIT_SUCCESS) {
		q->more_frames += more;
		sch->q.qlen += more;
	} else if (net_xmit_drop_count(result)) {
		q->refused_frames += more;
		sch->qstats.drops += more;
	}
	return result;
}

/* The last frame of a super-packet has been sent, or dropped. */
static void link_complete_whole(struct sk_buff *last)
{
	consume_skb(skb_shinfo(last)->destructor_arg);
}

struct sk_buff *link_next_piece(struct link_sched_data *q)
{
	struct sk_buff *skb = q->pieces;

	q->pieces = skb->next;
	q->pieces_frames--;
	q->pieces_bytes -= qdisc_pkt_len(skb);
	skb_mark_not_on_list(skb);
	return skb;
}

/*
 * Cut a super-packet whose transmission begins, and return its first frame. The others wait for the
 * transmitter. Frames belong to no socket: the super-packet does, and goes with the last one.
 */
struct sk_buff *link_cut_last(struct Qdisc *sch, struct sk_buff *whole, u64 now_ns)
{
	u64 begun_ns = link_sojourn_begun_ns(whole);
	struct link_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb, *last = NULL;
	u32 promised;
	bool again = false;

	promised = max_t(u32, skb_shinfo(whole)->gso_segs, 1);
	q->more_frames -= promised - 1;
	skb = skb_clone(whole, GFP_ATOMIC);
	q->pieces = skb ? validate_xmit_skb_list(skb, qdisc_dev(sch), &again) : NULL;
	for (skb = q->pieces; skb; skb = skb->next) {
		cc_count_as_frame(skb);
		link_sojourn_begin(skb, begun_ns);
		trace_link_packet(sch, q->queue, skb, TC_LINK_ENQUEUED, now_ns, 0);
		q->pieces_frames++;
		q->pieces_bytes += qdisc_pkt_len(skb);
		last = skb;
	}
	sch->q.qlen += q->pieces_frames - promised;
	sch->qstats.backlog += q->pieces_bytes - qdisc_pkt_len(whole);
	if (unlikely(!last)) {
		sch->qstats.drops += promised;
		kfree_skb(whole);
		return NULL;
	}
	if (unlikely(last->destructor || skb_zcopy(last))) {
		consume_skb(whole);
	} else {
		skb_shinfo(last)->destructor_arg = whole;
		last->destructor = link_complete_whole;
	}
	return link_next_piece(q);
}

/* Free the frames of a super-packet that are left. */
void link_drop_pieces(struct link_sched_data *q)
{
	kfree_skb_list(q->pieces);
	q->pieces = NULL;
	q->pieces_frames = 0;
	q->pieces_bytes = 0;
	q->more_frames = 0;
}

int link_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct link_sched_data *q = qdisc_priv(sch);

	if (likely(!q->cuts || !skb_is_gso(skb)))
		return link_enqueue_one(skb, sch, to_free);
	if (q->cuts == TC_LINK_CUTS_LAST)
		return link_enqueue_whole(skb, sch, to_free);
	return link_cut(skb, sch, to_free);
}

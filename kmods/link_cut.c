// SPDX-License-Identifier: GPL-2.0-only
/*
 * Super-packets that become frames at a link's begin, as a NIC cuts them (TSO).
 *
 * A host with segmentation offload hands several segments to its device as one skb. Frames are what
 * a link carries, so they are made before anything else: each is queued, dropped, marked, lost and
 * delayed alone. The kernel makes them, by the code that makes them for a device without TSO. So
 * they have the headers that a NIC writes: sequence numbers and IP identifications that go on, CWR
 * on the first one, FIN and PSH on the last one, and ECN's codepoint on all.
 */

#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>

#include "compat.h"
#include "link.h"

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

int link_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct link_sched_data *q = qdisc_priv(sch);

	if (q->cuts && skb_is_gso(skb))
		return link_cut(skb, sch, to_free);
	return link_enqueue_one(skb, sch, to_free);
}

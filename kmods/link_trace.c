// SPDX-License-Identifier: GPL-2.0-only
/*
 * sch_link: the trace event of packets.
 *
 * A qdisc does not tell what it drops. It returns a list of packets to be freed when it gets one,
 * so they are told of from that list. All is done while the qdisc is locked, so no packet is freed
 * or taken out meanwhile.
 */

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ktime.h>
#include <net/inet_ecn.h>

#include "link.h"

#define CREATE_TRACE_POINTS
#include "link_trace.h"
EXPORT_TRACEPOINT_SYMBOL_GPL(link_packet);

DEFINE_PER_CPU(struct Qdisc *, link_asked);
EXPORT_PER_CPU_SYMBOL_GPL(link_asked);

/* Whether it is told what a queue does with a packet: one that splits an aggregate frees it. */
bool link_traces_enqueue(const struct sk_buff *skb)
{
	return !skb_is_gso(skb);
}

u8 link_ecn(const struct sk_buff *skb)
{
	const struct iphdr *ip;
	struct iphdr buffer;

	if (skb->protocol != htons(ETH_P_IP))
		return 0;
	ip = skb_header_pointer(skb, skb_network_offset(skb), sizeof(buffer), &buffer);
	return ip ? ip->tos & INET_ECN_MASK : 0;
}

/* Tell of a step that a packet takes now. */
void link_trace_now(struct Qdisc *sch, struct sk_buff *skb, u8 step)
{
	struct link_sched_data *q = qdisc_priv(sch);

	trace_link_packet(sch, q->queue, skb, step, ktime_get_ns(), 0);
}

/*
 * Tell of packets that a qdisc has put on the list of those to be freed, in front of those that
 * were there before.
 */
void link_trace_freed(struct Qdisc *sch, struct sk_buff *freed, struct sk_buff *before, u8 step,
		      u64 now_ns)
{
	struct link_sched_data *q = qdisc_priv(sch);

	for (; freed && freed != before; freed = freed->next)
		trace_link_packet(sch, q->queue, freed, step, now_ns, 0);
}

/*
 * Tell what became of a packet that the queue got: whether it waits now, and which ones the queue
 * has dropped. A queue may drop others in a packet's favour (NET_XMIT_CN). One that drops the
 * packet may also free it at once, so it is not looked at then.
 */
void link_trace_enqueue(struct Qdisc *sch, struct sk_buff *skb, u8 ecn, int result,
			struct sk_buff *freed, struct sk_buff *before, u64 now_ns)
{
	bool waits = result == NET_XMIT_SUCCESS || result == NET_XMIT_CN;
	struct link_sched_data *q = qdisc_priv(sch);
	const struct sk_buff *each;

	for (each = freed; each && each != before; each = each->next)
		waits &= each != skb;
	if (waits) {
		trace_link_packet(sch, q->queue, skb, TC_LINK_ENQUEUED, now_ns, 0);
		if (link_ecn(skb) != ecn)
			trace_link_packet(sch, q->queue, skb, TC_LINK_MARKED, now_ns, 0);
	}
	link_trace_freed(sch, freed, before, TC_LINK_REFUSED, now_ns);
}

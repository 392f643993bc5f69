// SPDX-License-Identifier: GPL-2.0-only
/*
 * sch_link: transmission by grants, each of which lets a number of bytes leave at once.
 */

#include <linux/if_ether.h>
#include <linux/kernel.h>
#include <linux/skbuff.h>
#include <net/sch_generic.h>

#include "link.h"

#define LINK_TUN_HLEN	4	/* struct tun_pi of include/uapi/linux/if_tun.h */

/* Grants count a packet as mahimahi does: with the header of TUN instead of Ethernet's. */
static unsigned int link_granted_bytes(const struct sk_buff *skb)
{
	return qdisc_pkt_len(skb) - ETH_HLEN + LINK_TUN_HLEN;
}

void link_transmit_by_grants(struct Qdisc *sch, u64 now_ns)
{
	struct link_sched_data *q = qdisc_priv(sch);

	while (q->credit_bytes) {
		u32 bytes;

		if (!q->partial) {
			q->partial = link_waits(q) ? link_next(sch, now_ns) : NULL;
			if (!q->partial) {
				q->credit_bytes = 0;
				return;
			}
			q->partial_bytes = link_granted_bytes(q->partial);
		}
		bytes = min_t(u64, q->credit_bytes, q->partial_bytes);
		q->credit_bytes -= bytes;
		q->partial_bytes -= bytes;
		if (!q->partial_bytes) {
			link_put(q, q->partial, now_ns);
			q->partial = NULL;
		}
	}
}

/* Transmit by grants from now on, or by the rate. What is in transmission ends as it would have. */
void link_set_granted(struct Qdisc *sch, bool granted, u64 now_ns)
{
	struct link_sched_data *q = qdisc_priv(sch);

	if (q->granted == granted)
		return;
	q->granted = granted;
	q->free_ns = 0;
	q->rest_bit_ns = 0;
	q->credit_bytes = 0;
	q->waited = false;
	if (q->partial) {
		link_put(q, q->partial, now_ns);
		q->partial = NULL;
	}
}

/* Let bytes leave, if packets wait. */
void link_grant(struct link_sched_data *q, u32 bytes)
{
	if (q->partial || link_waits(q))
		q->credit_bytes += bytes;
}

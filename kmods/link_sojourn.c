// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long packets waited in a link's queue: number, sum, largest, histogram.
 *
 * The time of its enqueueing is kept in a packet's control block, behind what
 * the traffic control layer and the qdisc that is the queue use of it. Packets
 * that the queue drops, also when it is asked for a packet, are never counted.
 *
 * GSO segmentation uses the same bytes. So when a queue splits packets itself,
 * as CAKE does, the times of the parts are unknown; TCA_LINK_SOJOURN_AGGREGATES
 * tells that there were such packets.
 */

#include <linux/errno.h>
#include <linux/slab.h>
#include <net/netlink.h>

#include "link.h"

struct link_queued_cb {
	struct tc_skb_cb others;
	u64 enqueued_ns;
};

static struct link_queued_cb *link_queued_cb(const struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct link_queued_cb) > sizeof_field(struct sk_buff, cb));
	return (struct link_queued_cb *)skb->cb;
}

int link_sojourn_init(struct link_sojourn *sojourn)
{
	BUILD_BUG_ON(SOJOURN_BUCKETS != TC_LINK_BUCKETS);
	BUILD_BUG_ON(1 << SOJOURN_UNIT_SHIFT != TC_LINK_BUCKET_UNIT_NS);
	sojourn->buckets = kvcalloc(SOJOURN_BUCKETS, sizeof(*sojourn->buckets), GFP_KERNEL);
	return sojourn->buckets ? 0 : -ENOMEM;
}

/* Note that the queue gets a packet */
void link_sojourn_begin(struct sk_buff *skb, u64 now_ns)
{
	link_queued_cb(skb)->enqueued_ns = now_ns;
}

/* Return when the queue got a packet */
u64 link_sojourn_begun_ns(const struct sk_buff *skb)
{
	return link_queued_cb(skb)->enqueued_ns;
}

/* Count a packet whose transmission begins; return how long it has waited */
u64 link_sojourn_end(struct link_sojourn *sojourn, const struct sk_buff *skb, u64 now_ns)
{
	u64 begin_ns = link_sojourn_begun_ns(skb);
	u64 waited_ns = now_ns > begin_ns ? now_ns - begin_ns : 0;

	sojourn->packets++;
	sojourn->sum_ns += waited_ns;
	sojourn->largest_ns = max(sojourn->largest_ns, waited_ns);
	sojourn->buckets[sojourn_bucket(waited_ns)]++;
	return waited_ns;
}

/* Begin another interval of the largest time */
void link_sojourn_new_interval(struct link_sojourn *sojourn)
{
	sojourn->before_ns = sojourn->largest_ns;
	sojourn->largest_ns = 0;
}

static int link_sojourn_dump_buckets(const struct link_sojourn *sojourn, struct sk_buff *skb)
{
	struct tc_link_bucket *buckets;
	struct nlattr *attr;
	u32 used = 0, i;

	for (i = 0; i < SOJOURN_BUCKETS; i++)
		used += !!sojourn->buckets[i];
	attr = nla_reserve(skb, TCA_LINK_SOJOURN_BUCKETS, used * sizeof(*buckets));
	if (!attr)
		return -EMSGSIZE;
	buckets = nla_data(attr);
	for (i = 0; i < SOJOURN_BUCKETS; i++) {
		if (!sojourn->buckets[i])
			continue;
		buckets->index = i;
		buckets->packets = sojourn->buckets[i];
		buckets++;
	}
	return 0;
}

/* Put all counters; the caller holds the tree's lock */
int link_sojourn_dump(const struct link_sojourn *sojourn, struct sk_buff *skb)
{
	if (nla_put_u64_64bit(skb, TCA_LINK_SOJOURN_PACKETS, sojourn->packets,
			      TCA_LINK_SOJOURN_PAD) ||
	    nla_put_u64_64bit(skb, TCA_LINK_SOJOURN_SUM_NS, sojourn->sum_ns,
			      TCA_LINK_SOJOURN_PAD) ||
	    nla_put_u64_64bit(skb, TCA_LINK_SOJOURN_LARGEST_NS, sojourn->largest_ns,
			      TCA_LINK_SOJOURN_PAD) ||
	    nla_put_u64_64bit(skb, TCA_LINK_SOJOURN_BEFORE_NS, sojourn->before_ns,
			      TCA_LINK_SOJOURN_PAD) ||
	    nla_put_u64_64bit(skb, TCA_LINK_SOJOURN_AGGREGATES, sojourn->aggregates,
			      TCA_LINK_SOJOURN_PAD))
		return -EMSGSIZE;
	return link_sojourn_dump_buckets(sojourn, skb);
}

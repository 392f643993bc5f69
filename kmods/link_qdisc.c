// SPDX-License-Identifier: GPL-2.0-only
/*
 * sch_link: one direction of a link, with a queue, a transmitter and a propagation delay.
 *
 * A packet waits in the queue (class 1) until the transmitter is free. Its transmission takes
 *
 *	length * 8 / rate
 *
 * whatever its length, and whether the link was idle or busy. It arrives after the propagation
 * delay, in the order of transmission. Without a rate the transmission takes no time.
 *
 * A qdisc of class 2, such as netem, takes packets when their transmission ends. The delay should
 * then be its own, as should all else that happens to packets on the way. Packets can be made to
 * bypass it, to measure queue and rate without what it does.
 *
 * A link can lose packets by their numbers (link_losses.c), before a qdisc of class 2 gets them.
 *
 * A link can cut super-packets into frames (link_cut.c), as the NIC of the host does at which it
 * begins: when they come, or when their transmission begins, if the queue is that host's qdisc. It
 * can leave packets to their sockets until they have been sent, as that NIC does, so that TCP small
 * queues limit what waits there.
 *
 * A link can end at a NIC that moderates its interrupts (link_ring.c): frames that arrive wait in
 * its ring for the next one. They count as on their way until then.
 *
 * A link can instead transmit by grants: each lets a number of bytes leave at once, as the
 * opportunities to send of a recorded trace of a cellular link do. A packet that is larger than the
 * rest of a grant takes that rest, and its other bytes from the next grant. What remains of a grant
 * when no packet waits is lost.
 *
 * When the rate changes, the rest of the packet in transmission has the new rate. When the delay
 * changes, packets in transmission and on their way keep theirs. No packet overtakes another one.
 *
 * Statistics. "Sent" of this qdisc counts packets when their transmission begins. Its backlog has
 * all packets that wait, are transmitted or are on their way. The backlog of class 1 has those
 * that wait. Its drops are those of both classes, and the packets lost by their numbers. Since a
 * FIFO is asked for packets late (link_transmit.c), "sent" and the counters of class 1 may lag
 * behind; struct tc_link_xstats has the present values. A queue that has super-packets counts these
 * itself, and struct tc_link_xstats their frames.
 */

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/types.h>
#include <net/gen_stats.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>

#include "link.h"

/* Not const: a policy of kernel 6.1 has no pointer to const. */
static struct netlink_range_validation link_rates = { .max = TC_LINK_RATE_MAX_BPS };
static struct netlink_range_validation link_delays = { .max = TC_LINK_DELAY_MAX_NS };
static struct netlink_range_validation link_coalescing = { .max = TC_LINK_COALESCE_MAX_NS };

static const struct nla_policy link_policy[TCA_LINK_MAX + 1] = {
	[TCA_LINK_MODEL] = { .type = NLA_U32 },
	[TCA_LINK_RATE_BPS] = NLA_POLICY_FULL_RANGE(NLA_U64, &link_rates),
	[TCA_LINK_DELAY_NS] = NLA_POLICY_FULL_RANGE(NLA_U64, &link_delays),
	[TCA_LINK_GRANTED] = NLA_POLICY_MAX(NLA_U8, 1),
	[TCA_LINK_GRANT_BYTES] = { .type = NLA_U32 },
	[TCA_LINK_BYPASS] = NLA_POLICY_MAX(NLA_U8, 1),
	[TCA_LINK_LOSSES] = {
		.type = NLA_BINARY,
		.len = TC_LINK_LOSSES_MAX * sizeof(struct tc_link_range),
	},
	[TCA_LINK_LOSSES_PORT] = { .type = NLA_U16 },
	[TCA_LINK_LOSSES_DATA] = NLA_POLICY_MAX(NLA_U8, 1),
	[TCA_LINK_INTERVAL] = NLA_POLICY_RANGE(NLA_U8, 1, 1),
	[TCA_LINK_HELD] = NLA_POLICY_MAX(NLA_U8, 1),
	[TCA_LINK_CUTS] = NLA_POLICY_MAX(NLA_U8, TC_LINK_CUTS_LAST),
	[TCA_LINK_OWNED] = NLA_POLICY_MAX(NLA_U8, 1),
	[TCA_LINK_COALESCE_NS] = NLA_POLICY_FULL_RANGE(NLA_U64, &link_coalescing),
	[TCA_LINK_COALESCE_FRAMES] = { .type = NLA_U32 },
	[TCA_LINK_RING] = { .type = NLA_U32 },
};

/* Return the list that a request has, NULL if it has none. */
static struct link_losses *link_requested_losses(struct nlattr **tb, struct netlink_ext_ack *extack)
{
	struct nlattr *port = tb[TCA_LINK_LOSSES_PORT], *data = tb[TCA_LINK_LOSSES_DATA];

	if (tb[TCA_LINK_LOSSES])
		return link_losses_new(tb[TCA_LINK_LOSSES], port ? nla_get_u16(port) : 0,
				       data && nla_get_u8(data), extack);
	if (port || data) {
		NL_SET_ERR_MSG_ATTR(extack, port ? port : data,
				    "a port or data only go with packets to lose");
		return ERR_PTR(-EINVAL);
	}
	return NULL;
}

/* Lose by another list; return the one before, to be freed. */
static struct link_losses *link_set_losses(struct link_sched_data *q, struct link_losses *losses)
{
	struct link_losses *old = q->losses;

	if (old) {
		q->earlier_packets += old->place.number;
		q->earlier_lost += old->lost;
	}
	q->losses = losses;
	return old;
}

static void link_set(struct Qdisc *sch, struct nlattr **tb)
{
	struct link_sched_data *q = qdisc_priv(sch);
	u64 now_ns = ktime_get_ns();

	link_catch_up(sch, now_ns);
	if (tb[TCA_LINK_RATE_BPS])
		link_set_rate(q, nla_get_u64(tb[TCA_LINK_RATE_BPS]), now_ns);
	if (tb[TCA_LINK_DELAY_NS])
		q->delay_ns = nla_get_u64(tb[TCA_LINK_DELAY_NS]);
	if (tb[TCA_LINK_GRANTED])
		link_set_granted(sch, nla_get_u8(tb[TCA_LINK_GRANTED]), now_ns);
	if (tb[TCA_LINK_HELD])
		link_set_held(q, nla_get_u8(tb[TCA_LINK_HELD]), now_ns);
	if (tb[TCA_LINK_BYPASS])
		q->bypass = nla_get_u8(tb[TCA_LINK_BYPASS]);
	if (tb[TCA_LINK_CUTS])
		q->cuts = nla_get_u8(tb[TCA_LINK_CUTS]);
	if (tb[TCA_LINK_OWNED])
		q->owned = nla_get_u8(tb[TCA_LINK_OWNED]);
	if (tb[TCA_LINK_COALESCE_NS])
		q->ring.coalesce_ns = nla_get_u64(tb[TCA_LINK_COALESCE_NS]);
	if (tb[TCA_LINK_COALESCE_FRAMES])
		q->ring.coalesce_frames = nla_get_u32(tb[TCA_LINK_COALESCE_FRAMES]);
	if (tb[TCA_LINK_RING])
		q->ring.limit = nla_get_u32(tb[TCA_LINK_RING]);
	if (tb[TCA_LINK_GRANT_BYTES])
		link_grant(q, nla_get_u32(tb[TCA_LINK_GRANT_BYTES]));
	if (tb[TCA_LINK_INTERVAL])
		link_sojourn_new_interval(&q->sojourn);
}

static int link_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct link_sched_data *q = qdisc_priv(sch);
	struct nlattr *tb[TCA_LINK_MAX + 1];
	struct link_losses *losses;
	int err;

	if (!opt) {
		NL_SET_ERR_MSG(extack, "a link needs options");
		return -EINVAL;
	}
	err = nla_parse_nested(tb, TCA_LINK_MAX, opt, link_policy, extack);
	if (err < 0)
		return err;
	if (tb[TCA_LINK_MODEL] && nla_get_u32(tb[TCA_LINK_MODEL]) != TC_LINK_MODEL) {
		NL_SET_ERR_MSG_ATTR(extack, tb[TCA_LINK_MODEL],
				    "this module has another link model");
		return -EPROTONOSUPPORT;
	}
	losses = link_requested_losses(tb, extack);
	if (IS_ERR(losses))
		return PTR_ERR(losses);
	sch_tree_lock(sch);
	link_set(sch, tb);
	if (losses)
		losses = link_set_losses(q, losses);
	sch_tree_unlock(sch);
	kfree(losses);
	if (sch->q.qlen)
		__netif_schedule(qdisc_root(sch));
	return 0;
}

static int link_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct link_sched_data *q = qdisc_priv(sch);
	struct Qdisc *queue;
	int err;

	q->queue = &noop_qdisc;
	q->line = &noop_qdisc;
	qdisc_watchdog_init(&q->watchdog, sch);
	err = link_sojourn_init(&q->sojourn);
	if (err)
		return err;
	queue = fifo_create_dflt(sch, &pfifo_qdisc_ops, INT_MAX, extack);
	if (IS_ERR(queue))
		return PTR_ERR(queue);
	q->queue = queue;
	qdisc_hash_add(queue, true);
	return link_change(sch, opt, extack);
}

static void link_reset(struct Qdisc *sch)
{
	struct link_sched_data *q = qdisc_priv(sch);

	qdisc_reset(q->queue);
	qdisc_reset(q->line);
	link_drop_all(q);
	qdisc_watchdog_cancel(&q->watchdog);
}

static void link_destroy(struct Qdisc *sch)
{
	struct link_sched_data *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	qdisc_put(q->queue);
	qdisc_put(q->line);
	kfree(q->losses);
	kvfree(q->sojourn.buckets);
}

static int link_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct link_sched_data *q = qdisc_priv(sch);
	struct nlattr *nest = nla_nest_start(skb, TCA_OPTIONS);

	if (!nest)
		return -EMSGSIZE;
	if (nla_put_u32(skb, TCA_LINK_MODEL, TC_LINK_MODEL) ||
	    nla_put_u64_64bit(skb, TCA_LINK_RATE_BPS, q->rate_bps, TCA_LINK_PAD) ||
	    nla_put_u64_64bit(skb, TCA_LINK_DELAY_NS, q->delay_ns, TCA_LINK_PAD) ||
	    nla_put_u8(skb, TCA_LINK_GRANTED, q->granted) ||
	    nla_put_u8(skb, TCA_LINK_BYPASS, q->bypass) ||
	    nla_put_u8(skb, TCA_LINK_HELD, q->held) ||
	    nla_put_u8(skb, TCA_LINK_CUTS, q->cuts) ||
	    nla_put_u8(skb, TCA_LINK_OWNED, q->owned) ||
	    nla_put_u64_64bit(skb, TCA_LINK_COALESCE_NS, q->ring.coalesce_ns, TCA_LINK_PAD) ||
	    nla_put_u32(skb, TCA_LINK_COALESCE_FRAMES, q->ring.coalesce_frames) ||
	    nla_put_u32(skb, TCA_LINK_RING, q->ring.limit) ||
	    link_losses_dump(q->losses, skb)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, nest);
}

static int link_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct link_sched_data *q = qdisc_priv(sch);
	struct tc_link_xstats stats = {};
	struct link_due due;

	sch_tree_lock(sch);
	due = link_due(q, ktime_get_ns());
	stats.sent_bytes = u64_stats_read(&sch->bstats.bytes) + due.bytes;
	stats.sent_packets = u64_stats_read(&sch->bstats.packets) + due.packets;
	stats.queue_bytes = u64_stats_read(&q->queue->bstats.bytes) + due.bytes - q->pieces_bytes;
	stats.queue_packets = u64_stats_read(&q->queue->bstats.packets) + due.packets -
			      q->pieces_frames;
	stats.queue_backlog = q->queue->qstats.backlog - due.bytes + q->pieces_bytes;
	stats.queue_qlen = q->queue->q.qlen + q->more_frames - due.packets + q->pieces_frames;
	stats.queue_drops = q->queue->qstats.drops + q->refused_frames;
	stats.losses_earlier_packets = q->earlier_packets;
	stats.losses_earlier_lost = q->earlier_lost;
	if (q->losses) {
		stats.losses_packets = q->losses->place.number;
		stats.losses_lost = q->losses->lost;
	}
	stats.cut_packets = q->cut_packets;
	stats.cut_frames = q->cut_frames;
	stats.aggregates = q->sojourn.aggregates;
	stats.ring_interrupts = q->ring.interrupts;
	stats.ring_delivered = q->ring.delivered;
	stats.ring_drops = q->ring.drops;
	stats.ring_frames = q->ring.frames;
	stats.line_drops = stats.losses_earlier_lost + stats.losses_lost;
	if (q->line != &noop_qdisc)
		stats.line_drops += q->line->qstats.drops;
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &stats, sizeof(stats));
}

static struct Qdisc **link_child(struct Qdisc *sch, unsigned long class)
{
	struct link_sched_data *q = qdisc_priv(sch);

	return class == TC_LINK_LINE ? &q->line : &q->queue;
}

static int link_graft(struct Qdisc *sch, unsigned long class, struct Qdisc *new,
		      struct Qdisc **old, struct netlink_ext_ack *extack)
{
	*old = qdisc_replace(sch, new ? new : &noop_qdisc, link_child(sch, class));
	return 0;
}

static struct Qdisc *link_leaf(struct Qdisc *sch, unsigned long class)
{
	return *link_child(sch, class);
}

static unsigned long link_find(struct Qdisc *sch, u32 classid)
{
	u32 class = TC_H_MIN(classid);

	return class == TC_LINK_QUEUE || class == TC_LINK_LINE ? class : 0;
}

static int link_dump_class(struct Qdisc *sch, unsigned long class, struct sk_buff *skb,
			   struct tcmsg *tcm)
{
	tcm->tcm_handle |= TC_H_MIN(class);
	tcm->tcm_info = (*link_child(sch, class))->handle;
	return 0;
}

static int link_dump_class_stats(struct Qdisc *sch, unsigned long class, struct gnet_dump *d)
{
	struct link_sched_data *q = qdisc_priv(sch);
	struct Qdisc *child = *link_child(sch, class);
	struct nlattr *nest;
	int err;

	if (gnet_stats_copy_basic(d, child->cpu_bstats, &child->bstats, true) < 0 ||
	    qdisc_qstats_copy(d, child) < 0)
		return -1;
	if (class != TC_LINK_QUEUE)
		return 0;
	/* As CAKE does; gnet_stats_copy_app() would put all of it twice. */
	nest = nla_nest_start(d->skb, TCA_STATS_APP);
	if (!nest)
		return -1;
	sch_tree_lock(sch);
	err = link_sojourn_dump(&q->sojourn, d->skb);
	sch_tree_unlock(sch);
	if (err) {
		nla_nest_cancel(d->skb, nest);
		return -1;
	}
	nla_nest_end(d->skb, nest);
	return 0;
}

static void link_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
	unsigned long class;

	for (class = TC_LINK_QUEUE; class <= TC_LINK_LINE && !walker->stop; class++) {
		if (walker->count >= walker->skip && walker->fn(sch, class, walker) < 0) {
			walker->stop = 1;
			break;
		}
		walker->count++;
	}
}

static const struct Qdisc_class_ops link_class_ops = {
	.graft = link_graft,
	.leaf = link_leaf,
	.find = link_find,
	.walk = link_walk,
	.dump = link_dump_class,
	.dump_stats = link_dump_class_stats,
};

static struct Qdisc_ops link_qdisc_ops __read_mostly = {
	.cl_ops = &link_class_ops,
	.id = "link",
	.priv_size = sizeof(struct link_sched_data),
	.enqueue = link_enqueue,
	.dequeue = link_dequeue,
	.peek = qdisc_peek_dequeued,
	.init = link_init,
	.reset = link_reset,
	.destroy = link_destroy,
	.change = link_change,
	.dump = link_dump,
	.dump_stats = link_dump_stats,
	.owner = THIS_MODULE,
};

static int __init link_register(void)
{
	return register_qdisc(&link_qdisc_ops);
}

static void __exit link_unregister(void)
{
	unregister_qdisc(&link_qdisc_ops);
}

module_init(link_register)
module_exit(link_unregister)
#ifdef MODULE_ALIAS_NET_SCH
MODULE_ALIAS_NET_SCH("link");
#endif
MODULE_DESCRIPTION("One direction of a link: queue, transmitter, propagation delay");
MODULE_AUTHOR("The authors of the TCP congestion-control orchestrator");
MODULE_VERSION("1.1");
MODULE_LICENSE("GPL");

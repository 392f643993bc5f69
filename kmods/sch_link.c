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
 * A link can lose packets by their numbers (link_losses.h), before a qdisc of class 2 gets them.
 *
 * A link can instead transmit by grants: each lets a number of bytes leave at once, as the
 * opportunities to send of a recorded trace of a cellular link do. A packet that is larger than the
 * rest of a grant takes that rest, and its other bytes from the next grant. What remains of a grant
 * when no packet waits is lost.
 *
 * When the rate changes, the rest of the packet in transmission has the new rate. When the delay
 * changes, packets on their way keep theirs. No packet overtakes another one.
 *
 * Timers. The queue is asked for a packet exactly when the transmitter is free, so an AQM measures
 * what a router's would. A FIFO does not look at the clock, so it may be asked later: each packet
 * costs one timer instead of two. A packet is then taken as transmitted when it would have been,
 * before anything else happens to the queue. Late timers of a slow machine therefore cost no
 * capacity.
 *
 * Statistics. "Sent" of this qdisc counts packets when their transmission begins. Its backlog has
 * all packets that wait, are transmitted or are on their way. The backlog of class 1 has those
 * that wait. The drops of class 2 have the packets that were lost by their numbers, too. Where
 * there is no class 2, the drops of this qdisc have them.
 */

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/skbuff.h>
#include <linux/types.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include <net/sock.h>

#include "link_losses.h"

#define LINK_MODEL 2	/* raised whenever a packet may arrive at another time than before */

enum {
	TCA_LINK_UNSPEC,
	TCA_LINK_MODEL,		/* u32, LINK_MODEL; a request may name the one that it expects */
	TCA_LINK_RATE_BPS,	/* u64, bit/s; 0 transmits in no time */
	TCA_LINK_DELAY_NS,	/* u64, propagation delay */
	TCA_LINK_GRANTED,	/* u8, 1: transmit by grants; 0: by the rate */
	TCA_LINK_GRANT_BYTES,	/* u32, one more grant */
	TCA_LINK_BYPASS,	/* u8, 1: packets pass by the line, as if there were none */
	TCA_LINK_PAD,
	TCA_LINK_LOSSES,	/* pairs of u32, first and last packet to lose; counts anew */
	TCA_LINK_LOSSES_PORT,	/* u16, of the packets that count; 0: of any */
	TCA_LINK_LOSSES_DATA,	/* u8, 1: only packets with payload count; 0: all */
	__TCA_LINK_MAX
};

#define TCA_LINK_MAX (__TCA_LINK_MAX - 1)

#define LINK_RATE_MAX_BPS 100000000000ULL	/* a time in bit * ns must fit into 64 bits */

enum { LINK_QUEUE = 1, LINK_LINE = 2 };	/* classes */

struct link_sched_data {
	struct Qdisc *queue;		/* packets that wait for the transmitter */
	struct Qdisc *line;		/* takes packets when transmitted, or noop_qdisc */
	struct sk_buff *first, *last;	/* transmitted, not arrived; in order of arrival */
	u64 before_last_ns;		/* when the packet before the last one arrives */
	u64 rate_bps;
	u64 delay_ns;
	u64 free_ns;			/* when the transmitter has sent what it has begun */
	u64 rest_bit_ns;		/* left over by the last division, in bit * ns */
	bool fifo;			/* whether the queue ignores the clock */
	bool waited;			/* whether a packet waits for the transmitter */
	bool granted;
	bool bypass;			/* whether packets pass by the line */
	bool impairing;			/* whether the line is being given a packet */
	struct link_losses *losses;	/* packets to lose, NULL until there is a list */
	u64 earlier_packets;		/* counted by all lists before */
	u64 earlier_lost;
	struct sk_buff *partial;	/* by grants: the packet of which a part has been sent */
	u32 partial_bytes;		/* bytes of it that are left */
	u64 credit_bytes;		/* of grants */
	struct qdisc_watchdog watchdog;
};

struct link_skb_cb {
	u64 arrives_ns;
};

static struct link_skb_cb *link_cb(struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct link_skb_cb));
	return (struct link_skb_cb *)qdisc_skb_cb(skb)->data;
}

/* Return how long that many bit * ns take, and keep what the division leaves over. */
static u64 link_transmission_ns(struct link_sched_data *q, u64 bit_ns)
{
	if (!q->rate_bps)
		return 0;
	return div64_u64_rem(bit_ns, q->rate_bps, &q->rest_bit_ns);
}

/* Put a packet on its way whose transmission ends then. */
static void link_put(struct Qdisc *sch, struct sk_buff *skb, u64 sent_ns)
{
	struct link_sched_data *q = qdisc_priv(sch);
	u64 arrives_ns = sent_ns + q->delay_ns;

	q->before_last_ns = q->last ? link_cb(q->last)->arrives_ns : 0;
	link_cb(skb)->arrives_ns = max(arrives_ns, q->before_last_ns);
	skb->next = NULL;
	if (q->last)
		q->last->next = skb;
	else
		q->first = skb;
	q->last = skb;
}

static struct sk_buff *link_take(struct link_sched_data *q)
{
	struct sk_buff *skb = q->first;

	q->first = skb->next;
	if (!q->first)
		q->last = NULL;
	skb_mark_not_on_list(skb);
	return skb;
}

/* RED begins a time of idleness when it is asked in vain. */
static void link_note_empty(struct link_sched_data *q)
{
	if (!q->fifo && !q->queue->q.qlen)
		q->queue->dequeue(q->queue);
}

/* Take the next packet out of the queue, to transmit it now. */
static struct sk_buff *link_next(struct Qdisc *sch)
{
	struct link_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb = q->queue->dequeue(q->queue);

	if (!skb)
		return NULL;
	qdisc_bstats_update(sch, skb);
	link_note_empty(q);
	return skb;
}

/* Begin all transmissions by the rate that are due. */
static void link_transmit_by_rate(struct Qdisc *sch, u64 now_ns)
{
	struct link_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb;

	while (q->queue->q.qlen && q->free_ns <= now_ns) {
		u64 bit_ns;

		skb = link_next(sch);
		if (!skb) {	/* the queue holds it back, as fq does: its own timer comes */
			q->waited = false;
			return;
		}
		bit_ns = (u64)qdisc_pkt_len(skb) * BITS_PER_BYTE * NSEC_PER_SEC;
		if (q->waited) {
			bit_ns += q->rest_bit_ns;
		} else {
			q->free_ns = now_ns;
			q->rest_bit_ns = 0;
		}
		q->waited = true;
		q->free_ns += link_transmission_ns(q, bit_ns);
		link_put(sch, skb, q->free_ns);
	}
	q->waited = q->queue->q.qlen > 0;
}

static void link_transmit_by_grants(struct Qdisc *sch, u64 now_ns)
{
	struct link_sched_data *q = qdisc_priv(sch);

	while (q->credit_bytes) {
		u32 bytes;

		if (!q->partial) {
			q->partial = q->queue->q.qlen ? link_next(sch) : NULL;
			if (!q->partial) {
				q->credit_bytes = 0;
				return;
			}
			q->partial_bytes = qdisc_pkt_len(q->partial);
		}
		bytes = min_t(u64, q->credit_bytes, q->partial_bytes);
		q->credit_bytes -= bytes;
		q->partial_bytes -= bytes;
		if (!q->partial_bytes) {
			link_put(sch, q->partial, now_ns);
			q->partial = NULL;
		}
	}
}

static void link_transmit(struct Qdisc *sch, u64 now_ns)
{
	struct link_sched_data *q = qdisc_priv(sch);

	if (q->granted)
		link_transmit_by_grants(sch, now_ns);
	else
		link_transmit_by_rate(sch, now_ns);
}

static int link_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct link_sched_data *q = qdisc_priv(sch);
	unsigned int bytes = qdisc_pkt_len(skb);
	int result;

	/*
	 * The link begins outside the sender's host. So a waiting packet does not hold its socket
	 * back (TCP small queues), and no queue sees which socket it came from.
	 */
	skb_orphan(skb);
	if (unlikely(q->impairing)) {
		/* netem gives the root what it has duplicated: that has been transmitted. */
		result = qdisc_enqueue(skb, q->line, to_free);
	} else {
		/* What should have left by now makes room first. */
		if (q->waited && !q->granted)
			link_transmit_by_rate(sch, ktime_get_ns());
		result = qdisc_enqueue(skb, q->queue, to_free);
		/* A packet ends the idleness also when RED drops it. */
		if (unlikely(result != NET_XMIT_SUCCESS))
			link_note_empty(q);
	}
	if (result != NET_XMIT_SUCCESS) {
		if (net_xmit_drop_count(result))
			qdisc_qstats_drop(sch);
		return result;
	}
	sch->qstats.backlog += bytes;
	sch->q.qlen++;
	return NET_XMIT_SUCCESS;
}

/* Give a transmitted packet to the line, which may lose it. */
static void link_impair(struct Qdisc *sch, struct sk_buff *skb, struct sk_buff **to_free)
{
	struct link_sched_data *q = qdisc_priv(sch);
	unsigned int bytes = qdisc_pkt_len(skb);

	q->impairing = true;
	if (qdisc_enqueue(skb, q->line, to_free) != NET_XMIT_SUCCESS) {
		sch->qstats.backlog -= bytes;
		sch->q.qlen--;
	}
	q->impairing = false;
}

/* Lose a transmitted packet because of its number. */
static void link_lose(struct Qdisc *sch, struct sk_buff *skb, struct sk_buff **to_free)
{
	struct link_sched_data *q = qdisc_priv(sch);

	sch->qstats.backlog -= qdisc_pkt_len(skb);
	sch->q.qlen--;
	qdisc_drop(skb, q->line == &noop_qdisc ? sch : q->line, to_free);
}

/* Return the next packet that has arrived. */
static struct sk_buff *link_arrived(struct Qdisc *sch, u64 now_ns)
{
	struct link_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb = NULL, *to_free = NULL;

	while (!skb && q->first && link_cb(q->first)->arrives_ns <= now_ns) {
		skb = link_take(q);
		if (q->bypass)
			break;
		if (link_losses_choose(q->losses, skb)) {
			link_lose(sch, skb, &to_free);
			skb = NULL;
		} else if (q->line != &noop_qdisc) {
			link_impair(sch, skb, &to_free);
			skb = NULL;
		}
	}
	if (unlikely(to_free))
		kfree_skb_list_reason(to_free, SKB_DROP_REASON_QDISC_DROP);
	if (!skb && q->line->q.qlen)
		skb = q->line->dequeue(q->line);
	return skb;
}

static struct sk_buff *link_dequeue(struct Qdisc *sch)
{
	struct link_sched_data *q = qdisc_priv(sch);
	u64 now_ns = ktime_get_ns(), next_ns = U64_MAX;
	struct sk_buff *skb;

	link_transmit(sch, now_ns);
	skb = link_arrived(sch, now_ns);
	if (skb) {
		qdisc_qstats_backlog_dec(sch, skb);
		sch->q.qlen--;
		return skb;
	}
	if (q->first)
		next_ns = link_cb(q->first)->arrives_ns;
	if (q->waited && !q->granted && !q->fifo)
		next_ns = min(next_ns, q->free_ns);
	if (next_ns != U64_MAX)
		qdisc_watchdog_schedule_ns(&q->watchdog, next_ns);
	return NULL;
}

static void link_reset(struct Qdisc *sch)
{
	struct link_sched_data *q = qdisc_priv(sch);

	qdisc_reset(q->queue);
	qdisc_reset(q->line);
	rtnl_kfree_skbs(q->first, q->last);
	rtnl_kfree_skbs(q->partial, q->partial);
	q->first = NULL;
	q->last = NULL;
	q->partial = NULL;
	q->free_ns = 0;
	q->rest_bit_ns = 0;
	q->credit_bytes = 0;
	q->waited = false;
	qdisc_watchdog_cancel(&q->watchdog);
}

static const struct nla_policy link_policy[TCA_LINK_MAX + 1] = {
	[TCA_LINK_MODEL] = { .type = NLA_U32 },
	[TCA_LINK_RATE_BPS] = { .type = NLA_U64 },
	[TCA_LINK_DELAY_NS] = { .type = NLA_U64 },
	[TCA_LINK_GRANTED] = NLA_POLICY_MAX(NLA_U8, 1),
	[TCA_LINK_GRANT_BYTES] = { .type = NLA_U32 },
	[TCA_LINK_BYPASS] = NLA_POLICY_MAX(NLA_U8, 1),
	[TCA_LINK_LOSSES] = { .type = NLA_BINARY },
	[TCA_LINK_LOSSES_PORT] = { .type = NLA_U16 },
	[TCA_LINK_LOSSES_DATA] = NLA_POLICY_MAX(NLA_U8, 1),
};

/* The packet in transmission, if any, is the last one on its way: its rest has the new rate. */
static void link_set_rate(struct link_sched_data *q, u64 rate_bps, u64 now_ns)
{
	u64 left_ns = q->free_ns > now_ns ? q->free_ns - now_ns : 0;
	u64 bit_ns = left_ns * q->rate_bps;

	q->rate_bps = rate_bps;
	q->rest_bit_ns = 0;
	if (!left_ns || q->granted || !q->last)
		return;
	q->free_ns = now_ns + link_transmission_ns(q, bit_ns);
	link_cb(q->last)->arrives_ns = max(q->free_ns + q->delay_ns, q->before_last_ns);
}

/* Return the list that a request has, NULL if it has none. */
static struct link_losses *link_requested_losses(struct nlattr **tb, struct netlink_ext_ack *extack)
{
	struct nlattr *port = tb[TCA_LINK_LOSSES_PORT], *data = tb[TCA_LINK_LOSSES_DATA];

	if (tb[TCA_LINK_LOSSES])
		return link_losses_new(tb[TCA_LINK_LOSSES], port ? nla_get_u16(port) : 0,
				       data && nla_get_u8(data), extack);
	if (port || data) {
		NL_SET_ERR_MSG(extack, "a port or data only go with packets to lose");
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

	if (q->queue != &noop_qdisc)
		link_transmit(sch, now_ns);
	if (tb[TCA_LINK_RATE_BPS])
		link_set_rate(q, nla_get_u64(tb[TCA_LINK_RATE_BPS]), now_ns);
	if (tb[TCA_LINK_DELAY_NS])
		q->delay_ns = nla_get_u64(tb[TCA_LINK_DELAY_NS]);
	if (tb[TCA_LINK_GRANTED])
		q->granted = nla_get_u8(tb[TCA_LINK_GRANTED]);
	if (!q->granted && q->partial) {
		link_put(sch, q->partial, now_ns);
		q->partial = NULL;
	}
	if (tb[TCA_LINK_BYPASS])
		q->bypass = nla_get_u8(tb[TCA_LINK_BYPASS]);
	if (tb[TCA_LINK_GRANT_BYTES] && (q->partial || q->queue->q.qlen))
		q->credit_bytes += nla_get_u32(tb[TCA_LINK_GRANT_BYTES]);
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
	err = nla_parse_nested_deprecated(tb, TCA_LINK_MAX, opt, link_policy, extack);
	if (err < 0)
		return err;
	if (tb[TCA_LINK_MODEL] && nla_get_u32(tb[TCA_LINK_MODEL]) != LINK_MODEL) {
		NL_SET_ERR_MSG(extack, "this module has another link model");
		return -EPROTONOSUPPORT;
	}
	if (tb[TCA_LINK_RATE_BPS] && nla_get_u64(tb[TCA_LINK_RATE_BPS]) > LINK_RATE_MAX_BPS) {
		NL_SET_ERR_MSG(extack, "a link's rate is at most 100 Gbit/s");
		return -ERANGE;
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

/* FIFOs do not look at the clock. */
static void link_note_kind(struct link_sched_data *q)
{
	q->fifo = q->queue->ops == &pfifo_qdisc_ops || q->queue->ops == &bfifo_qdisc_ops;
}

static int link_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct link_sched_data *q = qdisc_priv(sch);
	int err;

	q->queue = &noop_qdisc;
	q->line = &noop_qdisc;
	qdisc_watchdog_init(&q->watchdog, sch);
	err = link_change(sch, opt, extack);
	if (err)
		return err;
	q->queue = fifo_create_dflt(sch, &pfifo_qdisc_ops, INT_MAX, extack);
	if (IS_ERR(q->queue)) {
		err = PTR_ERR(q->queue);
		q->queue = &noop_qdisc;
		return err;
	}
	link_note_kind(q);
	qdisc_hash_add(q->queue, true);
	return 0;
}

static void link_destroy(struct Qdisc *sch)
{
	struct link_sched_data *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	qdisc_put(q->queue);
	qdisc_put(q->line);
	kfree(q->losses);
}

static int link_dump_losses(const struct link_losses *losses, struct sk_buff *skb)
{
	if (!losses)
		return 0;
	return nla_put(skb, TCA_LINK_LOSSES, losses->count * sizeof(losses->ranges[0]),
		       losses->ranges) ||
	       nla_put_u16(skb, TCA_LINK_LOSSES_PORT, ntohs(losses->port)) ||
	       nla_put_u8(skb, TCA_LINK_LOSSES_DATA, losses->data_only);
}

static int link_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct link_sched_data *q = qdisc_priv(sch);
	struct nlattr *nest;

	/* The counters that follow shall have what a FIFO has sent by now. */
	sch_tree_lock(sch);
	if (q->waited && !q->granted)
		link_transmit_by_rate(sch, ktime_get_ns());
	sch_tree_unlock(sch);
	nest = nla_nest_start_noflag(skb, TCA_OPTIONS);
	if (!nest)
		return -EMSGSIZE;
	if (nla_put_u32(skb, TCA_LINK_MODEL, LINK_MODEL) ||
	    nla_put_u64_64bit(skb, TCA_LINK_RATE_BPS, q->rate_bps, TCA_LINK_PAD) ||
	    nla_put_u64_64bit(skb, TCA_LINK_DELAY_NS, q->delay_ns, TCA_LINK_PAD) ||
	    nla_put_u8(skb, TCA_LINK_GRANTED, q->granted) ||
	    nla_put_u8(skb, TCA_LINK_BYPASS, q->bypass) ||
	    link_dump_losses(q->losses, skb)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, nest);
}

static int link_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct link_sched_data *q = qdisc_priv(sch);
	struct link_xstats stats;

	if (!q->losses)
		return 0;
	sch_tree_lock(sch);
	stats = (struct link_xstats){
		.packets = q->losses->place.number,
		.lost = q->losses->lost,
		.earlier_packets = q->earlier_packets,
		.earlier_lost = q->earlier_lost,
	};
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &stats, sizeof(stats));
}

static struct Qdisc **link_child(struct Qdisc *sch, unsigned long class)
{
	struct link_sched_data *q = qdisc_priv(sch);

	return class == LINK_LINE ? &q->line : &q->queue;
}

static int link_graft(struct Qdisc *sch, unsigned long class, struct Qdisc *new,
		      struct Qdisc **old, struct netlink_ext_ack *extack)
{
	struct link_sched_data *q = qdisc_priv(sch);

	*old = qdisc_replace(sch, new ? new : &noop_qdisc, link_child(sch, class));
	link_note_kind(q);
	return 0;
}

static struct Qdisc *link_leaf(struct Qdisc *sch, unsigned long class)
{
	return *link_child(sch, class);
}

static unsigned long link_find(struct Qdisc *sch, u32 classid)
{
	u32 class = TC_H_MIN(classid);

	return class == LINK_QUEUE || class == LINK_LINE ? class : 0;
}

static int link_dump_class(struct Qdisc *sch, unsigned long class, struct sk_buff *skb,
			   struct tcmsg *tcm)
{
	tcm->tcm_handle |= TC_H_MIN(class);
	tcm->tcm_info = (*link_child(sch, class))->handle;
	return 0;
}

static void link_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
	unsigned long class;

	for (class = LINK_QUEUE; class <= LINK_LINE && !walker->stop; class++) {
		if (walker->count >= walker->skip && walker->fn(sch, class, walker) < 0)
			walker->stop = 1;
		walker->count++;
	}
}

static const struct Qdisc_class_ops link_class_ops = {
	.graft = link_graft,
	.leaf = link_leaf,
	.find = link_find,
	.walk = link_walk,
	.dump = link_dump_class,
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
	BUILD_BUG_ON(sizeof(struct link_skb_cb) > QDISC_CB_PRIV_LEN);
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
MODULE_VERSION("1.0");
MODULE_LICENSE("GPL");

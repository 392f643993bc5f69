// SPDX-License-Identifier: GPL-2.0-only
/*
 * sch_link: packets on their way through queue, transmitter and line.
 *
 * The queue is asked for a packet exactly when the transmitter is free, so an AQM measures what a
 * router's would. A FIFO does not look at the clock, so it may be asked later: each packet costs
 * one timer instead of two. A packet is then taken as transmitted when it would have been, before
 * anything else happens to the queue. Late timers of a slow machine therefore cost no capacity.
 */

#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/skbuff.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include <net/sock.h>

#include "link.h"
#include "link_trace.h"

struct link_skb_cb {
	u64 arrives_ns;
	u64 sent_ns;
};

static struct link_skb_cb *link_cb(struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct link_skb_cb));
	return (struct link_skb_cb *)qdisc_skb_cb(skb)->data;
}

/* Return how long that many bit * ns take at a rate, and what the division leaves over. */
static u64 link_transmission_ns(u64 bit_ns, u64 rate_bps, u64 *rest_bit_ns)
{
	if (!rate_bps)
		return 0;
	return div64_u64_rem(bit_ns, rate_bps, rest_bit_ns);
}

static u64 link_bit_ns(const struct sk_buff *skb)
{
	return (u64)qdisc_pkt_len(skb) * BITS_PER_BYTE * NSEC_PER_SEC;
}

/* Put a packet on its way whose transmission ends then. */
void link_put(struct link_sched_data *q, struct sk_buff *skb, u64 sent_ns)
{
	u64 arrives_ns = sent_ns + q->delay_ns;

	q->before_last_ns = q->last ? link_cb(q->last)->arrives_ns : 0;
	q->last_delay_ns = q->delay_ns;
	link_cb(skb)->arrives_ns = max(arrives_ns, q->before_last_ns);
	link_cb(skb)->sent_ns = sent_ns;
	skb->next = NULL;
	if (q->last)
		q->last->next = skb;
	else
		q->first = skb;
	q->last = skb;
	if (q->owned && !q->unsent)
		q->unsent = skb;
}

/* Tell the sockets of packets that have been sent, as a NIC does. */
static void link_complete(struct link_sched_data *q, u64 now_ns)
{
	while (q->unsent && link_cb(q->unsent)->sent_ns <= now_ns) {
		skb_orphan(q->unsent);
		q->unsent = q->unsent->next;
	}
}

static struct sk_buff *link_take(struct link_sched_data *q)
{
	struct sk_buff *skb = q->first;

	q->first = skb->next;
	if (!q->first)
		q->last = NULL;
	if (q->unsent == skb)
		q->unsent = q->first;
	skb_mark_not_on_list(skb);
	return skb;
}

/* RED begins a time of idleness when it is asked in vain. */
static void link_note_empty(struct link_sched_data *q)
{
	if (!q->queue->q.qlen && !link_is_fifo(q->queue))
		q->queue->dequeue(q->queue);
}

/* Take the next packet out of the queue, or the first frame of a super-packet. */
static struct sk_buff *link_take_out(struct Qdisc *sch, u64 now_ns)
{
	struct link_sched_data *q = qdisc_priv(sch);
	bool traced = trace_link_packet_enabled();
	struct sk_buff *skb;

	if (q->pieces)
		return link_next_piece(q);
	if (traced)
		this_cpu_write(link_asked, sch);
	skb = q->queue->dequeue(q->queue);
	if (traced)
		this_cpu_write(link_asked, NULL);
	if (!skb || likely(!skb_is_gso(skb)) || q->cuts != TC_LINK_CUTS_LAST)
		return skb;
	skb = link_cut_last(sch, skb, now_ns);
	if (skb && unlikely(skb_is_gso(skb)))	/* a device that has TSO gets no frames */
		q->sojourn.aggregates++;
	return skb;
}

/* Take the next packet, whose transmission begins then. */
struct sk_buff *link_next(struct Qdisc *sch, u64 begins_ns)
{
	struct link_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb;
	u64 waited_ns;

	skb = link_take_out(sch, begins_ns);
	if (!skb)
		return NULL;
	qdisc_bstats_update(sch, skb);
	waited_ns = link_sojourn_end(&q->sojourn, skb, begins_ns);
	trace_link_packet(sch, q->queue, skb, TC_LINK_BEGUN, begins_ns, waited_ns);
	link_note_empty(q);
	return skb;
}

/* Begin all transmissions by the rate that are due. */
static void link_transmit_by_rate(struct Qdisc *sch, u64 now_ns)
{
	struct link_sched_data *q = qdisc_priv(sch);
	struct sk_buff *skb;

	if (unlikely(q->held))
		return;
	while (link_waits(q) && q->free_ns <= now_ns) {
		if (!q->waited) {
			q->free_ns = now_ns;
			q->rest_bit_ns = 0;
		}
		skb = link_next(sch, q->free_ns);
		if (!skb) {	/* the queue holds it back, as fq does: its own timer comes */
			q->waited = false;
			return;
		}
		q->waited = true;
		q->free_ns += link_transmission_ns(link_bit_ns(skb) + q->rest_bit_ns, q->rate_bps,
						   &q->rest_bit_ns);
		link_put(q, skb, q->free_ns);
	}
	q->waited = link_waits(q);
}

/* Begin all transmissions that are due. */
void link_catch_up(struct Qdisc *sch, u64 now_ns)
{
	struct link_sched_data *q = qdisc_priv(sch);

	if (q->granted)
		link_transmit_by_grants(sch, now_ns);
	else
		link_transmit_by_rate(sch, now_ns);
}

/* Return what link_transmit_by_rate() would take out of a FIFO now, and leave it there. */
struct link_due link_due(const struct link_sched_data *q, u64 now_ns)
{
	u64 free_ns = q->free_ns, rest_bit_ns = q->rest_bit_ns;
	struct link_due due = {};
	const struct sk_buff *skb;

	if (!q->waited || q->granted || q->held || !link_asks_late(q))
		return due;
	for (skb = q->queue->q.head; skb && free_ns <= now_ns; skb = skb->next) {
		due.packets++;
		due.bytes += qdisc_pkt_len(skb);
		free_ns += link_transmission_ns(link_bit_ns(skb) + rest_bit_ns, q->rate_bps,
						&rest_bit_ns);
	}
	return due;
}

int link_enqueue_one(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct link_sched_data *q = qdisc_priv(sch);
	struct sk_buff *before = *to_free;
	unsigned int bytes = qdisc_pkt_len(skb);
	int result;

	/*
	 * The link begins outside the sender's host. So a waiting packet does not hold its socket
	 * back (TCP small queues), and no queue sees which socket it came from. One that is the
	 * card's of the host leaves packets to their sockets until they have been sent.
	 */
	if (!q->owned)
		skb_orphan(skb);
	if (unlikely(q->impairing)) {
		/* netem gives the root what it has duplicated: that has been transmitted. */
		result = qdisc_enqueue(skb, q->line, to_free);
		if (trace_link_packet_enabled() && result == NET_XMIT_SUCCESS)
			link_trace_now(sch, skb, TC_LINK_DUPLICATED);
	} else {
		u64 now_ns = ktime_get_ns();
		bool traced = trace_link_packet_enabled() && link_traces_enqueue(skb);
		u8 ecn = traced ? link_ecn(skb) : 0;

		/* What should have left by now makes room first. */
		if (q->waited && !q->granted)
			link_transmit_by_rate(sch, now_ns);
		link_sojourn_begin(skb, now_ns);
		if (unlikely(skb_is_gso(skb)) && q->cuts != TC_LINK_CUTS_LAST)
			q->sojourn.aggregates++;
		result = qdisc_enqueue(skb, q->queue, to_free);
		if (traced)
			link_trace_enqueue(sch, skb, ecn, result, *to_free, before, now_ns);
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
	struct sk_buff *before = *to_free;
	unsigned int bytes = qdisc_pkt_len(skb);
	int result;

	q->impairing = true;
	result = qdisc_enqueue(skb, q->line, to_free);
	q->impairing = false;
	if (trace_link_packet_enabled())
		link_trace_freed(sch, *to_free, before, TC_LINK_LOST_BY_LINE, ktime_get_ns());
	if (result == NET_XMIT_SUCCESS)
		return;
	if (net_xmit_drop_count(result))
		qdisc_qstats_drop(sch);
	sch->qstats.backlog -= bytes;
	sch->q.qlen--;
}

/* Lose a transmitted packet because of its number. */
static void link_lose(struct Qdisc *sch, struct sk_buff *skb, struct sk_buff **to_free)
{
	if (trace_link_packet_enabled())
		link_trace_now(sch, skb, TC_LINK_LOST_BY_NUMBER);
	qdisc_qstats_backlog_dec(sch, skb);
	sch->q.qlen--;
	qdisc_drop(skb, sch, to_free);
}

/* Return the next packet that has arrived. */
struct sk_buff *link_arrived(struct Qdisc *sch, u64 now_ns)
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

struct sk_buff *link_dequeue(struct Qdisc *sch)
{
	struct link_sched_data *q = qdisc_priv(sch);
	u64 now_ns = ktime_get_ns(), next_ns = U64_MAX;
	struct sk_buff *skb;

	link_catch_up(sch, now_ns);
	link_complete(q, now_ns);
	if ((q->ring.coalesce_ns && !q->bypass) || q->ring.frames)
		skb = link_ring_next(sch, now_ns);
	else
		skb = link_arrived(sch, now_ns);
	if (skb) {
		qdisc_qstats_backlog_dec(sch, skb);
		sch->q.qlen--;
		trace_link_packet(sch, q->queue, skb, TC_LINK_ARRIVED, now_ns, 0);
		return skb;
	}
	if (q->first)
		next_ns = link_cb(q->first)->arrives_ns;
	if (q->unsent)
		next_ns = min(next_ns, link_cb(q->unsent)->sent_ns);
	if (q->ring.frames)
		next_ns = min(next_ns, q->ring.interrupt_ns);
	if (q->waited && !q->granted && !q->held && !link_asks_late(q))
		next_ns = min(next_ns, q->free_ns);
	if (next_ns != U64_MAX)
		qdisc_watchdog_schedule_ns(&q->watchdog, next_ns);
	return NULL;
}

/*
 * Change the rate. The packet in transmission, if any, is the last one on its way: its rest has
 * the new rate, and it keeps its delay.
 */
void link_set_rate(struct link_sched_data *q, u64 rate_bps, u64 now_ns)
{
	u64 left_ns = q->free_ns > now_ns ? q->free_ns - now_ns : 0;
	u64 bit_ns = (q->held ? q->held_left_ns : left_ns) * q->rate_bps;

	q->rate_bps = rate_bps;
	q->rest_bit_ns = 0;
	if (q->held)
		q->held_left_ns = link_transmission_ns(bit_ns, rate_bps, &q->rest_bit_ns);
	if (q->held || !left_ns || q->granted || !q->last)
		return;
	q->free_ns = now_ns + link_transmission_ns(bit_ns, rate_bps, &q->rest_bit_ns);
	link_cb(q->last)->arrives_ns = max(q->free_ns + q->last_delay_ns, q->before_last_ns);
	link_cb(q->last)->sent_ns = q->free_ns;
}

/*
 * Let the transmitter stand still, or go on with what it was sending. That packet is the last one
 * on its way, so nothing else arrives later because of it.
 */
void link_set_held(struct link_sched_data *q, bool held, u64 now_ns)
{
	if (q->held == held)
		return;
	q->held = held;
	if (held) {
		q->held_left_ns = q->last && q->free_ns > now_ns ? q->free_ns - now_ns : 0;
		if (q->held_left_ns) {
			link_cb(q->last)->arrives_ns = U64_MAX;
			link_cb(q->last)->sent_ns = U64_MAX;
		}
	} else if (q->held_left_ns) {
		q->free_ns = now_ns + q->held_left_ns;
		link_cb(q->last)->arrives_ns = max(q->free_ns + q->last_delay_ns,
						   q->before_last_ns);
		link_cb(q->last)->sent_ns = q->free_ns;
	}
}

/* Free all packets that have left the queue and not arrived. */
void link_drop_all(struct link_sched_data *q)
{
	rtnl_kfree_skbs(q->first, q->last);
	rtnl_kfree_skbs(q->partial, q->partial);
	link_drop_pieces(q);
	link_ring_drop_all(&q->ring);
	q->first = NULL;
	q->last = NULL;
	q->unsent = NULL;
	q->partial = NULL;
	q->free_ns = 0;
	q->held_left_ns = 0;
	q->rest_bit_ns = 0;
	q->credit_bytes = 0;
	q->waited = false;
}

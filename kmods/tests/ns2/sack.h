/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A sender like Linux 6.12's: SACK, RACK on a path that does not reorder (a
 * segment is lost when one that was sent after it has arrived), proportional
 * rate reduction, tail loss probe, and exact times. Undo is left out, since the
 * path neither reorders nor duplicates.
 *
 * Behaviour as in net/ipv4/tcp_input.c, tcp_output.c, tcp_recovery.c.
 */
#ifndef NS2_SACK_H
#define NS2_SACK_H

#include "sender.h"

static inline void sack_output(struct flow *flow, u32 segment)
{
	struct sent *sent = &flow->sent[segment % RING];

	*sent = (struct sent){ .order = ++flow->order, .in_flight = true,
			       .again = segment < flow->top };
	flow->sent_ns[segment % RING] = now_ns;
	flow->top = max_t(u32, flow->top, segment + 1);
	flow->in_flight++;
	if (flow->recovering)
		flow->reduction_out++;
	if (counting())
		flow->total.sent++;
	estimate_sent(flow);
	if (!flow->timer_on || segment == flow->una)
		timer_start(flow, flow->rto_s * flow->backoff);
	path_send(flow, segment);
}

/* Send lost segments first, then new ones, while the window has room */
static inline void sack_send(struct flow *flow)
{
	u32 at = flow->una;

	while (flow->in_flight < (u32)flow->cwnd) {
		while (flow->lost && at < flow->top &&
		       !flow->sent[at % RING].lost)
			at++;
		if (flow->lost) {
			flow->lost--;
			sack_output(flow, at);
		} else if (flow->top - flow->una < (u32)opt.window) {
			sack_output(flow, flow->top);
		} else {
			return;
		}
	}
}

static inline void sack_rtt(struct flow *flow, double rtt_s)
{
	double error = fabs(flow->srtt_s - rtt_s);

	if (flow->srtt_s <= 0) {
		flow->srtt_s = rtt_s;
		flow->rttvar_s = rtt_s / 2;
	} else {
		flow->srtt_s += (rtt_s - flow->srtt_s) / 8;
		flow->rttvar_s += (error - flow->rttvar_s) / 4;
	}
	flow->rto_s = flow->srtt_s + fmax(4 * flow->rttvar_s, opt.rto_min_s);
	if (flow->rtt_min_s <= 0 || rtt_s < flow->rtt_min_s)
		flow->rtt_min_s = rtt_s;
	if (counting()) {
		flow->total.rtt_s += rtt_s;
		flow->total.rtt_samples++;
	}
}

/* Take a segment as arrived; return 1 if it was not known to have */
static inline u32 sack_arrived(struct flow *flow, u32 segment)
{
	struct sent *sent = &flow->sent[segment % RING];

	if (segment < flow->una || segment >= flow->top || sent->sacked)
		return 0;
	flow->in_flight -= sent->in_flight;
	flow->lost -= sent->lost;
	sent->in_flight = false;
	sent->lost = false;
	sent->sacked = true;
	flow->sacked++;
	flow->newest = max_t(u32, flow->newest, sent->order);
	return 1;
}

/* Mark what was sent before the newest segment that arrived; return how many */
static inline u32 sack_find_lost(struct flow *flow)
{
	u32 at, found = 0;

	for (at = flow->una; at < flow->top; at++) {
		struct sent *sent = &flow->sent[at % RING];

		if (!sent->in_flight || sent->order >= flow->newest)
			continue;
		sent->in_flight = false;
		sent->lost = true;
		flow->in_flight--;
		flow->lost++;
		found++;
	}
	return found;
}

/* Proportional rate reduction: tcp_cwnd_reduction() of net/ipv4/tcp_input.c */
static inline void sack_reduce(struct flow *flow, u32 delivered, bool advanced,
			       u32 found)
{
	int delta = (int)flow->ssthresh - (int)flow->in_flight, count;

	flow->reduction_delivered += delivered;
	if (delta < 0) {
		count = (int)(((u64)flow->ssthresh * flow->reduction_delivered +
			       flow->prior_cwnd - 1) / flow->prior_cwnd) -
			(int)flow->reduction_out;
	} else {
		count = max_t(int, (int)flow->reduction_delivered -
			      (int)flow->reduction_out, (int)delivered);
		if (advanced && !found)
			count++;
		count = min_t(int, count, delta);
	}
	count = max_t(int, count, flow->reduction_out ? 0 : 1);
	flow->cwnd = flow->in_flight + count;
}

static inline void sack_begin_recovery(struct flow *flow)
{
	flow->recovering = true;
	flow->recovering_ns = now_ns;
	flow->recover = flow->top;
	flow->prior_cwnd = (u32)flow->cwnd;
	flow->reduction_delivered = 0;
	flow->reduction_out = 0;
	flow->ssthresh = flow_threshold(flow, flow->cwnd);
	if (counting())
		flow->total.fast_retransmits++;
}

static inline void sack_end_recovery(struct flow *flow)
{
	flow->cwnd = flow->ssthresh;
	if (opt.clamp)
		flow->cwnd = fmin(flow->cwnd, flow->prior_cwnd);
	flow->recovering = false;
	if (counting())
		flow->total.in_recovery_s +=
			(double)(now_ns - flow->recovering_ns) / NS_PER_S;
}

/* Find what is lost, then reduce or grow the window and send */
static inline void sack_respond(struct flow *flow, u32 delivered, bool advanced,
				bool find)
{
	u32 found = find ? sack_find_lost(flow) : 0;

	/* with one or two SACKed segments RACK waits a quarter of RTTmin */
	if (!find && flow->sacked && !flow->waiting) {
		flow->waiting = true;
		event_add((struct event){
			.kind = EVENT_REORDERING,
			.ns = now_ns + ns_of(flow->rtt_min_s / 4),
			.flow = (u32)(flow - flows) });
	}
	if (found && !flow->recovering && !flow->loss_state)
		sack_begin_recovery(flow);
	if (flow->recovering)
		sack_reduce(flow, delivered, advanced, found);
	else if (advanced)
		flow_grow(flow, delivered);
	sack_send(flow);
}

static inline void sack_waited(struct flow *flow)
{
	flow->waiting = false;
	if (flow->sacked)
		sack_respond(flow, 0, false, true);
}

/* Take what an ACK reports; return the segments that it delivers */
static inline u32 sack_take(struct flow *flow, const struct event *ack)
{
	u32 delivered = sack_arrived(flow, ack->segment), at;

	if (ack->segment2 != NO_SEGMENT)
		delivered += sack_arrived(flow, ack->segment2);
	for (at = flow->una; at < ack->next; at++) {
		delivered += sack_arrived(flow, at);
		flow->sent[at % RING].sacked = false;
		flow->sacked--;
	}
	flow->una = ack->next;
	return delivered;
}

/*
 * Restart the timer when the window has moved. A SACK restarts it only if the
 * SACKed segment was sent before the last transmission of the first one.
 */
static inline void sack_restart_timer(struct flow *flow, bool advanced,
				      u64 rtt_ns)
{
	if (advanced) {
		flow->backoff = 1;
		flow->probed = false;
		if (flow->una < flow->top)
			timer_start(flow, flow->rto_s);
		else
			flow->timer_on = false;
	} else if (rtt_ns > now_ns - flow->sent_ns[flow->una % RING]) {
		timer_start(flow, flow->rto_s * flow->backoff);
	}
}

static inline void sack_ack(struct flow *flow, const struct event *ack)
{
	const struct sent *sent = &flow->sent[ack->segment % RING];
	u32 before = flow->una, delivered;
	u64 rtt_ns = 0;

	if (ack->next < flow->una)
		return;
	if (ack->segment >= flow->una && !sent->sacked && !sent->again)
		rtt_ns = now_ns - flow->sent_ns[ack->segment % RING];
	if (rtt_ns)
		sack_rtt(flow, (double)rtt_ns / NS_PER_S);
	delivered = sack_take(flow, ack);
	estimate_ack(flow, flow->una - before, delivered);
	sack_restart_timer(flow, flow->una > before, rtt_ns);
	if (flow->recovering && flow->una >= flow->recover)
		sack_end_recovery(flow);
	if (flow->una >= flow->recover)
		flow->loss_state = false;
	sack_respond(flow, delivered, flow->una > before,
		     flow->recovering || flow->loss_state || flow->sacked >= 3);
}

/* Mark the first segment, and all that were sent more than an RTT ago */
static inline void sack_lose_old(struct flow *flow)
{
	u32 at;

	for (at = flow->una; at < flow->top; at++) {
		struct sent *sent = &flow->sent[at % RING];
		u64 age_ns = now_ns - flow->sent_ns[at % RING];

		if (!sent->in_flight ||
		    (at != flow->una && age_ns < ns_of(flow->srtt_s)))
			continue;
		sent->in_flight = false;
		sent->lost = true;
		flow->in_flight--;
		flow->lost++;
	}
}

/* The timer: a tail loss probe where nothing is known to be lost, else an RTO */
static inline void sack_expired(struct flow *flow)
{
	if (flow->una == flow->top)
		return;
	if (!flow->recovering && !flow->loss_state && !flow->sacked &&
	    !flow->probed) {
		flow->probed = true;
		timer_start(flow, flow->rto_s);
		sack_output(flow, flow->top);
		return;
	}
	if (counting())
		flow->total.timeouts++;
	if (flow->recovering && counting())
		flow->total.in_recovery_s +=
			(double)(now_ns - flow->recovering_ns) / NS_PER_S;
	/* tcp_enter_loss() asks for a threshold once a loss, not in recovery */
	if (!flow->recovering && (!flow->loss_state || flow->backoff == 1))
		flow->ssthresh = flow_threshold(flow, flow->cwnd);
	flow->recovering = false;
	flow->loss_state = true;
	flow->recover = flow->top;
	sack_lose_old(flow);
	flow->cwnd = flow->in_flight + 1;
	flow->backoff = min_t(u32, 2 * flow->backoff, 64);
	timer_start(flow, flow->rto_s * flow->backoff);
	sack_send(flow);
}

#endif /* NS2_SACK_H */

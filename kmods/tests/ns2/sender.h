/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The senders of ns-2: Reno, NewReno, and Reno as Westwood's authors changed it
 * (no inflation of the window). Segments are counted, not bytes. The timer is
 * coarse, and one segment at a time is timed.
 *
 * Behaviour as in ns-2.26 (2003), tcp/tcp.cc, tcp-reno.cc and tcp-newreno.cc.
 */
#ifndef NS2_SENDER_H
#define NS2_SENDER_H

#include "estimate.h"

static inline void timer_start(struct flow *flow, double seconds)
{
	flow->timer_on = true;
	event_add((struct event){ .kind = EVENT_TIMEOUT,
				  .ns = now_ns + ns_of(seconds),
				  .flow = (u32)(flow - flows),
				  .number = ++flow->timer_number });
}

/* Return the retransmission timeout: RFC 2988 in ticks, with its backoff */
static inline double sender_timeout_s(const struct flow *flow)
{
	double seconds = flow->rto_s;

	seconds = fmax(seconds, opt.rto_min_s) * flow->backoff;
	return fmax(seconds, 2 * opt.tick_s);
}

/* Take a round-trip time, as a clock with ticks measures it */
static inline void sender_rtt(struct flow *flow, double rtt_s)
{
	double tick = opt.tick_s;
	double into = fmod(now_s() - rtt_s + (double)flow->boot_ns / NS_PER_S,
			   tick);
	int ticks = max_t(int, (int)((rtt_s + into) / tick), 1), error;

	if (!flow->srtt_ticks8) {
		flow->srtt_ticks8 = ticks << 3;
		flow->rttvar_ticks4 = ticks << 1;
	} else {
		error = ticks - (flow->srtt_ticks8 >> 3);
		flow->srtt_ticks8 = max_t(int, flow->srtt_ticks8 + error, 1);
		error = abs(error) - (flow->rttvar_ticks4 >> 2);
		flow->rttvar_ticks4 = max_t(int, flow->rttvar_ticks4 + error, 1);
	}
	flow->rto_s = (((flow->rttvar_ticks4 << 3) + flow->srtt_ticks8) >> 3) *
		      tick;
	if (flow->rtt_min_s <= 0 || ticks * tick < flow->rtt_min_s)
		flow->rtt_min_s = ticks * tick;
	if (counting()) {
		flow->total.rtt_s += rtt_s;
		flow->total.rtt_samples++;
	}
}

static inline void sender_output(struct flow *flow, u32 segment)
{
	if (segment >= flow->top) {
		flow->top = segment + 1;
		if (!flow->timing && segment >= flow->timed_end) {
			flow->timing = true;
			flow->timed_end = segment + 1;
			flow->timed_ns = now_ns;
		}
	}
	if (counting())
		flow->total.sent++;
	estimate_sent(flow);
	if (!flow->timer_on)
		timer_start(flow, sender_timeout_s(flow));
	path_send(flow, segment);
}

static inline u32 sender_window(const struct flow *flow)
{
	return min_t(u32, (u32)flow->cwnd + flow->inflation, (u32)opt.window);
}

static inline void sender_send(struct flow *flow, u32 most)
{
	while (most-- && flow->next < flow->una + sender_window(flow))
		sender_output(flow, flow->next++);
}

/* Limited transmit: a new segment at the first and second duplicate ACK */
static inline void sender_send_limited(struct flow *flow)
{
	if (opt.limited_transmit && flow->next < flow->una + (u32)opt.window &&
	    flow->next < flow->una + flow->cwnd + flow->duplicates)
		sender_output(flow, flow->next++);
}

static inline void sender_cut(struct flow *flow)
{
	double before = sender_window(flow);

	flow->ssthresh = flow_threshold(flow, before);
	flow->cwnd = fmin(flow->cwnd, flow->ssthresh);
}

/* The third duplicate ACK */
static inline void sender_third(struct flow *flow)
{
	bool flat = (enum recovery)opt.recovery == RECOVERY_RENO_FLAT;
	bool again = (enum recovery)opt.recovery == RECOVERY_RENO &&
		     flow->last_cut == CUT_DUPLICATES;

	if (!flat && opt.bug_fix && flow->una <= flow->recover && !again)
		return;
	flow->recover = flow->top;
	flow->last_cut = CUT_DUPLICATES;
	sender_cut(flow);
	timer_start(flow, sender_timeout_s(flow));
	flow->timing = false;
	if (counting())
		flow->total.fast_retransmits++;
	sender_output(flow, flow->una);
	if (!flat)
		flow->inflation = 3;
}

static inline void sender_duplicate(struct flow *flow)
{
	bool flat = (enum recovery)opt.recovery == RECOVERY_RENO_FLAT;

	flow->duplicates++;
	if (flow->duplicates == 3) {
		sender_third(flow);
		if (!opt.exits && !flat)
			flow->inflation = 3;
	} else if (flow->duplicates > 3 && !flat &&
		   (!opt.exits || flow->last_cut == CUT_DUPLICATES)) {
		flow->inflation++;
	} else if (flow->duplicates < 3 && !flat) {
		sender_send_limited(flow);
	}
	if (flat)
		sender_send(flow, U32_MAX);
	else if (flow->duplicates >= 3)
		sender_send(flow, (enum recovery)opt.recovery ==
				  RECOVERY_NEWRENO ? 2 : U32_MAX);
}

/* An ACK acknowledges the timed segment, and moves the first one that is not */
static inline void sender_advance(struct flow *flow, u32 una)
{
	flow->una = una;
	flow->next = max_t(u32, flow->next, una);
	if (flow->timing && una >= flow->timed_end) {
		flow->timing = false;
		flow->backoff = 1;
		sender_rtt(flow, (double)(now_ns - flow->timed_ns) / NS_PER_S);
	}
}

static inline void sender_restart_timer(struct flow *flow)
{
	if (flow->una < flow->top)
		timer_start(flow, sender_timeout_s(flow));
	else
		flow->timer_on = false;
}

/* NewReno: a partial ACK retransmits the next segment; RFC 2582 section 3 */
static inline void sender_partial(struct flow *flow, u32 una)
{
	u32 advance = una - flow->una;

	if (!flow->partial_seen) {
		flow->partial_seen = true;
		timer_start(flow, sender_timeout_s(flow));
	}
	if (flow->inflation > advance) {
		flow->inflation -= advance - 1;
	} else {
		flow->cwnd = fmax(flow->cwnd - (advance - flow->inflation), 1);
		flow->inflation = 1;
	}
	sender_advance(flow, una);
	sender_output(flow, flow->una);
	if (flow->duplicates >= 3)
		sender_send(flow, 2);
}

static inline void sender_ack(struct flow *flow, u32 una)
{
	u32 advance = una - flow->una;

	if (una < flow->una)
		return;
	estimate_ack(flow, advance, advance);
	if (!advance) {
		sender_duplicate(flow);
		return;
	}
	if ((enum recovery)opt.recovery == RECOVERY_NEWRENO &&
	    una < flow->recover && flow->last_cut == CUT_DUPLICATES) {
		sender_partial(flow, una);
		return;
	}
	if (opt.exits && flow->last_cut == CUT_DUPLICATES)
		flow->last_cut = CUT_EXITED;
	flow->partial_seen = false;
	flow->inflation = 0;
	flow->duplicates = 0;
	sender_advance(flow, una);
	sender_restart_timer(flow);
	flow_grow(flow, advance);
	if (una == 1)
		flow->cwnd = opt.initial_window;
	sender_send(flow, U32_MAX);
}

/* The retransmission timer: go back to the first missing segment */
static inline void sender_expired(struct flow *flow)
{
	flow->inflation = 0;
	flow->duplicates = 0;
	flow->recover = flow->top;
	flow->last_cut = CUT_TIMEOUT;
	if (counting())
		flow->total.timeouts++;
	flow->ssthresh = flow_threshold(flow, sender_window(flow));
	flow->cwnd = 1;
	if (flow->backoff < 64)
		flow->backoff *= 2;
	if (flow->backoff > 8) {
		flow->rttvar_ticks4 += flow->srtt_ticks8 >> 3;
		flow->srtt_ticks8 = 0;
	}
	timer_start(flow, sender_timeout_s(flow));
	flow->next = flow->una;
	flow->timing = false;
	sender_send(flow, U32_MAX);
}

#endif /* NS2_SENDER_H */

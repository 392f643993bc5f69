/* SPDX-License-Identifier: GPL-2.0-only */
/* What an ACK adds to the estimate, and the threshold that follows from it */
#ifndef NS2_ESTIMATE_H
#define NS2_ESTIMATE_H

#include "flow.h"

/* Return the estimate in bytes/s */
static inline double estimate_bytes_s(const struct flow *flow)
{
	const struct estimator *e = &flow->estimator;

	switch ((enum filter)opt.filter) {
	case FILTER_LITERAL:
		return e->literal;
	case FILTER_TIBET:
	case FILTER_TIBET_SENT:
		return from_q10(e->tibet.bw);
	case FILTER_CSFQ:
		return from_q10(e->csfq);
	default:
		return from_q10(e->westwood.bw);
	}
}

/*
 * Return the segments that a sample counts, as in Mascolo et al. (Wireless
 * Networks 8, 2002): a duplicate ACK counts one, and the ACK that fills the gap
 * does not count these again. most_segments limits one sample.
 */
static inline u32 estimate_counts_duplicates(struct estimator *e, u32 advance)
{
	u32 counted = advance;

	if (!advance) {
		e->duplicates++;
		counted = 1;
	} else if (advance > 1 && e->duplicates >= advance) {
		e->duplicates -= advance - 1;
		counted = 1;
	} else if (advance > 1) {
		counted = advance - e->duplicates;
		e->duplicates = 0;
	}
	if (opt.most_segments > 0)
		counted = min_t(u32, counted, (u32)opt.most_segments);
	return counted;
}

static inline double literal_step(struct estimator *e, double sample,
				  double elapsed_s, bool zero_samples)
{
	double pole;

	for (; zero_samples && elapsed_s > opt.tau_s / 2;
	     elapsed_s -= opt.tau_s / 2) {
		e->literal = 0.6 * e->literal + 0.2 * e->literal_sample;
		e->literal_sample = 0;
	}
	pole = (2 * opt.tau_s - elapsed_s) / (2 * opt.tau_s + elapsed_s);
	e->literal = pole * e->literal +
		     (1 - pole) * (sample + e->literal_sample) / 2;
	e->literal_sample = sample;
	return e->literal;
}

/*
 * A rest of the interval that is shorter than least_rest_s, after zero samples,
 * is merged with the last of them, as the code of Westwood's authors does.
 */
static inline void filter_westwood2(struct estimator *e, u32 bytes, u32 us)
{
	u32 tau_us = (u32)(opt.tau_s * 1e6), half = tau_us / 2, zeros, rest;

	if (opt.zero_samples && opt.least_rest_s > 0 && us > half) {
		zeros = us / half;
		rest = us - zeros * half;
		if (rest < opt.least_rest_s * 1e6) {
			zeros--;
			rest = half;
		}
		for (; zeros; zeros--)
			ww2_update(&e->westwood, 0, half, tau_us, false);
		us = rest;
	}
	ww2_update(&e->westwood, core_rate(bytes, us), us, tau_us,
		   opt.zero_samples);
}

static inline void filter_step(struct estimator *e, u32 segments, u32 us)
{
	u32 bytes = segments * (u32)opt.payload_bytes;

	switch ((enum filter)opt.filter) {
	case FILTER_WESTWOOD1:
		ww1_update(&e->westwood, core_rate(bytes, us));
		break;
	case FILTER_WESTWOOD2:
		filter_westwood2(e, bytes, us);
		break;
	case FILTER_LITERAL:
		literal_step(e, bytes / (us / 1e6), us / 1e6, opt.zero_samples);
		break;
	case FILTER_TIBET:
	case FILTER_TIBET_SENT:
		tibet_sample(&e->tibet, bytes, us, 1, CORE_US_PER_S);
		break;
	case FILTER_CSFQ:
		e->csfq = csfq_update(e->csfq, bytes, us, 500000);
	}
}

/* Add an ACK that advances by some segments and delivers some */
static inline void estimate_ack(struct flow *flow, u32 advance, u32 delivered)
{
	struct estimator *e = &flow->estimator;
	struct totals *total = &flow->total;
	u64 us = (now_ns - e->last_ns) / 1000;
	u32 segments = delivered;
	double rate;

	if ((enum counted)opt.counted == COUNTED_DUPLICATES)
		segments = estimate_counts_duplicates(e, advance);
	else if ((enum counted)opt.counted != COUNTED_DELIVERED)
		segments = advance;
	if (!advance && (enum counted)opt.counted == COUNTED_ADVANCES)
		return;
	segments += e->pending;
	if (e->last_ns && us) {
		if ((enum filter)opt.filter != FILTER_TIBET_SENT)
			filter_step(e, segments, (u32)us);
		rate = segments * opt.payload_bytes / ((double)us / 1e6);
		if (counting()) {
			total->acks++;
			total->close_acks +=
				(double)us / 1e6 < 1.1 * segment_time_s();
			total->own += rate * (double)us;
			total->next += e->last_rate * (double)us;
			total->estimate_acks += estimate_bytes_s(flow);
		}
		e->last_rate = rate;
	}
	e->pending = e->last_ns && !us ? segments : 0;
	if (us)
		e->last_ns = now_ns;
}

static inline void estimate_sent(struct flow *flow)
{
	struct estimator *e = &flow->estimator;
	u64 us = (now_ns - e->sent_ns) / 1000;

	if ((enum filter)opt.filter != FILTER_TIBET_SENT)
		return;
	if (e->sent_ns)
		filter_step(e, 1, max_t(u32, (u32)us, 1));
	e->sent_ns = now_ns;
}

/* Return the threshold after a congestion event, in whole segments */
static inline double flow_threshold(const struct flow *flow, double window)
{
	double bytes = estimate_bytes_s(flow) * flow->rtt_min_s;

	if ((enum control)opt.control == CONTROL_RENO || bytes <= 0)
		return fmax(floor(window / 2), 2);
	return fmax(floor(bytes / opt.payload_bytes), 2);
}

/* Reno's increase, as ns-2 (by ACKs) or Linux (by segments) has it */
static inline void flow_grow(struct flow *flow, u32 segments)
{
	u32 slow;

	if (!opt.count_segments)
		segments = 1;
	for (slow = 0; slow < segments && flow->cwnd < flow->ssthresh; slow++)
		flow->cwnd += 1;
	if (slow < segments)
		flow->cwnd += (segments - slow) / flow->cwnd;
}

#endif /* NS2_ESTIMATE_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/* The estimator of Westwood+, which westwoodplus and logwestwood use. */
#ifndef CC_WESTWOODPLUS_H
#define CC_WESTWOODPLUS_H

#include "cc.h"
#include "core/westwoodplus.h"

struct cc_wwp {
	struct cc_flow flow;	/* ack_us, delivered: when the sample began */
	struct wwp filter;
	struct packet_pair pair;
};

static inline void cc_wwp_init(struct cc_wwp *w, const struct sock *sk,
			       bool handshake)
{
	*w = (struct cc_wwp){ 0 };
	cc_flow_init(&w->flow, sk, handshake);
}

/*
 * Take one sample per round trip: d[k] is the data delivered in it, by any
 * number of ACKs. The first sample begins with the first ACK. If it began with
 * the connection, it would contain a single segment. While the application
 * limits the rate, samples below the estimate are dropped.
 */
static inline void cc_wwp_ack(struct cc_wwp *w, struct sock *sk,
			      const struct ack_sample *ack,
			      enum wwp_mode mode, u32 pair)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 elapsed_us = cc_delivery_us(sk, ack) - w->flow.ack_us;
	struct cc_sample sample;
	u64 rate;

	cc_flow_pkts_acked(sk, ack);
	cc_pair_ssthresh(&w->pair, sk, ack, w->flow.rtt_min_us, pair);
	if (!w->flow.rtt_us ||
	    elapsed_us < wwp_interval_us(w->flow.rtt_us, mode))
		return;
	if (!cc_flow_sample(&w->flow, sk, ack, &sample))
		return;
	rate = core_rate(sample.bytes, sample.interval_us);
	if (!tp->app_limited || rate >= w->filter.bw)
		wwp_update(&w->filter, rate, mode);
}

/*
 * Return Bwe * RTTmin. Westwood+ sets cwnd to it at three duplicate ACKs, also
 * if that raises cwnd (section 2.1 b); clamp forbids that.
 */
static inline u32 cc_wwp_ssthresh(struct cc_wwp *w, struct sock *sk, bool clamp)
{
	u32 ssthresh = cc_ssthresh(sk, w->filter.bw, w->flow.rtt_min_us);

	return cc_ssthresh_below(&w->flow, sk, ssthresh, clamp);
}

#endif /* CC_WESTWOODPLUS_H */

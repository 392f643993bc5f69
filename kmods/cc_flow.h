/* SPDX-License-Identifier: GPL-2.0-only */
/* What every module keeps of a connection, and its samples from ACKs. */
#ifndef CC_FLOW_H
#define CC_FLOW_H

#include <net/tcp.h>

#include "core/arith.h"

/*
 * The part of a connection's state that every module has. It comes first, so
 * that the hooks here and in cc_window.h serve every module (cc_flow_of).
 */
struct cc_flow {
	u64	ack_us;		/* tcp_mstamp of the last ACK; 0: none yet */
	u32	delivered;	/* tp->delivered at that ACK */
	u32	rtt_us;		/* last round-trip time; 0: none yet */
	u32	rtt_min_us;	/* smallest round-trip time; U32_MAX: none yet */
	u32	ssthresh;	/* ssthresh from the end of recovery on; 0: none */
};

static inline void cc_flow_init(struct cc_flow *flow, const struct sock *sk)
{
	*flow = (struct cc_flow){
		.delivered = tcp_sk(sk)->delivered,
		.rtt_min_us = U32_MAX,
	};
}

static inline struct cc_flow *cc_flow_of(const struct sock *sk)
{
	return inet_csk_ca(sk);
}

static inline void cc_flow_rtt(struct cc_flow *flow, u32 rtt_us)
{
	WRITE_ONCE(flow->rtt_us, rtt_us);
	WRITE_ONCE(flow->rtt_min_us, min(flow->rtt_min_us, rtt_us));
}

/* Hook pkts_acked of most modules */
static inline void cc_flow_pkts_acked(struct sock *sk,
				      const struct ack_sample *sample)
{
	if (sample->rtt_us > 0)
		cc_flow_rtt(cc_flow_of(sk), sample->rtt_us);
}

/* Begin a new interval; data delivered so far does not count */
static inline void cc_flow_restart(struct cc_flow *flow, const struct sock *sk)
{
	flow->ack_us = 0;
	flow->delivered = tcp_sk(sk)->delivered;
}

/*
 * Return whether sending begins after a pause of the application. The event
 * CA_EVENT_TX_START alone does not say so: it comes whenever nothing is in
 * flight. That is also the case when one ACK acknowledges the whole window, and
 * when a timeout retransmits after all segments were lost. The papers' filters
 * count the time before such a retransmission.
 */
static inline bool cc_was_idle(const struct sock *sk, enum tcp_ca_event event)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return event == CA_EVENT_TX_START && !tp->packets_out && tp->app_limited;
}

struct cc_sample {
	u64	bytes;		/* newly delivered, including SACKed segments */
	u32	interval_us;	/* since the last ACK that delivered data */
};

/*
 * Fill in the data delivered since the last ACK. Return false when there was no
 * last ACK or no new data. Also return false when the last ACK came in the same
 * microsecond; the next ACK's sample then includes this data.
 */
static inline bool cc_flow_sample(struct cc_flow *flow, const struct sock *sk,
				  struct cc_sample *sample)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 segments = tp->delivered - flow->delivered;
	u64 last_us = flow->ack_us;

	if (!segments || tp->tcp_mstamp <= last_us)
		return false;
	flow->ack_us = tp->tcp_mstamp;
	flow->delivered = tp->delivered;
	sample->bytes = (u64)segments * tp->mss_cache;
	sample->interval_us = min_t(u64, tp->tcp_mstamp - last_us, U32_MAX);
	return last_us;
}

/*
 * Filters with a sample for each ACK take no samples while the application
 * limits the rate. If they dropped only low samples, only bursts would count.
 */
static inline bool cc_app_limited(const struct sock *sk, u64 bw)
{
	return bw && tcp_sk(sk)->app_limited;
}

#endif /* CC_FLOW_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A congestion control that differs from Reno by an estimate of the bandwidth:
 * at a loss ssthresh = Bwe * RTTmin. A module gives a filter with one sample of
 * each ACK:
 *
 *   CC_SHOWS(x, ...);
 *   struct x { struct cc_estimator common; <the filter's state> };
 *   static u64 x_update(struct cc_estimator *e, const struct cc_sample *s);
 *   static u32 x_first(const struct cc_estimator *e);
 *   static const struct cc_estimator_ops x_estimator = {
 *           .update = x_update, .first = x_first,
 *   };
 *   CC_ESTIMATOR(x, x_estimator);
 *   static struct tcp_congestion_ops tcp_x = {
 *           CC_ESTIMATOR_HOOKS(x), .owner = THIS_MODULE, .name = "x",
 *   };
 *   CC_MODULE(tcp_x, struct x, common.flow);
 *
 * It has the parameters clamp_cwnd, count_acks, handshake_rtt and packetpair.
 *
 * The operations are constant and all callers are inlined, so the compiler
 * calls them directly, as with struct rhashtable_params. An ACK costs no
 * indirect call, and so no retpoline.
 */
#ifndef CC_ESTIMATOR_H
#define CC_ESTIMATOR_H

#include "cc.h"

/* The first part of a module's state of a connection */
struct cc_estimator {
	struct cc_flow flow;
	struct packet_pair pair;
	u64	bw;		/* the estimate, q10 bytes/s; 0: none yet */
};

struct cc_estimator_ops {
	/* Add a sample to the filter; return the estimate */
	u64 (*update)(struct cc_estimator *e, const struct cc_sample *sample);

	/* Return what CC_SHOWS calls the first number */
	u32 (*first)(const struct cc_estimator *e);
};

static inline void cc_estimator_init(struct sock *sk, bool handshake)
{
	struct cc_estimator *e = inet_csk_ca(sk);

	memset(e, 0, ICSK_CA_PRIV_SIZE);
	cc_flow_init(&e->flow, sk, handshake);
}

static __always_inline void
cc_estimator_ack(struct sock *sk, const struct ack_sample *ack,
		 const struct cc_estimator_ops *ops, u32 pair)
{
	struct cc_estimator *e = inet_csk_ca(sk);
	struct cc_sample sample;

	cc_flow_pkts_acked(sk, ack);
	cc_pair_ssthresh(&e->pair, sk, ack, e->flow.rtt_min_us, pair);
	if (cc_flow_sample(&e->flow, sk, ack, &sample) &&
	    !cc_app_limited(sk, e->bw))
		WRITE_ONCE(e->bw, ops->update(e, &sample));
}

static inline u32 cc_estimator_ssthresh(struct sock *sk, bool clamp)
{
	struct cc_estimator *e = inet_csk_ca(sk);
	u32 ssthresh = cc_ssthresh(sk, e->bw, e->flow.rtt_min_us);

	return cc_ssthresh_below(&e->flow, sk, ssthresh, clamp);
}

static __always_inline struct cc_shown
cc_estimator_shown(const struct sock *sk, const struct cc_estimator_ops *ops)
{
	const struct cc_estimator *e = inet_csk_ca(sk);

	return (struct cc_shown){
		.bw = READ_ONCE(e->bw),
		.rtt_min_us = READ_ONCE(e->flow.rtt_min_us),
		.first = ops->first(e),
		.second = READ_ONCE(e->pair.refused),
		.pair_refused = READ_ONCE(e->pair.refused),
	};
}

/* The hooks that depend on a module's parameters or operations */
#define CC_ESTIMATOR(name, ops)						\
static void name##_init(struct sock *sk)				\
{									\
	cc_estimator_init(sk, READ_ONCE(handshake_rtt));		\
}									\
									\
static void name##_pkts_acked(struct sock *sk,				\
			      const struct ack_sample *ack)		\
{									\
	cc_estimator_ack(sk, ack, &(ops), READ_ONCE(packetpair));	\
	name##_trace(sk);						\
}									\
									\
static void name##_cong_avoid(struct sock *sk, u32 ack, u32 acked)	\
{									\
	cc_cong_avoid(sk, ack, acked, READ_ONCE(count_acks));		\
}									\
									\
static u32 name##_ssthresh(struct sock *sk)				\
{									\
	return cc_estimator_ssthresh(sk, READ_ONCE(clamp_cwnd));	\
}									\
									\
static struct cc_shown name##_shown(const struct sock *sk)		\
{									\
	return cc_estimator_shown(sk, &(ops));				\
}									\
static_assert(true)

#define CC_ESTIMATOR_HOOKS(name)					\
	.init		= name##_init,					\
	.ssthresh	= name##_ssthresh,				\
	.cong_avoid	= name##_cong_avoid,				\
	.undo_cwnd	= cc_window_undo_cwnd,				\
	CC_CWND_EVENT(cc_sampled_cwnd_event),				\
	.set_state	= cc_window_set_state,				\
	.pkts_acked	= name##_pkts_acked,				\
	.get_info	= name##_get_info

#endif /* CC_ESTIMATOR_H */

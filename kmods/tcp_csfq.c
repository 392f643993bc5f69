// SPDX-License-Identifier: GPL-2.0-only
/*
 * The bandwidth estimate of Core-Stateless Fair Queueing at a TCP sender
 *
 * A. Capone, L. Fratta, F. Martignon, "Bandwidth Estimation Schemes for TCP
 * over Wireless Networks", IEEE Transactions on Mobile Computing 3 (2004),
 * section 2.2.4, eq. (3).
 *
 *   Bwe = (1 - e^(-T/K)) * L/T + e^(-T/K) * Bwe
 *
 * on every ACK. L is the number of bytes that it acknowledges, and T the time
 * since the last ACK. K is 0.1 to 0.5 s in routers; the paper shows 0.5 s and
 * 20 s. See core/csfq.h.
 *
 * At three duplicate ACKs, a timeout or an ECN mark, ssthresh = Bwe * RTTmin.
 * The increase is Reno's.
 *
 * Shown by get_info and the trace: bw the estimate, min_rtt RTTmin, pacing_gain
 * the last RTT in us, cwnd_gain 0.
 */

#define CC_TRACE_SYSTEM tcp_csfq
#include "cc.h"
#include "core/csfq.h"

CC_PARAM(k_us, 500000, 0, 60000000, "the filter's time constant K; 0 disables the filter");
CC_PARAM(clamp_cwnd, 1, 0, 1, CC_CLAMP_CWND_TEXT);
CC_PARAM(count_acks, 0, 0, 1, CC_COUNT_ACKS_TEXT);
CC_PARAM(packetpair, 0, 0, 3, CC_PACKETPAIR_TEXT);

struct csfq_state {
	struct cc_flow flow;
	u64	bw;		/* the estimate, q10 bytes/s */
	struct cc_pair pair;
};

static void csfq_init(struct sock *sk)
{
	struct csfq_state *w = inet_csk_ca(sk);

	*w = (struct csfq_state){ 0 };
	cc_flow_init(&w->flow, sk);
	w->pair.delivered = tcp_sk(sk)->delivered;
}

static void csfq_pkts_acked(struct sock *sk,
			    const struct ack_sample *sample)
{
	struct csfq_state *w = inet_csk_ca(sk);

	if (sample->rtt_us > 0)
		cc_flow_rtt(&w->flow, sample->rtt_us);
}

static void csfq_in_ack_event(struct sock *sk, u32 flags)
{
	struct csfq_state *w = inet_csk_ca(sk);
	struct cc_sample sample;

	cc_pair_ssthresh(&w->pair, sk, w->flow.rtt_min_us, READ_ONCE(packetpair));
	if (cc_flow_sample(&w->flow, sk, &sample) &&
	    !cc_app_limited(sk, w->bw))
		WRITE_ONCE(w->bw, csfq_update(w->bw, sample.bytes,
					      sample.interval_us,
					      READ_ONCE(k_us)));
	cc_trace(sk, &w->flow, w->bw, w->flow.rtt_us, 0);
}

static void csfq_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	cc_cong_avoid(sk, ack, acked, READ_ONCE(count_acks));
}

static u32 csfq_ssthresh(struct sock *sk)
{
	struct csfq_state *w = inet_csk_ca(sk);
	u32 ssthresh = cc_ssthresh(sk, w->bw, w->flow.rtt_min_us);

	return cc_ssthresh_below(&w->flow, sk, ssthresh,
				 READ_ONCE(clamp_cwnd));
}

static void csfq_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct csfq_state *w = inet_csk_ca(sk);

	if (cc_was_idle(sk, event))
		cc_flow_restart(&w->flow, sk);
	cc_ssthresh_event(&w->flow, sk, event);
}

static u32 csfq_undo_cwnd(struct sock *sk)
{
	struct csfq_state *w = inet_csk_ca(sk);

	return cc_undo_cwnd(&w->flow, sk);
}

static void csfq_set_state(struct sock *sk, u8 state)
{
	struct csfq_state *w = inet_csk_ca(sk);

	cc_ssthresh_state(&w->flow, sk, state);
}

static size_t csfq_get_info(struct sock *sk, u32 ext, int *attr,
			    union tcp_cc_info *info)
{
	const struct csfq_state *w = inet_csk_ca(sk);

	return cc_info(ext, attr, info, READ_ONCE(w->bw),
		       READ_ONCE(w->flow.rtt_min_us), READ_ONCE(w->flow.rtt_us),
		       0);
}

static struct tcp_congestion_ops tcp_csfq __read_mostly = {
	.init		= csfq_init,
	.ssthresh	= csfq_ssthresh,
	.cong_avoid	= csfq_cong_avoid,
	.undo_cwnd	= csfq_undo_cwnd,
	.cwnd_event	= csfq_cwnd_event,
	.set_state	= csfq_set_state,
	.in_ack_event	= csfq_in_ack_event,
	.pkts_acked	= csfq_pkts_acked,
	.get_info	= csfq_get_info,
	.owner		= THIS_MODULE,
	.name		= "csfq",
};

static int __init csfq_register(void)
{
	BUILD_BUG_ON(sizeof(struct csfq_state) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&tcp_csfq);
}

static void __exit csfq_unregister(void)
{
	tcp_unregister_congestion_control(&tcp_csfq);
}

module_init(csfq_register);
module_exit(csfq_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP with CSFQ's bandwidth estimate");

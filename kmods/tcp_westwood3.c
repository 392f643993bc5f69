// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP Westwood with its third filter
 *
 * A. Capone, L. Fratta, F. Martignon, "Bandwidth Estimation Schemes for TCP
 * over Wireless Networks", IEEE Transactions on Mobile Computing 3 (2004),
 * section 2.2.3, "Algorithm Westwood 3"; R. Wang et al., "Adaptive Bandwidth
 * Share Estimation in TCP Westwood", Globecom 2002.
 *
 *   s = bytes of the last T / T
 *   Bwe = p * Bwe + (1 - p) * s, p = (2 tau - d) / (2 tau + d)
 *
 * where d is the time since the last ACK. core/westwood.h describes how T and
 * tau adapt; TIBET's paper leaves that to its reference.
 *
 * At three duplicate ACKs, a timeout or an ECN mark, ssthresh = Bwe * RTTmin.
 * The increase is Reno's.
 */

#define CC_TRACE_SYSTEM tcp_westwood3
#include "cc.h"
#include "core/westwood.h"

CC_PARAM(gain_steps, 10, 0, 255, "N; tau is at most 1 + N round trips");
CC_PARAM(clamp_cwnd, 1, 0, 1, CC_CLAMP_CWND_TEXT);
CC_PARAM(count_acks, 0, 0, 1, CC_COUNT_ACKS_TEXT);
CC_PARAM(handshake_rtt, 1, 0, 1, CC_HANDSHAKE_RTT_TEXT);

CC_SHOWS(westwood3, "the estimate [bytes/s]", "RTTmin [us]",
	 "T [us]", "tau [us]");

struct westwood3_state {
	struct cc_flow flow;
	struct westwood3 filter;
};

static void westwood3_init(struct sock *sk)
{
	struct westwood3_state *w = inet_csk_ca(sk);

	*w = (struct westwood3_state){ 0 };
	cc_flow_init(&w->flow, sk, READ_ONCE(handshake_rtt));
}

static u32 westwood3_tau_us(const struct westwood3_state *w)
{
	return ww3_tau_us(&w->filter, READ_ONCE(w->flow.rtt_us),
			  READ_ONCE(gain_steps));
}

static void westwood3_sample(struct westwood3_state *w, const struct sock *sk,
			     const struct cc_sample *sample)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 bytes = min_t(u64, sample->bytes, CORE_BYTES_MAX);
	u64 window = (u64)tcp_snd_cwnd(tp) * tp->mss_cache;
	u32 span = ww3_span_us(w->filter.bw, min_t(u64, window, U32_MAX),
			       w->flow.rtt_us, w->flow.rtt_min_us);
	u64 rate = ww3_sample(&w->filter, bytes, sample->interval_us, span);

	ww3_update(&w->filter, rate, sample->interval_us, w->flow.rtt_us,
		   READ_ONCE(gain_steps));
}

static void westwood3_pkts_acked(struct sock *sk, const struct ack_sample *ack)
{
	struct westwood3_state *w = inet_csk_ca(sk);
	struct cc_sample sample;

	cc_flow_pkts_acked(sk, ack);
	if (cc_flow_sample(&w->flow, sk, ack, &sample) && w->flow.rtt_us &&
	    !cc_app_limited(sk, w->filter.bw))
		westwood3_sample(w, sk, &sample);
	westwood3_trace(sk);
}

static void westwood3_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	cc_cong_avoid(sk, ack, acked, READ_ONCE(count_acks));
}

static u32 westwood3_ssthresh(struct sock *sk)
{
	struct westwood3_state *w = inet_csk_ca(sk);
	u32 ssthresh = cc_ssthresh(sk, w->filter.bw, w->flow.rtt_min_us);

	return cc_ssthresh_below(&w->flow, sk, ssthresh,
				 READ_ONCE(clamp_cwnd));
}

static void westwood3_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct westwood3_state *w = inet_csk_ca(sk);

	if (cc_was_idle(sk, event))
		WRITE_ONCE(w->filter.span_us, 0);
	cc_sampled_cwnd_event(sk, event);
}

CC_TX_START(westwood3_cwnd_event);

static struct cc_shown westwood3_shown(const struct sock *sk)
{
	const struct westwood3_state *w = inet_csk_ca(sk);

	return (struct cc_shown){
		.bw = READ_ONCE(w->filter.bw),
		.rtt_min_us = READ_ONCE(w->flow.rtt_min_us),
		.first = READ_ONCE(w->filter.span_us),
		.second = westwood3_tau_us(w),
	};
}

static struct tcp_congestion_ops tcp_westwood3 __read_mostly = {
	.init		= westwood3_init,
	.ssthresh	= westwood3_ssthresh,
	.cong_avoid	= westwood3_cong_avoid,
	.undo_cwnd	= cc_window_undo_cwnd,
	CC_CWND_EVENT(westwood3_cwnd_event),
	.set_state	= cc_window_set_state,
	.pkts_acked	= westwood3_pkts_acked,
	.get_info	= westwood3_get_info,
	.owner		= THIS_MODULE,
	.name		= "westwood3",
};

CC_MODULE(tcp_westwood3, struct westwood3_state, flow);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP Westwood with its third filter");

// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP Westwood with its second filter
 *
 * A. Capone, L. Fratta, F. Martignon, "Bandwidth Estimation Schemes for TCP
 * over Wireless Networks", IEEE Transactions on Mobile Computing 3 (2004),
 * section 2.2.3, "Algorithm Westwood 2"; S. Mascolo et al., Wireless Networks
 * 8, 2002.
 *
 *   s = acked / d, where d is the time since the last ACK
 *   Bwe = p * Bwe + (1 - p) * (s + previous s) / 2
 *   p = (2 tau - d) / (2 tau + d)
 *
 * TIBET's paper gives no tau; 0.5 s is Mascolo's. It also lacks Mascolo's empty
 * samples, one for each tau/2 without an ACK (zero_samples). Without them p
 * would be negative for d > 2 tau; it is 0 there. See core/westwood.h.
 *
 * At three duplicate ACKs, a timeout or an ECN mark, ssthresh = Bwe * RTTmin.
 * The increase is Reno's.
 *
 * Shown by get_info and the trace: bw the estimate, min_rtt RTTmin, pacing_gain
 * the last sample in kbit/s, cwnd_gain 0.
 */

#define CC_TRACE_SYSTEM tcp_westwood2
#include "cc.h"
#include "core/westwood.h"

CC_PARAM(tau_us, 500000, 0, 60000000, "the filter's tau; 0 disables the filter");
CC_PARAM(zero_samples, 0, 0, 1, "1 adds an empty sample for each tau/2 without an ACK");
CC_PARAM(clamp_cwnd, 1, 0, 1, CC_CLAMP_CWND_TEXT);
CC_PARAM(count_acks, 0, 0, 1, CC_COUNT_ACKS_TEXT);
CC_PARAM(packetpair, 0, 0, 3, CC_PACKETPAIR_TEXT);

struct westwood2_state {
	struct cc_flow flow;
	struct westwood filter;
	struct cc_pair pair;
};

/* Return the last sample of bandwidth in kbit/s */
static u32 westwood2_sample_kbps(const struct westwood2_state *w)
{
	return cc_kbps(READ_ONCE(w->filter.sample));
}

static void westwood2_init(struct sock *sk)
{
	struct westwood2_state *w = inet_csk_ca(sk);

	*w = (struct westwood2_state){ 0 };
	cc_flow_init(&w->flow, sk);
	w->pair.delivered = tcp_sk(sk)->delivered;
}

static void westwood2_pkts_acked(struct sock *sk,
				 const struct ack_sample *sample)
{
	struct westwood2_state *w = inet_csk_ca(sk);

	if (sample->rtt_us > 0)
		cc_flow_rtt(&w->flow, sample->rtt_us);
}

static void westwood2_in_ack_event(struct sock *sk, u32 flags)
{
	struct westwood2_state *w = inet_csk_ca(sk);
	struct cc_sample sample;

	cc_pair_ssthresh(&w->pair, sk, w->flow.rtt_min_us, READ_ONCE(packetpair));
	if (cc_flow_sample(&w->flow, sk, &sample) &&
	    !cc_app_limited(sk, w->filter.bw))
		ww2_update(&w->filter,
			   core_rate(sample.bytes, sample.interval_us),
			   sample.interval_us, READ_ONCE(tau_us),
			   READ_ONCE(zero_samples));
	cc_trace(sk, &w->flow, w->filter.bw, westwood2_sample_kbps(w), 0);
}

static void westwood2_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	cc_cong_avoid(sk, ack, acked, READ_ONCE(count_acks));
}

static u32 westwood2_ssthresh(struct sock *sk)
{
	struct westwood2_state *w = inet_csk_ca(sk);
	u32 ssthresh = cc_ssthresh(sk, w->filter.bw, w->flow.rtt_min_us);

	return cc_ssthresh_below(&w->flow, sk, ssthresh,
				 READ_ONCE(clamp_cwnd));
}

static void westwood2_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct westwood2_state *w = inet_csk_ca(sk);

	if (cc_was_idle(sk, event))
		cc_flow_restart(&w->flow, sk);
	cc_ssthresh_event(&w->flow, sk, event);
}

static u32 westwood2_undo_cwnd(struct sock *sk)
{
	struct westwood2_state *w = inet_csk_ca(sk);

	return cc_undo_cwnd(&w->flow, sk);
}

static void westwood2_set_state(struct sock *sk, u8 state)
{
	struct westwood2_state *w = inet_csk_ca(sk);

	cc_ssthresh_state(&w->flow, sk, state);
}

static size_t westwood2_get_info(struct sock *sk, u32 ext, int *attr,
				 union tcp_cc_info *info)
{
	const struct westwood2_state *w = inet_csk_ca(sk);

	return cc_info(ext, attr, info, READ_ONCE(w->filter.bw),
		       READ_ONCE(w->flow.rtt_min_us), westwood2_sample_kbps(w),
		       0);
}

static struct tcp_congestion_ops tcp_westwood2 __read_mostly = {
	.init		= westwood2_init,
	.ssthresh	= westwood2_ssthresh,
	.cong_avoid	= westwood2_cong_avoid,
	.undo_cwnd	= westwood2_undo_cwnd,
	.cwnd_event	= westwood2_cwnd_event,
	.set_state	= westwood2_set_state,
	.in_ack_event	= westwood2_in_ack_event,
	.pkts_acked	= westwood2_pkts_acked,
	.get_info	= westwood2_get_info,
	.owner		= THIS_MODULE,
	.name		= "westwood2",
};

static int __init westwood2_register(void)
{
	BUILD_BUG_ON(sizeof(struct westwood2_state) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&tcp_westwood2);
}

static void __exit westwood2_unregister(void)
{
	tcp_unregister_congestion_control(&tcp_westwood2);
}

module_init(westwood2_register);
module_exit(westwood2_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP Westwood with its second filter");

// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP Westwood+ as in its paper
 *
 * L. A. Grieco, S. Mascolo, "Performance Evaluation and Comparison of
 * Westwood+, New Reno, and Vegas TCP Congestion Control", ACM Computer
 * Communication Review 34 (2004), section 2.2.
 *
 * One sample of bandwidth per round trip goes through a filter with its pole at
 * 0.9. At three duplicate ACKs, a timeout or an ECN mark, ssthresh = Bwe *
 * RTTmin. At three duplicate ACKs cwnd = ssthresh, also if that raises cwnd
 * (section 2.1, pseudo-code b); TIBET's condition is clamp_cwnd=1. The formulas
 * and their scales are in core/westwoodplus.h.
 *
 * Mainline's tcp_westwood differs in five points:
 *
 *   - It has two filters with the pole 7/8 in series (here with mode=1).
 *   - Its samples last at least 50 ms (here with mode=1).
 *   - It sets ssthresh only at the end of recovery. The estimate then includes
 *     the low rate of the recovery.
 *   - It measures in jiffies.
 *   - It discards RTTmin at a timeout.
 */

#define CC_TRACE_SYSTEM tcp_westwoodplus
#include "cc_westwoodplus.h"

CC_PARAM(mode, 0, 0, 1, "filter: 0 the paper's, one pole of 0.9; 1 mainline's");
CC_PARAM(clamp_cwnd, 0, 0, 1, CC_CLAMP_CWND_TEXT);
CC_PARAM(count_acks, 0, 0, 1, CC_COUNT_ACKS_TEXT);
CC_PARAM(handshake_rtt, 1, 0, 1, CC_HANDSHAKE_RTT_TEXT);
CC_PARAM(packetpair, 0, 0, 3, CC_PACKETPAIR_TEXT);

CC_SHOWS(westwoodplus, "the estimate [bytes/s]", "RTTmin [us]",
	 "the last RTT [us]", "mainline's first filter [kbit/s]");

static void westwoodplus_init(struct sock *sk)
{
	cc_wwp_init(inet_csk_ca(sk), sk, READ_ONCE(handshake_rtt));
}

static void westwoodplus_pkts_acked(struct sock *sk,
				    const struct ack_sample *ack)
{
	struct cc_wwp *w = inet_csk_ca(sk);

	cc_wwp_ack(w, sk, ack, READ_ONCE(mode), READ_ONCE(packetpair));
	westwoodplus_trace(sk);
}

static void westwoodplus_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	cc_cong_avoid(sk, ack, acked, READ_ONCE(count_acks));
}

static u32 westwoodplus_ssthresh(struct sock *sk)
{
	return cc_wwp_ssthresh(inet_csk_ca(sk), sk, READ_ONCE(clamp_cwnd));
}

static struct cc_shown westwoodplus_shown(const struct sock *sk)
{
	const struct cc_wwp *w = inet_csk_ca(sk);

	return (struct cc_shown){
		.bw = READ_ONCE(w->filter.bw),
		.rtt_min_us = READ_ONCE(w->flow.rtt_min_us),
		.first = READ_ONCE(w->flow.rtt_us),
		.second = cc_kbps(READ_ONCE(w->filter.first)),
		.pair_refused = READ_ONCE(w->pair.refused),
	};
}

static struct tcp_congestion_ops tcp_westwoodplus __read_mostly = {
	.init		= westwoodplus_init,
	.ssthresh	= westwoodplus_ssthresh,
	.cong_avoid	= westwoodplus_cong_avoid,
	.undo_cwnd	= cc_window_undo_cwnd,
	CC_CWND_EVENT(cc_sampled_cwnd_event),
	.set_state	= cc_window_set_state,
	.pkts_acked	= westwoodplus_pkts_acked,
	.get_info	= westwoodplus_get_info,
	.owner		= THIS_MODULE,
	.name		= "westwoodplus",
};

CC_MODULE(tcp_westwoodplus, struct cc_wwp, flow);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP Westwood+ with the paper's filter");

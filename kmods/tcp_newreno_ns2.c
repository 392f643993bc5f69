// SPDX-License-Identifier: GPL-2.0-only
/*
 * NewReno with a window that grows as in ns-2
 *
 * The baseline of all four papers. ns-2's tcp.cc, opencwnd(), increases the
 * window by 1 (slow start) or 1/W for each ACK. Linux counts acknowledged
 * segments, so with delayed ACKs its Reno grows twice as fast. This is the only
 * difference from Linux's reno. Use tcp_sack=0 for NewReno's recovery.
 */

#define CC_TRACE_SYSTEM tcp_newreno_ns2
#include "cc.h"
#include "core/newreno_ns2.h"

CC_PARAM(count_acks, 1, 0, 1, CC_COUNT_ACKS_TEXT);

CC_SHOWS(newreno_ns2, "unused", "RTTmin [us]",
	 "the window's fraction [2^-32 segments]", "the last RTT [us]");

struct newreno_ns2 {
	struct cc_flow flow;
	u32	fraction;	/* growth of less than a segment so far, q32 */
};

static void newreno_ns2_init(struct sock *sk)
{
	struct newreno_ns2 *n = inet_csk_ca(sk);

	n->fraction = 0;
	cc_flow_init(&n->flow, sk, true);
}

static void newreno_ns2_pkts_acked(struct sock *sk,
				   const struct ack_sample *ack)
{
	cc_flow_pkts_acked(sk, ack);
	newreno_ns2_trace(sk);
}

static void newreno_ns2_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct newreno_ns2 *n = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	acked = cc_slow_start(sk, acked, READ_ONCE(count_acks));
	if (!acked)
		return;
	cc_grow(tp, ns2_acked(&n->fraction, tcp_snd_cwnd(tp), acked));
}

static struct cc_shown newreno_ns2_shown(const struct sock *sk)
{
	const struct newreno_ns2 *n = inet_csk_ca(sk);

	return (struct cc_shown){
		.rtt_min_us = READ_ONCE(n->flow.rtt_min_us),
		.first = READ_ONCE(n->fraction),
		.second = READ_ONCE(n->flow.rtt_us),
	};
}

static struct tcp_congestion_ops tcp_newreno_ns2 __read_mostly = {
	.init		= newreno_ns2_init,
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= newreno_ns2_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.pkts_acked	= newreno_ns2_pkts_acked,
	.get_info	= newreno_ns2_get_info,
	.owner		= THIS_MODULE,
	.name		= "newreno_ns2",
};

CC_MODULE(tcp_newreno_ns2, struct newreno_ns2, flow);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("NewReno with a window that grows per ACK as in ns-2");

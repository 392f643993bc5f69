// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP LogWestwood+: logarithmic increase, adaptive decrease
 *
 * D. Kliazovich, F. Granelli, D. Miorandi, "Logarithmic window increase for TCP
 * Westwood+ for improvement in high speed, long distance networks", Computer
 * Networks 52 (2008), section 3.1.
 *
 *   on each ACK:  W += max((Wmax - W) / (alpha * W), 1 / W)
 *   on loss:      ssthresh = Bwe * RTTmin, Wmax = W
 *
 * The increase is in core/logwestwood.h, the estimate in core/westwoodplus.h.
 *
 * Parameters decide where the paper says nothing or is ambiguous:
 *
 *   - count_acks: what counts as an ACK;
 *   - halving: when alpha is halved;
 *   - rto_counts: whether a timeout changes Wmax and alpha. The paper defines
 *     Wmax by "the last packet loss event". A footnote says that a loss is
 *     three duplicate ACKs, so a timeout does not change them by default;
 *   - max_increment: whether one acknowledged segment may add several.
 */

#define CC_TRACE_SYSTEM tcp_logwestwood
#include "cc_westwoodplus.h"
#include "core/logwestwood.h"

CC_PARAM(mode, 0, 0, 1, "filter: 0 the paper's, one pole of 0.9; 1 mainline's");
CC_PARAM_CHECKED(alpha_min, 2, 2, 1073741824, true, "alpha's floor and first value");
CC_PARAM_CHECKED(alpha_max, 1073741824, 2, 1073741824, true, "alpha's ceiling");
CC_PARAM(halving, 0, 0, 2,
	 "alpha is halved: 0 when W reaches Wmax, 1 at the loss after that, 2 also after each round trip below Wmax");
CC_PARAM(rto_counts, 0, 0, 1, "1 lets a timeout change Wmax and alpha, too");
CC_PARAM(max_increment, 1, 0, 1,
	 "segments that one acknowledged segment may add; 0 for no limit");
CC_PARAM(clamp_cwnd, 0, 0, 1, CC_CLAMP_CWND_TEXT);
CC_PARAM(count_acks, 0, 0, 1, CC_COUNT_ACKS_TEXT);
CC_PARAM(handshake_rtt, 1, 0, 1, CC_HANDSHAKE_RTT_TEXT);
CC_PARAM(packetpair, 0, 0, 3, CC_PACKETPAIR_TEXT);

CC_SHOWS(logwestwood, "the estimate [bytes/s]", "RTTmin [us]",
	 "Wmax [segments]", "alpha");

struct logwestwood {
	struct cc_wwp estimate;
	struct liad window;
	u32	round_end;	/* sequence number that ends the round trip */
};

static struct liad_rules logwestwood_rules(void)
{
	u32 low = ilog2(READ_ONCE(alpha_min));

	return (struct liad_rules){
		.log2_alpha_min = low,
		.log2_alpha_max = max_t(u32, low, ilog2(READ_ONCE(alpha_max))),
		.halving = READ_ONCE(halving),
		.cap = READ_ONCE(max_increment),
	};
}

static void logwestwood_init(struct sock *sk)
{
	struct logwestwood *lw = inet_csk_ca(sk);
	struct liad_rules rules = logwestwood_rules();

	cc_wwp_init(&lw->estimate, sk, READ_ONCE(handshake_rtt));
	liad_init(&lw->window, &rules);
	lw->round_end = tcp_sk(sk)->snd_nxt;
}

static void logwestwood_pkts_acked(struct sock *sk,
				   const struct ack_sample *ack)
{
	struct logwestwood *lw = inet_csk_ca(sk);

	cc_wwp_ack(&lw->estimate, sk, ack, READ_ONCE(mode),
		   READ_ONCE(packetpair));
	logwestwood_trace(sk);
}

static void logwestwood_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct logwestwood *lw = inet_csk_ca(sk);
	struct liad_rules rules = logwestwood_rules();
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (!before(tp->snd_una, lw->round_end)) {
		lw->round_end = tp->snd_nxt;
		liad_round_trip(&lw->window, &rules);
	}
	liad_compare(&lw->window, &rules, tcp_snd_cwnd(tp));
	acked = cc_slow_start(sk, acked, READ_ONCE(count_acks));
	if (!acked)
		return;
	cc_grow(tp, liad_acked(&lw->window, &rules, tcp_snd_cwnd(tp), acked));
}

static u32 logwestwood_ssthresh(struct sock *sk)
{
	struct logwestwood *lw = inet_csk_ca(sk);
	struct liad_rules rules = logwestwood_rules();

	liad_loss(&lw->window, &rules, tcp_snd_cwnd(tcp_sk(sk)));
	return cc_wwp_ssthresh(&lw->estimate, sk, READ_ONCE(clamp_cwnd));
}

static u32 logwestwood_undo_cwnd(struct sock *sk)
{
	struct logwestwood *lw = inet_csk_ca(sk);

	liad_undo(&lw->window);
	return cc_window_undo_cwnd(sk);
}

/* At a timeout the kernel calls ssthresh() just before CA_EVENT_LOSS */
static void logwestwood_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct logwestwood *lw = inet_csk_ca(sk);

	cc_sampled_cwnd_event(sk, event);
	if (event == CA_EVENT_LOSS && !READ_ONCE(rto_counts))
		liad_timeout(&lw->window);
}

CC_TX_START(logwestwood_cwnd_event);

static struct cc_shown logwestwood_shown(const struct sock *sk)
{
	const struct logwestwood *lw = inet_csk_ca(sk);

	return (struct cc_shown){
		.bw = READ_ONCE(lw->estimate.filter.bw),
		.rtt_min_us = READ_ONCE(lw->estimate.flow.rtt_min_us),
		.first = READ_ONCE(lw->window.wmax),
		.second = 1U << READ_ONCE(lw->window.log2_alpha),
		.pair_refused = READ_ONCE(lw->estimate.pair.refused),
	};
}

static struct tcp_congestion_ops tcp_logwestwood __read_mostly = {
	.init		= logwestwood_init,
	.ssthresh	= logwestwood_ssthresh,
	.cong_avoid	= logwestwood_cong_avoid,
	.undo_cwnd	= logwestwood_undo_cwnd,
	CC_CWND_EVENT(logwestwood_cwnd_event),
	.set_state	= cc_window_set_state,
	.pkts_acked	= logwestwood_pkts_acked,
	.get_info	= logwestwood_get_info,
	.owner		= THIS_MODULE,
	.name		= "logwestwood",
};

CC_MODULE(tcp_logwestwood, struct logwestwood, estimate.flow);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP LogWestwood+");

// SPDX-License-Identifier: GPL-2.0-only
/*
 * FAST TCP
 *
 * C. Jin, D. X. Wei, S. H. Low, "FAST TCP: Motivation, Architecture,
 * Algorithms, Performance", INFOCOM 2004:
 *
 *   w = min(2w, (1 - gamma) * w + gamma * (w * baseRTT / RTT + alpha))
 *
 * every update_rtts round trips (2 by default, as in the authors' ns-2 module
 * that the Libra paper uses). The formulas are in core/fast.h. Slow start is
 * Reno's until about alpha packets are queued. A loss halves the window.
 */

#define CC_TRACE_SYSTEM tcp_fast
#include "cc.h"
#include "core/fast.h"

CC_PARAM(alpha, 100, 1, 1000000, "packets to keep in queues");
CC_PARAM(gamma_percent, 50, 1, 100, "weight of the new window");
CC_PARAM(update_rtts, 2, 1, 16, "round trips between updates of the window");
CC_PARAM(handshake_rtt, 1, 0, 1, CC_HANDSHAKE_RTT_TEXT);

CC_SHOWS(fast, "w / RTT [bytes/s]", "baseRTT [us]",
	 "the averaged RTT [us]", "the packets in queues [2^-8 segments]");

struct fast_state {
	struct cc_flow flow;
	u64	average;	/* RTT, q16 us; 0: none yet */
	u64	window;		/* w, q8 segments; 0: none yet */
	u32	round_end;	/* snd_nxt when this round trip began */
	u32	rounds;		/* since the last update */
};

static u32 fast_average_us(const struct fast_state *f)
{
	return READ_ONCE(f->average) >> FAST_RTT_SHIFT;
}

/* Return the flow's packets in queues, q8 */
static u32 fast_queued(const struct sock *sk)
{
	const struct fast_state *f = inet_csk_ca(sk);
	u64 window = READ_ONCE(tcp_sk(sk)->snd_cwnd);

	window <<= FAST_WINDOW_SHIFT;
	return min_t(u64, U32_MAX,
		     window - fast_on_the_way(window,
					      READ_ONCE(f->flow.rtt_min_us),
					      READ_ONCE(f->average)));
}

/* Return w / RTT in q10 bytes/s */
static u64 fast_bw(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct fast_state *f = inet_csk_ca(sk);
	u32 rtt_us = fast_average_us(f);
	u64 window = READ_ONCE(tp->snd_cwnd);

	if (!rtt_us)
		return 0;
	return core_rate(window * READ_ONCE(tp->mss_cache), rtt_us);
}

static void fast_init(struct sock *sk)
{
	struct fast_state *f = inet_csk_ca(sk);

	*f = (struct fast_state){ .round_end = tcp_sk(sk)->snd_nxt };
	cc_flow_init(&f->flow, sk, READ_ONCE(handshake_rtt));
}

static void fast_pkts_acked(struct sock *sk, const struct ack_sample *ack)
{
	struct fast_state *f = inet_csk_ca(sk);

	cc_flow_pkts_acked(sk, ack);
	if (ack->rtt_us > 0)
		WRITE_ONCE(f->average,
			   fast_average_rtt(f->average, ack->rtt_us,
					    tcp_snd_cwnd(tcp_sk(sk))));
	fast_trace(sk);
}

/* One step of the formula; w follows changes of cwnd by the kernel's TCP */
static void fast_update(struct sock *sk)
{
	struct fast_state *f = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 window;

	if (f->window >> FAST_WINDOW_SHIFT != tcp_snd_cwnd(tp))
		f->window = (u64)tcp_snd_cwnd(tp) << FAST_WINDOW_SHIFT;
	f->window = fast_window(f->window, f->flow.rtt_min_us, f->average,
				READ_ONCE(alpha), READ_ONCE(gamma_percent));
	window = max_t(u32, f->window >> FAST_WINDOW_SHIFT, CORE_WINDOW_MIN);
	tcp_snd_cwnd_set(tp, min(window, tp->snd_cwnd_clamp));
	/* A window that shrinks below ssthresh is not in slow start */
	tp->snd_ssthresh = min(tp->snd_ssthresh, tcp_snd_cwnd(tp));
}

static void fast_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct fast_state *f = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk) || !f->average)
		return;
	if (tcp_in_slow_start(tp)) {
		if (fast_queued(sk) >> FAST_WINDOW_SHIFT < READ_ONCE(alpha)) {
			tcp_slow_start(tp, acked);
			return;
		}
		tp->snd_ssthresh = tcp_snd_cwnd(tp);
	}
	if (!after(ack, f->round_end))
		return;
	f->round_end = tp->snd_nxt;
	if (++f->rounds < READ_ONCE(update_rtts))
		return;
	f->rounds = 0;
	fast_update(sk);
}

static struct cc_shown fast_shown(const struct sock *sk)
{
	const struct fast_state *f = inet_csk_ca(sk);

	return (struct cc_shown){
		.bw = fast_bw(sk),
		.rtt_min_us = READ_ONCE(f->flow.rtt_min_us),
		.first = fast_average_us(f),
		.second = fast_queued(sk),
	};
}

static struct tcp_congestion_ops tcp_fast __read_mostly = {
	.init		= fast_init,
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= fast_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.pkts_acked	= fast_pkts_acked,
	.get_info	= fast_get_info,
	.owner		= THIS_MODULE,
	.name		= "fast",
};

CC_MODULE(tcp_fast, struct fast_state, flow);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("FAST TCP");

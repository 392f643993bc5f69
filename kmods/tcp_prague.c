// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP Prague
 *
 * draft-briscoe-iccrg-prague-congestion-control-04, "Prague Congestion
 * Control", a scalable congestion control for L4S (RFC 9330 and 9331). The
 * formulas are in core/prague.h. Section 2.3 measures the share of marked
 * segments (alpha), 2.4 moves the window, and 2.5 paces packets.
 *
 * A mark reduces the window by alpha / 2, at most once in a virtual round-trip
 * time, and every unmarked segment increases it, also in the round trip after a
 * mark. A loss reduces it as Reno's. With rtt_min_virtual_us the increase of a
 * flow with a short RTT is that of one with this RTT, once the flow is
 * rtt_transition round trips old.
 *
 * Accurate ECN (RFC 9768) counts the marks. A peer that does not offer it gets
 * Reno without ECN (prague_classic).
 *
 * With classic_fallback a flow whose round-trip times say that its AQM has
 * classic ECN answers a mark as a loss (section 3.3, core/prague_fallback.h).
 *
 * TCP_CONG_ECT_1_NEGOTIATION of Linux 7.3 sets ECT(1) in the handshake only,
 * and cc_ect1.h in every segment.
 */

#define CC_TRACE_SYSTEM tcp_prague
#include "cc.h"
#include "cc_control.h"
#include "cc_ect1.h"
#include "core/prague.h"
#include "core/prague_fallback.h"

CC_SINCE(7, 0, "Accurate ECN");

#if !CC_HAS_ACCURATE_ECN

CC_REFUSE_TO_LOAD(prague);

#else

CC_PARAM(gain_shift, 4, 0, 16, "gain of alpha's average is 1/2^this");
CC_PARAM(rtt_min_virtual_us, 25000, 0, 1000000,
	 "least virtual round-trip time; 0: no RTT independence");
CC_PARAM(rtt_transition, 500, 0, 60000,
	 "round trips in congestion avoidance before RTT independence");
CC_PARAM(loss_percent, 50, 10, 90, "window after a loss, of that before");
CC_PARAM(pacing, 1, 0, 1, "1 sends at a window a round trip, 0 as Linux paces");
CC_PARAM(classic_fallback, 0, 0, 1,
	 "1 answers marks as losses where the AQM seems to have classic ECN");
CC_PARAM(handshake_rtt, 1, 0, 1, CC_HANDSHAKE_RTT_TEXT);

CC_SHOWS(prague, "the pacing rate [bytes/s]", "RTTmin [us]", "alpha [2^-30]",
	 "the virtual round-trip time [us]");

/* Bursts last 2^-12 s, 244 us: at most 250 us (2.5.2) */
#define PRAGUE_PACING_SHIFT 12

struct prague_state {
	struct cc_flow flow;
	u64	alpha;		/* q32 */
	u64	reduced_us;	/* when a mark reduced the window; 0: never */
	u32	period_us;	/* when alpha's period began, modulo 2^32 */
	u32	period_seq;	/* snd_nxt when alpha's period began */
	u32	delivered;	/* tp->delivered then */
	u32	delivered_ce;	/* tp->delivered_ce then */
	u32	seen_ce;	/* tp->delivered_ce after the ACK before */
	u32	marks;		/* marks of the ACK that is processed now */
	u32	round_seq;	/* snd_nxt when this round trip began */
	u32	before;		/* window before a mark in this round trip */
	u32	virtual_us;	/* the virtual round-trip time */
	u32	fraction;	/* of a segment, above cwnd, q32 */
	u16	rounds;		/* round trips in congestion avoidance */
	bool	marked;		/* there has been a mark: alpha is averaged */
	struct cc_control control;
	struct prague_fallback fallback;
};

static struct tcp_congestion_ops tcp_prague;
static struct tcp_congestion_ops tcp_prague_classic;

static u64 prague_window(const struct sock *sk)
{
	const struct prague_state *p = inet_csk_ca(sk);

	return ((u64)tcp_snd_cwnd(tcp_sk(sk)) << 32) + p->fraction;
}

static void prague_set_window(struct sock *sk, u64 window)
{
	struct prague_state *p = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	p->fraction = window;
	tcp_snd_cwnd_set(tp, min_t(u64, window >> 32, tp->snd_cwnd_clamp));
}

static u32 prague_srtt_us(const struct sock *sk)
{
	return max(tcp_sk(sk)->srtt_us >> 3, 1U);
}

/* Return c: how far a flow has fallen back, q32 */
static u64 prague_classic_share(const struct prague_state *p)
{
	if (!READ_ONCE(classic_fallback))
		return 0;
	return fallback_share(READ_ONCE(p->fallback.score));
}

/* Return the alpha of which a mark takes half, q32 */
static u64 prague_used_alpha(const struct prague_state *p)
{
	return fallback_alpha(READ_ONCE(p->alpha), prague_classic_share(p),
			      READ_ONCE(loss_percent));
}

/* Return whether RTT independence has begun, which a short flow does not need */
static bool prague_independent(const struct prague_state *p)
{
	return p->rounds >= READ_ONCE(rtt_transition);
}

static void prague_pace(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	bool slow = tcp_snd_cwnd(tp) < tp->snd_ssthresh / 2;
	u64 rate = cc_window_rate(sk, slow ? 200 : 100);

	if (!READ_ONCE(pacing))
		cc_pace_as_kernel(sk);
	else if (rate)
		cc_pace(sk, rate);
}

static void prague_init(struct sock *sk)
{
	struct prague_state *p = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_ecn_mode_accecn(tp)) {
		WRITE_ONCE(inet_csk(sk)->icsk_ca_ops, &tcp_prague_classic);
		return;
	}
	*p = (struct prague_state){
		.alpha = CORE_ONE_Q32,
		.seen_ce = tp->delivered_ce,
		.round_seq = tp->snd_nxt,
		.fallback.score = FALLBACK_LEAST,
	};
	cc_flow_init(&p->flow, sk, READ_ONCE(handshake_rtt));
	cc_control_init(&p->control, sk);
	sk_pacing_shift_update(sk, PRAGUE_PACING_SHIFT);
	prague_pace(sk);
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

static void prague_pkts_acked(struct sock *sk, const struct ack_sample *ack)
{
	struct prague_state *p = inet_csk_ca(sk);

	cc_flow_pkts_acked(sk, ack);
	if (ack->rtt_us > 0)
		fallback_sample(&p->fallback, ack->rtt_us,
				tcp_snd_cwnd(tcp_sk(sk)));
	cc_control_pkts_acked(&p->control, ack);
	prague_trace(sk);
}

/* The kernel has counted this ACK's marks, and has not reacted to them yet */
static void prague_in_ack_event(struct sock *sk, u32 flags)
{
	struct prague_state *p = inet_csk_ca(sk);

	p->marks = tcp_sk(sk)->delivered_ce - p->seen_ce;
}

static u32 prague_loss_ssthresh(const struct sock *sk, u32 window)
{
	const struct prague_state *p = inet_csk_ca(sk);

	return prague_loss(window, p->before, READ_ONCE(loss_percent));
}

/*
 * The kernel also calls this hook for a mark, and then does not tell it from a
 * loss. prague_mark() reduces the window for marks, so ssthresh stays here.
 */
static u32 prague_ssthresh(struct sock *sk)
{
	const struct prague_state *p = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	return p->marks ? tp->snd_ssthresh
			: prague_loss_ssthresh(sk, tcp_snd_cwnd(tp));
}

static void prague_set_state(struct sock *sk, u8 state)
{
	u8 before = inet_csk(sk)->icsk_ca_state;
	struct prague_state *p = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (state == TCP_CA_CWR && !p->marks) {
		/* The host's own queue dropped a segment */
		tcp_snd_cwnd_set(tp, tp->snd_ssthresh);
	} else if (state == TCP_CA_Recovery && before < TCP_CA_Recovery) {
		tp->snd_ssthresh = prague_loss_ssthresh(sk, tcp_snd_cwnd(tp));
		if (before == TCP_CA_CWR) {
			/* The kernel began the reduction at the mark */
			tp->prior_cwnd = tcp_snd_cwnd(tp);
			tp->prr_delivered = 0;
			tp->prr_out = 0;
		}
	} else if (state == TCP_CA_Loss && before == TCP_CA_CWR) {
		/* The kernel has not asked, and has set cwnd already */
		tp->snd_ssthresh = prague_loss_ssthresh(sk, tp->prior_cwnd);
	}
	if (before != TCP_CA_CWR || state == TCP_CA_Recovery)
		cc_control_set_state(&p->control, sk, state);
	if (state != TCP_CA_CWR)
		p->before = 0;
}

static void prague_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct prague_state *p = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (event == CA_EVENT_LOSS) {
		p->marks = 0;
		tp->snd_ssthresh = prague_loss_ssthresh(sk, tcp_snd_cwnd(tp));
	}
	cc_control_event(sk, event);
}

CC_TX_START(prague_cwnd_event);

/* Begin a period of alpha at this ACK, which counts if it is the first mark */
static void prague_begin_period(struct sock *sk, u32 acked, u32 marks)
{
	struct prague_state *p = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	p->period_us = tp->tcp_mstamp;
	p->period_seq = tp->snd_nxt;
	p->delivered = tp->delivered - acked;
	p->delivered_ce = tp->delivered_ce - marks;
}

/* Average alpha once in a virtual round-trip time, from the first mark on */
static void prague_average(struct sock *sk, u32 acked)
{
	struct prague_state *p = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 delivered = tp->delivered - p->delivered;

	if (!p->marked) {
		p->marked = p->marks;
		prague_begin_period(sk, acked, p->marks);
		return;
	}
	if (before(tp->snd_una, p->period_seq) || !delivered ||
	    (p->virtual_us > prague_srtt_us(sk) &&
	     (u32)tp->tcp_mstamp - p->period_us < p->virtual_us))
		return;
	WRITE_ONCE(p->alpha,
		   prague_alpha(p->alpha, tp->delivered_ce - p->delivered_ce,
				delivered, READ_ONCE(gain_shift)));
	prague_begin_period(sk, 0, 0);
}

/* Count round trips in congestion avoidance, and set the virtual one */
static void prague_round(struct sock *sk)
{
	struct prague_state *p = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 least = prague_independent(p) ? READ_ONCE(rtt_min_virtual_us) : 0;

	least = fallback_least_rtt(least, prague_classic_share(p));
	WRITE_ONCE(p->virtual_us, prague_virtual_rtt(prague_srtt_us(sk), least));
	if (before(tp->snd_una, p->round_seq))
		return;
	p->round_seq = tp->snd_nxt;
	if (!tcp_in_slow_start(tp) && p->rounds < U16_MAX)
		p->rounds++;
	if (!tcp_in_slow_start(tp) && p->marked)
		fallback_round(&p->fallback, p->flow.rtt_min_us);
}

/* Reduce the window for a mark, at most once in a virtual round-trip time */
static void prague_mark(struct sock *sk)
{
	struct prague_state *p = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u64 alpha = prague_used_alpha(p);

	if (p->reduced_us &&
	    tp->tcp_mstamp - p->reduced_us < p->virtual_us)
		return;
	p->reduced_us = tp->tcp_mstamp;
	p->before = tcp_snd_cwnd(tp);
	prague_set_window(sk, prague_reduce(prague_window(sk), alpha));
	tp->snd_ssthresh = tcp_snd_cwnd(tp);
}

/*
 * A paced flow need not fill its window: its packets leave within a round trip.
 * So the window also grows if the flow had data for more, and used half of it.
 */
static bool prague_uses_window(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tcp_is_cwnd_limited(sk) ||
	       (!tp->app_limited &&
		tcp_snd_cwnd(tp) < 2 * tp->max_packets_out);
}

static void prague_grow_window(struct sock *sk, u32 unmarked)
{
	const struct prague_state *p = inet_csk_ca(sk);
	u64 increase;

	if (!prague_uses_window(sk))
		return;
	unmarked = cc_slow_start(sk, unmarked, false);
	if (!unmarked)
		return;
	increase = prague_increase(prague_srtt_us(sk), p->virtual_us);
	prague_set_window(sk, prague_grow(prague_window(sk), increase, unmarked));
}

static void prague_cong_control(CC_CONTROL_ARGUMENTS)
{
	u8 state = inet_csk(sk)->icsk_ca_state;
	struct prague_state *p = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 unmarked;

	/* The handshake's ACK comes before init */
	if (!inet_csk(sk)->icsk_ca_initialized)
		return;
	prague_round(sk);
	prague_average(sk, rs->acked_sacked);
	if (state == TCP_CA_Recovery) {
		cc_reduce(tp, rs->acked_sacked,
			  tp->snd_una != p->control.una && !rs->losses);
	} else {
		if (p->marks)
			prague_mark(sk);
		unmarked = rs->acked_sacked - min(rs->acked_sacked, p->marks);
		if (cc_may_raise_cwnd(&p->control, sk, rs))
			prague_grow_window(sk, unmarked);
		tp->snd_cwnd_stamp = tcp_jiffies32;
	}
	p->control.una = tp->snd_una;
	p->control.in_ack = false;
	p->seen_ce = tp->delivered_ce;
	p->marks = 0;
	prague_pace(sk);
}

/* Packets are paced one by one at low rates */
static u32 prague_min_tso_segs(struct sock *sk)
{
	return 1;
}

static struct cc_shown prague_shown(const struct sock *sk)
{
	const struct prague_state *p = inet_csk_ca(sk);

	return (struct cc_shown){
		.bw = (u64)READ_ONCE(sk->sk_pacing_rate) << CORE_BW_SHIFT,
		.rtt_min_us = READ_ONCE(p->flow.rtt_min_us),
		.first = prague_used_alpha(p) >> 2,
		.second = READ_ONCE(p->virtual_us),
	};
}

static struct tcp_congestion_ops tcp_prague __read_mostly = {
	.init		= prague_init,
	.ssthresh	= prague_ssthresh,
	.cong_control	= prague_cong_control,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.set_state	= prague_set_state,
	CC_CWND_EVENT(prague_cwnd_event),
	.in_ack_event	= prague_in_ack_event,
	.pkts_acked	= prague_pkts_acked,
	.min_tso_segs	= prague_min_tso_segs,
	.get_info	= prague_get_info,
	.flags		= TCP_CONG_NEEDS_ECN | TCP_CONG_NEEDS_ACCECN |
			  TCP_CONG_ECT_1_NEGOTIATION |
			  TCP_CONG_NO_FALLBACK_RFC3168,
	.owner		= THIS_MODULE,
	.name		= "prague",
};

/*
 * What a connection without Accurate ECN gets. It is not registered, so nobody
 * can choose it. The macro keeps the name from catalogue.py.
 */
#define PRAGUE_CLASSIC "prague-classic"

static struct tcp_congestion_ops tcp_prague_classic __read_mostly = {
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= PRAGUE_CLASSIC,
};

static const struct nf_hook_ops prague_hooks[] = CC_ECT1_HOOKS(tcp_prague);

static int __net_init prague_net_init(struct net *net)
{
	return nf_register_net_hooks(net, prague_hooks,
				     ARRAY_SIZE(prague_hooks));
}

static void __net_exit prague_net_exit(struct net *net)
{
	nf_unregister_net_hooks(net, prague_hooks, ARRAY_SIZE(prague_hooks));
}

static struct pernet_operations prague_net_ops = {
	.init	= prague_net_init,
	.exit	= prague_net_exit,
};

static int __init prague_register(void)
{
	int err;

	CC_CHECK_STATE(struct prague_state, flow);
	err = register_pernet_subsys(&prague_net_ops);
	if (err)
		return err;
	err = tcp_register_congestion_control(&tcp_prague);
	if (err)
		unregister_pernet_subsys(&prague_net_ops);
	return err;
}

static void __exit prague_unregister(void)
{
	tcp_unregister_congestion_control(&tcp_prague);
	unregister_pernet_subsys(&prague_net_ops);
}

module_init(prague_register);
module_exit(prague_unregister);

#endif /* CC_HAS_ACCURATE_ECN */

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP Prague");

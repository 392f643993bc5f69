/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The window of a congestion control that has the hook cong_control.
 *
 * A module needs that hook to set the pacing rate: else the kernel sets its own
 * at each ACK, after every other hook. But the kernel then leaves more to the
 * module. Here is what it does for all others, with the functions of Linux 6.12
 * (net/ipv4/tcp_input.c, tcp_output.c and include/net/tcp.h) that do it there:
 *
 *   tcp_cong_control()                 what an ACK does to cwnd
 *   tcp_may_raise_cwnd()               which ACKs raise it
 *   tcp_cwnd_reduction()               recovery (core/prr.h)
 *   tcp_rack_reo_timeout()             its first step when a timer begins it
 *   tcp_end_cwnd_reduction()           cwnd = ssthresh when recovery ends
 *   tcp_cwnd_restart()                 a smaller cwnd after a pause
 *   tcp_update_pacing_rate()           the pacing rate of modules that set none
 *
 * Modules cannot call these functions. tcp_cwnd_application_limited() has no
 * equal here. It acts only if data is sent when no ACK has come for a
 * retransmission timeout.
 */
#ifndef CC_CONTROL_H
#define CC_CONTROL_H

#include <net/dst.h>
#include <net/tcp.h>

#include "core/prr.h"

/* What an ACK says that cong_control is not told on every kernel */
struct cc_control {
	u32	una;		/* snd_una at the ACK before */
	bool	in_order;	/* this ACK acknowledges data in order */
	bool	in_ack;		/* an ACK is processed now */
};

/* Call it from pkts_acked, which precedes cong_control at each ACK */
static inline void cc_control_pkts_acked(struct cc_control *control,
					 const struct ack_sample *ack)
{
	control->in_order = ack->pkts_acked;
	control->in_ack = true;
}

static inline bool cc_may_raise_cwnd(const struct cc_control *control,
				     const struct sock *sk,
				     const struct rate_sample *rs)
{
	int usual = READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_reordering);

	if (tcp_sk(sk)->reordering > usual)
		return rs->acked_sacked > 0;
	return control->in_order;
}

static inline void cc_reduce(struct tcp_sock *tp, s32 newly, bool clean)
{
	struct prr prr = {
		.ssthresh = tp->snd_ssthresh,
		.window = tp->prior_cwnd,
		.in_flight = tcp_packets_in_flight(tp),
		.delivered = tp->prr_delivered + newly,
		.sent = tp->prr_out,
		.newly = newly,
		.clean = clean,
	};

	if (newly <= 0 || !tp->prior_cwnd)
		return;
	tp->prr_delivered = prr.delivered;
	tcp_snd_cwnd_set(tp, prr.in_flight + prr_allowed(&prr));
}

static inline u32 cc_initial_window(const struct sock *sk)
{
	const struct dst_entry *dst = __sk_dst_get((struct sock *)sk);
	u32 window = dst ? dst_metric(dst, RTAX_INITCWND) : 0;

	return min_t(u32, window ? window : TCP_INIT_CWND,
		     tcp_sk(sk)->snd_cwnd_clamp);
}

/* The window's part of cong_control; grow is given the segments that count */
static inline void cc_control_window(struct cc_control *control,
				     struct sock *sk,
				     const struct rate_sample *rs,
				     void (*grow)(struct sock *sk, u32 acked))
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (tcp_in_cwnd_reduction(sk)) {
		cc_reduce(tp, rs->acked_sacked,
			  tp->snd_una != control->una && !rs->losses);
	} else if (cc_may_raise_cwnd(control, sk, rs)) {
		grow(sk, rs->acked_sacked);
		tp->snd_cwnd_stamp = tcp_jiffies32;
	}
	control->una = tp->snd_una;
	control->in_ack = false;
}

/*
 * Call it from set_state. Recovery may begin between ACKs, by the timer of RACK
 * (RFC 8985). It ends, as does the reduction after an ECN mark, with cwnd =
 * ssthresh. undo_marker is 0 if there was no loss; the kernel then restores cwnd.
 */
static inline void cc_control_set_state(const struct cc_control *control,
					struct sock *sk, u8 state)
{
	u8 before = inet_csk(sk)->icsk_ca_state;
	struct tcp_sock *tp = tcp_sk(sk);

	if (state == TCP_CA_Recovery && !control->in_ack)
		cc_reduce(tp, 1, false);
	if (state >= TCP_CA_CWR || before < TCP_CA_CWR ||
	    before > TCP_CA_Recovery ||
	    tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH)
		return;
	if (before == TCP_CA_CWR || tp->undo_marker) {
		tcp_snd_cwnd_set(tp, tp->snd_ssthresh);
		tp->snd_cwnd_stamp = tcp_jiffies32;
	}
}

/*
 * Call it from cwnd_event: after a pause of more than a retransmission timeout
 * the window is halved for each of them, down to the initial window.
 */
static inline void cc_control_event(struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 window = tcp_snd_cwnd(tp);
	u32 least = min(window, cc_initial_window(sk));
	s32 rto = inet_csk(sk)->icsk_rto;
	s32 pause = tcp_jiffies32 - tp->lsndtime;

	if (event != CA_EVENT_TX_START || tp->packets_out || pause <= rto ||
	    !READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_slow_start_after_idle))
		return;
	tp->snd_ssthresh = tcp_current_ssthresh(sk);
	while ((pause -= rto) > 0 && window > least)
		window >>= 1;
	tcp_snd_cwnd_set(tp, max(window, least));
	tp->snd_cwnd_stamp = tcp_jiffies32;
	tp->snd_cwnd_used = 0;
}

CC_TX_START(cc_control_event);

/* Return so much of a window a round trip in bytes/s; 0 without an RTT */
static inline u64 cc_window_rate(const struct sock *sk, u32 percent)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 bytes = (u64)max(tcp_snd_cwnd(tp), tp->packets_out) * tp->mss_cache;

	/* srtt_us is in eighths */
	return tp->srtt_us ? core_scale(bytes * percent,
					(USEC_PER_SEC / 100) << 3, tp->srtt_us)
			   : 0;
}

static inline void cc_pace(struct sock *sk, u64 bytes_per_s)
{
	u64 most = READ_ONCE(sk->sk_max_pacing_rate);

	WRITE_ONCE(sk->sk_pacing_rate, min_t(u64, bytes_per_s, most));
}

/*
 * Return the kernel's own pacing rate; 0 without an RTT. It is 200% of the
 * window's in slow start and 120% later, so that a growing window is sent
 * within a round trip.
 */
static inline u64 cc_kernel_rate(const struct sock *sk)
{
	const struct net *net = sock_net(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	if (tcp_snd_cwnd(tp) < tp->snd_ssthresh / 2)
		return cc_window_rate(sk, READ_ONCE(net->ipv4.sysctl_tcp_pacing_ss_ratio));
	return cc_window_rate(sk, READ_ONCE(net->ipv4.sysctl_tcp_pacing_ca_ratio));
}

static inline void cc_pace_as_kernel(struct sock *sk)
{
	u64 rate = cc_kernel_rate(sk);

	if (rate)
		cc_pace(sk, rate);
}

/*
 * Call it from init. A connection that the peer opened gets its first rate now,
 * and others at the handshake's ACK, which comes before init.
 */
static inline void cc_control_init(struct cc_control *control, struct sock *sk)
{
	*control = (struct cc_control){ .una = tcp_sk(sk)->snd_una };
	if (sk->sk_state == TCP_SYN_RECV)
		cc_pace_as_kernel(sk);
}

#endif /* CC_CONTROL_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/* Growth of the window, and ssthresh at and after a loss. */
#ifndef CC_WINDOW_H
#define CC_WINDOW_H

#include <net/tcp.h>

#include "cc_flow.h"
#include "core/arith.h"

#define CC_COUNT_ACKS_TEXT						\
	"1 counts ACKs when the window grows, as ns-2 does; 0 counts segments"

static inline void cc_cong_avoid(struct sock *sk, u32 ack, u32 acked,
				 bool count_acks)
{
	tcp_reno_cong_avoid(sk, ack, count_acks ? min(acked, 1U) : acked);
}

/*
 * Grow by slow start below ssthresh. Return how many of the acknowledged
 * segments are left for congestion avoidance, which then is the module's.
 */
static inline u32 cc_slow_start(struct sock *sk, u32 acked, bool count_acks)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (count_acks)
		acked = min(acked, 1U);
	return tcp_in_slow_start(tp) ? tcp_slow_start(tp, acked) : acked;
}

/* Add whole segments to the window, up to snd_cwnd_clamp */
static inline void cc_grow(struct tcp_sock *tp, u32 segments)
{
	u64 window = (u64)tcp_snd_cwnd(tp) + segments;

	tcp_snd_cwnd_set(tp, min_t(u64, window, tp->snd_cwnd_clamp));
}

#define CC_CLAMP_CWND_TEXT						\
	"a loss with ssthresh above cwnd: 1 leaves cwnd as it is, "	\
	"0 raises cwnd to ssthresh"

/* Return Bwe * RTTmin; half of the window while there is no estimate */
static inline u32 cc_ssthresh(struct sock *sk, u64 bw, u32 rtt_min_us)
{
	if (!bw || rtt_min_us == U32_MAX)
		return tcp_reno_ssthresh(sk);
	return core_bdp_segments(bw, rtt_min_us, tcp_sk(sk)->mss_cache);
}

/*
 * "if (cwnd > ssthresh) cwnd = ssthresh" at three duplicate ACKs (TIBET paper,
 * section 3.1): a smaller cwnd stays, and grows to ssthresh by slow start after
 * recovery. The kernel takes cwnd to tp->snd_ssthresh in both directions, during
 * recovery (tcp_cwnd_reduction) and at its end (tcp_end_cwnd_reduction). So it
 * gets the smaller of both here, and ssthresh itself by the hooks below.
 */
static inline u32 cc_ssthresh_below(struct cc_flow *flow, const struct sock *sk,
				    u32 ssthresh, bool clamp)
{
	u32 window = tcp_snd_cwnd(tcp_sk(sk));

	flow->ssthresh = 0;
	if (!clamp || ssthresh <= window)
		return ssthresh;
	flow->ssthresh = ssthresh;
	return window;
}

static inline void cc_ssthresh_restore(struct cc_flow *flow, struct sock *sk)
{
	if (flow->ssthresh)
		tcp_sk(sk)->snd_ssthresh = flow->ssthresh;
	flow->ssthresh = 0;
}

/*
 * Hook set_state of modules that use cc_ssthresh_below(). A timeout has no
 * condition. It may come during recovery, when the kernel does not ask for
 * another ssthresh. Recovery also ends without CA_EVENT_COMPLETE_CWR if it was
 * spurious, but an ECN mark forbids to undo it. undo_marker is 0 then. Otherwise
 * the state becomes Open before cwnd is set to ssthresh.
 */
static inline void cc_window_set_state(struct sock *sk, u8 state)
{
	if (state == TCP_CA_Loss ||
	    (state < TCP_CA_CWR && !tcp_sk(sk)->undo_marker))
		cc_ssthresh_restore(cc_flow_of(sk), sk);
}

/* Their hook undo_cwnd: at an undo the kernel restores ssthresh */
static inline u32 cc_window_undo_cwnd(struct sock *sk)
{
	cc_flow_of(sk)->ssthresh = 0;
	return tcp_reno_undo_cwnd(sk);
}

/* Their hook cwnd_event: recovery or the reduction after an ECN mark ends */
static inline void cc_window_cwnd_event(struct sock *sk,
					enum tcp_ca_event event)
{
	if (event == CA_EVENT_COMPLETE_CWR)
		cc_ssthresh_restore(cc_flow_of(sk), sk);
}

/* The same for modules that sample the data of ACKs by cc_flow_sample() */
static inline void cc_sampled_cwnd_event(struct sock *sk,
					 enum tcp_ca_event event)
{
	if (cc_was_idle(sk, event))
		cc_flow_restart(cc_flow_of(sk), sk);
	cc_window_cwnd_event(sk, event);
}

CC_TX_START(cc_sampled_cwnd_event);

#endif /* CC_WINDOW_H */

// SPDX-License-Identifier: GPL-2.0-only
/*
 * TIBET: Time Intervals based Bandwidth Estimation Technique
 *
 * A. Capone, L. Fratta, F. Martignon, "Bandwidth Estimation Schemes for TCP
 * over Wireless Networks", IEEE Transactions on Mobile Computing 3 (2004),
 * section 3.
 *
 *   Bwe = filtered length / filtered interval, then filtered with T0
 *   three duplicate ACKs:  ssthresh = Bwe * RTTmin, cwnd = min(cwnd, ssthresh)
 *   timeout:               ssthresh = Bwe * RTTmin, cwnd = 1
 *
 * The filters are in core/tibet.h. The increase is Reno's.
 *
 * The paper gives the estimate for the stream of sent packets and for that of
 * received ACKs. All its results use the former (section 3.1), for which Linux
 * has no hook. estimate_on=1 takes the packets sent between two ACKs, which
 * share the data and the time equally. So the estimate is late by less than the
 * time between two ACKs. If RTTmin ages (n_cong > 0), it does so before
 * ssthresh is set at the same event. It does not fall below rtt_min_floor_us.
 */

#define CC_TRACE_SYSTEM tcp_tibet
#include "cc.h"
#include "core/tibet.h"

CC_PARAM(estimate_on, 1, 0, 1, "the estimate uses: 0 ACKs, 1 sent packets");
CC_PARAM(t0_us, 1000000, 0, 60000000, "time constant T0 of the second filter; 0 disables it");
CC_PARAM(n_cong, 0, 0, 1000, "congestion events until RTTmin ages; 0 never (paper: 5)");
CC_PARAM(gamma_percent, 50, 0, 100, "RTTmin after ageing, in percent of RTTmin before");
CC_PARAM(rtt_min_floor_us, 1000, 1, 1000000, "RTTmin does not age below this value");
CC_PARAM(clock_gran_us, 0, 0, 10000000, "granularity of the RTT clock; 0 is exact");
CC_PARAM(clamp_cwnd, 1, 0, 1, CC_CLAMP_CWND_TEXT);
CC_PARAM(count_acks, 0, 0, 1, CC_COUNT_ACKS_TEXT);
CC_PARAM(handshake_rtt, 1, 0, 1, CC_HANDSHAKE_RTT_TEXT);
CC_PARAM(packetpair, 0, 0, 3, CC_PACKETPAIR_TEXT);

CC_SHOWS(tibet, "the estimate [bytes/s]", "RTTmin [us]",
	 "the filtered interval [us]", "the filtered length [bytes]");

struct tibet_state {
	struct cc_flow flow;
	struct tibet filter;
	u32	sent;		/* low bits of tp->bytes_sent at the last sample */
	u32	segments;	/* tp->data_segs_out at the last sample */
	u16	events;		/* congestion events since RTTmin aged */
	u16	saved_events;	/* events before the last one, for undo */
	u32	unaged_rtt_min_us; /* RTTmin before ageing; U32_MAX: unchanged */
	struct packet_pair pair;
};

static u32 tibet_rtt_us(u32 rtt_us)
{
	return tibet_coarse_rtt(rtt_us, READ_ONCE(clock_gran_us));
}

static void tibet_init(struct sock *sk)
{
	struct tibet_state *t = inet_csk_ca(sk);

	*t = (struct tibet_state){ 0 };
	cc_flow_init(&t->flow, sk, READ_ONCE(handshake_rtt));
	t->flow.rtt_min_us = tibet_rtt_us(t->flow.rtt_min_us);
	t->unaged_rtt_min_us = U32_MAX;
}

/* What was sent so far does not count in the next sample */
static void tibet_count_sent(struct tibet_state *t, const struct tcp_sock *tp)
{
	t->sent = (u32)tp->bytes_sent;
	t->segments = tp->data_segs_out;
}

/*
 * Add the packets that were sent since the last ACK at which there were some,
 * retransmissions included. The first window has no interval.
 */
static void tibet_sent(struct tibet_state *t, const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 n = tp->data_segs_out - t->segments;
	u32 bytes = (u32)tp->bytes_sent - t->sent;
	u64 last_us = t->flow.ack_us;

	if (last_us ? !n || tp->tcp_mstamp <= last_us :
		      cc_delivered(sk) == t->flow.delivered)
		return;
	t->flow.ack_us = tp->tcp_mstamp;
	t->flow.delivered = cc_delivered(sk);
	tibet_count_sent(t, tp);
	if (last_us && !cc_app_limited(sk, t->filter.bw))
		tibet_sample(&t->filter, bytes,
			     min_t(u64, tp->tcp_mstamp - last_us, U32_MAX), n,
			     READ_ONCE(t0_us));
}

static void tibet_acked(struct tibet_state *t, const struct sock *sk,
			const struct ack_sample *ack)
{
	struct cc_sample sample;

	if (!cc_flow_sample(&t->flow, sk, ack, &sample))
		return;
	tibet_count_sent(t, tcp_sk(sk));
	if (!cc_app_limited(sk, t->filter.bw))
		tibet_sample(&t->filter, sample.bytes, sample.interval_us, 1,
			     READ_ONCE(t0_us));
}

static void tibet_pkts_acked(struct sock *sk, const struct ack_sample *ack)
{
	struct tibet_state *t = inet_csk_ca(sk);

	if (ack->rtt_us > 0)
		cc_flow_rtt(&t->flow, tibet_rtt_us(ack->rtt_us));
	cc_pair_ssthresh(&t->pair, sk, ack, t->flow.rtt_min_us,
			 READ_ONCE(packetpair));
	if (READ_ONCE(estimate_on))
		tibet_sent(t, sk);
	else
		tibet_acked(t, sk, ack);
	tibet_trace(sk);
}

static void tibet_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	cc_cong_avoid(sk, ack, acked, READ_ONCE(count_acks));
}

/* A congestion event ages RTTmin */
static void tibet_age(struct tibet_state *t)
{
	u32 before_us = t->flow.rtt_min_us, after_us;

	t->saved_events = t->events;
	t->unaged_rtt_min_us = U32_MAX;
	if (before_us == U32_MAX)
		return;
	after_us = tibet_age_rtt_min(before_us, &t->events, READ_ONCE(n_cong),
				     READ_ONCE(gamma_percent),
				     READ_ONCE(rtt_min_floor_us));
	if (after_us == before_us)
		return;
	t->unaged_rtt_min_us = before_us;
	WRITE_ONCE(t->flow.rtt_min_us, after_us);
}

static u32 tibet_ssthresh(struct sock *sk)
{
	struct tibet_state *t = inet_csk_ca(sk);

	tibet_age(t);
	return cc_ssthresh_below(&t->flow, sk,
				 cc_ssthresh(sk, t->filter.bw,
					     t->flow.rtt_min_us),
				 READ_ONCE(clamp_cwnd));
}

/* A spurious congestion event does not age RTTmin */
static u32 tibet_undo_cwnd(struct sock *sk)
{
	struct tibet_state *t = inet_csk_ca(sk);

	if (t->unaged_rtt_min_us != U32_MAX)
		WRITE_ONCE(t->flow.rtt_min_us, t->unaged_rtt_min_us);
	t->unaged_rtt_min_us = U32_MAX;
	t->events = t->saved_events;
	return cc_window_undo_cwnd(sk);
}

static struct cc_shown tibet_shown(const struct sock *sk)
{
	const struct tibet_state *t = inet_csk_ca(sk);

	return (struct cc_shown){
		.bw = READ_ONCE(t->filter.bw),
		.rtt_min_us = READ_ONCE(t->flow.rtt_min_us),
		.first = READ_ONCE(t->filter.interval) >> TIBET_SHIFT,
		.second = READ_ONCE(t->filter.length) >> TIBET_SHIFT,
		.pair_refused = READ_ONCE(t->pair.refused),
	};
}

static struct tcp_congestion_ops tcp_tibet __read_mostly = {
	.init		= tibet_init,
	.ssthresh	= tibet_ssthresh,
	.cong_avoid	= tibet_cong_avoid,
	.undo_cwnd	= tibet_undo_cwnd,
	CC_CWND_EVENT(cc_sampled_cwnd_event),
	.set_state	= cc_window_set_state,
	.pkts_acked	= tibet_pkts_acked,
	.get_info	= tibet_get_info,
	.owner		= THIS_MODULE,
	.name		= "tibet",
};

CC_MODULE(tcp_tibet, struct tibet_state, flow);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TIBET: Time Intervals based Bandwidth Estimation Technique");

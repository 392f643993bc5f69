// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP Libra
 *
 * "TCP Libra: balancing flows over heterogeneous propagation scenarios",
 * section 2.1. T is the round-trip time and w the window:
 *
 *   on success:  w += (1/w) * alpha * T^2 / (T + T0)
 *   on loss:     w -= T1 * w / (2 * (T + T0)), ssthresh accordingly
 *   alpha = k1 * C * e^(-k2 * (T - Tmin) / (Tmax - Tmin))
 *
 * The formulas are in core/libra.h. Packets are sent at times that are random
 * and uniform within a round trip (section 5.3, pacing=1): each ACK draws the
 * gap between the packets that are sent until the next ACK.
 *
 * The paper does not give C's unit (capacity_unit). It is Mbit/s by default: a
 * flow of 83 ms on 100 Mbit/s then grows by 1.3 packets per round trip, similar
 * to Reno. Nor does the paper give k2 and T1 (2 and 1 s by default), or how C
 * is estimated. C is a setting of the network namespace, so that an experiment
 * can give flows a wrong C (section 6):
 *
 *   net.ipv4.libra_capacity_kbps   kbit/s; 0 estimates it by packet pairs
 *
 * While C is unknown, the increase is Reno's.
 */

#define CC_TRACE_SYSTEM tcp_libra
#include "cc.h"
#include "cc_control.h"
#include "cc_netns.h"
#include <linux/random.h>
#include "core/libra.h"
#include "core/newreno_ns2.h"

CC_PARAM(t0_us, 1000000, 0, 16000000, "the paper's T0");
CC_PARAM(t1_us, 1000000, 0, 16000000, "the paper's T1");
CC_PARAM(k1_percent, 200, 1, 100000, "100 * k1");
CC_PARAM(k2_percent, 200, 0, 2000, "100 * k2");
CC_PARAM(capacity_unit, 0, 0, 1, "unit of C: 0 Mbit/s, 1 segments per second");
CC_PARAM(pacing, 1, 0, 1, "1 sends at random times within a round trip");
CC_PARAM(count_acks, 0, 0, 1, CC_COUNT_ACKS_TEXT);
CC_PARAM(handshake_rtt, 1, 0, 1, CC_HANDSHAKE_RTT_TEXT);
CC_PARAM(packetpair, 3, 2, 3, "estimate of C: 2 packet pair (Keshav), 3 least squares (Hoe)");

CC_SHOWS(libra, "C [bytes/s]", "Tmin [us]",
	 "the last increase per round trip [2^-8 segments]", "Tmax [us]");

/* The mean of so many draws of a gap is all but constant */
#define LIBRA_DRAWS_MAX 64

struct libra_state {
	struct cc_flow flow;
	u64	capacity;	/* estimated C, q10 bytes/s; 0: none yet */
	u32	rtt_max_us;	/* Tmax */
	u32	per_rtt;	/* last increase per round trip, q8 segments */
	u32	fraction;	/* growth of less than a segment so far, q32 */
	struct packet_pair pair;
	struct cc_control control;
};

/* The settings of a namespace */
struct libra_net {
	struct cc_netns sysctls;
	unsigned long capacity_kbps;
};

CC_SETTING(libra, capacity_kbps, 0, 100000000, "C; 0 estimates it by packet pairs");

static unsigned int libra_net_id __read_mostly;

static const struct ctl_table libra_table[] = {
	CC_SETTING_ENTRY(libra, capacity_kbps),
	{}
};

/* Return C in q10 bytes/s; 0 while it is unknown */
static u64 libra_capacity(const struct sock *sk)
{
	const struct libra_net *given = net_generic(sock_net(sk), libra_net_id);
	const struct libra_state *l = inet_csk_ca(sk);
	u64 kbps = READ_ONCE(given->capacity_kbps);

	return kbps ? (kbps * 125) << CORE_BW_SHIFT : READ_ONCE(l->capacity);
}

/* Return alpha in thousandths per second; C is below 2^48 bytes/s */
static u64 libra_alpha(const struct sock *sk)
{
	const struct libra_state *l = inet_csk_ca(sk);
	u64 bytes_per_s = libra_capacity(sk) >> CORE_BW_SHIFT;
	u64 k2 = (READ_ONCE(k2_percent) << LIBRA_K2_SHIFT) / 100;
	u64 alpha, stability;

	if (READ_ONCE(capacity_unit))
		alpha = core_scale(bytes_per_s, 1000, tcp_sk(sk)->mss_cache);
	else
		alpha = div_u64(bytes_per_s, 125);
	alpha = core_scale(alpha, READ_ONCE(k1_percent), 100);
	stability = libra_stability(l->flow.rtt_us, l->flow.rtt_min_us,
				    l->rtt_max_us, k2);
	return core_mul_q32(alpha, stability);
}

/*
 * Draw the gap between packets, uniform between 1/32 and 63/32 of that of the
 * kernel's pacing. In congestion avoidance the latter is 1 / 1.2 of T / w: with
 * T / w itself a window that grows would never be full.
 *
 * All packets that leave until the next ACK have one gap. So it is the mean of
 * as many draws as packets may leave now: together they take as long as if each
 * had its own. In steady state that is one packet for each that is
 * acknowledged. While C is unknown nothing is paced: packet pairs must leave
 * back to back.
 */
static void libra_pace(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	s32 room = tcp_snd_cwnd(tp) - tcp_packets_in_flight(tp);
	u32 draws = clamp(room, 1, LIBRA_DRAWS_MAX);
	u32 sum = 0, left = draws;
	u64 rate = cc_kernel_rate(sk);

	if (!libra_capacity(sk)) {
		cc_pace(sk, U64_MAX);
		return;
	}
	while (left--)
		sum += 1 + (u32)(((u64)get_random_u32() * 63) >> 32);
	if (rate)
		cc_pace(sk, core_scale(rate, 32 * draws, sum));
}

static void libra_init(struct sock *sk)
{
	struct libra_state *l = inet_csk_ca(sk);

	*l = (struct libra_state){ 0 };
	cc_flow_init(&l->flow, sk, READ_ONCE(handshake_rtt));
	cc_control_init(&l->control, sk);
	if (READ_ONCE(pacing)) {
		libra_pace(sk);
		cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
	}
}

/* Tmin and Tmax include the sample before it is used */
static void libra_pkts_acked(struct sock *sk, const struct ack_sample *ack)
{
	struct libra_state *l = inet_csk_ca(sk);
	u64 rate;

	cc_flow_pkts_acked(sk, ack);
	cc_control_pkts_acked(&l->control, ack);
	WRITE_ONCE(l->rtt_max_us, max(l->rtt_max_us, l->flow.rtt_us));
	rate = cc_pair_ack(&l->pair, sk, ack, READ_ONCE(packetpair));
	if (rate)
		WRITE_ONCE(l->capacity, rate);
	libra_trace(sk);
}

static void libra_grow(struct sock *sk, u32 acked)
{
	struct libra_state *l = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 window, factor;
	u64 step;

	if (!tcp_is_cwnd_limited(sk))
		return;
	acked = cc_slow_start(sk, acked, READ_ONCE(count_acks));
	if (!acked)
		return;
	window = tcp_snd_cwnd(tp);
	if (!libra_capacity(sk) || !l->flow.rtt_us) {
		cc_grow(tp, ns2_acked(&l->fraction, window, acked));
		return;
	}
	factor = libra_factor(l->flow.rtt_us, READ_ONCE(t0_us));
	step = libra_increment(libra_alpha(sk), factor, window);
	WRITE_ONCE(l->per_rtt, min_t(u64, core_scale(step, window, 1) >> 24,
				     U32_MAX));
	cc_grow(tp, core_accumulate(&l->fraction, step, acked));
}

static void libra_set_state(struct sock *sk, u8 state)
{
	const struct libra_state *l = inet_csk_ca(sk);

	cc_control_set_state(&l->control, sk, state);
}

static u32 libra_ssthresh(struct sock *sk)
{
	const struct libra_state *l = inet_csk_ca(sk);

	if (!l->flow.rtt_us)
		return tcp_reno_ssthresh(sk);
	return libra_decrease(tcp_snd_cwnd(tcp_sk(sk)), l->flow.rtt_us,
			      READ_ONCE(t0_us), READ_ONCE(t1_us));
}

static void libra_cong_control(CC_CONTROL_ARGUMENTS)
{
	struct libra_state *l = inet_csk_ca(sk);

	/* The handshake's ACK comes before init */
	if (inet_csk(sk)->icsk_ca_initialized)
		cc_control_window(&l->control, sk, rs, libra_grow);
	if (READ_ONCE(pacing))
		libra_pace(sk);
	else
		cc_pace_as_kernel(sk);
}

/* Packets are paced one by one */
static u32 libra_min_tso_segs(struct sock *sk)
{
	return 1;
}

static struct cc_shown libra_shown(const struct sock *sk)
{
	const struct libra_state *l = inet_csk_ca(sk);

	return (struct cc_shown){
		.bw = libra_capacity(sk),
		.rtt_min_us = READ_ONCE(l->flow.rtt_min_us),
		.first = READ_ONCE(l->per_rtt),
		.second = READ_ONCE(l->rtt_max_us),
		.pair_refused = READ_ONCE(l->pair.refused),
	};
}

static struct tcp_congestion_ops tcp_libra __read_mostly = {
	.init		= libra_init,
	.ssthresh	= libra_ssthresh,
	.cong_control	= libra_cong_control,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.set_state	= libra_set_state,
	CC_CWND_EVENT(cc_control_event),
	.pkts_acked	= libra_pkts_acked,
	.min_tso_segs	= libra_min_tso_segs,
	.get_info	= libra_get_info,
	.owner		= THIS_MODULE,
	.name		= "libra",
};

static int __net_init libra_net_init(struct net *net)
{
	struct libra_net *given = net_generic(net, libra_net_id);
	unsigned long *values[] = { &given->capacity_kbps };

	static_assert(ARRAY_SIZE(values) + 1 == ARRAY_SIZE(libra_table));
	return cc_netns_add(net, &given->sysctls, libra_table, values,
			    ARRAY_SIZE(values));
}

static void __net_exit libra_net_exit(struct net *net)
{
	struct libra_net *given = net_generic(net, libra_net_id);

	cc_netns_remove(&given->sysctls);
}

static struct pernet_operations libra_net_ops = {
	.init	= libra_net_init,
	.exit	= libra_net_exit,
	.id	= &libra_net_id,
	.size	= sizeof(struct libra_net),
};

static int __init libra_register(void)
{
	int err;

	CC_CHECK_STATE(struct libra_state, flow);
	err = register_pernet_subsys(&libra_net_ops);
	if (err)
		return err;
	err = tcp_register_congestion_control(&tcp_libra);
	if (err)
		unregister_pernet_subsys(&libra_net_ops);
	return err;
}

static void __exit libra_unregister(void)
{
	tcp_unregister_congestion_control(&tcp_libra);
	unregister_pernet_subsys(&libra_net_ops);
}

module_init(libra_register);
module_exit(libra_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP Libra");

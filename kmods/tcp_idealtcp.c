// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ideal TCP: knows the exact available bandwidth and round-trip time
 *
 * A. Capone, L. Fratta, F. Martignon, "Bandwidth Estimation Schemes for TCP
 * over Wireless Networks", IEEE Transactions on Mobile Computing 3 (2004),
 * section 4.5. It is the upper bound of all schemes that estimate bandwidth.
 *
 *   three duplicate ACKs:  ssthresh = Exact_Available_Bw * Exact_RTT,
 *                          cwnd = min(cwnd, ssthresh)
 *   timeout:               the same ssthresh, cwnd = 1
 *
 * The available bandwidth is the link's rate minus the rate of UDP sources,
 * divided by the number of TCP connections. Both numbers are settings of a
 * network namespace and may change at any time. While one of them is 0,
 * ssthresh is half of the window:
 *
 *   net.ipv4.idealtcp_rate_bps   bit/s
 *   net.ipv4.idealtcp_rtt_us     microseconds
 */

#define CC_TRACE_SYSTEM tcp_idealtcp
#include "cc.h"
#include "cc_netns.h"
#include "core/idealtcp.h"

CC_PARAM(clamp_cwnd, 1, 0, 1, CC_CLAMP_CWND_TEXT);
CC_PARAM(count_acks, 0, 0, 1, CC_COUNT_ACKS_TEXT);

CC_SHOWS(idealtcp, "the given rate [bytes/s]", "the smallest RTT measured [us]",
	 "the given RTT [us]", "the last RTT [us]");

/* The settings of a namespace */
struct idealtcp_net {
	struct cc_netns sysctls;
	unsigned long rate_bps;
	unsigned long rtt_us;
};

CC_SETTING(idealtcp, rate_bps, 0, 100000000000, "available bandwidth; 0 is unknown");
CC_SETTING(idealtcp, rtt_us, 0, 4294967295, "round-trip time; 0 is unknown");

static unsigned int idealtcp_net_id __read_mostly;

static const struct ctl_table idealtcp_table[] = {
	CC_SETTING_ENTRY(idealtcp, rate_bps),
	CC_SETTING_ENTRY(idealtcp, rtt_us),
	{}
};

static const struct idealtcp_net *idealtcp_given(const struct sock *sk)
{
	return net_generic(sock_net(sk), idealtcp_net_id);
}

/* Return the given rate in q10 bytes/s */
static u64 idealtcp_bw(const struct idealtcp_net *given)
{
	u64 bytes_per_s = READ_ONCE(given->rate_bps) / 8;

	return min_t(u64, bytes_per_s, CORE_BW_MAX >> CORE_BW_SHIFT) <<
	       CORE_BW_SHIFT;
}

static void idealtcp_init(struct sock *sk)
{
	cc_flow_init(inet_csk_ca(sk), sk, true);
}

static void idealtcp_pkts_acked(struct sock *sk, const struct ack_sample *ack)
{
	cc_flow_pkts_acked(sk, ack);
	idealtcp_trace(sk);
}

static void idealtcp_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	cc_cong_avoid(sk, ack, acked, READ_ONCE(count_acks));
}

static u32 idealtcp_ssthresh(struct sock *sk)
{
	const struct idealtcp_net *given = idealtcp_given(sk);
	u64 rate_bps = READ_ONCE(given->rate_bps);
	u32 rtt_us = READ_ONCE(given->rtt_us);

	u32 ssthresh;

	if (rate_bps && rtt_us)
		ssthresh = ideal_window(rate_bps, rtt_us,
					tcp_sk(sk)->mss_cache);
	else
		ssthresh = tcp_reno_ssthresh(sk);
	return cc_ssthresh_below(inet_csk_ca(sk), sk, ssthresh,
				 READ_ONCE(clamp_cwnd));
}

static struct cc_shown idealtcp_shown(const struct sock *sk)
{
	const struct idealtcp_net *given = idealtcp_given(sk);
	const struct cc_flow *flow = inet_csk_ca(sk);

	return (struct cc_shown){
		.bw = idealtcp_bw(given),
		.rtt_min_us = READ_ONCE(flow->rtt_min_us),
		.first = READ_ONCE(given->rtt_us),
		.second = READ_ONCE(flow->rtt_us),
	};
}

static struct tcp_congestion_ops tcp_idealtcp __read_mostly = {
	.init		= idealtcp_init,
	.ssthresh	= idealtcp_ssthresh,
	.cong_avoid	= idealtcp_cong_avoid,
	.undo_cwnd	= cc_window_undo_cwnd,
	.cwnd_event	= cc_window_cwnd_event,
	.set_state	= cc_window_set_state,
	.pkts_acked	= idealtcp_pkts_acked,
	.get_info	= idealtcp_get_info,
	.owner		= THIS_MODULE,
	.name		= "idealtcp",
};

static int __net_init idealtcp_net_init(struct net *net)
{
	struct idealtcp_net *given = net_generic(net, idealtcp_net_id);
	unsigned long *values[] = { &given->rate_bps, &given->rtt_us };

	static_assert(ARRAY_SIZE(values) + 1 == ARRAY_SIZE(idealtcp_table));
	return cc_netns_add(net, &given->sysctls, idealtcp_table, values,
			    ARRAY_SIZE(values));
}

static void __net_exit idealtcp_net_exit(struct net *net)
{
	struct idealtcp_net *given = net_generic(net, idealtcp_net_id);

	cc_netns_remove(&given->sysctls);
}

static struct pernet_operations idealtcp_net_ops = {
	.init	= idealtcp_net_init,
	.exit	= idealtcp_net_exit,
	.id	= &idealtcp_net_id,
	.size	= sizeof(struct idealtcp_net),
};

static int __init idealtcp_register(void)
{
	int err;

	BUILD_BUG_ON(sizeof(struct cc_flow) > ICSK_CA_PRIV_SIZE);
	err = register_pernet_subsys(&idealtcp_net_ops);
	if (err)
		return err;
	err = tcp_register_congestion_control(&tcp_idealtcp);
	if (err)
		unregister_pernet_subsys(&idealtcp_net_ops);
	return err;
}

static void __exit idealtcp_unregister(void)
{
	tcp_unregister_congestion_control(&tcp_idealtcp);
	unregister_pernet_subsys(&idealtcp_net_ops);
}

module_init(idealtcp_register);
module_exit(idealtcp_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Ideal TCP: is given the exact bandwidth and RTT");

// SPDX-License-Identifier: GPL-2.0-only
/*
 * An example of a module of your own: Reno that grows by `increase` segments a
 * round trip in congestion avoidance. All else is Reno's.
 */
#include <linux/module.h>
#include <net/tcp.h>

static unsigned int increase __read_mostly = 2;
module_param(increase, uint, 0644);
MODULE_PARM_DESC(increase, "segments that the window grows by in a round trip");

static void mycc_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp), acked * READ_ONCE(increase));
}

static struct tcp_congestion_ops mycc __read_mostly = {
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= mycc_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "mycc",
};

static int __init mycc_register(void)
{
	return tcp_register_congestion_control(&mycc);
}

static void __exit mycc_unregister(void)
{
	tcp_unregister_congestion_control(&mycc);
}

module_init(mycc_register);
module_exit(mycc_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Reno with another additive increase");

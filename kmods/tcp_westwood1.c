// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP Westwood with its first filter
 *
 * A. Capone, L. Fratta, F. Martignon, "Bandwidth Estimation Schemes for TCP
 * over Wireless Networks", IEEE Transactions on Mobile Computing 3 (2004),
 * section 2.2.3, "Algorithm Westwood 1"; C. Casetti et al., UCLA report 200017,
 * 2000.
 *
 *   s = acked / (time since the last ACK)
 *   Bwe = 19/21 * Bwe + 2/21 * (s + previous s) / 2
 *
 * on every ACK. Clusters of packets and compressed ACKs are samples like any
 * other, so the estimate is far too high. See core/westwood.h.
 *
 * At three duplicate ACKs, a timeout or an ECN mark, ssthresh = Bwe * RTTmin.
 * The increase is Reno's.
 */

#define CC_TRACE_SYSTEM tcp_westwood1
#include "cc_estimator.h"
#include "core/westwood.h"

CC_PARAM(clamp_cwnd, 1, 0, 1, CC_CLAMP_CWND_TEXT);
CC_PARAM(count_acks, 0, 0, 1, CC_COUNT_ACKS_TEXT);
CC_PARAM(handshake_rtt, 1, 0, 1, CC_HANDSHAKE_RTT_TEXT);
CC_PARAM(packetpair, 0, 0, 3, CC_PACKETPAIR_TEXT);

CC_SHOWS(westwood1, "the estimate [bytes/s]", "RTTmin [us]",
	 "the last sample [kbit/s]", "ACKs that packet pairs refused");

struct westwood1 {
	struct cc_estimator common;
	struct westwood filter;
};

static u64 westwood1_update(struct cc_estimator *e, const struct cc_sample *sample)
{
	struct westwood1 *w = container_of(e, struct westwood1, common);

	ww1_update(&w->filter, core_rate(sample->bytes, sample->interval_us));
	return w->filter.bw;
}

/* Return the last sample of bandwidth in kbit/s */
static u32 westwood1_sample_kbps(const struct cc_estimator *e)
{
	const struct westwood1 *w = container_of(e, struct westwood1, common);

	return cc_kbps(READ_ONCE(w->filter.sample));
}

static const struct cc_estimator_ops westwood1_estimator = {
	.update	= westwood1_update,
	.first	= westwood1_sample_kbps,
};

CC_ESTIMATOR(westwood1, westwood1_estimator);

static struct tcp_congestion_ops tcp_westwood1 __read_mostly = {
	CC_ESTIMATOR_HOOKS(westwood1),
	.owner		= THIS_MODULE,
	.name		= "westwood1",
};

CC_MODULE(tcp_westwood1, struct westwood1, common.flow);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP Westwood with its first filter");

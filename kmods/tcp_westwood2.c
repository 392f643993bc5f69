// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP Westwood with its second filter
 *
 * A. Capone, L. Fratta, F. Martignon, "Bandwidth Estimation Schemes for TCP
 * over Wireless Networks", IEEE Transactions on Mobile Computing 3 (2004),
 * section 2.2.3, "Algorithm Westwood 2"; S. Mascolo et al., Wireless Networks
 * 8, 2002.
 *
 *   s = acked / d, where d is the time since the last ACK
 *   Bwe = p * Bwe + (1 - p) * (s + previous s) / 2
 *   p = (2 tau - d) / (2 tau + d)
 *
 * TIBET's paper gives no tau; 0.5 s is Mascolo's. It also lacks Mascolo's empty
 * samples, one for each tau/2 without an ACK (zero_samples). Without them p
 * would be negative for d > 2 tau; it is 0 there. See core/westwood.h.
 *
 * At three duplicate ACKs, a timeout or an ECN mark, ssthresh = Bwe * RTTmin.
 * The increase is Reno's.
 */

#define CC_TRACE_SYSTEM tcp_westwood2
#include "cc_estimator.h"
#include "core/westwood.h"

CC_PARAM(tau_us, 500000, 0, 60000000, "the filter's tau; 0 disables the filter");
CC_PARAM(zero_samples, 0, 0, 1, "1 adds an empty sample for each tau/2 without an ACK");
CC_PARAM(clamp_cwnd, 1, 0, 1, CC_CLAMP_CWND_TEXT);
CC_PARAM(count_acks, 0, 0, 1, CC_COUNT_ACKS_TEXT);
CC_PARAM(handshake_rtt, 1, 0, 1, CC_HANDSHAKE_RTT_TEXT);
CC_PARAM(packetpair, 0, 0, 3, CC_PACKETPAIR_TEXT);

CC_SHOWS(westwood2, "the estimate [bytes/s]", "RTTmin [us]",
	 "the last sample [kbit/s]", "ACKs that packet pairs refused");

struct westwood2 {
	struct cc_estimator common;
	struct westwood filter;
};

static u64 westwood2_update(struct cc_estimator *e, const struct cc_sample *sample)
{
	struct westwood2 *w = container_of(e, struct westwood2, common);

	ww2_update(&w->filter, core_rate(sample->bytes, sample->interval_us),
		   sample->interval_us, READ_ONCE(tau_us),
		   READ_ONCE(zero_samples));
	return w->filter.bw;
}

/* Return the last sample of bandwidth in kbit/s */
static u32 westwood2_sample_kbps(const struct cc_estimator *e)
{
	const struct westwood2 *w = container_of(e, struct westwood2, common);

	return cc_kbps(READ_ONCE(w->filter.sample));
}

static const struct cc_estimator_ops westwood2_estimator = {
	.update	= westwood2_update,
	.first	= westwood2_sample_kbps,
};

CC_ESTIMATOR(westwood2, westwood2_estimator);

static struct tcp_congestion_ops tcp_westwood2 __read_mostly = {
	CC_ESTIMATOR_HOOKS(westwood2),
	.owner		= THIS_MODULE,
	.name		= "westwood2",
};

CC_MODULE(tcp_westwood2, struct westwood2, common.flow);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP Westwood with its second filter");

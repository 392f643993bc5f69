// SPDX-License-Identifier: GPL-2.0-only
/*
 * The bandwidth estimate of Core-Stateless Fair Queueing at a TCP sender
 *
 * A. Capone, L. Fratta, F. Martignon, "Bandwidth Estimation Schemes for TCP
 * over Wireless Networks", IEEE Transactions on Mobile Computing 3 (2004),
 * section 2.2.4, eq. (3).
 *
 *   Bwe = (1 - e^(-T/K)) * L/T + e^(-T/K) * Bwe
 *
 * on every ACK. L is the number of bytes that it acknowledges, and T the time
 * since the last ACK. K is 0.1 to 0.5 s in routers; the paper shows 0.5 s and
 * 20 s. See core/csfq.h.
 *
 * At three duplicate ACKs, a timeout or an ECN mark, ssthresh = Bwe * RTTmin.
 * The increase is Reno's.
 */

#define CC_TRACE_SYSTEM tcp_csfq
#include "cc_estimator.h"
#include "core/csfq.h"

CC_PARAM(k_us, 500000, 0, 60000000, "the filter's time constant K; 0 disables the filter");
CC_PARAM(clamp_cwnd, 1, 0, 1, CC_CLAMP_CWND_TEXT);
CC_PARAM(count_acks, 0, 0, 1, CC_COUNT_ACKS_TEXT);
CC_PARAM(handshake_rtt, 1, 0, 1, CC_HANDSHAKE_RTT_TEXT);
CC_PARAM(packetpair, 0, 0, 3, CC_PACKETPAIR_TEXT);

CC_SHOWS(csfq, "the estimate [bytes/s]", "RTTmin [us]",
	 "the last RTT [us]", "ACKs that packet pairs refused");

static u64 csfq_estimate(struct cc_estimator *e, const struct cc_sample *sample)
{
	return csfq_update(e->bw, sample->bytes, sample->interval_us,
			   READ_ONCE(k_us));
}

static u32 csfq_rtt_us(const struct cc_estimator *e)
{
	return READ_ONCE(e->flow.rtt_us);
}

static const struct cc_estimator_ops csfq_estimator = {
	.update	= csfq_estimate,
	.first	= csfq_rtt_us,
};

CC_ESTIMATOR(csfq, csfq_estimator);

static struct tcp_congestion_ops tcp_csfq __read_mostly = {
	CC_ESTIMATOR_HOOKS(csfq),
	.owner		= THIS_MODULE,
	.name		= "csfq",
};

CC_MODULE(tcp_csfq, struct cc_estimator, flow);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP with CSFQ's bandwidth estimate");

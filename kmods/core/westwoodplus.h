/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TCP Westwood+'s bandwidth estimate.
 *
 * Paper: L. A. Grieco, S. Mascolo, "Performance Evaluation and Comparison of
 * Westwood+, New Reno, and Vegas TCP Congestion Control", section 2.2, eq. (1):
 *
 *   b[k] = d[k] / D[k], once per round trip D[k] = RTT,
 *   B[k] = a * B[k-1] + (1 - a) * b[k],  a = 0.9
 *
 * Mainline (net/ipv4/tcp_westwood.c) has two filters with a = 7/8 in series,
 * and its samples last max(RTT, 50 ms):
 *
 *   N[k] = (7 * N[k-1] + b[k]) / 8,  B[k] = (7 * B[k-1] + N[k]) / 8
 *
 * The first sample is the filter's first value, as in mainline; the paper does
 * not say. Rounding to 2^-10 bytes/s leaves a dead band of 5 * 2^-10 bytes/s.
 * Mainline's (7a + b) >> 3 on bytes per jiffy has a dead band of 7 units.
 */
#ifndef CORE_WESTWOODPLUS_H
#define CORE_WESTWOODPLUS_H

#include "arith.h"

#define WWP_OLD_WEIGHT 9
#define WWP_WEIGHTS 10
#define WWP_MAINLINE_OLD_WEIGHT 7
#define WWP_MAINLINE_WEIGHTS 8
#define WWP_MAINLINE_INTERVAL_US 50000U

enum wwp_mode {
	WWP_PAPER = 0,
	WWP_MAINLINE = 1,
};

struct wwp {
	u64	bw;		/* the estimate, q10 bytes/s; 0: none yet */
	u64	first;		/* mainline: the output of the first filter */
};

/* Return the shortest duration of a sample */
static inline u32 wwp_interval_us(u32 rtt_us, enum wwp_mode mode)
{
	if (mode == WWP_MAINLINE)
		return max_t(u32, rtt_us, WWP_MAINLINE_INTERVAL_US);
	return rtt_us;
}

/* Add a sample. The weights sum up to at most 10, and 10 * 2^58 < 2^62. */
static inline void wwp_update(struct wwp *w, u64 sample, enum wwp_mode mode)
{
	u64 bw = sample, first = sample;

	if (!w->bw) {
		WRITE_ONCE(w->first, first);
	} else if (mode == WWP_MAINLINE) {
		first = core_div_nearest(WWP_MAINLINE_OLD_WEIGHT * w->first +
					 sample, WWP_MAINLINE_WEIGHTS);
		WRITE_ONCE(w->first, first);
		bw = core_div_nearest(WWP_MAINLINE_OLD_WEIGHT * w->bw + first,
				      WWP_MAINLINE_WEIGHTS);
	} else {
		bw = core_div_nearest(WWP_OLD_WEIGHT * w->bw + sample,
				      WWP_WEIGHTS);
	}
	WRITE_ONCE(w->bw, bw);
}

#endif /* CORE_WESTWOODPLUS_H */

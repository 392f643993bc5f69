/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bandwidth estimate of Core-Stateless Fair Queueing, at a TCP sender.
 *
 * Paper: A. Capone, L. Fratta, F. Martignon, "Bandwidth Estimation Schemes for
 * TCP over Wireless Networks", section 2.2.4, eq. (3); the filter is that of I.
 * Stoica, S. Shenker, H. Zhang, "Core-Stateless Fair Queueing", SIGCOMM 1998:
 *
 *   Bwe[k] = (1 - e^(-T[k]/K)) * L[k]/T[k] + e^(-T[k]/K) * Bwe[k-1]
 */
#ifndef CORE_CSFQ_H
#define CORE_CSFQ_H

#include "arith.h"
#include "exponential.h"

static inline u64 csfq_update(u64 bw, u64 bytes, u32 interval_us,
			      u32 constant_us)
{
	return core_blend(bw, core_rate(bytes, interval_us),
			  core_exp_gain(interval_us, constant_us));
}

#endif /* CORE_CSFQ_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ideal TCP's window after a congestion event.
 *
 * Paper: A. Capone, L. Fratta, F. Martignon, "Bandwidth Estimation Schemes for
 * TCP over Wireless Networks", section 4.5:
 *
 *   ssthresh = Exact_Available_Bw * Exact_RTT
 *
 * The bandwidth is given in bit/s, at most 2^51 (2^48 bytes/s).
 */
#ifndef CORE_IDEALTCP_H
#define CORE_IDEALTCP_H

#include "arith.h"

#define IDEAL_BITS_PER_BYTE 8

static inline u32 ideal_window(u64 rate_bps, u32 rtt_us, u32 mss)
{
	u64 bytes_per_s = rate_bps / IDEAL_BITS_PER_BYTE;

	bytes_per_s = min_t(u64, bytes_per_s, CORE_BW_MAX >> CORE_BW_SHIFT);
	return core_bdp_segments(bytes_per_s << CORE_BW_SHIFT, rtt_us, mss);
}

#endif /* CORE_IDEALTCP_H */

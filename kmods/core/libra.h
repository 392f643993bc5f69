/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TCP Libra's window.
 *
 * Paper: "TCP Libra: balancing flows over heterogeneous propagation scenarios",
 * section 2.1, with T the round-trip time, w the window in packets:
 *
 *   on success:  w += (1/w) * alpha * T^2 / (T + T0)
 *   on loss:     w -= T1 * w / (2 * (T + T0))
 *   alpha = k1 * C * e^(-k2 * (T - Tmin) / (Tmax - Tmin))              (1)
 *
 * C is the bottleneck's capacity. The paper gives neither its unit nor k2. So
 * the caller computes alpha, in thousandths per second. The unit matters: take
 * 100 Mbit/s, T = 83 ms, k1 = 2, T0 = 1 s and an empty queue. A round trip then
 * adds 1.27 packets if C is in Mbit/s, and 106 if C is in packets of 1500 bytes
 * per second.
 */
#ifndef CORE_LIBRA_H
#define CORE_LIBRA_H

#include "arith.h"
#include "exponential.h"

/* T^2 * 2^8 stays below 2^56 and the factor below 2^32 */
#define LIBRA_TIME_MAX_US ((1U << 24) - 1)
#define LIBRA_FACTOR_SHIFT 8
#define LIBRA_ALPHA_MAX ((1ULL << 39) - 1)
#define LIBRA_MILLI_US 1000000000U
#define LIBRA_K2_SHIFT 8

/*
 * Return T^2 / (T + T0) in 2^-8 us. T^2 is divided before alpha multiplies it,
 * as alpha * T^2 would not fit.
 */
static inline u32 libra_factor(u32 rtt_us, u32 t0_us)
{
	u64 rtt = min_t(u32, rtt_us, LIBRA_TIME_MAX_US);

	return div64_u64((rtt * rtt) << LIBRA_FACTOR_SHIFT,
			 max_t(u64, rtt + t0_us, 1));
}

/* Return e^(-k2 * share of the queue in use), q32; k2 is in 2^-8 */
static inline u64 libra_stability(u32 rtt_us, u32 rtt_min_us, u32 rtt_max_us,
				  u32 k2)
{
	u64 share;

	if (rtt_us <= rtt_min_us || rtt_max_us <= rtt_min_us)
		return CORE_ONE_Q32;
	if (rtt_us >= rtt_max_us)
		return core_exp_neg((u64)k2 << (32 - LIBRA_K2_SHIFT));
	share = div64_u64((u64)(rtt_us - rtt_min_us) << 32,
			  rtt_max_us - rtt_min_us);
	return core_exp_neg((share * k2) >> LIBRA_K2_SHIFT);
}

/*
 * Return the increment for one acknowledged packet, q32. alpha (1/1000 per s)
 * is below 2^39, which leaves 24 bits for a fraction. The factor has 8 more.
 */
static inline u64 libra_increment(u64 alpha, u32 factor, u32 window)
{
	u64 per_rtt = min_t(u64, alpha, LIBRA_ALPHA_MAX);

	per_rtt <<= 32 - LIBRA_FACTOR_SHIFT;
	return div64_u64(core_scale(per_rtt, factor, LIBRA_MILLI_US), window);
}

/* Return the window after a loss; T1 / (2 * (T + T0)) may exceed 1 */
static inline u32 libra_decrease(u32 window, u32 rtt_us, u32 t0_us, u32 t1_us)
{
	u64 whole = 2 * ((u64)rtt_us + t0_us);
	u64 left;

	if (whole <= t1_us)
		return CORE_WINDOW_MIN;
	left = div64_u64(window * (whole - t1_us), whole);
	return max_t(u64, left, CORE_WINDOW_MIN);
}

#endif /* CORE_LIBRA_H */

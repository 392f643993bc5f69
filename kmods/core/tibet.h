/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TIBET, the Time Intervals based Bandwidth Estimation Technique.
 *
 * Paper: A. Capone, L. Fratta, F. Martignon, "Bandwidth Estimation Schemes for
 * TCP over Wireless Networks", IEEE Trans. Mobile Computing 3 (2004), section
 * 3.1. Lengths and intervals have filters of their own, so the ratio is
 * unbiased:
 *
 *   L[k] = a * L[k-1] + (1 - a) * length[k],  a = 0.99
 *   I[k] = a * I[k-1] + (1 - a) * interval[k]
 *   Bwe[k] = (1 - e^(-T/T0)) * L[k]/I[k] + e^(-T/T0) * Bwe[k-1],  T0 = 1 s   (5)
 *
 * k counts sent packets or received ACKs. n packets of equal length and interval
 * move an average as one step with the pole a^n = e^(n ln a) does.
 *
 * L is stored in 2^-16 bytes and I in 2^-16 us (q16), both below 2^47. Rounded
 * to nearest, an average no longer moves within 50 * 2^-16 of its sample: 0.06%
 * of the 1.2 us between segments at 10 Gbit/s.
 *
 * Equation (5) is evaluated once at least TIBET_UPDATE_US have passed, for the
 * whole time passed: the product of the poles is the same e^(-T/T0).
 *
 * The paper does not give the first values. Here both averages begin at 0. They
 * are then too small by the same factor, and their ratio is right from the
 * first sample on. If they began with the first sample, it would weigh as much
 * as 100 others. The estimate begins with the first ratio.
 */
#ifndef CORE_TIBET_H
#define CORE_TIBET_H

#include "arith.h"
#include "exponential.h"

#define TIBET_LN_POLE_Q32 43165864ULL	/* -ln 0.99 */
#define TIBET_SHIFT 16
#define TIBET_UPDATE_US 1000U
#define TIBET_INTERVAL_MAX_US ((1U << 31) - 1)
#define TIBET_PERCENT 100

struct tibet {
	u64	length;		/* average length of a sample, q16 bytes */
	u64	interval;	/* average interval of samples, q16 us */
	u64	bw;		/* the estimate, q10 bytes/s; 0: none yet */
	u32	since_us;	/* time since the estimate was last updated */
};

/*
 * Return L / I in q10 bytes/s. If the average interval is 65 ms (2^32) or more,
 * both are shifted right until it fits core_scale()'s divisor: at most 15
 * steps.
 */
static inline u64 tibet_ratio(u64 length, u64 interval)
{
	while (interval > U32_MAX) {
		length >>= 1;
		interval >>= 1;
	}
	return min_t(u64, core_scale(length, CORE_US_PER_S << CORE_BW_SHIFT,
				     max_t(u64, interval, 1)), CORE_BW_MAX);
}

/* Return 1 - a^n, q32 */
static inline u64 tibet_gain(u32 n)
{
	return CORE_ONE_Q32 - core_exp_neg(n * TIBET_LN_POLE_Q32);
}

/*
 * Add n packets or ACKs, n > 0, which share bytes and interval equally. Equation
 * (5) is evaluated with the last of their ratios. time_constant_us 0 disables
 * the second filter.
 */
static inline void tibet_sample(struct tibet *t, u64 bytes, u32 interval_us,
				u32 n, u32 time_constant_us)
{
	u64 length = min_t(u64, bytes, CORE_BYTES_MAX) << TIBET_SHIFT;
	u32 elapsed_us = min_t(u32, interval_us, TIBET_INTERVAL_MAX_US);
	u64 interval = (u64)elapsed_us << TIBET_SHIFT;
	u64 gain = tibet_gain(n);

	length = core_blend(t->length, core_div_nearest(length, n), gain);
	interval = core_blend(t->interval, core_div_nearest(interval, n), gain);
	WRITE_ONCE(t->length, length);
	WRITE_ONCE(t->interval, interval);
	t->since_us += elapsed_us;
	if (!t->bw)
		WRITE_ONCE(t->bw, tibet_ratio(length, interval));
	if (t->since_us < TIBET_UPDATE_US)
		return;
	gain = core_exp_gain(t->since_us, time_constant_us);
	WRITE_ONCE(t->bw, core_blend(t->bw, tibet_ratio(length, interval),
				     gain));
	t->since_us = 0;
}

/*
 * Return a round-trip time rounded up to the clock's granularity (section
 * 2.1.3: a tenth of the granularity is measured as all of it). 0: exact.
 */
static inline u32 tibet_coarse_rtt(u32 rtt_us, u32 granularity_us)
{
	u64 ticks;

	if (!granularity_us)
		return rtt_us;
	ticks = div64_u64((u64)rtt_us + granularity_us - 1, granularity_us);
	return min_t(u64, ticks * granularity_us, U32_MAX);
}

/*
 * The ageing of RTTmin (section 3.2): after every n_cong congestion events
 * RTTmin becomes gamma * RTTmin. The floor is this module's own: without it
 * RTTmin would fall to 0 on a path whose samples stay above it. n_cong 0
 * disables ageing.
 */
static inline u32 tibet_age_rtt_min(u32 rtt_min_us, u16 *events, u32 n_cong,
				    u32 gamma_percent, u32 floor_us)
{
	if (!n_cong || ++*events < n_cong)
		return rtt_min_us;
	*events = 0;
	return min_t(u32, rtt_min_us,
		     max_t(u64, core_scale(rtt_min_us, gamma_percent,
					   TIBET_PERCENT), floor_us));
}

#endif /* CORE_TIBET_H */

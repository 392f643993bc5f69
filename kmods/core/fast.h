/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * FAST TCP's window.
 *
 * Paper: C. Jin, D. X. Wei, S. H. Low, "FAST TCP: Motivation, Architecture,
 * Algorithms, Performance", INFOCOM 2004:
 *
 *   w = min(2w, (1 - gamma) * w + gamma * (w * baseRTT / RTT + alpha))
 *   RTT = (1 - a) * RTT + a * sample,  a = min(3/w, 1/4)
 *
 * In equilibrium alpha packets of the flow are in queues. w is stored in 2^-8
 * segments, below 2^38. RTT is stored in 2^-16 us. The filter's dead band at
 * 518 000 segments is then 1.3 us (with 8 bits of fraction it would be 337 us).
 */
#ifndef CORE_FAST_H
#define CORE_FAST_H

#include "arith.h"

#define FAST_WINDOW_SHIFT 8
#define FAST_PERCENT 100
#define FAST_RTT_SHIFT 16
#define FAST_RTT_WEIGHT 3
#define FAST_RTT_MIN_WINDOW 12
#define FAST_RTT_MAX_WINDOW 4194304U
#define FAST_RTT_MAX_US ((1U << 24) - 1)

/* One step of the average; 2^40 * 2^22 does not exceed 2^62 */
static inline u64 fast_average_rtt(u64 average, u32 sample_us, u32 window)
{
	u64 sample = (u64)min_t(u32, sample_us, FAST_RTT_MAX_US);
	u32 weights = max_t(u32, window, FAST_RTT_MIN_WINDOW);

	sample <<= FAST_RTT_SHIFT;
	weights = min_t(u32, weights, FAST_RTT_MAX_WINDOW);
	if (!average)
		return sample;
	return core_div_nearest(average * (weights - FAST_RTT_WEIGHT) +
				sample * FAST_RTT_WEIGHT, weights);
}

/* Return w * baseRTT / RTT, q8 segments: those in flight but not in a queue */
static inline u64 fast_on_the_way(u64 window, u32 base_us, u64 average)
{
	u64 rtt_us = max_t(u64, average >> FAST_RTT_SHIFT, 1);

	if (base_us >= rtt_us)
		return window;
	return core_scale(window, base_us, rtt_us);
}

/* Return the next window in 2^-8 segments; alpha is in segments */
static inline u64 fast_window(u64 window, u32 base_us, u64 average, u32 alpha,
			      u32 gamma_percent)
{
	u64 target = fast_on_the_way(window, base_us, average) +
		     ((u64)alpha << FAST_WINDOW_SHIFT);
	u64 next = core_div_nearest(window * (FAST_PERCENT - gamma_percent) +
				    target * gamma_percent, FAST_PERCENT);

	return min_t(u64, min_t(u64, next, 2 * window),
		     (u64)CORE_WINDOW_MAX << FAST_WINDOW_SHIFT);
}

#endif /* CORE_FAST_H */

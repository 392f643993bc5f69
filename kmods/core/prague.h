/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Prague's window.
 *
 * draft-briscoe-iccrg-prague-congestion-control-04, with W the window in
 * segments, srtt the smoothed round-trip time and frac the share of the
 * acknowledged segments that were marked:
 *
 *   once per rtt_virt:        alpha += (frac - alpha) / 16        (2.3.2)
 *   at a mark, once per rtt_virt:  W -= W * alpha / 2             (2.4.2)
 *   for each unmarked one:    W += ai_per_rtt / W                 (2.4.3)
 *   rtt_virt = max(srtt, 25 ms), ai_per_rtt = (srtt / rtt_virt)^2 (2.4.4)
 *
 * The fallback (3.3) is in core/prague_fallback.h. W has a fraction of 32 bits.
 * Where many flows share a link, alpha / 2 of W is less than a segment, and a
 * whole number would lose it.
 */
#ifndef CORE_PRAGUE_H
#define CORE_PRAGUE_H

#include "arith.h"

#define PRAGUE_WINDOW_MIN ((u64)CORE_WINDOW_MIN << 32)

/*
 * Return alpha (q32) after so many acknowledged segments, acked > 0. More marks
 * than segments count as all of them: an ACK without data may be marked, too.
 */
static inline u64 prague_alpha(u64 alpha, u32 marked, u32 acked, u32 shift)
{
	u64 share = div64_u64((u64)min_t(u32, marked, acked) << 32, acked);

	return core_blend(alpha, share, CORE_ONE_Q32 >> shift);
}

static inline u32 prague_virtual_rtt(u32 srtt_us, u32 least_us)
{
	return max_t(u32, srtt_us, least_us);
}

/* Return (srtt / virtual)^2 in q32, at most 1; virtual > 0 */
static inline u64 prague_increase(u32 srtt_us, u32 virtual_us)
{
	u64 ratio;

	if (srtt_us >= virtual_us)
		return CORE_ONE_Q32;
	ratio = div64_u64((u64)srtt_us << 32, virtual_us);
	return core_mul_q32(ratio, ratio);
}

/*
 * Return the window (q32) after so many unmarked segments; it has one segment
 * at least. Those of one ACK count together, so each has the increment of the
 * window before it.
 */
static inline u64 prague_grow(u64 window, u64 increase, u32 unmarked)
{
	u64 step = div64_u64(increase << 31, window >> 1);

	return window + step * unmarked;
}

/* Return the window (q32) after a mark; half of alpha is at most one half */
static inline u64 prague_reduce(u64 window, u64 alpha)
{
	u64 left = window - core_mul_q32(window, alpha) / 2;

	return max_t(u64, left, PRAGUE_WINDOW_MIN);
}

/*
 * Return ssthresh at a loss. A mark has reduced the window from `before` in
 * this round trip, or before is 0. Together they reduce as a loss alone.
 */
static inline u32 prague_loss(u32 window, u32 before, u32 percent)
{
	u64 left = max_t(u64, window, before) * percent;

	left = min_t(u64, div64_u64(left, 100), window);
	return max_t(u64, left, CORE_WINDOW_MIN);
}

#endif /* CORE_PRAGUE_H */

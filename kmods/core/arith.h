/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Integer arithmetic shared by the congestion controls: scaling, bandwidths,
 * windows. It compiles in the kernel and in user space, without floating point.
 * Values that a module shows are set by WRITE_ONCE, since get_info reads them
 * without the socket's lock.
 *
 * Ranges. The modules must work at 10 Gbit/s with a round trip of 600 ms, whose
 * bandwidth-delay product is 750 MB or 518 000 segments of 1448 bytes.
 *
 *   bandwidth   u64, 2^-10 bytes/s ("q10"), at most CORE_BW_MAX < 2^58, that is
 *               2^48 bytes/s. The highest possible sample is that whole product
 *               acknowledged within one microsecond, 2^49.4 bytes/s; it is cut
 *               to CORE_BW_MAX. With ten bits of fraction, rounding does not
 *               stop filters with small gains. Six bits above the value are
 *               left for a filter's integer weights (at most 21).
 *   fraction    2^-32 of a segment ("q32"). With an increment of 1/W, rounding
 *               stops the window's growth above 4e9 segments; with q16 it would
 *               above 65 536 segments.
 *   gain        u64, 2^-32, 0 to CORE_ONE_Q32 inclusive.
 *   time        microseconds, as tcp_mstamp.
 */
#ifndef CORE_ARITH_H
#define CORE_ARITH_H

#ifdef __KERNEL__
#include <linux/compiler.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>
#else
#include "userspace.h"
#endif

#define CORE_US_PER_S 1000000U
#define CORE_ONE_Q32 4294967296ULL
#define CORE_BW_SHIFT 10
#define CORE_BW_MAX ((1ULL << 58) - 1)
#define CORE_BYTES_MAX ((1ULL << 31) - 1)
#define CORE_WINDOW_MIN 2U
#define CORE_WINDOW_MAX 1073741824U

/*
 * Return floor(value * mul / div), or U64_MAX if that does not fit; div > 0.
 * With value = whole * div + rest it is whole * mul + rest * mul / div, which
 * is exact and needs no 128-bit product.
 */
static inline u64 core_scale(u64 value, u32 mul, u32 div)
{
	u64 rest, product;
	u64 whole = div64_u64_rem(value, div, &rest);

	if (__builtin_mul_overflow(whole, (u64)mul, &product) ||
	    __builtin_add_overflow(product, div64_u64(rest * mul, div),
				   &product))
		return U64_MAX;
	return product;
}

/* Return value * gain / 2^32, rounded to nearest; gain <= CORE_ONE_Q32 */
static inline u64 core_mul_q32(u64 value, u64 gain)
{
	u64 low = (value & U32_MAX) * gain;

	return (value >> 32) * gain + (low >> 32) + ((low >> 31) & 1);
}

/* Return old + (fresh - old) * gain: one step of a low-pass filter */
static inline u64 core_blend(u64 old, u64 fresh, u64 gain)
{
	if (fresh >= old)
		return old + core_mul_q32(fresh - old, gain);
	return old - core_mul_q32(old - fresh, gain);
}

/* Return weighted / total, rounded to nearest; weighted + total / 2 must fit */
static inline u64 core_div_nearest(u64 weighted, u32 total)
{
	return div64_u64(weighted + total / 2, total);
}

/*
 * Return bytes / interval as a q10 bandwidth. bytes * 10^6 * 2^10 < 2^61. An
 * interval of 0 counts as 1 us, the clock's resolution.
 */
static inline u64 core_rate(u64 bytes, u32 interval_us)
{
	u64 scaled = min_t(u64, bytes, CORE_BYTES_MAX) * CORE_US_PER_S;

	scaled <<= CORE_BW_SHIFT;
	return min_t(u64, div64_u64(scaled, max_t(u32, interval_us, 1)),
		     CORE_BW_MAX);
}

/* Return the product of a q10 bandwidth and a round-trip time, in bytes */
static inline u64 core_bdp_bytes(u64 bw, u32 rtt_us)
{
	return core_scale(bw, rtt_us, CORE_US_PER_S) >> CORE_BW_SHIFT;
}

/*
 * Return ssthresh = Bwe * RTTmin in segments (TIBET eq. 1, Westwood+ section
 * 2), at least two. Two divisions avoid mss * 10^6, which does not fit in a
 * u32.
 */
static inline u32 core_bdp_segments(u64 bw, u32 rtt_us, u32 mss)
{
	u64 segments = div64_u64(core_bdp_bytes(bw, rtt_us), mss);

	return max_t(u64, CORE_WINDOW_MIN,
		     min_t(u64, segments, CORE_WINDOW_MAX));
}

/*
 * Add n increments (q32) to the fraction, and return the whole segments that
 * this completes. It is a closed form for any n. Both products are below 2^64.
 */
static inline u32 core_accumulate(u32 *fraction, u64 increment, u32 n)
{
	u64 low = (increment & U32_MAX) * n + *fraction;
	u64 whole = (increment >> 32) * n + (low >> 32);

	WRITE_ONCE(*fraction, (u32)low);
	return min_t(u64, whole, CORE_WINDOW_MAX);
}

#endif /* CORE_ARITH_H */

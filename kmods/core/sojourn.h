/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Buckets of a histogram of times, log-linear as those of HdrHistogram: 64 in
 * each octave. The middle of a bucket is within 1/128 of all its times.
 */
#ifndef CORE_SOJOURN_H
#define CORE_SOJOURN_H

#include "arith.h"

#ifdef __KERNEL__
#include <linux/bitops.h>
#endif

#define SOJOURN_UNIT_SHIFT	3	/* 8 ns */
#define SOJOURN_OCTAVE_SHIFT	6	/* 64 buckets */
#define SOJOURN_BUCKETS		1984	/* up to 2^39 ns, 550 s: 8 kB as u32 */

/* Return the bucket of a time; the last one has all longer times, too */
static inline u32 sojourn_bucket(u64 time_ns)
{
	u64 units = time_ns >> SOJOURN_UNIT_SHIFT;
	u32 bits = fls64(units), shift = 0;

	if (bits > SOJOURN_OCTAVE_SHIFT)
		shift = bits - (SOJOURN_OCTAVE_SHIFT + 1);
	return min_t(u64, (shift << SOJOURN_OCTAVE_SHIFT) + (units >> shift),
		     SOJOURN_BUCKETS - 1);
}

#endif /* CORE_SOJOURN_H */

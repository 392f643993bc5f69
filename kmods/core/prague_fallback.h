/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Prague's fallback on an AQM with classic ECN.
 *
 * B. Briscoe, A. S. Ahmed, "TCP Prague Fall-back on Detection of a Classic ECN
 * AQM", arXiv:1911.00710, passive detection. From the first mark on, once in a
 * round trip, with the slow averages s of the round-trip time and v of its mean
 * deviation, and the depth of the queue d = s - RTTmin:
 *
 *   score += lg(v / 750 us) / 2 + lg(d / 2 ms) / 2 - lg(s / 10 ms) / 4
 *
 * The score stays between -16 and 17, and c is its part between 0 and 1. A queue
 * of L4S is short and steady, so c is 0 there. With c = 1 a mark is a loss, and
 * the increase is Reno's.
 *
 * The weights, 10 ms, the limits and the gain of the averages are of this
 * module: docs/modules.md.
 */
#ifndef CORE_PRAGUE_FALLBACK_H
#define CORE_PRAGUE_FALLBACK_H

#include "arith.h"

#define FALLBACK_ONE 65536			/* scores are q16 */
#define FALLBACK_LEAST (-16 * FALLBACK_ONE)
#define FALLBACK_MOST (17 * FALLBACK_ONE)
#define FALLBACK_LOG_BITS 16
#define FALLBACK_TIME_SHIFT 8			/* averages are 2^-8 us */
#define FALLBACK_TIME_MAX ((1U << 24) - 1)	/* us */

struct prague_fallback {
	u32 rtt;	/* slow average, 2^-8 us; 0: no sample yet */
	u32 deviation;	/* slow average of |sample - rtt|, 2^-8 us */
	s32 score;	/* q16 */
};

/*
 * Return floor(lg(x)) in q16, x > 0. Squaring a mantissa doubles its logarithm,
 * so each square gives one bit of it.
 */
static inline s32 fallback_lg(u32 x)
{
	s32 whole = fls64(x) - 1, result = whole, i;
	u64 mantissa = (u64)x << (31 - whole);

	for (i = 0; i < FALLBACK_LOG_BITS; i++) {
		mantissa = mantissa * mantissa >> 31;
		result = 2 * result + (mantissa >> 32);
		mantissa >>= mantissa >> 32;
	}
	return result;
}

/* Return lg(time / reference) in q16; a time of 0 counts as 1 us */
static inline s32 fallback_lg_ratio(u32 time_us, u32 reference_us)
{
	return fallback_lg(max_t(u32, time_us, 1)) - fallback_lg(reference_us);
}

/*
 * Average a round-trip time. Each of the samples of a round trip has the gain
 * 1 / (4 window), so an average takes four round trips to follow.
 */
static inline void fallback_sample(struct prague_fallback *f, u32 rtt_us,
				   u32 window)
{
	u32 rtt = min_t(u32, rtt_us, FALLBACK_TIME_MAX) << FALLBACK_TIME_SHIFT;
	u64 gain = div64_u64(CORE_ONE_Q32 / 4, max_t(u32, window, 1));
	u32 apart;

	if (!f->rtt) {
		f->rtt = rtt;
		f->deviation = rtt / 2;
		return;
	}
	apart = max_t(u32, rtt, f->rtt) - min_t(u32, rtt, f->rtt);
	f->deviation = core_blend(f->deviation, apart, gain);
	f->rtt = core_blend(f->rtt, rtt, gain);
}

/* Move the score at the end of a round trip */
static inline void fallback_round(struct prague_fallback *f, u32 rtt_min_us)
{
	u32 rtt_us = f->rtt >> FALLBACK_TIME_SHIFT;
	u32 depth_us = rtt_us - min_t(u32, rtt_us, rtt_min_us);
	s32 score = f->score;

	score += fallback_lg_ratio(f->deviation >> FALLBACK_TIME_SHIFT, 750) / 2;
	score += fallback_lg_ratio(depth_us, 2000) / 2;
	score -= fallback_lg_ratio(rtt_us, 10000) / 4;
	score = max_t(s32, score, FALLBACK_LEAST);
	WRITE_ONCE(f->score, min_t(s32, score, FALLBACK_MOST));
}

/* Return c in q32: 0 is Prague, 1 is classic */
static inline u64 fallback_share(s32 score)
{
	u64 positive = max_t(s32, score, 0);

	return min_t(u64, positive << 16, CORE_ONE_Q32);
}

/* Return alpha (q32), of which a mark takes half, between its own and a loss's */
static inline u64 fallback_alpha(u64 alpha, u64 share, u32 loss_percent)
{
	u64 loss = div64_u64((100 - loss_percent) * CORE_ONE_Q32, 50);

	return core_blend(alpha, loss, share);
}

/* Return the least virtual round-trip time: none for a classic flow */
static inline u32 fallback_least_rtt(u32 least_us, u64 share)
{
	return core_blend(least_us, 0, share);
}

#endif /* CORE_PRAGUE_FALLBACK_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The gain 1 - e^(-T/K) of filters whose pole follows the time between samples
 * (CSFQ, TIBET eq. 3; TIBET's second filter, eq. 5), and e^-x itself (Libra).
 */
#ifndef CORE_EXPONENTIAL_H
#define CORE_EXPONENTIAL_H

#include "arith.h"

#define CORE_EXP_STEPS 9
#define CORE_EXP_LIMIT 22	/* e^-22 is below 2^-31 */

/*
 * Return 1 - e^-x for x < 1/16, both q32: x - x^2/2 + x^3/6 - x^4/24 by
 * Horner's rule. The error is below x^5/120 = 8e-9. The result keeps the
 * relative precision of x, so that the gain of a short interval is not 0: for 1
 * us and 0.5 s it is 8590 units of 2^-32 (in q16 it would be 0 below 8 us).
 */
static inline u64 core_exp_series(u64 x)
{
	u64 inner = CORE_ONE_Q32 - x / 4;

	inner = CORE_ONE_Q32 - div64_u64(core_mul_q32(x, inner), 3);
	inner = CORE_ONE_Q32 - core_mul_q32(x, inner) / 2;
	return core_mul_q32(x, inner);
}

/* Return e^-x: a factor for each bit of x from 16 to 1/16, then the series */
static inline u64 core_exp_neg(u64 x)
{
	/* e^-16, e^-8, ... e^(-1/16), rounded to 2^-32 */
	static const u32 step[CORE_EXP_STEPS] = {
		483, 1440801, 78665070, 581260615, 1580030169,
		2605029347U, 3344923893U, 3790295335U, 4034748382U,
	};
	u64 result = CORE_ONE_Q32;
	int i;

	if (x >= CORE_EXP_LIMIT * CORE_ONE_Q32)
		return 0;
	for (i = 0; i < CORE_EXP_STEPS; i++)
		if (x & ((16 * CORE_ONE_Q32) >> i))
			result = core_mul_q32(step[i], result);
	x &= CORE_ONE_Q32 / 16 - 1;
	return core_mul_q32(result, CORE_ONE_Q32 - core_exp_series(x));
}

/*
 * Return 1 - e^(-elapsed/constant), q32. A constant of 0 means no filter. From
 * 22 time constants on the gain is 1. Below x = 1/16 the result is the series,
 * with its full precision.
 */
static inline u64 core_exp_gain(u32 elapsed_us, u32 constant_us)
{
	u64 x;

	if (elapsed_us / CORE_EXP_LIMIT >= constant_us)
		return CORE_ONE_Q32;
	x = div64_u64(((u64)elapsed_us << 32) + constant_us / 2, constant_us);
	return CORE_ONE_Q32 - core_exp_neg(x);
}

#endif /* CORE_EXPONENTIAL_H */

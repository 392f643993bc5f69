// SPDX-License-Identifier: GPL-2.0-only
/* Compare core/exponential.h with exp() and expm1() of the C library */

#include "check.h"
#include "../core/exponential.h"

static void test_exponential(void)
{
	u64 last = 0, i;

	CHECK_EQ(core_exp_neg(0), CORE_ONE_Q32);
	CHECK_EQ(core_exp_neg(22 * CORE_ONE_Q32), 0);
	CHECK_EQ(core_exp_neg(U64_MAX), 0);
	CHECK_EQ(core_exp_neg(22 * CORE_ONE_Q32 - 1), 2);
	/* each factor alone, exact to the last bit */
	for (i = 0; i < 9; i++)
		CHECK_EQ(core_exp_neg((16 * CORE_ONE_Q32) >> i),
			 (u64)llround(exp(-16 / pow(2, (double)i)) *
				      4294967296.0));
	/* the series, exact to two units */
	for (i = 0; i < 100000; i++) {
		u64 x = random_u64() % (CORE_ONE_Q32 / 16);

		CHECK_NEAR((double)core_exp_series(x),
			   -expm1(-from_q32(x)) * 4294967296.0, 8 / 1e9 / 0.06, 2);
	}
	for (i = 0; i < 200000; i++) {
		u64 x = random_u64() % (32 * CORE_ONE_Q32);

		CHECK_NEAR((double)core_exp_neg(x),
			   exp(-from_q32(x)) * 4294967296.0, 1 / 1e8, 6);
	}
	for (i = 0; i < 200000; i++) {
		u32 elapsed = random_bits(32), constant = random_bits(26);
		u64 gain = core_exp_gain(elapsed, constant);
		double x = (double)elapsed / constant;

		CHECK(gain <= CORE_ONE_Q32);
		CHECK_NEAR((double)gain, constant ? -expm1(-x) * 4294967296.0 :
			   4294967296.0, 1.4 / 1e7, 8);
	}
	/* with more time the gain falls by no more than the last bits */
	for (i = 0; i < 2000000; i += 97) {
		u64 gain = core_exp_gain(i, 100000);

		CHECK(gain + 2 >= last);
		last = gain;
	}
	/* the gain is not 0 where a 16-bit gain would be: 1 us of 0.5 s */
	CHECK_EQ(core_exp_gain(1, 500000), 8590);
	CHECK_EQ(core_exp_gain(0, 0), CORE_ONE_Q32);
	CHECK_EQ(core_exp_gain(0, 5), 0);
	CHECK_EQ(core_exp_gain(1, 9000), 477192);
	CHECK_EQ(core_exp_neg(1), CORE_ONE_Q32 - 1);
	CHECK_EQ(core_exp_gain(22 * 7, 7), CORE_ONE_Q32);
	CHECK_EQ(core_exp_gain(10 * 7, 7), 4294772305ULL);
	CHECK_EQ(core_exp_gain(22 * 1000000, 1000000), CORE_ONE_Q32);
}

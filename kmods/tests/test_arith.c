// SPDX-License-Identifier: GPL-2.0-only
/* Compare core/arith.h with 128-bit arithmetic, and check its extreme values */

#include "check.h"

/* value * mul / div by 128 bits, or U64_MAX if that does not fit */
static u64 exact_scale(u64 value, u32 mul, u32 div)
{
	return (__uint128_t)value * mul / div > U64_MAX ? U64_MAX :
	       (u64)((__uint128_t)value * mul / div);
}

/* (value * factor + addend) / 2^32, by 128 bits */
static u64 exact_shifted(u64 value, u64 factor, u64 addend)
{
	return (u64)(((__uint128_t)value * factor + addend) >> 32);
}

static void test_scale(void)
{
	int i;

	CHECK_EQ(core_scale(U64_MAX, 1, 1), U64_MAX);
	CHECK_EQ(core_scale(U64_MAX, U32_MAX, U32_MAX), U64_MAX);
	CHECK_EQ(core_scale(10, 7, 3), 23);
	for (i = 0; i < 200000; i++) {
		u64 value = random_bits(64);
		u32 mul = random_bits(32), div = random_bits(31) + 1;

		CHECK_EQ(core_scale(value, mul, div),
			 exact_scale(value, mul, div));
	}
	/* whole * mul fits, the sum with the remainder's part does not */
	CHECK_EQ(core_scale(8589934593ULL, U32_MAX, 2), 18446744071562067967ULL);
	CHECK_EQ(core_scale(8589934595ULL, U32_MAX, 2), U64_MAX);
}

static void test_mul_and_blend(void)
{
	int i;

	CHECK_EQ(core_mul_q32(U64_MAX, CORE_ONE_Q32), U64_MAX);
	CHECK_EQ(core_mul_q32(1, CORE_ONE_Q32 / 2), 1);
	CHECK_EQ(core_mul_q32(1, CORE_ONE_Q32 / 2 - 1), 0);
	CHECK_EQ(core_mul_q32(3, CORE_ONE_Q32 / 2), 2);
	for (i = 0; i < 200000; i++) {
		u64 value = random_bits(64), other = random_bits(58);
		u64 gain = random_u64() & 7 ? random_bits(32) : CORE_ONE_Q32;
		u64 blended = core_blend(value >> 6, other, gain);

		CHECK_EQ(core_mul_q32(value, gain),
			 exact_shifted(value, gain, CORE_ONE_Q32 / 2));
		CHECK_NEAR((double)blended,
			   (double)(value >> 6) * (1 - from_q32(gain)) +
			   (double)other * from_q32(gain), 1 / 1e15, 1024);
		CHECK(blended <= max_t(u64, value >> 6, other));
		CHECK(blended >= min_t(u64, value >> 6, other));
	}
	CHECK_EQ(core_blend(5, 9, 0), 5);
	CHECK_EQ(core_blend(5, 9, CORE_ONE_Q32), 9);
	CHECK_EQ(core_blend(9, 5, CORE_ONE_Q32 / 2), 7);
	CHECK_EQ(core_blend(9, 8, CORE_ONE_Q32 / 2), 8);
	CHECK_EQ(core_div_nearest(4, 10), 0);
	CHECK_EQ(core_div_nearest(5, 10), 1);
	CHECK_EQ(core_div_nearest(7, 3), 2);
	CHECK_EQ(core_div_nearest(8, 3), 3);
}

static void test_rates(void)
{
	int i;

	CHECK_EQ(core_rate(1, 1000000), 1024);
	CHECK_EQ(core_rate(1448, 0), core_rate(1448, 1));
	CHECK(core_rate(1448, 1) > core_rate(1448, 2));
	CHECK_EQ(core_rate(CORE_BYTES_MAX, 10000000), 219902325452ULL);
	CHECK_EQ(core_rate(U64_MAX, 10000000), 219902325452ULL);
	CHECK_EQ(CORE_BYTES_MAX, 2147483647ULL);
	CHECK_EQ(core_rate(750000000, 1), 288230376151711743ULL);
	CHECK_EQ(core_bdp_bytes(1250000000ULL << 10, 600000), 750000000);
	CHECK_EQ(core_bdp_bytes(1024, 999999), 0);
	CHECK_EQ(core_bdp_segments(1250000000ULL << 10, 600000, 1448), 517955);
	CHECK_EQ(core_bdp_segments(1250000000ULL << 10, 600000, 8948), 83817);
	CHECK_EQ(core_bdp_segments(0, 600000, 1448), 2);
	CHECK_EQ(core_bdp_segments(3ULL << 10, 1000000, 1), 3);
	CHECK_EQ(core_bdp_segments(CORE_BW_MAX, U32_MAX, 1), 1073741824);
	for (i = 0; i < 100000; i++) {
		u64 bytes = random_bits(31), bw = random_bits(58);
		u32 us = 1 + random_bits(31), mss = 1 + random_bits(16);
		double rate = (double)bytes * 1e6 / us;

		CHECK_NEAR(from_q10(core_rate(bytes, us)),
			   fmin(rate, 281474976710656.0), 1 / 1e14, 1.0 / 1024);
		CHECK_NEAR((double)core_bdp_segments(bw, us, mss),
			   fmin(fmax(from_q10(bw) * us / 1e6 / mss, 2),
				1073741824.0), 1 / 1e14, 1);
	}
}

static void test_accumulate(void)
{
	u32 fraction = U32_MAX;
	int i;

	CHECK_EQ(core_accumulate(&fraction, 1, 1), 1);
	CHECK_EQ(fraction, 0);
	CHECK_EQ(core_accumulate(&fraction, U64_MAX, U32_MAX), 1073741824);
	CHECK_EQ(fraction, 1);
	for (i = 0; i < 100000; i++) {
		u64 step = random_bits(62);
		u32 n = random_bits(20), before = random_bits(32);

		fraction = before;
		CHECK_EQ(core_accumulate(&fraction, step, n),
			 min_t(u64, exact_shifted(step, n, before),
			       1073741824));
		CHECK_EQ(fraction, (u32)(step * n + before));
	}
	/* Adding one by one or all at once gives the same */
	for (i = 0; i < 1000; i++) {
		u64 step = random_bits(34);
		u32 n = random_bits(8), one = 0, all = 0, sum = 0, k;

		for (k = 0; k < n; k++)
			sum += core_accumulate(&one, step, 1);
		CHECK_EQ(core_accumulate(&all, step, n), sum);
		CHECK_EQ(all, one);
	}
}

static void test_arith(void)
{
	CHECK_EQ(CORE_WINDOW_MAX, 1073741824);
	test_scale();
	test_mul_and_blend();
	test_rates();
	test_accumulate();
}

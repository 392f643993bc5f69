// SPDX-License-Identifier: GPL-2.0-only
/*
 * core/prague_fallback.h: its formulas in double precision, one by one, and then
 * whole flows through a queue that is short and steady, or long.
 *
 * Deviations of this oracle from the paper: it is the module's own score, whose
 * terms are those of Briscoe and Ahmed, arXiv:1911.00710, from memory. Weights,
 * range and start are the module's.
 */

#include "check.h"
#include "../core/prague_fallback.h"

static void test_fallback_logarithm(void)
{
	int i;

	CHECK_EQ(fallback_lg(1), 0);
	CHECK_EQ(fallback_lg(2), 65536);
	CHECK_EQ(fallback_lg(3), 103872);
	CHECK_EQ(fallback_lg(10), 217705);
	CHECK_EQ(fallback_lg(U32_MAX), 32 * 65536 - 1);
	CHECK_EQ(fallback_lg_ratio(0, 1), 0);
	CHECK_EQ(fallback_lg_ratio(2, 1), 65536);
	CHECK_EQ(fallback_lg_ratio(0, 2) + 65536, 0);
	for (i = 0; i < 100000; i++) {
		u32 x = 1 + random_bits(31), reference = 1 + random_bits(24);

		CHECK_NEAR(fallback_lg(x) / 65536.0, log2(x) - 0.5 / 65536,
			   0, 0.51 / 65536);
		CHECK_NEAR(fallback_lg_ratio(x, reference) / 65536.0,
			   log2((double)x / reference), 0, 1.01 / 65536);
	}
}

/* The score's step in double precision, for averages of whole microseconds */
static double wanted_score(const struct prague_fallback *f, u32 rtt_min_us)
{
	double s = f->rtt / 256, v = fmax(f->deviation / 256, 1);
	double d = fmax(s - rtt_min_us, 1), score = f->score / 65536.0;

	score += log2(v / 750) / 2 + log2(d / 2000) / 2;
	score -= log2(fmax(s, 1) / 10000) / 4;
	return fmin(fmax(score, -16), 17);
}

static void test_fallback_round(void)
{
	struct prague_fallback f = { 20000 << 8, 1500 << 8, 0 };
	int i;

	/* lg 2 / 2 + lg 4 / 2 - lg 2 / 4 = 5/4 */
	fallback_round(&f, 12000);
	CHECK_EQ(f.score, 81920);
	for (i = 0; i < 20; i++)
		fallback_round(&f, 12000);
	CHECK_EQ(f.score, 17 * 65536);
	f = (struct prague_fallback){ 10000 << 8, 1 << 8, -65536 * 15 };
	fallback_round(&f, 10001);
	CHECK_EQ(f.score + 16 * 65536, 0);
	for (i = 0; i < 100000; i++) {
		u32 rtt_min = random_bits(24);
		double wanted;

		f.rtt = random_u64();
		f.deviation = random_bits(32);
		f.score = (s32)(random_u64() % (33 * 65536 + 1)) - 16 * 65536;
		wanted = wanted_score(&f, rtt_min);
		fallback_round(&f, rtt_min);
		CHECK_NEAR(f.score / 65536.0, wanted, 0, 3.0 / 65536);
	}
}

static void test_fallback_sample(void)
{
	struct prague_fallback f = { 0, 0, 0 };
	int i;

	fallback_sample(&f, 10000, 10);
	CHECK_EQ(f.rtt, 2560000);
	CHECK_EQ(f.deviation, 1280000);
	/* The gain is 1/40 */
	fallback_sample(&f, 14000, 10);
	CHECK_EQ(f.deviation, 1280000 - 6400);
	CHECK_EQ(f.rtt, 2560000 + 25600);
	fallback_sample(&f, 14000, 0);
	CHECK_EQ(f.rtt, 2585600 + 249600 - 0);
	f = (struct prague_fallback){ 0, 0, 0 };
	fallback_sample(&f, U32_MAX, 1);
	CHECK_EQ(f.rtt, ((1U << 24) - 1) * 256);
	f = (struct prague_fallback){ 0, 0, 0 };
	fallback_sample(&f, 1 << 24, 1);
	CHECK_EQ(f.rtt, ((1U << 24) - 1) * 256);
	for (i = 0; i < 100000; i++) {
		u32 rtt = 1 + random_bits(23), window = random_bits(16);
		double gain = 0.25 / fmax(window, 1), s, v;

		f.rtt = 1 + random_bits(31);
		f.deviation = random_bits(31);
		s = f.rtt;
		v = f.deviation;
		fallback_sample(&f, rtt, window);
		CHECK_NEAR(f.rtt, s + (256.0 * rtt - s) * gain, 0, 2);
		CHECK_NEAR(f.deviation, v + (fabs(256.0 * rtt - s) - v) * gain,
			   0, 2);
	}
}

static void test_fallback_share(void)
{
	int i;

	CHECK_EQ(fallback_share(-1), 0);
	CHECK_EQ(fallback_share(0), 0);
	CHECK_EQ(fallback_share(1), 65536);
	CHECK_EQ(fallback_share(65535), 4294901760ULL);
	CHECK_EQ(fallback_share(65536), CORE_ONE_Q32);
	CHECK_EQ(fallback_share(FALLBACK_MOST), CORE_ONE_Q32);
	CHECK_EQ(fallback_alpha(12345, 0, 50), 12345);
	CHECK_EQ(fallback_alpha(12345, CORE_ONE_Q32, 50), CORE_ONE_Q32);
	CHECK_EQ(fallback_alpha(0, CORE_ONE_Q32, 70), 2576980377ULL);
	CHECK_EQ(fallback_alpha(0, CORE_ONE_Q32, 10), 7730941132ULL);
	CHECK_EQ(fallback_least_rtt(25000, 0), 25000);
	CHECK_EQ(fallback_least_rtt(25000, CORE_ONE_Q32 / 2), 12500);
	CHECK_EQ(fallback_least_rtt(25000, CORE_ONE_Q32), 0);
	for (i = 0; i < 100000; i++) {
		u64 alpha = random_bits(32), share = random_bits(32);
		u32 percent = 10 + random_u64() % 81, least = random_bits(20);
		double c = from_q32(share);

		CHECK_NEAR(from_q32(fallback_alpha(alpha, share, percent)),
			   (1 - c) * from_q32(alpha) +
			   c * (100.0 - percent) / 50, 0, 1 / 1e9);
		CHECK_NEAR(fallback_least_rtt(least, share), (1 - c) * least,
			   0, 0.5001);
	}
}

/* The score after round trips of samples between two times, as a sawtooth */
static s32 score_of(u32 least_us, u32 most_us, u32 rounds)
{
	struct prague_fallback f = { 0, 0, FALLBACK_LEAST };
	u32 i, j;

	for (i = 0; i < rounds; i++) {
		for (j = 0; j < 40; j++)
			fallback_sample(&f, least_us + (most_us - least_us) *
					((i * 40 + j) % 400) / 400, 40);
		fallback_round(&f, 10000);
	}
	return f.score;
}

static void test_fallback_flows(void)
{
	CHECK_EQ(fallback_share(score_of(10000, 11000, 1000)), 0);
	CHECK_EQ(fallback_share(score_of(12000, 22000, 10)), 0);
	CHECK_EQ(fallback_share(score_of(12000, 22000, 100)), CORE_ONE_Q32);
}

static void test_prague_fallback(void)
{
	test_fallback_logarithm();
	test_fallback_round();
	test_fallback_sample();
	test_fallback_share();
	test_fallback_flows();
}

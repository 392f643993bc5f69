// SPDX-License-Identifier: GPL-2.0-only
/*
 * core/westwoodplus.h: eq. (1) of the paper's section 2.2, mainline's two
 * filters, and their dead bands.
 *
 * Deviations of this oracle from the paper: the first sample is the filter's
 * first value, which the paper does not give.
 */

#include "check.h"
#include "../core/westwoodplus.h"

static void test_wwp_values(void)
{
	struct wwp w = { 0 };

	wwp_update(&w, 1000, WWP_PAPER);
	CHECK_EQ(w.bw, 1000);
	wwp_update(&w, 2000, WWP_PAPER);
	CHECK_EQ(w.bw, 1100);
	wwp_update(&w, 1104, WWP_PAPER);
	CHECK_EQ(w.bw, 1100);
	wwp_update(&w, 1105, WWP_PAPER);
	CHECK_EQ(w.bw, 1101);

	w = (struct wwp){ 0 };
	wwp_update(&w, 800, WWP_MAINLINE);
	CHECK_EQ(w.bw, 800);
	CHECK_EQ(w.first, 800);
	wwp_update(&w, 1600, WWP_MAINLINE);
	CHECK_EQ(w.first, 900);
	CHECK_EQ(w.bw, 813);

	CHECK_EQ(wwp_interval_us(49999, WWP_PAPER), 49999);
	CHECK_EQ(wwp_interval_us(49999, WWP_MAINLINE), 50000);
	CHECK_EQ(wwp_interval_us(50001, WWP_MAINLINE), 50001);
	CHECK_EQ(WWP_PAPER, 0);
	CHECK_EQ(WWP_MAINLINE, 1);
}

/* Compare each mode with its recursion in double precision, random samples */
static void test_wwp_oracle(void)
{
	int run, k;

	for (run = 0; run < 200; run++) {
		struct wwp paper = { 0 }, main = { 0 };
		double b = 0, n = 0, m = 0;

		for (k = 0; k < 300; k++) {
			u64 sample = 1024 + random_bits(57);
			double s = (double)sample;

			b = k ? 0.9 * b + 0.1 * s : s;
			n = k ? 0.875 * n + 0.125 * s : s;
			m = k ? 0.875 * m + 0.125 * n : s;
			wwp_update(&paper, sample, WWP_PAPER);
			wwp_update(&main, sample, WWP_MAINLINE);
			CHECK_NEAR((double)paper.bw, b, 1 / 1e14, 6);
			CHECK_NEAR((double)main.first, n, 1 / 1e14, 6);
			CHECK_NEAR((double)main.bw, m, 1 / 1e14, 12);
		}
	}
}

/* The step response is 1 - 0.9^k, also at 10 Gbit/s and 100 times as high */
static void test_wwp_step(void)
{
	struct wwp w = { .bw = 1 };
	u64 top = 125000000000ULL << 10;
	int k;

	for (k = 1; k <= 200; k++) {
		wwp_update(&w, top, WWP_PAPER);
		CHECK_NEAR((double)w.bw, (1 - pow(0.9, k)) * (double)top,
			   1 / 1e12, 10);
	}
	for (k = 0; k < 1000; k++)
		wwp_update(&w, CORE_BW_MAX, WWP_PAPER);
	CHECK(w.bw <= CORE_BW_MAX && w.bw >= CORE_BW_MAX - 5);
}

static void test_westwoodplus(void)
{
	test_wwp_values();
	test_wwp_oracle();
	test_wwp_step();
}

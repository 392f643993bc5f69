// SPDX-License-Identifier: GPL-2.0-only
/*
 * core/libra.h, fast.h, idealtcp.h, newreno_ns2.h: the formulas of their papers
 * in double precision.
 *
 * Deviations of these oracles from the papers:
 *
 *   - Libra (2.1): alpha is given, since the paper has no unit of C. The share
 *     of the queue is between 0 and 1, and 0 while Tmax is Tmin. A loss leaves
 *     at least two segments.
 *   - FAST: alpha is constant. The packets on the way are at most w.
 *   - Ideal TCP (TIBET's 4.5): ssthresh is at least two segments.
 *   - NewReno as in ns-2's opencwnd(): none.
 */

#include "check.h"
#include "../core/fast.h"
#include "../core/idealtcp.h"
#include "../core/libra.h"
#include "../core/newreno_ns2.h"

/* Not static, so that the compiler cannot know its value */
extern u32 zero;
u32 zero;

static void test_libra(void)
{
	int i;

	CHECK_EQ(libra_factor(1000000, 1000000), 128000000);
	CHECK_EQ(libra_factor(zero, zero), 0);
	CHECK_EQ(libra_factor(1, 0), 256);
	CHECK_EQ(libra_factor(U32_MAX, 0), 4294967040U);
	CHECK_EQ(libra_factor(16777216, 0), 4294967040U);
	CHECK_EQ(libra_stability(10, 10, 20, 512), CORE_ONE_Q32);
	CHECK_EQ(libra_stability(10, 10, 10, 512), CORE_ONE_Q32);
	CHECK_EQ(libra_stability(11, 10, 10, 512), CORE_ONE_Q32);
	CHECK_EQ(libra_stability(20, 10, 20, 512), 581260615);
	CHECK_EQ(libra_stability(25, 10, 20, 512), 581260615);
	CHECK_EQ(libra_stability(15, 10, 20, 512), 1580030169);
	CHECK_EQ(libra_stability(15, 10, 20, 1), 4286586875ULL);
	/* 100 Mbit/s, 83 ms, T0 = 1, k1 = 2: 1.27 a round trip, or 106 */
	CHECK_NEAR(from_q32(libra_increment(200000, libra_factor(83000, 1000000),
					    1)), 1.2722, 1 / 1e4, 0);
	CHECK_NEAR(from_q32(libra_increment(16666667,
					    libra_factor(83000, 1000000), 1)),
		   106.02, 1 / 1e4, 0);
	CHECK_EQ(libra_increment(U64_MAX, 4294967040U, 1), U64_MAX);
	CHECK_EQ(libra_increment(U64_MAX, 4000000, 1), 36893488147351994ULL);
	for (i = 0; i < 100000; i++) {
		u32 rtt = 1000 + random_bits(23), t0 = random_bits(24);
		u32 base = random_bits(23), top = random_bits(24);
		u32 w = 1 + random_bits(20), t1 = random_bits(22);
		u32 k2 = random_bits(11);
		u64 alpha = random_bits(30);
		double s = rtt / 1e6, share = 0, f;

		f = s * s / (s + t0 / 1e6);
		CHECK_NEAR(libra_factor(rtt, t0), f * 256e6, 1 / 1e12, 1);
		CHECK_NEAR(from_q32(libra_increment(alpha, libra_factor(rtt, t0),
						    w)),
			   (double)alpha / 1000 * f / w, 0,
			   (double)alpha / 1000 / 256e6 / w + 1 / 1e9);
		if (rtt > base && top > base)
			share = fmin((double)(rtt - base) / (top - base), 1);
		CHECK_NEAR(from_q32(libra_stability(rtt, base, top, k2)),
			   exp(-share * k2 / 256), 1 / 1e8, 3 / 1e9);
		CHECK_NEAR(libra_decrease(w, rtt, t0, t1),
			   fmax(w - w * (t1 / 1e6) / (2 * (s + t0 / 1e6)), 2),
			   0, 1);
	}
	CHECK_EQ(libra_decrease(1000, 1000000, 1000000, 1000000), 750);
	CHECK_EQ(libra_decrease(1000, 0, 0, 0), 2);
	CHECK_EQ(libra_decrease(518000, 0, 500, 1000), 2);
	CHECK_EQ(libra_decrease(518000, 0, 500, 999), 518);
	CHECK_EQ(libra_decrease(4, 0, 500, 0), 4);
}

static void test_fast(void)
{
	u64 w = 3 << 8, average = 0;
	u32 base = 100000, alpha = 100;
	int i;

	CHECK_EQ(fast_average_rtt(0, 5, 1), 5 << 16);
	CHECK_EQ(fast_average_rtt(0, U32_MAX, 1), 16777215ULL << 16);
	CHECK_EQ(fast_average_rtt(0, 16777216, 1), 16777215ULL << 16);
	CHECK_EQ(fast_average_rtt(400, 0, 3), 300);
	CHECK_EQ(fast_average_rtt(400, 0, 12), 300);
	CHECK_EQ(fast_average_rtt(400 << 16, 200, 16), 23756800);
	CHECK_EQ(fast_average_rtt(1099510928726ULL, 0, U32_MAX), 1099510142294ULL);
	CHECK_EQ(fast_average_rtt(1099510666582ULL, 0, U32_MAX), 1099509880151ULL);
	CHECK_EQ(fast_on_the_way(1000, 50, 100ULL << 16), 500);
	CHECK_EQ(fast_on_the_way(1000, 50, 49ULL << 16), 1000);
	CHECK_EQ(fast_on_the_way(1000, 0, 0), 0);
	CHECK_EQ(fast_on_the_way(1000, 1, 0), 1000);
	for (i = 0; i < 100000; i++) {
		u32 sample = random_bits(24), window = 1 + random_bits(20);
		double a = fmin(3.0 / window, 0.25);
		u64 before = 1 + random_bits(40);

		CHECK_NEAR((double)fast_average_rtt(before, sample, window),
			   (1 - a) * (double)before + a * sample * 65536, 1 / 1e14,
			   0.51);
	}
	for (i = 0; i < 100000; i++) {
		u64 window = 256 + random_bits(28);
		u32 rtt = 1 + random_bits(23), low = 1 + random_bits(23);
		double target = (double)window * fmin((double)low / rtt, 1);
		u64 got = fast_window(window, low, (u64)rtt << 16, alpha, 50);

		CHECK_NEAR((double)got, fmin(2 * (double)window,
					     0.5 * (double)window + 0.5 *
					     (target + 25600)), 0, 1.01);
	}
	CHECK_EQ(fast_window(25600, 100, 200 << 16, 100, 50), 32000);
	CHECK_EQ(fast_window(25600, 100, 200 << 16, 100, 25), 28800);
	CHECK_EQ(fast_window(256, 100, 100 << 16, 100, 50), 512);
	CHECK_EQ(fast_window(25601, 100, 200 << 16, 100, 25), 28801);
	CHECK_EQ(fast_window(1ULL << 38, 100, 100 << 16, 100, 50), 1ULL << 38);
	/* a single flow, BDP of 1000 packets: alpha packets are in the queue */
	for (i = 0; i < 200; i++) {
		double queued = fmax((double)w / 256 - 1000, 0);

		average = (u64)(base * (1 + queued / 1000)) << 16;
		w = fast_window(w, base, average, alpha, 50);
	}
	CHECK_NEAR((double)w / 256, 1100, 0.001, 0);
}

static void test_ideal(void)
{
	int i;

	CHECK_EQ(ideal_window(5000000, 100000, 1000), 62);
	CHECK_EQ(ideal_window(0, 100000, 1000), 2);
	CHECK_EQ(ideal_window(U64_MAX, 1, 1), 281474976);
	for (i = 0; i < 100000; i++) {
		u64 rate = random_bits(36);
		u32 rtt = random_bits(22), mss = 500 + random_bits(14);

		CHECK_NEAR(ideal_window(rate, rtt, mss),
			   fmax((double)(rate / 8) * rtt / 1e6 / mss, 2), 0, 1);
	}
}

static void test_ns2(void)
{
	u32 fraction = 0, w = 1000, i;
	double real = 1000;

	CHECK_EQ(ns2_acked(&fraction, 1, 1), 1);
	CHECK_EQ(ns2_acked(&fraction, 2, 1), 0);
	CHECK_EQ(ns2_acked(&fraction, 2, 1), 1);
	CHECK_EQ(ns2_acked(&fraction, 518000, 518000 * 2), 1);
	fraction = 0;
	/* W counts whole segments, so each window takes exactly W ACKs or one more */
	for (i = 0; i < 1000000; i++) {
		real += 1 / floor(real);
		w += ns2_acked(&fraction, w, 1);
		CHECK_NEAR(w, floor(real), 0, 1);
	}
}

static void test_windows(void)
{
	test_libra();
	test_fast();
	test_ideal();
	test_ns2();
}

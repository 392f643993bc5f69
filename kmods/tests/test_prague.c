// SPDX-License-Identifier: GPL-2.0-only
/*
 * core/prague.h: the formulas of draft-briscoe-iccrg-prague-congestion-control
 * in double precision, one by one, and then many round trips of a flow that is
 * marked at random.
 *
 * Deviations of this oracle from the paper: it is the draft, revision 04. The
 * window is at least two segments. All segments of an ACK have the increment of
 * the window before it.
 */

#include "check.h"
#include "../core/prague.h"

static double to_segments(u64 window)
{
	return (double)window / 4294967296.0;
}

static void test_prague_formulas(void)
{
	int i;

	CHECK_EQ(prague_alpha(CORE_ONE_Q32, 0, 1, 4), 4026531840U);
	CHECK_EQ(prague_alpha(0, 1, 1, 4), 268435456);
	CHECK_EQ(prague_alpha(0, 7, 1, 0), CORE_ONE_Q32);
	CHECK_EQ(prague_alpha(0, 1, 3, 0), 1431655765);
	CHECK_EQ(prague_virtual_rtt(5000, 25000), 25000);
	CHECK_EQ(prague_virtual_rtt(25001, 25000), 25001);
	CHECK_EQ(prague_virtual_rtt(5000, 0), 5000);
	CHECK_EQ(prague_increase(5000, 25000), 171798692);
	CHECK_EQ(prague_increase(25000, 25000), CORE_ONE_Q32);
	CHECK_EQ(prague_increase(25001, 25000), CORE_ONE_Q32);
	CHECK_EQ(prague_grow(10ULL << 32, CORE_ONE_Q32, 10), 47244640250ULL);
	CHECK_EQ(prague_grow(10ULL << 32, CORE_ONE_Q32, 0), 10ULL << 32);
	CHECK_EQ(prague_reduce(10ULL << 32, CORE_ONE_Q32), 5ULL << 32);
	CHECK_EQ(prague_reduce(10ULL << 32, CORE_ONE_Q32 / 10), 40802189315ULL);
	CHECK_EQ(prague_reduce(10ULL << 32, 0), 10ULL << 32);
	CHECK_EQ(prague_reduce(3ULL << 32, CORE_ONE_Q32), 2ULL << 32);
	CHECK_EQ(prague_loss(100, 0, 50), 50);
	CHECK_EQ(prague_loss(100, 0, 70), 70);
	CHECK_EQ(prague_loss(90, 100, 50), 50);
	CHECK_EQ(prague_loss(50, 100, 70), 50);
	CHECK_EQ(prague_loss(3, 0, 50), 2);
	CHECK_EQ(prague_loss(1073741824, 0, 90), 966367641);
	for (i = 0; i < 100000; i++) {
		u32 acked = 1 + random_bits(20), marked = random_bits(20);
		u32 shift = random_u64() % 17, srtt = 1 + random_bits(24);
		u32 least = random_bits(20), before = random_bits(20);
		u64 alpha = random_bits(32), window = (2ULL << 32) + random_bits(52);
		u32 percent = 10 + random_u64() % 81, unmarked = random_bits(16);
		double share = fmin((double)marked / acked, 1);
		double virtual_us = fmax(srtt, least);
		double real = to_segments(window), reduced, ai;
		u64 increase = prague_increase(srtt, prague_virtual_rtt(srtt, least));

		CHECK_NEAR(from_q32(prague_alpha(alpha, marked, acked, shift)),
			   from_q32(alpha) + (share - from_q32(alpha)) *
			   pow(2, -(double)shift), 0, 1 / 1e9);
		CHECK_NEAR(prague_virtual_rtt(srtt, least), virtual_us, 0, 0);
		ai = pow(fmin(srtt / virtual_us, 1), 2);
		CHECK_NEAR(from_q32(increase), ai, 1 / 1e8, 1 / 1e9);
		CHECK_NEAR(to_segments(prague_grow(window, increase, unmarked)),
			   real + unmarked * ai / real, 1 / 1e12,
			   unmarked * ((ai / 1e8 + 1 / 1e9) / real + 1 / 4e9));
		reduced = fmax(real * (1 - from_q32(alpha) / 2), 2);
		CHECK_NEAR(to_segments(prague_reduce(window, alpha)), reduced,
			   0, 1 / 1e9);
		CHECK_NEAR(prague_loss(window >> 32, before, percent),
			   fmax(fmin(fmax((double)(window >> 32), before) *
				     percent / 100, (double)(window >> 32)), 2),
			   0, 1);
	}
}

/*
 * The mean rate, in segments per second, of a flow whose segments are marked
 * with probability p. The same marks go to a window in double precision, which
 * must stay close: rounding does not add up.
 */
static double marked_rate(u32 srtt_us, u32 least_us, double p)
{
	u32 virtual_us = prague_virtual_rtt(srtt_us, least_us);
	u64 increase = prague_increase(srtt_us, virtual_us);
	double w = 100, a = 1, now_us = 0, reduced_us = -1e9, period_us = 0;
	double sent = 0, ai = pow((double)srtt_us / virtual_us, 2);
	u64 window = 100ULL << 32, alpha = CORE_ONE_Q32;
	u32 acked = 0, marks = 0, i;

	for (i = 0; i < 400000; i++) {
		bool marked = random_unit() < p;

		now_us += srtt_us / w;
		acked++;
		if (marked) {
			marks++;
		} else {
			window = prague_grow(window, increase, 1);
			w += ai / w;
		}
		if (now_us - period_us >= virtual_us) {
			alpha = prague_alpha(alpha, marks, acked, 4);
			a += ((double)marks / acked - a) / 16;
			period_us = now_us;
			marks = 0;
			acked = 0;
		}
		if (marked && now_us - reduced_us >= virtual_us) {
			window = prague_reduce(window, alpha);
			w = fmax(w * (1 - a / 2), 2);
			reduced_us = now_us;
		}
		CHECK_NEAR(to_segments(window), w, 1 / 1e5, 0);
		sent += i >= 100000;
		if (i == 100000) {
			reduced_us -= now_us;
			period_us -= now_us;
			now_us = 0;
		}
	}
	return sent / now_us * 1e6;
}

/*
 * With m = p W marks in a virtual round trip, a reduction takes m / 2 segments,
 * and the next one comes after that round trip and 1/m of it, in which the window
 * grows by 1 + 1/m: m^2 - 2m - 2 = 0, so m is 2.73. It is 2 where reductions
 * come once in every round trip, as RFC 9332 (Appendix A.1) assumes.
 */
static void test_prague_response(void)
{
	double far = marked_rate(25000, 25000, 0.02);
	double near = marked_rate(5000, 25000, 0.02);

	CHECK_NEAR(far * 0.02 * 0.025, 1 + sqrt(3), 0.05, 0);
	CHECK_NEAR(marked_rate(50000, 25000, 0.02) / far, 0.5, 0.05, 0);
	/* RTT independence: a fifth of the RTT, and the same rate */
	CHECK_NEAR(near / far, 1, 0.05, 0);
	CHECK_NEAR(marked_rate(5000, 0, 0.02) / far, 5, 0.05, 0);
}

static void test_prague(void)
{
	test_prague_formulas();
	test_prague_response();
}

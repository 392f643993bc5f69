// SPDX-License-Identifier: GPL-2.0-only
/*
 * core/tibet.h: the recursion of the paper's section 3.1, eq. (5), coarse
 * clocks, ageing of RTTmin.
 *
 * Deviations of these oracles from the paper:
 *
 *   - Both averages begin at 0, and the estimate with their first ratio. The
 *     paper gives no first values.
 *   - Packets between two ACKs share their data and time equally.
 *   - Eq. (5) is evaluated once 1 ms has passed, not for each packet.
 *   - An RTTmin that ages has a floor.
 */

#include "check.h"
#include "../core/tibet.h"

/*
 * Compare random samples with the recursion of section 3.1, packet by packet, in
 * double precision. Equation (5) is evaluated for all packets at once.
 */
static void test_tibet_oracle(void)
{
	int run, k;

	for (run = 0; run < 100; run++) {
		u32 constant = random_u64() % 5 ? 1000000 : 0;
		unsigned int size = 8 + random_u64() % 23;
		struct tibet t = { 0 };
		double length = 0, interval = 0, bw = 0, since = 0;

		for (k = 0; k < 2000; k++) {
			u64 bytes = 1000 + random_bits(size);
			u32 us = 1 + random_bits(20), i;
			u32 n = run % 2 ? 1 : 1 + random_bits(6);

			for (i = 0; i < n; i++) {
				length = 0.99 * length + 0.01 * (double)bytes / n;
				interval = 0.99 * interval + 0.01 * us / n;
			}
			since += us;
			if (!k)
				bw = length / interval * 1e6;
			if (since >= 1000) {
				double keep = constant ?
					      exp(-since / constant) : 0;

				bw = keep * bw + (1 - keep) * length /
				     interval * 1e6;
				since = 0;
			}
			tibet_sample(&t, bytes, us, n, constant);
			/* a gain is exact to 8e-9 of the largest sample */
			CHECK_NEAR((double)t.length / 65536, length, 1 / 1e9,
				   1 / 1e3 + ldexp(8 / 1e9, size));
			CHECK_NEAR((double)t.interval / 65536, interval, 1 / 1e9,
				   1 / 1e3 + ldexp(8 / 1e9, 20));
			CHECK_NEAR(from_q10(t.bw), fmin(bw, 281474976710656.0),
				   0.001, 1);
		}
	}
}

static void test_tibet_values(void)
{
	struct tibet t = { 0 };

	tibet_sample(&t, 1000, 999, 1, 1000000);
	CHECK_EQ(t.length, 655360);
	CHECK_EQ(t.interval, 654705);
	CHECK_EQ(t.since_us, 999);
	CHECK_EQ(t.bw, 1025024461);	/* 1000 bytes in 999 us */
	tibet_sample(&t, 0, 1, 1, 1000000);
	CHECK_EQ(t.since_us, 0);
	CHECK_EQ(t.length, 648806);
	CHECK_EQ(t.interval, 648813);
	CHECK(t.bw < 1025024461);

	/* extremes: 2^31 bytes per ACK, one ACK per half hour */
	t = (struct tibet){ 0 };
	tibet_sample(&t, U64_MAX, U32_MAX, 1, 1000000);
	CHECK_EQ(t.length, core_mul_q32(CORE_BYTES_MAX << 16, 42949673));
	CHECK_EQ(t.interval, core_mul_q32(2147483647ULL << 16, 42949673));
	CHECK_EQ(t.bw, 1024000000);
	CHECK_EQ(t.since_us, 0);
	tibet_sample(&t, 0, U32_MAX, 1, 1000000);
	CHECK_EQ(t.since_us, 0);

	CHECK_EQ(tibet_ratio(1ULL << 47, 65536), CORE_BW_MAX);
	CHECK_EQ(tibet_ratio(1ULL << 47, 0), CORE_BW_MAX);
	CHECK_EQ(tibet_ratio(U32_MAX - 1, U32_MAX), 1023999999);
	/* from 2^32 on both lose the same low bits, no more than needed */
	CHECK_EQ(tibet_ratio(CORE_ONE_Q32 - 1, CORE_ONE_Q32), 1023999999);
	CHECK_EQ(tibet_ratio(CORE_ONE_Q32 + 2, CORE_ONE_Q32), 1024000000);
	CHECK_EQ(tibet_ratio(1, 1ULL << 47), 0);
	CHECK_EQ(tibet_ratio(1, 1), 1024000000);
}

/* 1 - 0.99^n for any n; core_exp_neg() is exact to 8e-9 */
static void test_tibet_gain(void)
{
	u32 n;

	CHECK_EQ(tibet_gain(1), 42949673);	/* 0.01 */
	CHECK_EQ(tibet_gain(2), 85469849);	/* 0.0199 */
	for (n = 1; n < 3000; n++)
		CHECK_NEAR(from_q32(tibet_gain(n)), 1 - pow(0.99, n),
			   0, 8 / 1e9);
	CHECK_EQ(tibet_gain(U32_MAX), CORE_ONE_Q32);
}

/* At 10 Gbit/s, one ACK per segment, the average interval is exact to 0.06% */
static void test_tibet_fast_link(void)
{
	struct tibet t = { 0 };
	int k;

	for (k = 0; k < 1000000; k++)
		tibet_sample(&t, 1448, random_u64() % 25 < 21 ? 1 : 2, 1,
			     100000);
	CHECK_NEAR(from_q10(t.bw), 1448 / 1.16 * 1e6, 0.01, 0);
}

static void test_tibet_rtt(void)
{
	u32 rtt = 500000, i;
	u16 events = 0;

	CHECK_EQ(tibet_coarse_rtt(50000, 0), 50000);
	CHECK_EQ(tibet_coarse_rtt(50000, 500000), 500000);
	CHECK_EQ(tibet_coarse_rtt(500000, 500000), 500000);
	CHECK_EQ(tibet_coarse_rtt(500001, 500000), 1000000);
	CHECK_EQ(tibet_coarse_rtt(1, 1), 1);
	CHECK_EQ(tibet_coarse_rtt(0, 7), 0);
	CHECK_EQ(tibet_coarse_rtt(U32_MAX, U32_MAX - 1), U32_MAX);

	CHECK_EQ(tibet_age_rtt_min(500000, &events, 0, 50, 1000), 500000);
	CHECK_EQ(events, 0);
	for (i = 0; i < 4; i++)
		rtt = tibet_age_rtt_min(rtt, &events, 5, 50, 1000);
	CHECK_EQ(rtt, 500000);
	CHECK_EQ(events, 4);
	rtt = tibet_age_rtt_min(rtt, &events, 5, 50, 1000);
	CHECK_EQ(rtt, 250000);
	CHECK_EQ(events, 0);
	for (i = 0; i < 100; i++)
		rtt = tibet_age_rtt_min(rtt, &events, 1, 99, 1000);
	CHECK_NEAR(rtt, 250000 * pow(0.99, 100), 0.001, 0);
	for (i = 0; i < 100; i++)
		rtt = tibet_age_rtt_min(rtt, &events, 1, 50, 1000);
	CHECK_EQ(rtt, 1000);
	CHECK_EQ(tibet_age_rtt_min(800, &events, 1, 50, 1000), 800);
	CHECK_EQ(tibet_age_rtt_min(4000000000U, &events, 1, 100, 1000),
		 4000000000U);
}

static void test_tibet(void)
{
	test_tibet_values();
	test_tibet_gain();
	test_tibet_oracle();
	test_tibet_fast_link();
	test_tibet_rtt();
}

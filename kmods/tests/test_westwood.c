// SPDX-License-Identifier: GPL-2.0-only
/*
 * core/westwood.h and core/csfq.h: each filter against the pseudo-code of
 * TIBET's paper, sections 2.2.3 and 2.2.4, in double precision.
 *
 * Deviations of these oracles from the paper:
 *
 *   - The estimate and the last sample begin at 0. The paper gives no values.
 *   - The pole of Westwood 2 and 3 is at least 0, also for d > 2 tau.
 *   - The empty samples of Westwood 2 are Mascolo et al.'s, not this paper's.
 *   - The paper has no T and tau of Westwood 3. Those here are the
 *     interpretation in core/westwood.h, with its blocks of five samples.
 */

#include "check.h"
#include "../core/csfq.h"
#include "../core/westwood.h"

static void test_ww1(void)
{
	struct westwood w = { 0 };
	double b = 0, last = 0;
	int k;

	ww1_update(&w, 2100);
	CHECK_EQ(w.bw, 100);
	CHECK_EQ(w.sample, 2100);
	ww1_update(&w, 2100);
	CHECK_EQ(w.bw, 290);
	w = (struct westwood){ 0 };
	for (k = 0; k < 20000; k++) {
		u64 s = random_bits(58);

		b = 19.0 / 21 * b + (1 - 19.0 / 21) * ((double)s + last) / 2;
		last = (double)s;
		ww1_update(&w, s);
		CHECK_NEAR((double)w.bw, b, 1 / 1e13, 12);
	}
}

static void test_ww_gain(void)
{
	int i;

	CHECK_EQ(ww_gain(1, 0), CORE_ONE_Q32);
	CHECK_EQ(ww_gain(0, 5), 0);
	CHECK_EQ(ww_gain(1000, 500), CORE_ONE_Q32);
	CHECK_EQ(ww_gain(1001, 500), CORE_ONE_Q32);
	CHECK_EQ(ww_gain(U32_MAX, 1), CORE_ONE_Q32);
	CHECK_EQ(ww_gain(500, 250), CORE_ONE_Q32);
	CHECK_EQ(ww_gain(2, 3), CORE_ONE_Q32 / 2);
	for (i = 0; i < 100000; i++) {
		u32 d = random_bits(32), tau = 1 + random_bits(31);
		double pole = (2.0 * tau - d) / (2.0 * tau + d);

		CHECK_NEAR(from_q32(ww_gain(d, tau)), 1 - fmax(pole, 0), 0,
			   2.1 / 4294967296.0);
	}
}

/* Add empty samples one by one, as the reference does */
static double ww2_slowly(double b, double *last, double s, u32 d, u32 tau)
{
	double pole;

	for (; d > tau / 2; d -= tau / 2) {
		b = 0.6 * b + 0.4 * *last / 2;
		*last = 0;
	}
	pole = (2.0 * tau - d) / (2.0 * tau + d);
	b = pole * b + (1 - pole) * (s + *last) / 2;
	*last = s;
	return b;
}

static void test_ww2(void)
{
	u32 tau = 500000;
	struct westwood plain = { 0 }, zeros = { 0 };
	double b = 0, last = 0, z = 0, zlast = 0, pole;
	int k;

	for (k = 0; k < 20000; k++) {
		u64 s = random_bits(50);
		u32 d = 1 + random_bits(22);

		pole = fmax((2.0 * tau - d) / (2.0 * tau + d), 0);
		b = pole * b + (1 - pole) * ((double)s + last) / 2;
		last = (double)s;
		z = ww2_slowly(z, &zlast, (double)s, d, tau);
		ww2_update(&plain, s, d, tau, false);
		ww2_update(&zeros, s, d, tau, true);
		CHECK_NEAR((double)plain.bw, b, 1 / 1e6, 1e7);
		CHECK_NEAR((double)zeros.bw, z, 1 / 1e6, 1e7);
		CHECK_EQ(zeros.sample, s);
	}
	CHECK_EQ(ww2_idle_pole(0), CORE_ONE_Q32);
	CHECK_EQ(ww2_idle_pole(1), 2576980378ULL);
	for (k = 0; k < 44; k++)
		CHECK_NEAR((double)ww2_idle_pole(k), pow(0.6, k) * 4294967296.0,
			   1 / 1e9, 2);
	CHECK_EQ(ww2_idle_pole(43), 1);
	CHECK_EQ(ww2_idle_pole(44), 0);
	CHECK_EQ(ww2_idle_pole(U32_MAX), 0);
	/* no empty sample after exactly tau/2, one after 1 us more */
	zeros = (struct westwood){ .bw = 1000000, .sample = 1000000 };
	ww2_update(&zeros, 1000000, 250000, tau, true);
	CHECK_EQ(zeros.bw, 1000000);
	ww2_update(&zeros, 1000000, 250001, tau, true);
	CHECK_EQ(zeros.bw, 799999);
	ww2_update(&zeros, 0, 500000, 0, true);
	CHECK_EQ(zeros.bw, 500000);
	ww2_update(&zeros, 0, 500000, 1, true);
	CHECK_EQ(zeros.bw, 0);
	/* after twice tau/2: one empty sample, then the ACK's own */
	zeros = (struct westwood){ .bw = 1000000, .sample = 1000000 };
	ww2_update(&zeros, 1000000, 500000, tau, true);
	CHECK_EQ(zeros.bw, 680000);
	zeros = (struct westwood){ 0 };
	ww2_update(&zeros, 7, 500000, tau, true);
	CHECK_EQ(zeros.bw, 1);
	/* the smallest tau whose half is not 0: samples 1 us apart */
	zeros = (struct westwood){ .bw = 1000000, .sample = 1000000 };
	ww2_update(&zeros, 0, 2, 2, true);
	CHECK_EQ(zeros.bw, 480000);
}

/* Blocks of 50 ms, ACKs of 1000 bytes 20 ms apart, then a gap */
static void test_ww3_sample(void)
{
	struct westwood3 w = { 0 };

	CHECK_EQ(ww3_sample(&w, 1000, 20000, 50000), core_rate(1000, 20000));
	CHECK_EQ(ww3_sample(&w, 1000, 20000, 50000), core_rate(2000, 40000));
	CHECK(w.first);
	/* 10 ms into the second block: a fifth of the first is outside T */
	CHECK_EQ(ww3_sample(&w, 1000, 20000, 50000), core_rate(2600, 50000));
	CHECK_EQ(w.into_us, 10000);
	CHECK_EQ(ww3_sample(&w, 1000, 20000, 50000), core_rate(2800, 50000));
	/* exactly at the end of a block; the next one has a new length */
	CHECK_EQ(ww3_sample(&w, 1000, 20000, 40000), core_rate(3000, 40000));
	CHECK_EQ(w.into_us, 0);
	CHECK_EQ(w.span_us, 40000);
	CHECK_EQ(ww3_sample(&w, 1000, 20000, 40000), core_rate(3000, 40000));
	/* an interval of T or more is a sample; then the first block begins */
	CHECK_EQ(ww3_sample(&w, 1000, 40000, 40000), core_rate(1000, 40000));
	CHECK_EQ(w.span_us, 0);
	CHECK_EQ(ww3_sample(&w, 1000, 39999, 40000), core_rate(1000, 39999));
	/* a much shorter block: nothing of the previous block is within T */
	CHECK_EQ(ww3_sample(&w, 500, 39998, 39999), core_rate(500, 39999));
	w = (struct westwood3){ .span_us = 100, .into_us = 99, .bytes = 900 };
	CHECK_EQ(ww3_sample(&w, 500, 50, 51), core_rate(535, 51));
	w = (struct westwood3){ .span_us = 10, .into_us = 9, .bytes = 900 };
	CHECK_EQ(ww3_sample(&w, 500, 50, 51), core_rate(535, 51));
	w = (struct westwood3){ .span_us = 10, .into_us = 60, .bytes = 900 };
	CHECK_EQ(ww3_sample(&w, 500, 50, 51), core_rate(500, 51));
}

static void test_ww3_times(void)
{
	struct westwood3 w = { 0 };

	CHECK_EQ(ww3_tau_us(&w, 100000, 10), 100000);
	w.instability = 5;
	w.block_max = 10;
	CHECK_EQ(ww3_tau_us(&w, 100000, 10), 600000);
	w.instability = 5 << 10;
	w.block_max = 10 << 10;
	CHECK_EQ(ww3_tau_us(&w, 100000, 10), 600000);
	w.last_block_max = 20 << 10;
	CHECK_EQ(ww3_tau_us(&w, 100000, 10), 350000);
	w.instability = CORE_BW_MAX;
	CHECK_EQ(ww3_tau_us(&w, 100000, 10), 1100000);
	w.instability = 1ULL << 50;
	w.last_block_max = 1ULL << 52;
	CHECK_EQ(ww3_tau_us(&w, 100000, 10), 350000);
	w.instability = U32_MAX - 1;
	w.last_block_max = U32_MAX;
	CHECK_EQ(ww3_tau_us(&w, 100000, 10), 1099999);
	w.last_block_max = CORE_ONE_Q32 + 2;
	w.instability = CORE_ONE_Q32 + 1;
	CHECK_EQ(ww3_tau_us(&w, 1U << 31, 1), U32_MAX);
	CHECK_EQ(ww3_tau_us(&w, U32_MAX, 255), U32_MAX);

	/* 100 kB/s over 100 ms: 10 kB of the window of 40 kB */
	CHECK_EQ(ww3_span_us(100000 << 10, 40000, 200000, 100000), 150000);
	CHECK_EQ(ww3_span_us(100000 << 10, 10000, 200000, 100000), 0);
	CHECK_EQ(ww3_span_us(100000 << 10, 10001, 200000, 100000), 19);
	CHECK_EQ(ww3_span_us(0, 1, 200000, 100000), 200000);
}

static void test_ww3(void)
{
	struct westwood3 w = { 0 };
	double u = 0, b = 0, last = 0, blocks[2] = { 0 }, top, tau, range;
	int k;

	for (k = 0; k < 6; k++)
		ww3_update(&w, 0, 1000, 100000, 10);
	CHECK_EQ(w.block_max, 0);
	CHECK_EQ(w.samples, 1);
	w = (struct westwood3){ 0 };
	for (k = 0; k < 20000; k++) {
		u64 s = random_bits(50);
		u32 d = 1000 + random_bits(20), rtt = 100000 + random_bits(20);
		double gain;

		u = 0.6 * u + 0.4 * fabs((double)s - last);
		last = (double)s;
		if (k && k % 5 == 0) {
			blocks[1] = blocks[0];
			blocks[0] = 0;
		}
		blocks[0] = fmax(blocks[0], u);
		top = fmax(blocks[0], blocks[1]);
		tau = rtt * (1 + 10 * (top > 0 ? u / top : 0));
		gain = 1 - fmax((2 * tau - d) / (2 * tau + d), 0);
		b = (double)w.bw;
		range = fmax(b, (double)s);
		b += gain * ((double)s - b);
		ww3_update(&w, s, d, rtt, 10);
		CHECK_NEAR((double)w.instability, u, 1 / 1e9, 3);
		CHECK_NEAR((double)max_t(u64, w.block_max, w.last_block_max),
			   top, 1 / 1e9, 3);
		CHECK_NEAR((double)w.bw, b, 0, 1 / 1e5 * range + 2);
	}
}

static void test_csfq(void)
{
	u64 bw = 0;
	double b = 0;
	int k;

	CHECK_EQ(csfq_update(7, 1000, 1000000, 0), 1024000);
	for (k = 0; k < 50000; k++) {
		u64 bytes = random_bits(24);
		u32 us = 1 + random_bits(20);
		double keep = exp(-(us / 500000.0));

		b = (1 - keep) * (double)bytes / us * 1e6 + keep * b;
		bw = csfq_update(bw, bytes, us, 500000);
		CHECK_NEAR(from_q10(bw), b, 3 / 1e5, 1);
	}
}

static void test_westwood(void)
{
	test_ww1();
	test_ww_gain();
	test_ww2();
	test_ww3_times();
	test_ww3_sample();
	test_ww3();
	test_csfq();
}

// SPDX-License-Identifier: GPL-2.0-only
/* core/logwestwood.h: eq. (2), changes of alpha and Wmax, 518 000 segments */

#include "check.h"
#include "../core/logwestwood.h"

static const struct liad_rules paper = {
	.log2_alpha_min = 1, .log2_alpha_max = 30, .cap = true,
};

static const struct liad_rules literal = {
	.log2_alpha_min = 1, .log2_alpha_max = 30,
};

static void test_liad_increment(void)
{
	struct liad l;
	int i;

	liad_init(&l, &paper);
	CHECK_EQ(l.log2_alpha, 1);
	CHECK_EQ(l.wmax, 0);
	CHECK_EQ(liad_increment(&l, 10, true), CORE_ONE_Q32 / 10);
	l.wmax = 100;
	CHECK_EQ(liad_increment(&l, 50, true), CORE_ONE_Q32 / 2);
	CHECK_EQ(liad_increment(&l, 10, true), CORE_ONE_Q32);
	CHECK_EQ(liad_increment(&l, 10, false), 4 * CORE_ONE_Q32 + CORE_ONE_Q32 / 2);
	CHECK_EQ(liad_increment(&l, 100, true), CORE_ONE_Q32 / 100);
	CHECK_EQ(liad_increment(&l, 200, true), CORE_ONE_Q32 / 200);
	for (i = 0; i < 100000; i++) {
		u32 w = 1 + random_bits(20);
		double wanted, one;

		l.wmax = random_bits(20);
		l.log2_alpha = random_u64() % 31;
		one = 1.0 / w;
		wanted = fmax(((double)l.wmax - w) / ldexp(w, l.log2_alpha),
			      one);
		CHECK_NEAR(from_q32(liad_increment(&l, w, false)), wanted, 0,
			   1.01 / 4294967296.0);
		CHECK_NEAR(from_q32(liad_increment(&l, w, true)),
			   fmin(wanted, 1), 0, 1.01 / 4294967296.0);
	}
}

static void test_liad_alpha(void)
{
	struct liad_rules rules = paper;
	struct liad l;

	liad_init(&l, &rules);
	liad_loss(&l, &rules, 100);		/* no Wmax before it */
	CHECK_EQ(l.wmax, 100);
	CHECK_EQ(l.log2_alpha, 1);
	liad_loss(&l, &rules, 80);		/* before Wmax: doubled */
	CHECK_EQ(l.log2_alpha, 2);
	CHECK_EQ(l.wmax, 80);
	liad_undo(&l);
	CHECK_EQ(l.log2_alpha, 1);
	CHECK_EQ(l.wmax, 100);
	liad_loss(&l, &rules, 80);
	liad_loss(&l, &rules, 70);
	CHECK_EQ(l.log2_alpha, 3);
	l.fraction = 0;
	CHECK_EQ(liad_acked(&l, &rules, 69, 68), 0);
	CHECK(!l.reached);
	CHECK_EQ(liad_acked(&l, &rules, 69, 2), 1);
	CHECK(l.reached);			/* at 70: halved, once */
	CHECK_EQ(l.log2_alpha, 2);
	liad_acked(&l, &rules, 70, 70);
	CHECK_EQ(l.log2_alpha, 2);
	liad_loss(&l, &rules, 71);		/* after Wmax: stays */
	CHECK_EQ(l.log2_alpha, 2);
	CHECK(!l.reached);
	liad_undo(&l);
	CHECK(l.reached);
	CHECK_EQ(l.wmax, 70);
	liad_loss(&l, &rules, 71);
	liad_acked(&l, &rules, 71, 1);
	CHECK_EQ(l.log2_alpha, 1);
	liad_loss(&l, &rules, 71);
	liad_acked(&l, &rules, 71, 1);
	CHECK_EQ(l.log2_alpha, 1);		/* the floor */
}

static void test_liad_alpha_on_loss(void)
{
	struct liad_rules rules = paper;
	struct liad l;

	liad_init(&l, &rules);
	liad_loss(&l, &rules, 71);
	rules.halve_on_loss = true;
	liad_loss(&l, &rules, 71);
	CHECK_EQ(l.log2_alpha, 2);
	liad_acked(&l, &rules, 71, 1);
	CHECK(l.reached);
	CHECK_EQ(l.log2_alpha, 2);
	liad_loss(&l, &rules, 71);
	CHECK_EQ(l.log2_alpha, 1);

	rules.log2_alpha_max = 2;
	liad_loss(&l, &rules, 71);
	liad_loss(&l, &rules, 71);
	liad_loss(&l, &rules, 71);
	CHECK_EQ(l.log2_alpha, 2);		/* the ceiling */
}

/* Return the round trips between two windows, with every segment acknowledged */
static u32 liad_round_trips(u32 from, u32 to, u32 wmax, u32 stretch)
{
	struct liad l;
	u32 w = from, trips = 0;

	liad_init(&l, &paper);
	l.wmax = wmax;
	while (w < to && ++trips < 100000) {
		u32 left = w, at = w;

		while (left) {
			u32 n = min_t(u32, left, stretch);

			at += liad_acked(&l, &paper, at, n);
			left -= n;
		}
		CHECK(at >= w);
		w = at;
	}
	return trips;
}

/*
 * A round trip halves the distance to Wmax. So the growth 1500 -> 1800 takes
 * twelve round trips, 2.2 s at 180 ms; in the paper's Fig. 3 it takes 16.4 s.
 * Stretch ACKs of a whole window change that by a few round trips only.
 */
static void test_liad_climb(void)
{
	struct liad l;
	u32 w = 517000, i, gained = 0;

	CHECK_EQ(liad_round_trips(1500, 1800, 1800, 1), 12);
	CHECK_EQ(liad_round_trips(1500, 1800, 1800, 1800), 9);
	CHECK_EQ(liad_round_trips(1500, 1510, 0, 1), 11);
	CHECK(liad_round_trips(259000, 518000, 518000, 1) <= 28);

	/* above 65 536 segments the window still grows by one a round trip */
	liad_init(&l, &paper);
	for (i = 0; i < w; i++)
		gained += liad_acked(&l, &paper, w, 1);
	CHECK(gained == 1 || (!gained && l.fraction > U32_MAX - w));

	/* without the cap and far below Wmax: the formula's step, no overflow */
	liad_init(&l, &literal);
	l.wmax = 518000;
	CHECK_EQ(liad_acked(&l, &literal, 2, 1), 129499);
	CHECK_EQ(liad_acked(&l, &literal, 2, 518000), CORE_WINDOW_MAX);
	l.reached = false;
	l.wmax = U32_MAX;
	CHECK_EQ(liad_acked(&l, &literal, 1, U32_MAX), CORE_WINDOW_MAX);
}

static void test_logwestwood(void)
{
	test_liad_increment();
	test_liad_alpha();
	test_liad_alpha_on_loss();
	test_liad_climb();
}

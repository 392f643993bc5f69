// SPDX-License-Identifier: GPL-2.0-only
/*
 * core/logwestwood.h: eq. (2) of the paper's section 3.1, changes of alpha and
 * Wmax, 518 000 segments.
 *
 * Deviations of these oracles from the paper:
 *
 *   - The increment is added to W. Eq. (2) is written as W's new value.
 *   - It is divided by W's whole segments, as Reno's increase in Linux.
 *   - With rules.cap an acknowledged segment adds at most one.
 *   - An errorless increase is a whole climb to Wmax (rules.halving).
 *   - A window that a loss leaves at Wmax or above climbs nothing.
 *   - alpha has a ceiling.
 */

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
	l.wmax = 50;
	l.wmax_fraction = 3U << 30;		/* 50.75 - 50.25, alpha 2 */
	l.fraction = 1U << 30;
	CHECK_EQ(liad_increment(&l, 50, true), CORE_ONE_Q32 / 50);
	l.wmax = 54;				/* 54.75 - 50.25 */
	CHECK_EQ(liad_increment(&l, 50, true),
		 (2 * CORE_ONE_Q32 + CORE_ONE_Q32 / 4) / 50);
	for (i = 0; i < 100000; i++) {
		u32 w = 1 + random_bits(20);
		double wanted, one;

		l.wmax = random_bits(20);
		l.wmax_fraction = random_u64();
		l.fraction = random_u64();
		l.log2_alpha = random_u64() % 31;
		one = 1.0 / w;
		wanted = fmax((from_q32(liad_wmax(&l)) -
			       from_q32(liad_window(&l, w))) /
			      ldexp(w, l.log2_alpha), one);
		CHECK_NEAR(from_q32(liad_increment(&l, w, false)), wanted, 0,
			   1.01 / 4294967296.0);
		CHECK_NEAR(from_q32(liad_increment(&l, w, true)),
			   fmin(wanted, 1), 0, 1.01 / 4294967296.0);
	}
}

/* Set W, with its fraction in 1/4 */
static void at(struct liad *l, u32 quarters)
{
	l->fraction = quarters << 30;
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
	CHECK_EQ(liad_acked(&l, &rules, 69, 68), 0);
	CHECK_EQ(l.climb, LIAD_BELOW);
	CHECK_EQ(liad_acked(&l, &rules, 69, 2), 1);
	CHECK_EQ(l.climb, LIAD_CLIMBED);	/* at 70: halved, once */
	CHECK_EQ(l.log2_alpha, 2);
	liad_acked(&l, &rules, 70, 70);
	CHECK_EQ(l.log2_alpha, 2);
	liad_loss(&l, &rules, 71);		/* after Wmax: stays */
	CHECK_EQ(l.log2_alpha, 2);
	CHECK_EQ(l.climb, LIAD_BEGINS);
	liad_undo(&l);
	CHECK_EQ(l.climb, LIAD_CLIMBED);
	CHECK_EQ(l.wmax, 70);
	at(&l, 0);
	liad_loss(&l, &rules, 71);
	liad_acked(&l, &rules, 70, 71);
	CHECK_EQ(l.log2_alpha, 1);
	at(&l, 0);
	liad_loss(&l, &rules, 71);
	liad_acked(&l, &rules, 70, 71);
	CHECK_EQ(l.climb, LIAD_CLIMBED);
	CHECK_EQ(l.log2_alpha, 1);		/* the floor */
}

/* A window that a loss leaves at Wmax or above has nothing to climb */
static void test_liad_no_climb(void)
{
	struct liad_rules rules = paper;
	struct liad l;
	u8 halving;

	for (halving = 0; halving <= 2; halving++) {
		rules.halving = halving;
		liad_init(&l, &rules);
		l.log2_alpha = 5;
		liad_loss(&l, &rules, 71);
		liad_acked(&l, &rules, 71, 1);
		CHECK_EQ(l.climb, LIAD_ABOVE);
		liad_round_trip(&l, &rules);
		liad_acked(&l, &rules, 71, 1000);
		CHECK_EQ(l.log2_alpha, 5);
		/* a loss there came after W reached Wmax: not doubled */
		at(&l, 0);
		liad_loss(&l, &rules, 80);
		CHECK_EQ(l.log2_alpha, 5);
		/* the same if no ACK came in between */
		liad_loss(&l, &rules, 80);
		CHECK_EQ(l.log2_alpha, 5);
		liad_loss(&l, &rules, 79);
		CHECK_EQ(l.log2_alpha, 6);
	}
}

/* W and Wmax are real numbers: whole segments in common are no tie */
static void test_liad_fractions(void)
{
	struct liad_rules rules = paper;
	struct liad l;

	liad_init(&l, &rules);
	at(&l, 2);
	liad_loss(&l, &rules, 100);		/* at 100.5, then W = 99 */
	CHECK_EQ(l.wmax_fraction, 1U << 31);
	CHECK_EQ(l.fraction, 0);
	liad_compare(&l, &rules, 99);
	at(&l, 1);
	liad_compare(&l, &rules, 100);		/* at 100.25 */
	CHECK_EQ(l.climb, LIAD_BELOW);
	liad_loss(&l, &rules, 100);		/* before 100.5: doubled */
	CHECK_EQ(l.log2_alpha, 2);
	CHECK_EQ(l.wmax_fraction, 1U << 30);
	liad_undo(&l);				/* all as before */
	CHECK_EQ(l.log2_alpha, 1);
	CHECK_EQ(l.wmax_fraction, 1U << 31);
	CHECK_EQ(l.fraction, 1U << 30);
	CHECK_EQ(l.climb, LIAD_BELOW);
	at(&l, 2);
	liad_compare(&l, &rules, 100);
	CHECK_EQ(l.climb, LIAD_CLIMBED);

	/* undo keeps eight bits of the fraction of Wmax, rounded down */
	l.wmax_fraction = U32_MAX;
	liad_loss(&l, &rules, 100);
	liad_undo(&l);
	CHECK_EQ(l.wmax_fraction, 255U << 24);
	/* 518 000 segments: an ACK's step is far below a q8 fraction */
	liad_init(&l, &rules);
	at(&l, 3);
	liad_loss(&l, &rules, 518000);
	liad_compare(&l, &rules, 517999);
	l.fraction = (3U << 30) - 8292;
	CHECK_EQ(liad_acked(&l, &rules, 518000, 1), 0);	/* 8291 of 8292 */
	CHECK_EQ(l.climb, LIAD_BELOW);
	CHECK_EQ(liad_acked(&l, &rules, 518000, 1), 0);
	CHECK_EQ(l.climb, LIAD_CLIMBED);
}

static void test_liad_timeout(void)
{
	struct liad_rules rules = paper;
	struct liad l;

	liad_init(&l, &rules);
	at(&l, 1);
	liad_loss(&l, &rules, 90);
	liad_acked(&l, &rules, 80, 80);		/* at 85 */
	CHECK_EQ(l.climb, LIAD_BELOW);
	at(&l, 3);
	liad_loss(&l, &rules, 85);
	liad_timeout(&l);			/* counts for nothing */
	CHECK_EQ(l.log2_alpha, 1);
	CHECK_EQ(l.wmax, 90);
	CHECK_EQ(l.wmax_fraction, 1U << 30);
	CHECK_EQ(l.fraction, 0);
	CHECK_EQ(l.climb, LIAD_BEGINS);
	liad_undo(&l);				/* was spurious */
	CHECK_EQ(l.wmax, 90);
	CHECK_EQ(l.wmax_fraction, 1U << 30);
	CHECK_EQ(l.fraction, 0);
	CHECK_EQ(l.climb, LIAD_BELOW);
	liad_loss(&l, &rules, 85);		/* three duplicate ACKs count */
	CHECK_EQ(l.log2_alpha, 2);
	liad_undo(&l);
	CHECK_EQ(l.log2_alpha, 1);
}

static void test_liad_halving(void)
{
	struct liad_rules rules = paper;
	struct liad l;

	liad_init(&l, &rules);
	rules.halving = LIAD_HALVE_LOSS;
	l.log2_alpha = 4;
	liad_loss(&l, &rules, 71);
	liad_acked(&l, &rules, 70, 71);
	liad_round_trip(&l, &rules);
	CHECK_EQ(l.climb, LIAD_CLIMBED);
	CHECK_EQ(l.log2_alpha, 4);
	at(&l, 0);
	liad_loss(&l, &rules, 71);
	CHECK_EQ(l.log2_alpha, 3);

	rules.halving = LIAD_HALVE_STEPS;
	liad_round_trip(&l, &rules);		/* it began before the loss */
	CHECK_EQ(l.log2_alpha, 3);
	liad_compare(&l, &rules, 50);
	liad_round_trip(&l, &rules);
	CHECK_EQ(l.log2_alpha, 2);
	liad_compare(&l, &rules, 71);		/* the climb's last step */
	CHECK_EQ(l.log2_alpha, 1);
	l.log2_alpha = 5;
	liad_round_trip(&l, &rules);		/* W is above Wmax */
	CHECK_EQ(l.log2_alpha, 5);

	rules.halving = LIAD_HALVE_REACHED;
	liad_loss(&l, &rules, 71);
	liad_compare(&l, &rules, 50);
	liad_round_trip(&l, &rules);
	CHECK_EQ(l.log2_alpha, 5);

	rules.log2_alpha_max = 6;
	liad_loss(&l, &rules, 60);
	liad_loss(&l, &rules, 50);
	CHECK_EQ(l.log2_alpha, 6);		/* the ceiling */
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
 * thirteen round trips, 2.3 s at 180 ms; in the paper's Fig. 3 it takes 16.4 s.
 * Stretch ACKs of a whole window change that by a few round trips only.
 */
static void test_liad_climb(void)
{
	struct liad l;
	u32 w = 517000, i, gained = 0;

	CHECK_EQ(liad_round_trips(1500, 1800, 1800, 1), 13);
	CHECK_EQ(liad_round_trips(1500, 1800, 1800, 1800), 10);
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
	l.wmax = U32_MAX;
	CHECK_EQ(liad_acked(&l, &literal, 1, U32_MAX), CORE_WINDOW_MAX);
}

/* The module's parameter has these values, its state 104 bytes in all */
static void test_liad_layout(void)
{
	struct liad l;
	u8 wide = 255;

	CHECK_EQ(LIAD_HALVE_REACHED, 0);
	CHECK_EQ(LIAD_HALVE_LOSS, 1);
	CHECK_EQ(LIAD_HALVE_STEPS, 2);
	CHECK_EQ(sizeof(l), 20);
	l.climb = wide;
	l.saved_climb = wide;
	l.restored = wide;
	CHECK_EQ(l.climb, LIAD_ABOVE);
	CHECK_EQ(l.saved_climb, LIAD_ABOVE);
	CHECK_EQ(l.restored, 1);
}

static void test_logwestwood(void)
{
	test_liad_layout();
	test_liad_increment();
	test_liad_alpha();
	test_liad_no_climb();
	test_liad_fractions();
	test_liad_timeout();
	test_liad_halving();
	test_liad_climb();
}

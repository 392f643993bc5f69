/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TCP LogWestwood+'s window: logarithmic increase, adaptive decrease (LIAD).
 *
 * Paper: D. Kliazovich, F. Granelli, D. Miorandi, "Logarithmic window increase
 * for TCP Westwood+", Computer Networks 52 (2008), section 3.1, eq. (2):
 *
 *   on each ACK:  W += max((Wmax - W) / (alpha * W), 1 / W)
 *
 * Wmax is the window at which the last loss was detected. alpha starts at its
 * minimum of 2. It is doubled when a loss comes before W reaches Wmax, and
 * halved "for every errorless increase on the same interval". The decrease is
 * Westwood+'s. Before the first loss Wmax is 0 and the increase is 1 / W.
 *
 * W and Wmax are real numbers, as in the paper's simulator: whole segments and
 * a fraction. One flow alone loses at almost the same window each time. Whole
 * segments would then be equal, and a tie would decide about alpha. A loss sets
 * W to ssthresh, so the fraction of the old window goes into Wmax.
 *
 * alpha is a power of two and is stored as its logarithm. W and Wmax in q32 are
 * below 2^62. At most W segments are acknowledged in a round trip and alpha is
 * at least 2. So n increments at once never exceed Wmax by the first term. The
 * division is by W's whole segments, as in Linux's Reno.
 *
 * The paper does not say, or is ambiguous about, the following points:
 *
 *   - when alpha is halved: liad_rules.halving. The interval is that from the
 *     window after a loss to Wmax. An increase on it may be the whole climb, or
 *     each step of it. A climb begins below Wmax: if the window after a loss is
 *     Wmax or more, there is no climb, and alpha stays;
 *   - the limits of alpha: liad_rules.log2_alpha_min, log2_alpha_max;
 *   - whether an acknowledged segment may add more than one: liad_rules.cap.
 *     The formula alone adds (Wmax - W) / 2W, many segments after a large
 *     decrease;
 *   - what a timeout does: the caller may call liad_timeout() after
 *     liad_loss().
 */
#ifndef CORE_LOGWESTWOOD_H
#define CORE_LOGWESTWOOD_H

#include "arith.h"

/* When alpha is halved */
enum liad_halving {
	LIAD_HALVE_REACHED = 0,	/* when a climb reaches Wmax */
	LIAD_HALVE_LOSS = 1,	/* at the loss after such a climb */
	LIAD_HALVE_STEPS = 2,	/* also after each round trip of a climb */
};

struct liad_rules {
	u8	log2_alpha_min;	/* log2 of alpha's floor and first value */
	u8	log2_alpha_max;	/* log2 of alpha's ceiling, >= the floor */
	u8	halving;	/* enum liad_halving */
	bool	cap;		/* add at most 1 for an acknowledged segment */
};

/* How W compares with Wmax since the last loss */
enum liad_climb {
	LIAD_BEGINS = 0,	/* not compared yet */
	LIAD_BELOW = 1,		/* W is on its way to Wmax */
	LIAD_CLIMBED = 2,	/* W has reached Wmax from below */
	LIAD_ABOVE = 3,		/* W was never below Wmax */
};

struct liad {
	u32	wmax;		/* window at the last loss, segments; 0: none */
	u32	wmax_fraction;	/* its fraction, q32 */
	u32	saved_wmax;	/* wmax before the last loss, for undo */
	u32	fraction;	/* the window's fraction, q32 */
	u8	log2_alpha;	/* log2 of alpha */
	u8	saved_log2_alpha;
	u8	saved_fraction;	/* fraction of saved_wmax, q8, rounded down */
	u8	climb : 2,	/* enum liad_climb */
		saved_climb : 2,
		restored : 1;	/* liad_timeout() came after the last loss */
};

static inline void liad_init(struct liad *l, const struct liad_rules *rules)
{
	*l = (struct liad){
		.log2_alpha = rules->log2_alpha_min,
		.saved_log2_alpha = rules->log2_alpha_min,
	};
}

/* Return W, q32 */
static inline u64 liad_window(const struct liad *l, u32 window)
{
	return ((u64)window << 32) + l->fraction;
}

/* Return Wmax, q32 */
static inline u64 liad_wmax(const struct liad *l)
{
	return ((u64)l->wmax << 32) + l->wmax_fraction;
}

/* Return the increment of the window for one ACK, q32; window > 0 */
static inline u64 liad_increment(const struct liad *l, u32 window, bool cap)
{
	u64 now = liad_window(l, window), wmax = liad_wmax(l);
	u64 step = CORE_ONE_Q32;

	if (wmax > now)
		step = max_t(u64, step, (wmax - now) >> l->log2_alpha);
	step = div64_u64(step, window);
	return cap ? min_t(u64, step, CORE_ONE_Q32) : step;
}

static inline void liad_halve(struct liad *l, const struct liad_rules *rules)
{
	if (l->log2_alpha > rules->log2_alpha_min)
		WRITE_ONCE(l->log2_alpha, l->log2_alpha - 1);
}

/* Compare W with Wmax; halve alpha if that ends a climb */
static inline void liad_compare(struct liad *l, const struct liad_rules *rules,
				u32 window)
{
	if (!l->wmax || l->climb >= LIAD_CLIMBED)
		return;
	if (liad_window(l, window) < liad_wmax(l)) {
		l->climb = LIAD_BELOW;
	} else if (l->climb == LIAD_BELOW) {
		l->climb = LIAD_CLIMBED;
		if (rules->halving != LIAD_HALVE_LOSS)
			liad_halve(l, rules);
	} else {
		l->climb = LIAD_ABOVE;
	}
}

/*
 * A round trip without a loss is over. The one after a loss begins before the
 * first comparison, so it does not count.
 */
static inline void liad_round_trip(struct liad *l,
				   const struct liad_rules *rules)
{
	if (l->climb == LIAD_BELOW && rules->halving == LIAD_HALVE_STEPS)
		liad_halve(l, rules);
}

/* Count n acknowledged segments (or ACKs); return the segments to add */
static inline u32 liad_acked(struct liad *l, const struct liad_rules *rules,
			     u32 window, u32 n)
{
	u64 step = liad_increment(l, window, rules->cap);
	u32 added;

	liad_compare(l, rules, window);
	added = core_accumulate(&l->fraction, step, n);
	liad_compare(l, rules, window + added);
	return added;
}

/* Adapt alpha and Wmax to a loss that was detected at this window */
static inline void liad_loss(struct liad *l, const struct liad_rules *rules,
			     u32 window)
{
	liad_compare(l, rules, window);
	l->saved_wmax = l->wmax;
	l->saved_fraction = l->wmax_fraction >> 24;
	l->saved_log2_alpha = l->log2_alpha;
	l->saved_climb = l->climb;
	if (l->climb == LIAD_CLIMBED && rules->halving == LIAD_HALVE_LOSS)
		liad_halve(l, rules);
	if (l->climb == LIAD_BELOW && l->log2_alpha < rules->log2_alpha_max)
		WRITE_ONCE(l->log2_alpha, l->log2_alpha + 1);
	WRITE_ONCE(l->wmax, window);
	l->wmax_fraction = l->fraction;
	l->fraction = 0;
	l->climb = LIAD_BEGINS;
	l->restored = false;
}

static inline void liad_restore(struct liad *l)
{
	WRITE_ONCE(l->wmax, l->saved_wmax);
	l->wmax_fraction = (u32)l->saved_fraction << 24;
	WRITE_ONCE(l->log2_alpha, l->saved_log2_alpha);
}

/*
 * The loss was detected by a timeout, which changes neither Wmax nor alpha. W
 * is 1 now, so a new climb begins.
 */
static inline void liad_timeout(struct liad *l)
{
	liad_restore(l);
	l->restored = true;
}

/* The last loss was spurious: window, Wmax and alpha are what they were */
static inline void liad_undo(struct liad *l)
{
	if (!l->restored) {
		l->fraction = l->wmax_fraction;
		liad_restore(l);
	}
	l->climb = l->saved_climb;
}

#endif /* CORE_LOGWESTWOOD_H */

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
 * alpha is a power of two and is stored as its logarithm. (Wmax - W) * 2^32 is
 * below 2^62. At most W segments are acknowledged in a round trip and alpha is
 * at least 2. So n increments at once never exceed Wmax by the first term.
 *
 * The paper does not say, or is ambiguous about, the following points:
 *
 *   - when alpha is halved: liad_rules.halve_on_loss;
 *   - the limits of alpha: liad_rules.log2_alpha_min, log2_alpha_max;
 *   - whether an acknowledged segment may add more than one: liad_rules.cap.
 *     The formula alone adds (Wmax - W) / 2W, many segments after a large
 *     decrease;
 *   - what a timeout does: the caller decides whether it calls liad_loss(), and
 *     may revert that by liad_undo().
 */
#ifndef CORE_LOGWESTWOOD_H
#define CORE_LOGWESTWOOD_H

#include "arith.h"

struct liad_rules {
	u8	log2_alpha_min;	/* log2 of alpha's floor and first value */
	u8	log2_alpha_max;	/* log2 of alpha's ceiling, >= the floor */
	bool	halve_on_loss;	/* halve at the loss after W reached Wmax */
	bool	cap;		/* add at most 1 for an acknowledged segment */
};

struct liad {
	u32	wmax;		/* window at the last loss, segments; 0: none */
	u32	saved_wmax;	/* wmax before the last loss, for undo */
	u32	fraction;	/* growth of less than a segment so far, q32 */
	u8	log2_alpha;	/* log2 of alpha */
	u8	saved_log2_alpha;
	bool	reached;	/* W has reached wmax since the last loss */
	bool	saved_reached;
};

static inline void liad_init(struct liad *l, const struct liad_rules *rules)
{
	*l = (struct liad){
		.log2_alpha = rules->log2_alpha_min,
		.saved_log2_alpha = rules->log2_alpha_min,
	};
}

/* Return the increment of the window for one ACK, q32; window > 0 */
static inline u64 liad_increment(const struct liad *l, u32 window, bool cap)
{
	u64 step = CORE_ONE_Q32;

	if (l->wmax > window) {
		u64 climb = (u64)(l->wmax - window) << 32;

		step = max_t(u64, step, climb >> l->log2_alpha);
	}
	step = div64_u64(step, window);
	return cap ? min_t(u64, step, CORE_ONE_Q32) : step;
}

static inline void liad_halve(struct liad *l, const struct liad_rules *rules)
{
	if (l->log2_alpha > rules->log2_alpha_min)
		l->log2_alpha--;
}

/* Count n acknowledged segments (or ACKs); return the segments to add */
static inline u32 liad_acked(struct liad *l, const struct liad_rules *rules,
			     u32 window, u32 n)
{
	u64 step = liad_increment(l, window, rules->cap);
	u32 added = core_accumulate(&l->fraction, step, n);

	if (l->wmax && !l->reached && window + added >= l->wmax) {
		l->reached = true;
		if (!rules->halve_on_loss)
			liad_halve(l, rules);
	}
	return added;
}

/* Adapt alpha and Wmax to a loss that was detected at this window */
static inline void liad_loss(struct liad *l, const struct liad_rules *rules,
			     u32 window)
{
	l->saved_wmax = l->wmax;
	l->saved_log2_alpha = l->log2_alpha;
	l->saved_reached = l->reached;
	if (l->reached && rules->halve_on_loss)
		liad_halve(l, rules);
	if (l->wmax && !l->reached && l->log2_alpha < rules->log2_alpha_max)
		l->log2_alpha++;
	l->wmax = window;
	l->reached = false;
}

/* Revert liad_loss(): the last loss was spurious */
static inline void liad_undo(struct liad *l)
{
	l->wmax = l->saved_wmax;
	l->log2_alpha = l->saved_log2_alpha;
	l->reached = l->saved_reached;
}

#endif /* CORE_LOGWESTWOOD_H */

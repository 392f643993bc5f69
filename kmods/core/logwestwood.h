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
 * minimum of 2, is doubled when a loss comes before W reaches Wmax and halved
 * "for every errorless increase on the same interval". The decrease is
 * Westwood+'s. Before the first loss Wmax is 0 and the increase 1 / W.
 *
 * alpha is a power of two and kept as its logarithm. (Wmax - W) * 2^32 is below
 * 2^62. Because at most W segments are acknowledged in a round trip and alpha
 * is at least 2, n increments at once never overshoot Wmax by the first term.
 *
 * Silent or ambiguous in the paper, so rules here: when the halving happens
 * (liad_rules.halve_on_loss), the limits of alpha, whether one acknowledged
 * segment may add more than one (cap; the formula alone adds (Wmax - W) / 2W,
 * many segments for an ACK after a deep cut), and what a timeout does (the
 * caller leaves out liad_loss, or takes it back by liad_undo).
 */
#ifndef CORE_LOGWESTWOOD_H
#define CORE_LOGWESTWOOD_H

#include "arith.h"

struct liad_rules {
	u8	log2_alpha_min;	/* log2 of alpha's floor and first value */
	u8	log2_alpha_max;	/* log2 of alpha's ceiling, >= the floor */
	bool	halve_on_loss;	/* halve at the loss after a climb, not on top */
	bool	cap;		/* at most one segment per acknowledged one */
};

struct liad {
	u32	wmax;		/* window at the last loss, segments; 0: none */
	u32	saved_wmax;	/* the same before the last loss, for undo */
	u32	fraction;	/* q32 of a segment that is still to come */
	u8	log2_alpha;	/* log2 of alpha */
	u8	saved_log2_alpha;
	bool	reached;	/* this climb has reached wmax */
	bool	saved_reached;
};

static inline void liad_init(struct liad *l, const struct liad_rules *rules)
{
	*l = (struct liad){
		.log2_alpha = rules->log2_alpha_min,
		.saved_log2_alpha = rules->log2_alpha_min,
	};
}

/* Increment of the window for one ACK, q32; window > 0 */
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

/* n segments (or ACKs) were acknowledged: returns segments to add */
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

/* A loss was detected at that window */
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

/* The last loss was none */
static inline void liad_undo(struct liad *l)
{
	l->wmax = l->saved_wmax;
	l->log2_alpha = l->saved_log2_alpha;
	l->reached = l->saved_reached;
}

#endif /* CORE_LOGWESTWOOD_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What every filter makes of the arrivals of TIBET's Figs 1, 5, 6, 7 and 10.
 * The means are over ARRIVALS samples after the first tenth.
 *
 * Deviations of these arrivals from the paper: the window and the RTT that
 * Westwood 3 needs are constants here. The paper does not give them.
 */
#ifndef TESTS_BIASES_H
#define TESTS_BIASES_H

#include "arrivals.h"
#include "../core/csfq.h"
#include "../core/tibet.h"
#include "../core/westwood.h"

/* Mean estimate over the true rate, by filter */
struct biases {
	double westwood1, westwood2, westwood3, csfq, tibet;
};

#define FIGURE_TAU_US 500000
#define FIGURE_RTT_US 100000
#define FIGURE_CWND_BYTES 20000

static void figure_westwood3(struct westwood3 *w, u32 us)
{
	u32 span = ww3_span_us(w->bw, FIGURE_CWND_BYTES, FIGURE_RTT_US,
			       FIGURE_RTT_US);

	ww3_update(w, ww3_sample(w, ARRIVAL_BYTES, us, span), us, FIGURE_RTT_US,
		   10);
}

static struct biases figure_biases(enum arrivals kind)
{
	struct westwood w1 = { 0 }, w2 = { 0 };
	struct westwood3 w3 = { 0 };
	struct tibet t = { 0 };
	struct biases b = { 0 };
	u64 csfq = 0;
	double seconds = 0, rate;
	u32 k, counted = 0;

	for (k = 0; k < ARRIVALS; k++) {
		u32 us = arrival_us(kind, k);
		u64 sample = core_rate(ARRIVAL_BYTES, us);

		ww1_update(&w1, sample);
		ww2_update(&w2, sample, us, FIGURE_TAU_US, false);
		csfq = csfq_update(csfq, ARRIVAL_BYTES, us, 500000);
		tibet_sample(&t, ARRIVAL_BYTES, us, 1, CORE_US_PER_S);
		figure_westwood3(&w3, us);
		if (k < ARRIVALS / 10)
			continue;
		counted++;
		seconds += us / 1e6;
		b.westwood1 += from_q10(w1.bw);
		b.westwood2 += from_q10(w2.bw);
		b.westwood3 += from_q10(w3.bw);
		b.csfq += from_q10(csfq);
		b.tibet += from_q10(t.bw);
	}
	rate = ARRIVAL_BYTES * (double)counted / seconds * counted;
	b.westwood1 /= rate;
	b.westwood2 /= rate;
	b.westwood3 /= rate;
	b.csfq /= rate;
	b.tibet /= rate;
	return b;
}

#endif /* TESTS_BIASES_H */

// SPDX-License-Identifier: GPL-2.0-only
/*
 * core/prr.h: a whole recovery by the pseudo-code of RFC 6937, section 3.1, in
 * double precision, and the cases one by one.
 *
 * Deviations of this oracle from the paper: it is the RFC. As in Linux, the
 * growth of one segment needs an ACK in order without new losses, and the first
 * ACK lets at least one segment go.
 */

#include "check.h"
#include "../core/prr.h"

static double rfc6937(const struct prr *p)
{
	double allowed, limit;

	if (p->in_flight > p->ssthresh) {
		allowed = ceil((double)p->delivered * p->ssthresh / p->window) -
			  p->sent;
	} else {
		limit = fmax((double)p->delivered - p->sent, p->newly);
		if (p->clean)
			limit += 1;
		allowed = fmin((double)p->ssthresh - p->in_flight, limit);
	}
	return fmax(allowed, p->sent ? 0 : 1);
}

/*
 * The first segment of a window is lost, and each other one is acknowledged by
 * a duplicate ACK: what is in flight falls to ssthresh, never below, and what is
 * sent is in proportion.
 */
static void test_recovery(u32 window, u32 ssthresh)
{
	struct prr p = { .ssthresh = ssthresh, .window = window,
			 .in_flight = window - 1 };
	u32 acks, allowed;

	for (acks = 1; acks < window; acks++) {
		p.newly = 1;
		p.delivered++;
		p.in_flight--;
		allowed = prr_allowed(&p);
		p.in_flight += allowed;
		p.sent += allowed;
		CHECK_NEAR(p.sent, fmax(1, (double)acks * ssthresh / window),
			   0, 1);
		CHECK(p.in_flight >= min_t(u32, ssthresh, window - 1 - acks));
	}
	CHECK_NEAR(p.in_flight, ssthresh, 0, 1);
}

static void test_prr(void)
{
	struct prr p = { .ssthresh = 50, .window = 100, .in_flight = 98,
			 .delivered = 1, .newly = 1 };
	int i;

	CHECK_EQ(prr_allowed(&p), 1);		/* the retransmission */
	p.sent = 1;
	CHECK_EQ(prr_allowed(&p), 0);		/* a half of what is delivered */
	p.delivered = 3;
	CHECK_EQ(prr_allowed(&p), 1);		/* rounded up */
	p.sent = 9;
	CHECK_EQ(prr_allowed(&p), 0);
	p.in_flight = 50;
	CHECK_EQ(prr_allowed(&p), 0);		/* there is no room at ssthresh */
	p.in_flight = 40;
	CHECK_EQ(prr_allowed(&p), 1);		/* as many as delivered now */
	p.clean = true;
	CHECK_EQ(prr_allowed(&p), 2);		/* slow start */
	p.delivered = 16;
	CHECK_EQ(prr_allowed(&p), 8);		/* or as many as are due */
	p.in_flight = 47;
	CHECK_EQ(prr_allowed(&p), 3);		/* up to ssthresh */
	p = (struct prr){ .ssthresh = 2, .window = 1, .in_flight = 9,
			  .delivered = U32_MAX, .sent = 1 };
	CHECK_EQ(prr_allowed(&p), U32_MAX);
	for (i = 0; i < 200000; i++) {
		p = (struct prr){
			.ssthresh = random_bits(20),
			.window = 1 + random_bits(20),
			.in_flight = random_bits(20),
			.delivered = random_bits(20),
			.sent = random_bits(20),
			.newly = random_bits(16),
			.clean = random_bits(1),
		};
		CHECK_EQ(prr_allowed(&p), fmin(rfc6937(&p), U32_MAX));
	}
	for (i = 0; i < 200; i++) {
		u32 window = 4 + random_bits(12);

		test_recovery(window, 2 + random_bits(12) % (window - 2));
	}
}

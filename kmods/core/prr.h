/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Proportional rate reduction: what an ACK in recovery lets a sender send.
 *
 * RFC 6937, section 3.1, as in tcp_cwnd_reduction() of Linux 6.12
 * (net/ipv4/tcp_input.c). With more than ssthresh segments in flight, segments
 * are sent in proportion to those that are delivered. Below ssthresh the
 * sender slow-starts back to it (PRR-SSRB).
 */
#ifndef CORE_PRR_H
#define CORE_PRR_H

#include "arith.h"

/* Segments; of this recovery where nothing else is said */
struct prr {
	u32	ssthresh;
	u32	window;		/* when it began, not 0 */
	u32	in_flight;
	u32	delivered;	/* so far, with this ACK's */
	u32	sent;		/* so far */
	u32	newly;		/* delivered by this ACK */
	bool	clean;		/* the ACK is no duplicate and reports no loss */
};

/* Return how many segments may be sent now */
static inline u32 prr_allowed(const struct prr *p)
{
	s64 room = (s64)p->ssthresh - p->in_flight;
	s64 allowed;

	if (room < 0) {
		u64 due = (u64)p->ssthresh * p->delivered + p->window - 1;

		allowed = (s64)div64_u64(due, p->window) - p->sent;
	} else {
		allowed = max_t(s64, (s64)p->delivered - p->sent, p->newly);
		allowed = min_t(s64, allowed + p->clean, room);
	}
	/* The first ACK of a recovery always lets the retransmission go */
	allowed = max_t(s64, allowed, !p->sent);
	return min_t(s64, allowed, U32_MAX);
}

#endif /* CORE_PRR_H */

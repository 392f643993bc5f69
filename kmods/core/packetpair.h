/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bottleneck's bandwidth from the spacing of ACKs of segments that were
 * sent back to back.
 *
 * Papers: S. Keshav, "A Control-Theoretic Approach to Flow Control", SIGCOMM
 * 1991, divides the length by the spacing of two packets sent back to back.
 * J. C. Hoe, "Improving the Start-up Behavior of a Congestion Control Scheme
 * for TCP", SIGCOMM 1996, takes least squares over three ACKs. With n points,
 * each of y bytes acknowledged at time t:
 *
 *   rate = (n * sum(t*y) - sum(t) * sum(y)) / (n * sum(t^2) - sum(t)^2)
 *
 * Two points give Keshav's estimate. The first point is the origin, so its
 * terms are zero. With t below 2^24 us and y below 2^31 every sum is below
 * 2^58. If the divisor fits in 32 bits, t is below 2^16 and the dividend below
 * 2^50. Times and byte counts must not decrease; then neither difference is
 * negative.
 *
 * The rate is the bottleneck's only if the bottleneck had packets to send all
 * the time between the points. So ACKs count only if they follow each other in
 * one flight; pp_follows() has the rules. An ACK that breaks them is refused,
 * and begins another flight if it is valid itself.
 */
#ifndef CORE_PACKETPAIR_H
#define CORE_PACKETPAIR_H

#include "arith.h"

#define PP_POINTS_MAX 3
#define PP_TIME_MAX_US ((1U << 24) - 1)
#define PP_TOLERANCE_US 1000U
#define PP_DELAYED_US 20000U
#define PP_REFUSED_MAX 65535
#define PP_SEGMENTS_MAX 255U
#define PP_DONE 255

/* Times in us and sequence numbers count modulo 2^32 */
struct pp_ack {
	u32	time_us;	/* when the ACK came */
	u32	sent_us;	/* when the last segment that it acknowledges left */
	u32	una;		/* first byte that is still unacknowledged */
	u32	nxt;		/* first byte that was not sent before the ACK */
	u32	segments;	/* what it acknowledges newly */
	bool	valid;		/* no loss, no pause, and sent_us is known */
};

struct packet_pair {
	u32	first_us;	/* first ACK of the flight: when it came, */
	u32	first_sent_us;	/* when its last segment left, */
	u32	first_una;	/* what it left unacknowledged, */
	u32	end;		/* and the end of what had been sent by then */
	u32	second_us;	/* second of three ACKs: time since the first */
	u32	second_bytes;	/* and bytes since the first */
	u16	refused;	/* ACKs that did not count, up to PP_REFUSED_MAX */
	u8	count;		/* ACKs of the flight so far, or PP_DONE */
	u8	segments;	/* what the first one acknowledged newly */
};

/* Return the slope in q10 bytes/s through the origin and n - 1 more points */
static inline u64 pp_rate(u32 n, u64 t1, u64 y1, u64 t2, u64 y2)
{
	u64 over = n * (t1 * y1 + t2 * y2) - (t1 + t2) * (y1 + y2);
	u64 under = n * (t1 * t1 + t2 * t2) - (t1 + t2) * (t1 + t2);

	while (under > U32_MAX) {
		over >>= 1;
		under >>= 1;
	}
	over = core_scale(over << CORE_BW_SHIFT, CORE_US_PER_S, under);
	return min_t(u64, over, CORE_BW_MAX);
}

/*
 * Return whether an ACK continues the flight:
 *
 *   - It acknowledges more data, and came later than the ACK before it.
 *   - Its segment left before the segment before it left the bottleneck. Seen
 *     from the first ACK, the latter did so when its ACK came. The tolerance is
 *     an eighth of the time since the first ACK, a millisecond at most. So the
 *     second segment must have been sent back to back with the first.
 *   - More of what had been sent when the first ACK came is still on the way.
 *     So no round trip is between the points.
 *   - It acknowledges no fewer segments than the first. A receiver that delays
 *     ACKs acknowledges a single segment when it has waited for another one in
 *     vain. The wait, 40 ms or more, is not the bottleneck's. So an ACK of a
 *     single segment also comes within 20 ms of the ACK before it.
 */
static inline bool pp_follows(const struct packet_pair *p,
			      const struct pp_ack *ack)
{
	u32 last_us = p->count > 1 ? p->second_us : 0;
	u32 last_bytes = p->count > 1 ? p->second_bytes : 0;
	u32 elapsed_us = ack->time_us - p->first_us;
	u32 apart_us = ack->sent_us - p->first_sent_us;
	u32 bytes = ack->una - p->first_una;

	return bytes > last_bytes && bytes < p->end - p->first_una &&
	       elapsed_us > last_us && elapsed_us <= PP_TIME_MAX_US &&
	       apart_us <= last_us + min_t(u32, elapsed_us / 8, PP_TOLERANCE_US) &&
	       ack->segments >= p->segments &&
	       (ack->segments > 1 || elapsed_us - last_us < PP_DELAYED_US);
}

static inline void pp_refuse(struct packet_pair *p)
{
	p->count = 0;
	if (p->refused < PP_REFUSED_MAX)
		WRITE_ONCE(p->refused, p->refused + 1);
}

/*
 * Add an ACK that acknowledges new data; wanted is the number of points, 2 or
 * 3. Return the rate in q10 bytes/s if it completes them, else 0. Later ACKs do
 * not count.
 */
static inline u64 pp_ack(struct packet_pair *p, const struct pp_ack *ack,
			 u32 wanted)
{
	u32 elapsed_us, bytes;

	if (p->count == PP_DONE)
		return 0;
	if (!ack->valid || (p->count && !pp_follows(p, ack)))
		pp_refuse(p);
	if (!ack->valid)
		return 0;
	if (!p->count) {
		p->count = 1;
		p->first_us = ack->time_us;
		p->first_sent_us = ack->sent_us;
		p->first_una = ack->una;
		p->end = ack->nxt;
		p->segments = min_t(u32, ack->segments, PP_SEGMENTS_MAX);
		return 0;
	}
	elapsed_us = ack->time_us - p->first_us;
	bytes = ack->una - p->first_una;
	if (++p->count < wanted) {
		p->second_us = elapsed_us;
		p->second_bytes = bytes;
		return 0;
	}
	p->count = PP_DONE;
	if (wanted < PP_POINTS_MAX)
		return pp_rate(wanted, elapsed_us, bytes, 0, 0);
	return pp_rate(PP_POINTS_MAX, p->second_us, p->second_bytes, elapsed_us,
		       bytes);
}

#endif /* CORE_PACKETPAIR_H */

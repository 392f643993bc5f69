/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bottleneck's bandwidth from the spacing of a connection's first ACKs.
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
 */
#ifndef CORE_PACKETPAIR_H
#define CORE_PACKETPAIR_H

#include "arith.h"

#define PP_POINTS_MAX 3
#define PP_TIME_MAX_US ((1U << 24) - 1)

struct packet_pair {
	u32	time_us[PP_POINTS_MAX - 1];	/* 2nd, 3rd ACK after the 1st */
	u32	bytes[PP_POINTS_MAX - 1];	/* acknowledged since the 1st */
	u32	count;				/* ACKs seen */
};

/*
 * Add an ACK with its time and byte count, both since the first ACK. Return
 * whether it was the last of the wanted number (2 or 3). Further ACKs do not
 * count.
 */
static inline bool pp_ack(struct packet_pair *p, u32 time_us, u64 bytes,
			  u32 wanted)
{
	if (p->count >= wanted)
		return false;
	if (p->count) {
		p->time_us[p->count - 1] = min_t(u32, time_us, PP_TIME_MAX_US);
		p->bytes[p->count - 1] = min_t(u64, bytes, CORE_BYTES_MAX);
	}
	p->count++;
	return p->count == wanted;
}

/* Return the rate in q10 bytes/s; 0 when no time passed between the ACKs */
static inline u64 pp_rate(const struct packet_pair *p)
{
	u64 t1 = p->time_us[0], t2 = p->time_us[1];
	u64 y1 = p->bytes[0], y2 = p->bytes[1];
	u64 over, under;

	if (p->count < PP_POINTS_MAX) {
		t2 = 0;
		y2 = 0;
	}
	over = p->count * (t1 * y1 + t2 * y2) - (t1 + t2) * (y1 + y2);
	under = p->count * (t1 * t1 + t2 * t2) - (t1 + t2) * (t1 + t2);
	if (!under)
		return 0;
	while (under > U32_MAX) {
		over >>= 1;
		under >>= 1;
	}
	over = core_scale(over << CORE_BW_SHIFT, CORE_US_PER_S, under);
	return min_t(u64, over, CORE_BW_MAX);
}

#endif /* CORE_PACKETPAIR_H */

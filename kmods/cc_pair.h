/* SPDX-License-Identifier: GPL-2.0-only */
/* Packet pairs: the rate of the first ACKs, and the first ssthresh from it. */
#ifndef CC_PAIR_H
#define CC_PAIR_H

#include <net/tcp.h>

#include "core/packetpair.h"

struct cc_pair {
	struct packet_pair points;
	u32	first_us;	/* tcp_mstamp of the first ACK */
	u32	delivered;	/* tp->delivered at the last ACK that counted */
	u32	first_delivered; /* tp->delivered at the first ACK */
};

static inline void cc_pair_init(struct cc_pair *pair, const struct sock *sk)
{
	*pair = (struct cc_pair){ .delivered = tcp_sk(sk)->delivered };
}

/* Add an ACK; return the rate (q10) if it completes the estimate, else 0 */
static inline u64 cc_pair_ack(struct cc_pair *pair, const struct sock *sk,
			      u32 wanted)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 bytes;

	if (pair->points.count >= wanted || tp->delivered == pair->delivered)
		return 0;
	pair->delivered = tp->delivered;
	if (!pair->points.count) {
		pair->first_us = (u32)tp->tcp_mstamp;
		pair->first_delivered = tp->delivered;
	}
	bytes = (u64)(tp->delivered - pair->first_delivered) * tp->mss_cache;
	if (!pp_ack(&pair->points, (u32)tp->tcp_mstamp - pair->first_us, bytes,
		    wanted))
		return 0;
	return pp_rate(&pair->points);
}

/* Add an ACK; set ssthresh from the estimate unless ssthresh was set before */
static inline void cc_pair_ssthresh(struct cc_pair *pair, struct sock *sk,
				    u32 rtt_min_us, u32 wanted)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 rate = wanted ? cc_pair_ack(pair, sk, wanted) : 0;

	if (rate && rtt_min_us != U32_MAX && tcp_in_initial_slowstart(tp))
		tp->snd_ssthresh = core_bdp_segments(rate, rtt_min_us,
						     tp->mss_cache);
}

#define CC_PACKETPAIR_TEXT						\
	"initial ssthresh from the spacing of the first ACKs: 0 none, "	\
	"2 packet pair (Keshav), 3 least squares (Hoe)"

#endif /* CC_PAIR_H */

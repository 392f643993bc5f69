/* SPDX-License-Identifier: GPL-2.0-only */
/* Packet pairs: the rate of ACKs of one flight, and the first ssthresh from it. */
#ifndef CC_PAIR_H
#define CC_PAIR_H

#include <net/tcp.h>

#include "core/packetpair.h"

/* Return whether nothing but the path spaces what this ACK acknowledges */
static inline bool cc_pair_valid(const struct sock *sk,
				 const struct ack_sample *ack)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	bool limited = tp->app_limited &&
		       !after(tp->delivered, tp->app_limited);

	return ack->rtt_us > 0 && !limited && !tcp_left_out(tp) &&
	       !tp->retrans_out && inet_csk(sk)->icsk_ca_state == TCP_CA_Open;
}

/*
 * Add an ACK; return the rate (q10) if it completes the estimate, else 0. What
 * the ACK acknowledges last left one round-trip time ago. An update of the
 * receiver's window acknowledges nothing and does not count.
 */
static inline u64 cc_pair_ack(struct packet_pair *pair, const struct sock *sk,
			      const struct ack_sample *ack, u32 wanted)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct pp_ack point = {
		.time_us = (u32)tp->tcp_mstamp,
		.sent_us = (u32)tp->tcp_mstamp - ack->rtt_us,
		.una = tp->snd_una,
		.nxt = tp->snd_nxt,
		.segments = ack->pkts_acked,
		.valid = cc_pair_valid(sk, ack),
	};

	if (!ack->pkts_acked && !tcp_left_out(tp))
		return 0;
	return pp_ack(pair, &point, wanted);
}

/* Add an ACK; set ssthresh from the estimate unless ssthresh was set before */
static inline void cc_pair_ssthresh(struct packet_pair *pair, struct sock *sk,
				    const struct ack_sample *ack,
				    u32 rtt_min_us, u32 wanted)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 rate = wanted ? cc_pair_ack(pair, sk, ack, wanted) : 0;

	if (rate && rtt_min_us != U32_MAX && tcp_in_initial_slowstart(tp))
		tp->snd_ssthresh = core_bdp_segments(rate, rtt_min_us,
						     tp->mss_cache);
}

#define CC_PACKETPAIR_TEXT						\
	"initial ssthresh from the spacing of ACKs of one flight: 0 none, " \
	"2 packet pair (Keshav), 3 least squares (Hoe)"

#endif /* CC_PAIR_H */

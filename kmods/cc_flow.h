/* SPDX-License-Identifier: GPL-2.0-only */
/* What every module keeps of a connection, and its samples from ACKs. */
#ifndef CC_FLOW_H
#define CC_FLOW_H

#include <net/tcp.h>

#include "core/arith.h"

/*
 * The part of a connection's state that every module has. It comes first, so
 * that the hooks here and in cc_window.h serve every module (cc_flow_of).
 */
struct cc_flow {
	u64	ack_us;		/* when the last ACK came; 0: none yet */
	u32	delivered;	/* cc_delivered() at that ACK */
	u32	rtt_us;		/* last round-trip time; 0: none yet */
	u32	rtt_min_us;	/* smallest round-trip time; U32_MAX: none yet */
	u32	ssthresh;	/* ssthresh from the end of recovery on; 0: none */
};

#define CC_HANDSHAKE_RTT_TEXT						\
	"RTTmin is that of: 1 handshake and data, as in Linux's BBR; "	\
	"0 data only, as in ns-2"

/*
 * Return how much data has been delivered: the sequence number of the first byte
 * that is not acknowledged, plus the SACKed segments as full ones. So a segment
 * below the MSS counts as such once it is acknowledged. Only differences have a
 * meaning. One is below 0 when the kernel forgets what was SACKed.
 */
static inline u32 cc_delivered(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tp->snd_una + tp->sacked_out * tp->mss_cache;
}

/*
 * handshake: RTTmin begins with the smallest round-trip time so far, which is
 * the handshake's when a connection begins.
 */
static inline void cc_flow_init(struct cc_flow *flow, const struct sock *sk,
				bool handshake)
{
	*flow = (struct cc_flow){
		.delivered = cc_delivered(sk),
		.rtt_min_us = handshake ? tcp_min_rtt(tcp_sk(sk)) : U32_MAX,
	};
}

static inline struct cc_flow *cc_flow_of(const struct sock *sk)
{
	return inet_csk_ca(sk);
}

static inline void cc_flow_rtt(struct cc_flow *flow, u32 rtt_us)
{
	WRITE_ONCE(flow->rtt_us, rtt_us);
	WRITE_ONCE(flow->rtt_min_us, min(flow->rtt_min_us, rtt_us));
}

/* Take the round-trip time of an ACK if it has one */
static inline void cc_flow_pkts_acked(struct sock *sk,
				      const struct ack_sample *ack)
{
	if (ack->rtt_us > 0)
		cc_flow_rtt(cc_flow_of(sk), ack->rtt_us);
}

/* Begin a new interval; data delivered so far does not count */
static inline void cc_flow_restart(struct cc_flow *flow, const struct sock *sk)
{
	flow->ack_us = 0;
	flow->delivered = cc_delivered(sk);
}

/*
 * Return whether sending begins after a pause of the application. The event
 * CA_EVENT_TX_START alone does not say so: it comes whenever nothing is in
 * flight. That is also the case when one ACK acknowledges the whole window, and
 * when a timeout retransmits after all segments were lost. The papers' filters
 * count the time before such a retransmission.
 */
static inline bool cc_was_idle(const struct sock *sk, enum tcp_ca_event event)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return event == CA_EVENT_TX_START && !tp->packets_out && tp->app_limited;
}

struct cc_sample {
	u64	bytes;		/* newly delivered, including SACKed segments */
	u32	interval_us;	/* since the last ACK that delivered data */
};

/*
 * Return when the data came that cc_delivered() counts for the first time at
 * this ACK. That is now, with one exception: without SACK the kernel counts a
 * duplicate ACK's segment only after it has called pkts_acked. So the next ACK
 * finds it. If that one acknowledges nothing itself, the segment is the
 * previous one's.
 */
static inline u64 cc_delivery_us(const struct sock *sk,
				 const struct ack_sample *ack)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (tcp_is_reno(tp) && !ack->pkts_acked)
		return tp->delivered_mstamp;
	return tp->tcp_mstamp;
}

/*
 * Fill in the data delivered since the last ACK. Return false when there was no
 * last ACK or no new data. Also return false when the last ACK came in the same
 * microsecond; the next ACK's sample then includes this data.
 *
 * Call it from pkts_acked. Every kernel calls that after it has counted what an
 * ACK acknowledges. Many call in_ack_event before that (compat.h): a sample
 * would then have the data of one ACK and the interval of the next.
 */
static inline bool cc_flow_sample(struct cc_flow *flow, const struct sock *sk,
				  const struct ack_sample *ack,
				  struct cc_sample *sample)
{
	u32 delivered = cc_delivered(sk);
	s32 bytes = delivered - flow->delivered;
	u64 now_us = cc_delivery_us(sk, ack);
	u64 last_us = flow->ack_us;

	if (bytes <= 0 || now_us <= last_us)
		return false;
	flow->ack_us = now_us;
	flow->delivered = delivered;
	sample->bytes = bytes;
	sample->interval_us = min_t(u64, now_us - last_us, U32_MAX);
	return last_us;
}

/*
 * Filters with a sample for each ACK take no samples while the application
 * limits the rate. If they dropped only low samples, only bursts would count.
 */
static inline bool cc_app_limited(const struct sock *sk, u64 bw)
{
	return bw && tcp_sk(sk)->app_limited;
}

#endif /* CC_FLOW_H */

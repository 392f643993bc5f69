/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code that the congestion controls here share: samples from ACKs, module
 * parameters with a range, Reno's increase, undo, and the state that get_info
 * and the trace report.
 *
 * A module defines CC_TRACE_SYSTEM before it includes this file.
 */
#ifndef CC_H
#define CC_H

#include <linux/inet_diag.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <net/tcp.h>

#include "compat.h"
#include "core/arith.h"
#include "core/packetpair.h"

#define CREATE_TRACE_POINTS
#include "cc_trace.h"

/* modinfo shows these for every module; dkms.conf reads the version */
MODULE_AUTHOR("The authors of the TCP congestion-control orchestrator");
MODULE_VERSION("1.0");

/* ---- module parameters ---- */

/* A parameter's variable and its valid values */
struct cc_range {
	unsigned int *value;
	unsigned int low;
	unsigned int high;
	bool power_of_two;
};

static int cc_range_set(const char *text, const struct kernel_param *kp)
{
	const struct cc_range *range = kp->arg;
	unsigned int value;
	int err = kstrtouint(text, 0, &value);

	if (err)
		return err;
	if (value < range->low || value > range->high ||
	    (range->power_of_two && value & (value - 1))) {
		pr_err("%s: %s=%u: valid are %s%u to %u\n", KBUILD_MODNAME,
		       kp->name, value,
		       range->power_of_two ? "powers of two from " : "",
		       range->low, range->high);
		return -EINVAL;
	}
	WRITE_ONCE(*range->value, value);
	return 0;
}

static int cc_range_get(char *buffer, const struct kernel_param *kp)
{
	const struct cc_range *range = kp->arg;

	return sysfs_emit(buffer, "%u\n", READ_ONCE(*range->value));
}

static const struct kernel_param_ops cc_range_ops = {
	.set = cc_range_set,
	.get = cc_range_get,
};

#define CC_PARAM_CHECKED(name, first, low_, high_, two, text)		\
	static unsigned int name __read_mostly = (first);		\
	static const struct cc_range name##_range = {			\
		.value = &(name), .low = (low_), .high = (high_),	\
		.power_of_two = (two),					\
	};								\
	module_param_cb(name, &cc_range_ops, (void *)&name##_range, 0644); \
	__MODULE_PARM_TYPE(name, "uint");				\
	MODULE_PARM_DESC(name, text " (" #low_ " to " #high_ ", default " \
			 #first ")")

#define CC_PARAM(name, first, low, high, text) \
	CC_PARAM_CHECKED(name, first, low, high, false, text)

/* ---- samples from ACKs ---- */

/* The part of a connection's state that every module has */
struct cc_flow {
	u64	ack_us;		/* tcp_mstamp of the last ACK; 0: none yet */
	u32	delivered;	/* tp->delivered at that ACK */
	u32	rtt_us;		/* last round-trip time; 0: none yet */
	u32	rtt_min_us;	/* smallest round-trip time; U32_MAX: none yet */
	u32	ssthresh;	/* ssthresh from the end of recovery on; 0: none */
};

static inline void cc_flow_init(struct cc_flow *flow, const struct sock *sk)
{
	*flow = (struct cc_flow){
		.delivered = tcp_sk(sk)->delivered,
		.rtt_min_us = U32_MAX,
	};
}

static inline void cc_flow_rtt(struct cc_flow *flow, u32 rtt_us)
{
	WRITE_ONCE(flow->rtt_us, rtt_us);
	WRITE_ONCE(flow->rtt_min_us, min(flow->rtt_min_us, rtt_us));
}

/* Begin a new interval; data delivered so far does not count */
static inline void cc_flow_restart(struct cc_flow *flow, const struct sock *sk)
{
	flow->ack_us = 0;
	flow->delivered = tcp_sk(sk)->delivered;
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
 * Fill in the data delivered since the last ACK. Return false when there was no
 * last ACK or no new data. Also return false when the last ACK came in the same
 * microsecond; the next ACK's sample then includes this data.
 */
static inline bool cc_flow_sample(struct cc_flow *flow, const struct sock *sk,
				  struct cc_sample *sample)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 segments = tp->delivered - flow->delivered;
	u64 last_us = flow->ack_us;

	if (!segments || tp->tcp_mstamp <= last_us)
		return false;
	flow->ack_us = tp->tcp_mstamp;
	flow->delivered = tp->delivered;
	sample->bytes = (u64)segments * tp->mss_cache;
	sample->interval_us = min_t(u64, tp->tcp_mstamp - last_us, U32_MAX);
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

/* ---- initial ssthresh by packet pairs ---- */

struct cc_pair {
	struct packet_pair points;
	u32	first_us;	/* tcp_mstamp of the first ACK */
	u32	delivered;	/* tp->delivered at the last ACK that counted */
	u32	first_delivered; /* tp->delivered at the first ACK */
};

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

/* ---- windows ---- */

#define CC_COUNT_ACKS_TEXT						\
	"1 counts ACKs when the window grows, as ns-2 does; 0 counts segments"

static inline void cc_cong_avoid(struct sock *sk, u32 ack, u32 acked,
				 bool count_acks)
{
	tcp_reno_cong_avoid(sk, ack, count_acks ? min(acked, 1U) : acked);
}

/* Add whole segments to the window, up to snd_cwnd_clamp */
static inline void cc_grow(struct tcp_sock *tp, u32 segments)
{
	u64 window = (u64)tcp_snd_cwnd(tp) + segments;

	tcp_snd_cwnd_set(tp, min_t(u64, window, tp->snd_cwnd_clamp));
}

#define CC_CLAMP_CWND_TEXT						\
	"a loss with ssthresh above cwnd: 1 leaves cwnd as it is, "	\
	"0 raises cwnd to ssthresh"

/* Return Bwe * RTTmin; half of the window while there is no estimate */
static inline u32 cc_ssthresh(struct sock *sk, u64 bw, u32 rtt_min_us)
{
	if (!bw || rtt_min_us == U32_MAX)
		return tcp_reno_ssthresh(sk);
	return core_bdp_segments(bw, rtt_min_us, tcp_sk(sk)->mss_cache);
}

/*
 * "if (cwnd > ssthresh) cwnd = ssthresh" at three duplicate ACKs (TIBET paper,
 * section 3.1): a smaller cwnd stays, and grows to ssthresh by slow start after
 * recovery. The kernel takes cwnd to tp->snd_ssthresh in both directions, during
 * recovery (tcp_cwnd_reduction) and at its end (tcp_end_cwnd_reduction). So it
 * gets the smaller of both here, and ssthresh itself by cc_ssthresh_event() or
 * cc_ssthresh_state().
 */
static inline u32 cc_ssthresh_below(struct cc_flow *flow, const struct sock *sk,
				    u32 ssthresh, bool clamp)
{
	u32 window = tcp_snd_cwnd(tcp_sk(sk));

	flow->ssthresh = 0;
	if (!clamp || ssthresh <= window)
		return ssthresh;
	flow->ssthresh = ssthresh;
	return window;
}

static inline void cc_ssthresh_restore(struct cc_flow *flow, struct sock *sk)
{
	if (flow->ssthresh)
		tcp_sk(sk)->snd_ssthresh = flow->ssthresh;
	flow->ssthresh = 0;
}

/* Recovery or the reduction after an ECN mark ends */
static inline void cc_ssthresh_event(struct cc_flow *flow, struct sock *sk,
				     enum tcp_ca_event event)
{
	if (event == CA_EVENT_COMPLETE_CWR)
		cc_ssthresh_restore(flow, sk);
}

/*
 * A timeout has no condition. It may come during recovery, when the kernel does
 * not ask for another ssthresh. Recovery also ends without CA_EVENT_COMPLETE_CWR
 * if it was spurious, but an ECN mark forbids to undo it. undo_marker is 0 then.
 * Otherwise the state becomes Open before cwnd is set to ssthresh.
 */
static inline void cc_ssthresh_state(struct cc_flow *flow, struct sock *sk,
				     u8 state)
{
	if (state == TCP_CA_Loss ||
	    (state < TCP_CA_CWR && !tcp_sk(sk)->undo_marker))
		cc_ssthresh_restore(flow, sk);
}

/* The last congestion event was spurious: the kernel restores ssthresh */
static inline u32 cc_undo_cwnd(struct cc_flow *flow, struct sock *sk)
{
	flow->ssthresh = 0;
	return tcp_reno_undo_cwnd(sk);
}

/* ---- get_info and the trace ---- */

/*
 * Answer in the layout of tcp_bbr_info: bw in bytes/s, RTTmin in us (0: none
 * yet), and two numbers that each module documents. `ss` shows these beside its
 * other fields. Called without the socket's lock.
 */
static inline size_t cc_info(u32 ext, int *attr, union tcp_cc_info *info,
			     u64 bw, u32 rtt_min_us, u32 first, u32 second)
{
	if (!(ext & (1 << (INET_DIAG_BBRINFO - 1) |
		     1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	bw >>= CORE_BW_SHIFT;
	info->bbr = (struct tcp_bbr_info){
		.bbr_bw_lo = (u32)bw,
		.bbr_bw_hi = (u32)(bw >> 32),
		.bbr_min_rtt = rtt_min_us == U32_MAX ? 0 : rtt_min_us,
		.bbr_pacing_gain = first,
		.bbr_cwnd_gain = second,
	};
	*attr = INET_DIAG_BBRINFO;
	return sizeof(info->bbr);
}

/* Return a q10 bandwidth in kbit/s */
static inline u32 cc_kbps(u64 bw)
{
	return min_t(u64, div_u64(bw, 125 << CORE_BW_SHIFT), U32_MAX);
}

static inline void cc_trace(const struct sock *sk, const struct cc_flow *flow,
			    u64 bw, u32 first, u32 second)
{
	trace_cc_ack(sk, bw >> CORE_BW_SHIFT, flow->rtt_us, flow->rtt_min_us,
		     first, second);
}

#endif /* CC_H */

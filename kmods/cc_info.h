/* SPDX-License-Identifier: GPL-2.0-only */
/* What get_info and the trace show. */
#ifndef CC_INFO_H
#define CC_INFO_H

#include <linux/inet_diag.h>
#include <net/tcp.h>

#include "cc_flow.h"
#include "cc_trace.h"
#include "core/arith.h"

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

#endif /* CC_INFO_H */

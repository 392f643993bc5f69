/* SPDX-License-Identifier: GPL-2.0-only */
/* What get_info and the trace show. */
#ifndef CC_INFO_H
#define CC_INFO_H

#include <linux/inet_diag.h>
#include <net/tcp.h>

#include "cc_flow.h"
#include "core/arith.h"

/* What a module shows of a connection; CC_SHOWS says what each value means */
struct cc_shown {
	u64	bw;		/* q10 bytes/s */
	u32	rtt_min_us;	/* U32_MAX: none yet */
	u32	first;
	u32	second;
	u32	pair_refused;	/* ACKs that packet pairs refused; trace only */
};

#include "cc_trace.h"

/*
 * The attribute of a socket in the answers of inet_diag that has these values.
 * Its number is far from the kernel's own, which end below 32. So a program
 * that does not know it, such as ss, leaves it out. With a number of the
 * kernel's, such as INET_DIAG_BBRINFO, ss would print the values under the
 * names of another algorithm's.
 */
#define CC_DIAG_ATTRIBUTE	0x3cc0

/* Its payload, which getsockopt(TCP_CC_INFO) returns, too */
struct cc_diag {
	__u32	bw_lo;		/* bytes/s, the lower half */
	__u32	bw_hi;
	__u32	rtt_min_us;	/* 0: none yet */
	__u32	first;
	__u32	second;
};

/* The kernel has that much room for any algorithm's values */
static_assert(sizeof(struct cc_diag) <= sizeof(union tcp_cc_info));

/*
 * ext has 8 bits in requests. All algorithms' values are requested by the bit
 * of INET_DIAG_VEGASINFO (include/uapi/linux/inet_diag.h).
 */
static inline bool cc_info_requested(u32 ext)
{
	return ext & (1 << (INET_DIAG_VEGASINFO - 1));
}

static inline size_t cc_info(int *attr, union tcp_cc_info *info,
			     const struct cc_shown *shown)
{
	u64 bw = shown->bw >> CORE_BW_SHIFT;
	u32 rtt_min_us = shown->rtt_min_us;
	const struct cc_diag diag = {
		.bw_lo = lower_32_bits(bw),
		.bw_hi = upper_32_bits(bw),
		.rtt_min_us = rtt_min_us == U32_MAX ? 0 : rtt_min_us,
		.first = shown->first,
		.second = shown->second,
	};

	memcpy(info, &diag, sizeof(diag));
	*attr = CC_DIAG_ATTRIBUTE;
	return sizeof(diag);
}

/*
 * Say what a module x shows: four texts, each with its unit in brackets, or
 * "unused". modinfo prints them, and catalogue.py reads them from this line. A
 * rate is in bytes/s and RTTmin in us.
 *
 * The module defines x_shown(). get_info calls it without the socket's lock, so
 * it reads by READ_ONCE what changes. This macro defines x_get_info() and
 * x_trace(), which fires the trace event. Nothing is computed while the event
 * is off.
 */
#define CC_SHOWS(name, bw, rtt_min, first, second)			\
MODULE_INFO(shows, bw "; " rtt_min "; " first "; " second);		\
									\
static struct cc_shown name##_shown(const struct sock *sk);		\
									\
static size_t name##_get_info(struct sock *sk, u32 ext, int *attr,	\
			      union tcp_cc_info *info)			\
{									\
	struct cc_shown shown;						\
									\
	if (!cc_info_requested(ext))					\
		return 0;						\
	shown = name##_shown(sk);					\
	return cc_info(attr, info, &shown);				\
}									\
									\
static void name##_trace(const struct sock *sk)				\
{									\
	struct cc_shown shown;						\
									\
	if (!trace_cc_ack_enabled())					\
		return;							\
	shown = name##_shown(sk);					\
	trace_cc_ack(sk, cc_flow_of(sk)->rtt_us, &shown);		\
}									\
static_assert(true)

/* Return a q10 bandwidth in kbit/s */
static inline u32 cc_kbps(u64 bw)
{
	return min_t(u64, div_u64(bw, 125 << CORE_BW_SHIFT), U32_MAX);
}

#endif /* CC_INFO_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * NewReno's congestion avoidance as ns-2 counts it: each ACK, whatever number
 * of segments it acknowledges, adds 1/W (tcp.cc, opencwnd with
 * increase_num_ 1), where Linux counts the segments. Under delayed ACKs the
 * window then grows by half a segment a round trip. W is a real number there;
 * here its fraction is kept in q32.
 */
#ifndef CORE_NEWRENO_NS2_H
#define CORE_NEWRENO_NS2_H

#include "arith.h"

/* Segments to add for that many ACKs at that window (> 0) */
static inline u32 ns2_acked(u32 *fraction, u32 window, u32 acks)
{
	return core_accumulate(fraction, div64_u64(CORE_ONE_Q32, window), acks);
}

#endif /* CORE_NEWRENO_NS2_H */

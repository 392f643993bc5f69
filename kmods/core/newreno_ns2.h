/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * NewReno's congestion avoidance as ns-2 counts it (tcp.cc, opencwnd with
 * increase_num_ 1): each ACK adds 1/W, no matter how many segments it
 * acknowledges. Linux counts the segments. With delayed ACKs ns-2's window
 * grows by half a segment per round trip. W is a real number in ns-2; here its
 * fraction is q32.
 */
#ifndef CORE_NEWRENO_NS2_H
#define CORE_NEWRENO_NS2_H

#include "arith.h"

/* Return the segments to add for this number of ACKs; window > 0 */
static inline u32 ns2_acked(u32 *fraction, u32 window, u32 acks)
{
	return core_accumulate(fraction, div64_u64(CORE_ONE_Q32, window), acks);
}

#endif /* CORE_NEWRENO_NS2_H */

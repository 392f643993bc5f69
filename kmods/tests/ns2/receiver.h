/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The receiver: it acknowledges every second segment in order, or a segment
 * after delayed_ack_s. It acknowledges at once what is out of order, and what
 * fills a gap (fill_at_once, RFC 2581 section 4.2). The ACK path has no queue.
 */
#ifndef NS2_RECEIVER_H
#define NS2_RECEIVER_H

#include "flow.h"

static inline void receiver_ack(struct flow *flow, u32 segment, u32 segment2)
{
	event_add((struct event){ .kind = EVENT_ACK,
				  .ns = now_ns + ns_of(opt.rtt_s / 2),
				  .flow = (u32)(flow - flows),
				  .next = flow->expected, .segment = segment,
				  .segment2 = segment2 });
}

static inline void receiver_data(struct flow *flow, u32 segment)
{
	u32 before = flow->expected;
	bool fills, next_only;

	if (segment >= flow->expected)
		flow->have[segment % RING] = true;
	flow->highest = max_t(u32, flow->highest, segment + 1);
	while (flow->have[flow->expected % RING])
		flow->have[flow->expected++ % RING] = false;
	if (counting())
		flow->total.received += flow->expected - before;
	next_only = segment == before && flow->expected == before + 1;
	fills = segment + 1 < flow->highest;
	if (!flow->delayed && next_only && opt.delayed_ack_s > 0 &&
	    !(fills && opt.fill_at_once)) {
		flow->delayed = true;
		flow->delayed_segment = segment;
		event_add((struct event){
			.kind = EVENT_DELAYED_ACK,
			.ns = now_ns + ns_of(opt.delayed_ack_s),
			.flow = (u32)(flow - flows),
			.number = ++flow->delayed_number });
		return;
	}
	receiver_ack(flow, segment,
		     flow->delayed ? flow->delayed_segment : NO_SEGMENT);
	flow->delayed = false;
}

static inline void receiver_timer(struct flow *flow, u32 number)
{
	if (!flow->delayed || number != flow->delayed_number)
		return;
	receiver_ack(flow, flow->delayed_segment, NO_SEGMENT);
	flow->delayed = false;
}

#endif /* NS2_RECEIVER_H */

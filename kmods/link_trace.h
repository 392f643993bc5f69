/* SPDX-License-Identifier: GPL-2.0-only */
/* The trace event that sch_link fires for each packet at each step of its way: link/link_packet. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM link

#if !defined(LINK_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define LINK_TRACE_H

#include <linux/netdevice.h>
#include <linux/tracepoint.h>
#include <net/sch_generic.h>

TRACE_EVENT(link_packet,
	    TP_PROTO(struct Qdisc *sch, struct Qdisc *queue, struct sk_buff *skb, u8 step,
		     u64 time_ns, u64 sojourn_ns),

	TP_ARGS(sch, queue, skb, step, time_ns, sojourn_ns),

	TP_STRUCT__entry(
		__field(u64, time_ns)
		__field(u64, sojourn_ns)
		__field(const void *, skb)
		__field(int, ifindex)
		__field(u32, bytes)
		__field(u32, queue_packets)
		__field(u32, queue_bytes)
		__field(u8, step)
	),

	TP_fast_assign(
		__entry->time_ns = time_ns;
		__entry->sojourn_ns = sojourn_ns;
		__entry->skb = skb;
		__entry->ifindex = qdisc_dev(sch)->ifindex;
		__entry->bytes = qdisc_pkt_len(skb);
		__entry->queue_packets = queue->q.qlen;
		__entry->queue_bytes = queue->qstats.backlog;
		__entry->step = step;
	),

	TP_printk("ifindex=%d skb=%p step=%u bytes=%u time_ns=%llu sojourn_ns=%llu queue_packets=%u queue_bytes=%u",
		  __entry->ifindex, __entry->skb, __entry->step, __entry->bytes,
		  __entry->time_ns, __entry->sojourn_ns, __entry->queue_packets,
		  __entry->queue_bytes)
);

#endif /* LINK_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE link_trace
#include <trace/define_trace.h>

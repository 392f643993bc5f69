/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The trace event that every module fires for each ACK: cc_ack, in the group
 * that the module names by CC_TRACE_SYSTEM (tcp_tibet/cc_ack and so on).
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM CC_TRACE_SYSTEM

#if !defined(CC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define CC_TRACE_H

#include <linux/tracepoint.h>
#include <net/tcp.h>

/* bw is in bytes/s; first and second are the two last numbers of get_info */
TRACE_EVENT(cc_ack,
	    TP_PROTO(const struct sock *sk, u64 bw, u32 rtt_us, u32 rtt_min_us,
		     u32 first, u32 second),

	TP_ARGS(sk, bw, rtt_us, rtt_min_us, first, second),

	TP_STRUCT__entry(
		__field(u64, net_cookie)
		__field(u64, bw)
		__array(u8, saddr, 4)
		__array(u8, daddr, 4)
		__field(u16, sport)
		__field(u16, dport)
		__field(u32, cwnd)
		__field(u32, ssthresh)
		__field(u32, in_flight)
		__field(u32, delivered)
		__field(u32, rtt_us)
		__field(u32, rtt_min_us)
		__field(u32, first)
		__field(u32, second)
		__field(u8, ca_state)
	),

	TP_fast_assign(
		const struct inet_sock *inet = inet_sk(sk);
		const struct tcp_sock *tp = tcp_sk(sk);

		__entry->net_cookie = sock_net(sk)->net_cookie;
		__entry->bw = bw;
		memcpy(__entry->saddr, &inet->inet_saddr, 4);
		memcpy(__entry->daddr, &inet->inet_daddr, 4);
		__entry->sport = ntohs(inet->inet_sport);
		__entry->dport = ntohs(inet->inet_dport);
		__entry->cwnd = tcp_snd_cwnd(tp);
		__entry->ssthresh = tp->snd_ssthresh;
		__entry->in_flight = tcp_packets_in_flight(tp);
		__entry->delivered = tp->delivered;
		__entry->rtt_us = rtt_us;
		__entry->rtt_min_us = rtt_min_us;
		__entry->first = first;
		__entry->second = second;
		__entry->ca_state = inet_csk(sk)->icsk_ca_state;
	),

	TP_printk("net=%llu src=%pI4:%u dest=%pI4:%u cwnd=%u ssthresh=%u in_flight=%u delivered=%u state=%u bw=%llu rtt_us=%u rtt_min_us=%u first=%u second=%u",
		  __entry->net_cookie, __entry->saddr, __entry->sport,
		  __entry->daddr, __entry->dport, __entry->cwnd,
		  __entry->ssthresh, __entry->in_flight, __entry->delivered,
		  __entry->ca_state, __entry->bw, __entry->rtt_us,
		  __entry->rtt_min_us, __entry->first, __entry->second)
);

#endif /* CC_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE cc_trace
#include <trace/define_trace.h>

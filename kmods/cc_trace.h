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
#include <net/ipv6.h>
#include <net/tcp.h>
#include <trace/events/net_probe_common.h>

/* bw is in bytes/s; first and second are the two last numbers of get_info */
TRACE_EVENT(cc_ack,
	    TP_PROTO(const struct sock *sk, u32 rtt_us,
		     const struct cc_shown *shown),

	TP_ARGS(sk, rtt_us, shown),

	TP_STRUCT__entry(
		__field(u64, net_cookie)
		__field(u64, bw)
		__array(u8, saddr, sizeof(struct sockaddr_in6))
		__array(u8, daddr, sizeof(struct sockaddr_in6))
		__field(u16, family)
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
		__field(u32, pair_refused)
		__field(u8, ca_state)
	),

	TP_fast_assign(
		const struct inet_sock *inet = inet_sk(sk);
		const struct tcp_sock *tp = tcp_sk(sk);

		memset(__entry->saddr, 0, sizeof(struct sockaddr_in6));
		memset(__entry->daddr, 0, sizeof(struct sockaddr_in6));
		TP_STORE_ADDR_PORTS(__entry, inet, sk);
		__entry->net_cookie = sock_net(sk)->net_cookie;
		__entry->bw = shown->bw >> CORE_BW_SHIFT;
		__entry->family = sk->sk_family;
		__entry->sport = ntohs(inet->inet_sport);
		__entry->dport = ntohs(inet->inet_dport);
		__entry->cwnd = tcp_snd_cwnd(tp);
		__entry->ssthresh = tp->snd_ssthresh;
		__entry->in_flight = tcp_packets_in_flight(tp);
		__entry->delivered = tp->delivered;
		__entry->rtt_us = rtt_us;
		__entry->rtt_min_us = shown->rtt_min_us;
		__entry->first = shown->first;
		__entry->second = shown->second;
		__entry->pair_refused = shown->pair_refused;
		__entry->ca_state = inet_csk(sk)->icsk_ca_state;
	),

	TP_printk("net=%llu src=%pISpc dest=%pISpc cwnd=%u ssthresh=%u in_flight=%u delivered=%u state=%u bw=%llu rtt_us=%u rtt_min_us=%u first=%u second=%u pair_refused=%u",
		  __entry->net_cookie, __entry->saddr, __entry->daddr,
		  __entry->cwnd, __entry->ssthresh, __entry->in_flight,
		  __entry->delivered, __entry->ca_state, __entry->bw,
		  __entry->rtt_us, __entry->rtt_min_us, __entry->first,
		  __entry->second, __entry->pair_refused)
);

#endif /* CC_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE cc_trace
#include <trace/define_trace.h>

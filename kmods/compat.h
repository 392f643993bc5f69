/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All differences between kernels 6.1 and 7.3 that concern the modules.
 *
 * One difference needs no code here. in_ack_event comes before the kernel counts
 * what an ACK acknowledges, or after it (from 6.1.141 and 6.12.31 on). No module
 * uses it: pkts_acked always comes after the counting.
 */
#ifndef CC_COMPAT_H
#define CC_COMPAT_H

#include <linux/sysctl.h>
#include <linux/timer.h>
#include <linux/version.h>
#include <net/dropreason.h>
#include <net/net_namespace.h>
#include <net/sch_generic.h>
#include <net/tcp.h>

/*
 * What "depends on 64BIT" says in a Kconfig file. Settings of up to 100 Gbit/s
 * are unsigned long, and get_info reads u64 estimates without a lock.
 */
#ifndef CONFIG_64BIT
#error "needs a 64-bit kernel"
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "needs Linux 6.1 or later"
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 4, 0)
#error "needs Linux 7.3 or earlier"
#endif

/* The arguments of cong_control; modules use sk and rs alone */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#define CC_CONTROL_ARGUMENTS struct sock *sk, const struct rate_sample *rs
#else
#define CC_CONTROL_ARGUMENTS						\
	struct sock *sk, u32 ack, int flag, const struct rate_sample *rs
#endif

/*
 * Register the first count entries of a table of count + 1 entries. The last
 * one is empty: kernels before 6.6 need it to find the end. Later kernels take
 * the number, and kernels from 6.11 on reject an empty entry within that
 * number.
 */
static inline struct ctl_table_header *
cc_register_sysctls(struct net *net, struct ctl_table *table, size_t count)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
	return register_net_sysctl(net, "net/ipv4", table);
#else
	return register_net_sysctl_sz(net, "net/ipv4", table, count);
#endif
}

/*
 * From 7.1 on, CA_EVENT_TX_START is no event of cwnd_event but an operation.
 * After a handler of all events, CC_TX_START(handler) makes that operation;
 * CC_CWND_EVENT(handler) initializes both.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 1, 0)
#define CC_TX_START(handler) static_assert(__same_type(handler, handler))
#define CC_CWND_EVENT(handler) .cwnd_event = handler
#else
#define CC_TX_START(handler)						\
static inline void handler##_tx_start(struct sock *sk)			\
{									\
	handler(sk, CA_EVENT_TX_START);					\
}									\
static_assert(true)

#define CC_CWND_EVENT(handler)						\
	.cwnd_event = handler, .cwnd_event_tx_start = handler##_tx_start
#endif

/* Declare a probe of a tracepoint; run_trace uses sk, skb and reason alone. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0)
#define CC_PROBE_OF_KFREE_SKB(name)					\
	void name(void *data, struct sk_buff *skb, void *location,	\
		  enum skb_drop_reason reason, const struct sock *rx_sk)
#elif LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define CC_PROBE_OF_KFREE_SKB(name)					\
	void name(void *data, struct sk_buff *skb, void *location,	\
		  enum skb_drop_reason reason)
#else
#define CC_PROBE_OF_KFREE_SKB(name)					\
	void name(void *data, struct sk_buff *skb, void *location,	\
		  enum skb_drop_reason reason, struct sock *rx_sk)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define CC_PROBE_OF_TCP_PROBE(name)					\
	void name(void *data, struct sock *sk, struct sk_buff *skb)
#else
#define CC_PROBE_OF_TCP_PROBE(name)					\
	void name(void *data, struct sock *sk, const struct sk_buff *skb)
#endif

/* From 6.17 on the tracepoint also fires for a segment that could not be sent. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define CC_PROBE_OF_RETRANSMIT_SKB(name)				\
	void name(void *data, const struct sock *sk,			\
		  const struct sk_buff *skb)
#define CC_RETRANSMIT_ERROR 0
#else
#define CC_PROBE_OF_RETRANSMIT_SKB(name)				\
	void name(void *data, const struct sock *sk,			\
		  const struct sk_buff *skb, int err)
#define CC_RETRANSMIT_ERROR err
#endif

/* Return the socket that has a timer if that is a timer of retransmissions. */
static inline struct sock *
cc_sock_of_retransmit_timer(const struct timer_list *timer)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 19, 0)
	return (struct sock *)((unsigned long)timer -
		offsetof(struct inet_connection_sock, icsk_retransmit_timer));
#else
	return (struct sock *)((unsigned long)timer -
		offsetof(struct sock, tcp_retransmit_timer));
#endif
}

/* Return when a socket's timer of retransmissions is due, in jiffies. */
static inline unsigned long cc_retransmit_expires(const struct sock *sk)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
	return READ_ONCE(inet_csk(sk)->icsk_timeout);
#elif LINUX_VERSION_CODE < KERNEL_VERSION(6, 19, 0)
	return icsk_timeout(inet_csk(sk));
#else
	return tcp_timeout_expires(sk);
#endif
}

/*
 * Return the name of a reason for a drop, without SKB_DROP_REASON_; NULL if
 * there is none. Call it under rcu_read_lock().
 */
static inline const char *cc_drop_reason(enum skb_drop_reason reason)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
	return reason < SKB_DROP_REASON_MAX ? drop_reasons[reason] : NULL;
#else
	const struct drop_reason_list *list =
		rcu_dereference(drop_reasons_by_subsys[SKB_DROP_REASON_SUBSYS_CORE]);

	return list && reason < list->n_reasons ? list->reasons[reason] : NULL;
#endif
}

/*
 * Accurate ECN (RFC 9768) can be negotiated, and congestion controls can ask for
 * it. Its parts came with 6.18 and 6.19, and its sysctl with 7.0.
 */
#define CC_HAS_ACCURATE_ECN (LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0))

/* Whether a connection negotiated ECN; from 6.18 on that may be accurate ECN */
static inline bool cc_ecn_negotiated(const struct sock *sk)
{
#ifdef TCP_ECN_OK
	return tcp_sk(sk)->ecn_flags & TCP_ECN_OK;
#else
	return tcp_ecn_mode_any(tcp_sk(sk));
#endif
}

/* Whether that is the ECN of RFC 3168, whose echo is the flag ECE */
static inline bool cc_ecn_is_classic(const struct sock *sk)
{
#ifdef TCP_ECN_OK
	return tcp_sk(sk)->ecn_flags & TCP_ECN_OK;
#else
	return tcp_ecn_mode_rfc3168(tcp_sk(sk));
#endif
}

/*
 * Set what qdiscs count of a frame that was cut out of a super-packet, whose
 * control block it has got: its length, and from 6.19 on that it is one segment.
 */
static inline void cc_count_as_frame(struct sk_buff *skb)
{
	qdisc_skb_cb(skb)->pkt_len = skb->len;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0)
	qdisc_skb_cb(skb)->pkt_segs = 1;
#endif
}

#endif /* CC_COMPAT_H */

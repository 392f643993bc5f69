/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ECT(1) in the segments of one congestion control (RFC 9331).
 *
 * tcp_ecn_send() sets ECT(0) for every segment. A hook behind TCP's own output,
 * where netfilter sees a host's packets, makes ECT(1) of it. A module has
 *
 *   static const struct nf_hook_ops x_hooks[] = CC_ECT1_HOOKS(tcp_x);
 *
 * and registers these hooks in each network namespace.
 */
#ifndef CC_ECT1_H
#define CC_ECT1_H

#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <net/dsfield.h>
#include <net/tcp.h>

static inline bool cc_ect1_sends(const struct sock *sk, const void *ops)
{
	return sk && sk_fullsock(sk) && sk->sk_protocol == IPPROTO_TCP &&
	       READ_ONCE(inet_csk(sk)->icsk_ca_ops) == ops;
}

static inline unsigned int cc_ect1_ipv4(void *ops, struct sk_buff *skb,
					const struct nf_hook_state *state)
{
	if (cc_ect1_sends(state->sk, ops) &&
	    !skb_ensure_writable(skb, sizeof(struct iphdr)) &&
	    (ipv4_get_dsfield(ip_hdr(skb)) & INET_ECN_MASK) == INET_ECN_ECT_0)
		ipv4_change_dsfield(ip_hdr(skb), (u8)~INET_ECN_MASK,
				    INET_ECN_ECT_1);
	return NF_ACCEPT;
}

static inline unsigned int cc_ect1_ipv6(void *ops, struct sk_buff *skb,
					const struct nf_hook_state *state)
{
	if (cc_ect1_sends(state->sk, ops) &&
	    !skb_ensure_writable(skb, sizeof(struct ipv6hdr)) &&
	    (ipv6_get_dsfield(ipv6_hdr(skb)) & INET_ECN_MASK) == INET_ECN_ECT_0)
		ipv6_change_dsfield(ipv6_hdr(skb), (u8)~INET_ECN_MASK,
				    INET_ECN_ECT_1);
	return NF_ACCEPT;
}

/* The hooks of a struct tcp_congestion_ops */
#define CC_ECT1_HOOKS(ops) {						\
	{								\
		.hook		= cc_ect1_ipv4,				\
		.priv		= &(ops),				\
		.pf		= NFPROTO_IPV4,				\
		.hooknum	= NF_INET_LOCAL_OUT,			\
		.priority	= NF_IP_PRI_FIRST,			\
	}, {								\
		.hook		= cc_ect1_ipv6,				\
		.priv		= &(ops),				\
		.pf		= NFPROTO_IPV6,				\
		.hooknum	= NF_INET_LOCAL_OUT,			\
		.priority	= NF_IP6_PRI_FIRST,			\
	},								\
}

#endif /* CC_ECT1_H */

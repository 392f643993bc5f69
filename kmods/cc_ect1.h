/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ECT(1) in the segments of one congestion control (RFC 9331).
 *
 * tcp_ecn_send() sets ECT(0) for every segment. A hook behind TCP's own output,
 * where netfilter sees a host's packets, makes ECT(1) of it.
 */
#ifndef CC_ECT1_H
#define CC_ECT1_H

#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <net/dsfield.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

/* The congestion control whose segments have ECT(1) */
static const struct tcp_congestion_ops *cc_ect1_ops;

static bool cc_sends_ect1(const struct sock *sk)
{
	return sk && sk_fullsock(sk) && sk->sk_protocol == IPPROTO_TCP &&
	       READ_ONCE(inet_csk(sk)->icsk_ca_ops) == cc_ect1_ops;
}

static unsigned int cc_ect1_ipv4(void *priv, struct sk_buff *skb,
				 const struct nf_hook_state *state)
{
	if (cc_sends_ect1(state->sk) &&
	    !skb_ensure_writable(skb, sizeof(struct iphdr)) &&
	    (ipv4_get_dsfield(ip_hdr(skb)) & INET_ECN_MASK) == INET_ECN_ECT_0)
		ipv4_change_dsfield(ip_hdr(skb), (u8)~INET_ECN_MASK,
				    INET_ECN_ECT_1);
	return NF_ACCEPT;
}

static unsigned int cc_ect1_ipv6(void *priv, struct sk_buff *skb,
				 const struct nf_hook_state *state)
{
	if (cc_sends_ect1(state->sk) &&
	    !skb_ensure_writable(skb, sizeof(struct ipv6hdr)) &&
	    (ipv6_get_dsfield(ipv6_hdr(skb)) & INET_ECN_MASK) == INET_ECN_ECT_0)
		ipv6_change_dsfield(ipv6_hdr(skb), (u8)~INET_ECN_MASK,
				    INET_ECN_ECT_1);
	return NF_ACCEPT;
}

static const struct nf_hook_ops cc_ect1_hooks[] = {
	{
		.hook		= cc_ect1_ipv4,
		.pf		= NFPROTO_IPV4,
		.hooknum	= NF_INET_LOCAL_OUT,
		.priority	= NF_IP_PRI_FIRST,
	}, {
		.hook		= cc_ect1_ipv6,
		.pf		= NFPROTO_IPV6,
		.hooknum	= NF_INET_LOCAL_OUT,
		.priority	= NF_IP6_PRI_FIRST,
	},
};

static int __net_init cc_ect1_net_init(struct net *net)
{
	return nf_register_net_hooks(net, cc_ect1_hooks,
				     ARRAY_SIZE(cc_ect1_hooks));
}

static void __net_exit cc_ect1_net_exit(struct net *net)
{
	nf_unregister_net_hooks(net, cc_ect1_hooks, ARRAY_SIZE(cc_ect1_hooks));
}

static struct pernet_operations cc_ect1_net_ops = {
	.init	= cc_ect1_net_init,
	.exit	= cc_ect1_net_exit,
};

static inline int cc_ect1_register(const struct tcp_congestion_ops *ops)
{
	cc_ect1_ops = ops;
	return register_pernet_subsys(&cc_ect1_net_ops);
}

static inline void cc_ect1_unregister(void)
{
	unregister_pernet_subsys(&cc_ect1_net_ops);
}

#endif /* CC_ECT1_H */

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets that a link loses by their numbers.
 *
 * Packets are counted from 1, in the order of their transmission, since the list was set. All
 * count, or only TCP segments and UDP datagrams of one port, or only those with payload. Of a
 * datagram in fragments only the first fragment has a port, so only that one counts then.
 */

#include <linux/err.h>
#include <linux/ip.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/netlink.h>

#include "link.h"

/* Return a new list of an attribute's ranges, which ends losses if it has none. */
struct link_losses *link_losses_new(const struct nlattr *ranges, u16 port, bool data_only,
				    struct netlink_ext_ack *extack)
{
	struct link_losses *losses;
	u32 count = nla_len(ranges) / sizeof(losses->ranges[0]);

	BUILD_BUG_ON(sizeof(losses->ranges[0]) != sizeof(struct tc_link_range));
	if (nla_len(ranges) % sizeof(losses->ranges[0])) {
		NL_SET_ERR_MSG_ATTR(extack, ranges, "packets to lose are pairs of 32-bit numbers");
		return ERR_PTR(-EINVAL);
	}
	losses = kzalloc(struct_size(losses, ranges, count), GFP_KERNEL);
	if (!losses)
		return ERR_PTR(-ENOMEM);
	nla_memcpy(losses->ranges, ranges, count * sizeof(losses->ranges[0]));
	if (!chosen_valid(losses->ranges, count)) {
		NL_SET_ERR_MSG_ATTR(extack, ranges,
				    "packets to lose must ascend from 1, each number once");
		kfree(losses);
		return ERR_PTR(-EINVAL);
	}
	losses->port = htons(port);
	losses->data_only = data_only;
	losses->count = count;
	return losses;
}

/* Return whether a packet counts. */
static bool link_losses_counts(const struct link_losses *losses, const struct sk_buff *skb)
{
	int offset = skb_network_offset(skb), header_bytes;
	const struct iphdr *ip;
	struct iphdr _ip;
	const struct tcphdr *tcp;
	struct tcphdr _tcp;
	const struct udphdr *udp;
	struct udphdr _udp;
	__be16 source, dest;

	if (!losses->port && !losses->data_only)
		return true;
	if (skb_protocol(skb, true) != htons(ETH_P_IP))
		return false;
	ip = skb_header_pointer(skb, offset, sizeof(_ip), &_ip);
	if (!ip || ntohs(ip->frag_off) & IP_OFFSET)
		return false;
	offset += ip->ihl * 4;
	switch (ip->protocol) {
	case IPPROTO_TCP:
		tcp = skb_header_pointer(skb, offset, sizeof(_tcp), &_tcp);
		if (!tcp)
			return false;
		source = tcp->source;
		dest = tcp->dest;
		header_bytes = tcp->doff * 4;
		break;
	case IPPROTO_UDP:
		udp = skb_header_pointer(skb, offset, sizeof(_udp), &_udp);
		if (!udp)
			return false;
		source = udp->source;
		dest = udp->dest;
		header_bytes = sizeof(_udp);
		break;
	default:
		return false;
	}
	if (losses->port && losses->port != source && losses->port != dest)
		return false;
	return !losses->data_only || ntohs(ip->tot_len) > ip->ihl * 4 + header_bytes;
}

/* Count a packet; return whether it is to be lost. */
bool link_losses_choose(struct link_losses *losses, const struct sk_buff *skb)
{
	if (!losses || !losses->count || !link_losses_counts(losses, skb))
		return false;
	if (!chosen_next(losses->ranges, losses->count, &losses->place))
		return false;
	losses->lost++;
	return true;
}

/* Put the attributes of a list, if there is one. */
int link_losses_dump(const struct link_losses *losses, struct sk_buff *skb)
{
	if (!losses)
		return 0;
	return nla_put(skb, TCA_LINK_LOSSES, losses->count * sizeof(losses->ranges[0]),
		       losses->ranges) ||
	       nla_put_u16(skb, TCA_LINK_LOSSES_PORT, ntohs(losses->port)) ||
	       nla_put_u8(skb, TCA_LINK_LOSSES_DATA, losses->data_only);
}

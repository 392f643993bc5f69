// SPDX-License-Identifier: GPL-2.0-only
/*
 * run_trace: frames at hosts and queues, packets in links, and packets dropped elsewhere.
 *
 * A host sends a frame where its own socket still has it, and receives one that is addressed to it.
 * So switches between hosts are left out, whatever their devices are.
 */

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <linux/skbuff.h>
#include <linux/string.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/sch_generic.h>
#include <net/sock.h>

#include "link.h"
#include "run_trace.h"

static const struct iphdr *run_trace_ip(const struct sk_buff *skb, int offset,
					struct iphdr *buffer)
{
	const struct iphdr *ip = skb_header_pointer(skb, offset, sizeof(*buffer), buffer);

	return ip && ip->version == 4 ? ip : NULL;
}

static void run_trace_fill_tcp(struct run_trace_flow *flow, const struct sk_buff *skb, int offset,
			       int bytes)
{
	const struct tcphdr *tcp;
	struct tcphdr buffer;

	tcp = skb_header_pointer(skb, offset, sizeof(buffer), &buffer);
	if (!tcp)
		return;
	flow->sport = ntohs(tcp->source);
	flow->dport = ntohs(tcp->dest);
	flow->seq = ntohl(tcp->seq);
	flow->ack_seq = ntohl(tcp->ack_seq);
	flow->flags = tcp_flag_byte(tcp);
	flow->payload = max(bytes - tcp->doff * 4, 0);
}

static void run_trace_fill_udp(struct run_trace_flow *flow, const struct sk_buff *skb, int offset,
			       int bytes)
{
	const struct udphdr *udp;
	struct udphdr buffer;

	udp = skb_header_pointer(skb, offset, sizeof(buffer), &buffer);
	if (!udp)
		return;
	flow->sport = ntohs(udp->source);
	flow->dport = ntohs(udp->dest);
	flow->payload = max(bytes - (int)sizeof(buffer), 0);
}

/* Fill in what the headers of an IPv4 packet say. Only its first fragment has ports. */
static void run_trace_fill_flow(struct run_trace_flow *flow, const struct sk_buff *skb)
{
	int offset = skb_network_offset(skb), bytes;
	const struct iphdr *ip;
	struct iphdr buffer;

	ip = run_trace_ip(skb, offset, &buffer);
	if (!ip)
		return;
	flow->saddr = ip->saddr;
	flow->daddr = ip->daddr;
	flow->protocol = ip->protocol;
	flow->ecn = ip->tos & INET_ECN_MASK;
	flow->id = ntohs(ip->id);
	if (ip->frag_off & htons(IP_OFFSET))
		return;
	offset += ip->ihl * 4;
	bytes = ntohs(ip->tot_len) - ip->ihl * 4;
	if (ip->protocol == IPPROTO_TCP)
		run_trace_fill_tcp(flow, skb, offset, bytes);
	else if (ip->protocol == IPPROTO_UDP)
		run_trace_fill_udp(flow, skb, offset, bytes);
}

/* Record a frame whose Ethernet header begins at offset. */
static void run_trace_add_frame(const struct sk_buff *skb, int ifindex, u8 what, u64 time_ns,
				int offset, __be32 address)
{
	u32 bytes = skb->len - offset, captured;
	struct run_trace_frame *record;

	captured = min(bytes, run_trace_snap_bytes());
	record = run_trace_add(RUN_TRACE_FRAME, what, ifindex, time_ns, sizeof(*record) + captured);
	if (!record)
		return;
	record->address = address;
	record->bytes = bytes;
	record->captured = captured;
	skb_copy_bits(skb, offset, record->frame, captured);
}

void run_trace_start_xmit(void *data, const struct sk_buff *skb, const struct net_device *dev)
{
	const struct iphdr *ip = NULL;
	struct sock *sk = skb->sk;
	u64 now_ns = run_trace_now_ns();
	struct iphdr buffer;

	if (!sk || sock_net(sk) != dev_net(dev))
		return;
	if (sk_fullsock(sk) && sk->sk_protocol == IPPROTO_TCP &&
	    run_trace_wants(RUN_TRACE_TCP, now_ns))
		run_trace_tcp_sends(sk, now_ns);
	if (!run_trace_wants(RUN_TRACE_PACKETS, now_ns))
		return;
	if (skb->protocol == htons(ETH_P_IP))
		ip = run_trace_ip(skb, skb_network_offset(skb), &buffer);
	run_trace_add_frame(skb, dev->ifindex, RUN_TRACE_SENT, now_ns, 0, ip ? ip->saddr : 0);
}

void run_trace_receive(void *data, struct sk_buff *skb)
{
	const struct iphdr *ip = NULL;
	u64 now_ns = run_trace_now_ns();
	struct iphdr buffer;
	int offset;

	if (skb->pkt_type != PACKET_HOST)
		return;
	/* The header of the link has been pulled if there is one, IP's has not been looked at. */
	offset = skb_mac_header_was_set(skb) ? skb_mac_offset(skb) : 0;
	if (skb->protocol == htons(ETH_P_IP))
		ip = run_trace_ip(skb, 0, &buffer);
	if (ip && run_trace_wants(RUN_TRACE_ACKS | RUN_TRACE_TCP, now_ns))
		run_trace_tcp_receives(skb, ip, now_ns);
	if (!run_trace_wants(RUN_TRACE_PACKETS, now_ns))
		return;
	run_trace_add_frame(skb, skb->dev->ifindex, RUN_TRACE_RECEIVED, now_ns, offset,
			    ip ? ip->daddr : 0);
}

/*
 * A packet is freed that has not arrived. skb->dev cannot be used: where TCP keeps packets, it is
 * something else (a union in struct sk_buff). Reasons of qdiscs are left out, because sch_link has
 * told of what a queue drops.
 */
CC_PROBE_OF_KFREE_SKB(run_trace_kfree_skb)
{
	struct Qdisc *asked = this_cpu_read(link_asked);
	struct link_sched_data *link;
	struct run_trace_drop *record;
	u64 now_ns = run_trace_now_ns();
	const char *name;

	if (asked) {
		link = qdisc_priv(asked);
		run_trace_link_packet(data, asked, link->queue, skb, TC_LINK_DROPPED, now_ns, 0);
		return;
	}
	if (reason <= SKB_DROP_REASON_NOT_SPECIFIED || !run_trace_wants(RUN_TRACE_TCP, now_ns))
		return;
	rcu_read_lock();
	name = cc_drop_reason(reason) ?: "UNKNOWN";
	if (!strstarts(name, "QDISC_")) {
		record = run_trace_add(RUN_TRACE_DROP, 0, skb->skb_iif, now_ns, sizeof(*record));
		if (record) {
			run_trace_fill_flow(&record->flow, skb);
			strscpy(record->name, name, RUN_TRACE_NAME);
		}
	}
	rcu_read_unlock();
}

/*
 * Return whether a step tells of a loss or a mark. A packet with CE may have been marked while it
 * waited: whoever knows all steps of such packets knows whether it came with it.
 */
static bool run_trace_is_notable(const struct sk_buff *skb, u8 step)
{
	if (step != TC_LINK_ENQUEUED && step != TC_LINK_BEGUN && step != TC_LINK_ARRIVED)
		return true;
	return skb->protocol == htons(ETH_P_IP) && INET_ECN_is_ce(ip_hdr(skb)->tos);
}

void run_trace_link_packet(void *data, struct Qdisc *sch, struct Qdisc *queue,
			   struct sk_buff *skb, u8 step, u64 time_ns, u64 sojourn_ns)
{
	int ifindex = qdisc_dev(sch)->ifindex;
	struct run_trace_link *record = NULL;

	if (run_trace_wants(RUN_TRACE_QUEUE, time_ns) ||
	    (run_trace_wants(RUN_TRACE_DROPS, time_ns) && run_trace_is_notable(skb, step)))
		record = run_trace_add(RUN_TRACE_LINK, step, ifindex, time_ns, sizeof(*record));
	if (record) {
		run_trace_fill_flow(&record->flow, skb);
		record->bytes = qdisc_pkt_len(skb);
		record->queue_packets = queue->q.qlen;
		record->queue_bytes = queue->qstats.backlog;
		record->sojourn_ns = sojourn_ns;
	}
	if (run_trace_wants(RUN_TRACE_PACKETS, time_ns) &&
	    (step == TC_LINK_ENQUEUED || step == TC_LINK_BEGUN || step == TC_LINK_REFUSED ||
	     step == TC_LINK_DROPPED))
		run_trace_add_frame(skb, ifindex, step, time_ns, 0, 0);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * run_counts: counts of each network namespace that the kernel itself does not have.
 *
 * /proc/net/run_counts has the form of /proc/net/netstat: a line of names and one of values.
 *
 * EcnReactions: how often connections reduced their windows because an ACK echoed a CE mark, as
 * tcp_enter_cwr() in net/ipv4/tcp_input.c does it, at most once a round trip (RFC 3168 section
 * 6.1.2). A drop in a queueing discipline of the sender's host has the same state as its result,
 * but comes while a segment is sent: the segment received last had no echo then.
 *
 * /proc/net/run_datagrams counts UDP between the namespace and one other host while it is open.
 * Each opening counts for itself, what is written to it: "ADDRESS PORT", of the other host, and of
 * either end. The port 0 is any. Sent is what a socket has handed over, before fragmentation and
 * before any queue. Received is what has arrived whole, before its checksum is looked at and
 * before a socket's buffer. Bytes are those of payloads. Datagrams that are handed over together
 * (UDP_SEGMENT) count each. What is sent to the other host and has not that port is counted by
 * itself, so that nothing is left out, however many ports a program opens. Where the file is not
 * open, no packet is looked at.
 */

#include <linux/inet.h>
#include <linux/ip.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/percpu.h>
#include <linux/proc_fs.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/tcp.h>
#include <trace/events/tcp.h>

#include "compat.h"

#define RUN_COUNTS_FILE "run_counts"	/* in /proc/net */
#define RUN_DATAGRAMS_FILE "run_datagrams"
#define RUN_DATAGRAMS_HOOKS 2
#define RUN_DATAGRAMS_TEXT 256		/* more than a line of names and one of five counts */

struct run_counts {
	atomic64_t ecn_reactions;
};

/* The segment that a connection received last on this CPU; the address is only compared. */
struct run_counts_received {
	const struct sock *sk;
	bool echo;
};

static unsigned int run_counts_id;
static DEFINE_PER_CPU(struct run_counts_received, run_counts_received);

static CC_PROBE_OF_TCP_PROBE(run_counts_tcp_probe)
{
	struct run_counts_received *received = get_cpu_ptr(&run_counts_received);

	received->sk = sk;
	received->echo = tcp_hdr(skb)->ece;
	put_cpu_ptr(&run_counts_received);
}

/* Whether the segment that is being handled is known, and echoes no mark */
static bool run_counts_without_echo(const struct sock *sk)
{
	struct run_counts_received *received = get_cpu_ptr(&run_counts_received);
	bool without = received->sk == sk && !received->echo;

	put_cpu_ptr(&run_counts_received);
	return without;
}

static void run_counts_cong_state_set(void *data, struct sock *sk, const u8 ca_state)
{
	struct run_counts *counts;

	if (ca_state != TCP_CA_CWR || inet_csk(sk)->icsk_ca_state >= TCP_CA_CWR)
		return;
	if (!cc_ecn_negotiated(sk) || (cc_ecn_is_classic(sk) && run_counts_without_echo(sk)))
		return;
	counts = net_generic(sock_net(sk), run_counts_id);
	atomic64_inc(&counts->ecn_reactions);
}

static int run_counts_show(struct seq_file *seq, void *v)
{
	struct run_counts *counts = net_generic(seq_file_single_net(seq), run_counts_id);

	seq_printf(seq, "RunCounts: EcnReactions\nRunCounts: %llu\n",
		   (u64)atomic64_read(&counts->ecn_reactions));
	return 0;
}

struct run_datagrams_count {
	atomic64_t packets;
	atomic64_t bytes;
};

/* An opening of /proc/net/run_datagrams */
struct run_datagrams {
	struct net *net;
	struct mutex lock;		/* of writers */
	bool counting;			/* it has been written */
	__be32 peer;
	__be16 port;			/* 0 is any */
	struct run_datagrams_count sent;
	struct run_datagrams_count received;
	atomic64_t other_sent;		/* packets */
	struct nf_hook_ops hooks[RUN_DATAGRAMS_HOOKS];
	struct rcu_head rcu;
};

/*
 * Whether a packet of UDP has the port. A raw socket may send fragments, which have no ports, and
 * packets without a whole header.
 */
static bool run_datagrams_has_port(const struct run_datagrams *datagrams,
				   const struct sk_buff *skb, int offset)
{
	const struct udphdr *udp;
	struct udphdr buffer;

	if (ip_is_fragment(ip_hdr(skb)))
		return false;
	udp = skb_header_pointer(skb, offset, sizeof(buffer), &buffer);
	if (!udp)
		return false;
	return !datagrams->port || udp->source == datagrams->port || udp->dest == datagrams->port;
}

static u32 run_datagrams_packets(const struct sk_buff *skb)
{
	return skb_is_gso(skb) ? skb_shinfo(skb)->gso_segs : 1;
}

/* Count a packet between the two hosts; return whether it is UDP of another port. */
static bool run_datagrams_add(const struct run_datagrams *datagrams,
			      struct run_datagrams_count *count, const struct sk_buff *skb)
{
	int offset = skb_network_offset(skb) + ip_hdrlen(skb);

	if (ip_hdr(skb)->protocol != IPPROTO_UDP)
		return false;
	if (!run_datagrams_has_port(datagrams, skb, offset))
		return true;
	atomic64_add(run_datagrams_packets(skb), &count->packets);
	atomic64_add(skb->len - offset - sizeof(struct udphdr), &count->bytes);
	return false;
}

static unsigned int run_datagrams_sent(void *priv, struct sk_buff *skb,
				       const struct nf_hook_state *state)
{
	struct run_datagrams *datagrams = priv;

	if (ip_hdr(skb)->daddr == datagrams->peer &&
	    run_datagrams_add(datagrams, &datagrams->sent, skb))
		atomic64_add(run_datagrams_packets(skb), &datagrams->other_sent);
	return NF_ACCEPT;
}

static unsigned int run_datagrams_received(void *priv, struct sk_buff *skb,
					   const struct nf_hook_state *state)
{
	struct run_datagrams *datagrams = priv;

	if (ip_hdr(skb)->saddr == datagrams->peer)
		run_datagrams_add(datagrams, &datagrams->received, skb);
	return NF_ACCEPT;
}

static const struct nf_hook_ops run_datagrams_hooks[RUN_DATAGRAMS_HOOKS] = {
	{
		.hook = run_datagrams_sent,
		.pf = NFPROTO_IPV4,
		.hooknum = NF_INET_LOCAL_OUT,
		.priority = NF_IP_PRI_LAST,
	},
	{
		.hook = run_datagrams_received,
		.pf = NFPROTO_IPV4,
		.hooknum = NF_INET_LOCAL_IN,
		.priority = NF_IP_PRI_LAST,
	},
};

static int run_datagrams_open(struct inode *inode, struct file *file)
{
	struct run_datagrams *datagrams = kzalloc(sizeof(*datagrams), GFP_KERNEL_ACCOUNT);

	if (!datagrams)
		return -ENOMEM;
	datagrams->net = pde_data(inode);
	mutex_init(&datagrams->lock);
	file->private_data = datagrams;
	return 0;
}

static int run_datagrams_begin(struct run_datagrams *datagrams, __be32 peer, __be16 port)
{
	int i, err;

	if (datagrams->counting)
		return -EBUSY;
	datagrams->peer = peer;
	datagrams->port = port;
	memcpy(datagrams->hooks, run_datagrams_hooks, sizeof(run_datagrams_hooks));
	for (i = 0; i < RUN_DATAGRAMS_HOOKS; i++)
		datagrams->hooks[i].priv = datagrams;
	err = nf_register_net_hooks(datagrams->net, datagrams->hooks, RUN_DATAGRAMS_HOOKS);
	datagrams->counting = !err;
	return err;
}

static ssize_t run_datagrams_write(struct file *file, const char __user *from, size_t size,
				   loff_t *position)
{
	struct run_datagrams *datagrams = file->private_data;
	char text[sizeof("255.255.255.255 65535")];
	const char *rest;
	__be32 peer;
	int err;
	u16 port;

	if (size >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, size))
		return -EFAULT;
	text[size] = 0;
	if (!in4_pton(text, -1, (u8 *)&peer, ' ', &rest) || *rest != ' ')
		return -EINVAL;
	err = kstrtou16(rest + 1, 10, &port);
	if (err)
		return err;
	mutex_lock(&datagrams->lock);
	err = run_datagrams_begin(datagrams, peer, htons(port));
	mutex_unlock(&datagrams->lock);
	return err ?: size;
}

static ssize_t run_datagrams_read(struct file *file, char __user *to, size_t size,
				  loff_t *position)
{
	struct run_datagrams *datagrams = file->private_data;
	char text[RUN_DATAGRAMS_TEXT];
	int bytes;

	bytes = scnprintf(text, sizeof(text),
			  "Udp: SentPackets SentBytes ReceivedPackets ReceivedBytes OtherSentPackets\n"
			  "Udp: %llu %llu %llu %llu %llu\n",
			  (u64)atomic64_read(&datagrams->sent.packets),
			  (u64)atomic64_read(&datagrams->sent.bytes),
			  (u64)atomic64_read(&datagrams->received.packets),
			  (u64)atomic64_read(&datagrams->received.bytes),
			  (u64)atomic64_read(&datagrams->other_sent));
	return simple_read_from_buffer(to, size, position, text, bytes);
}

/* The kernel calls this, too, when the namespace of an open file ends. */
static int run_datagrams_release(struct inode *inode, struct file *file)
{
	struct run_datagrams *datagrams = file->private_data;

	if (datagrams->counting)
		nf_unregister_net_hooks(datagrams->net, datagrams->hooks, RUN_DATAGRAMS_HOOKS);
	kfree_rcu(datagrams, rcu);
	return 0;
}

static const struct proc_ops run_datagrams_ops = {
	.proc_open = run_datagrams_open,
	.proc_read = run_datagrams_read,
	.proc_write = run_datagrams_write,
	.proc_lseek = default_llseek,
	.proc_release = run_datagrams_release,
};

static int __net_init run_counts_net_init(struct net *net)
{
	if (!proc_create_net_single(RUN_COUNTS_FILE, 0444, net->proc_net, run_counts_show, NULL))
		return -ENOMEM;
	if (!proc_create_data(RUN_DATAGRAMS_FILE, 0600, net->proc_net, &run_datagrams_ops, net)) {
		remove_proc_entry(RUN_COUNTS_FILE, net->proc_net);
		return -ENOMEM;
	}
	return 0;
}

static void __net_exit run_counts_net_exit(struct net *net)
{
	remove_proc_entry(RUN_DATAGRAMS_FILE, net->proc_net);
	remove_proc_entry(RUN_COUNTS_FILE, net->proc_net);
}

static struct pernet_operations run_counts_net_operations = {
	.init = run_counts_net_init,
	.exit = run_counts_net_exit,
	.id = &run_counts_id,
	.size = sizeof(struct run_counts),
};

static struct run_counts_point {
	const char *name;
	void *probe;
	struct tracepoint *point;
	bool registered;
} run_counts_points[] = {
	{ "tcp_probe", run_counts_tcp_probe },
	{ "tcp_cong_state_set", run_counts_cong_state_set },
};

/*
 * Let the compiler compare the probes with the kernel's tracepoints. Registering them does not: the
 * kernel exports neither, so they are found by name.
 */
static void run_counts_check_types(void)
{
	check_trace_callback_type_tcp_probe(run_counts_tcp_probe);
	check_trace_callback_type_tcp_cong_state_set(run_counts_cong_state_set);
}

static void run_counts_find_point(struct tracepoint *point, void *data)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(run_counts_points); i++)
		if (!strcmp(point->name, run_counts_points[i].name))
			run_counts_points[i].point = point;
}

static void run_counts_remove_probes(void)
{
	struct run_counts_point *each;
	int i;

	for (i = 0; i < ARRAY_SIZE(run_counts_points); i++) {
		each = &run_counts_points[i];
		if (each->registered)
			tracepoint_probe_unregister(each->point, each->probe, NULL);
		each->registered = false;
	}
	tracepoint_synchronize_unregister();
}

static int run_counts_add_probes(void)
{
	struct run_counts_point *each;
	int i, err;

	for (i = 0; i < ARRAY_SIZE(run_counts_points); i++) {
		each = &run_counts_points[i];
		if (!each->point) {
			pr_err("run_counts: this kernel has no tracepoint %s\n", each->name);
			return -EOPNOTSUPP;
		}
		err = tracepoint_probe_register(each->point, each->probe, NULL);
		if (err)
			return err;
		each->registered = true;
	}
	return 0;
}

static int __init run_counts_register(void)
{
	int err;

	run_counts_check_types();
	for_each_kernel_tracepoint(run_counts_find_point, NULL);
	err = register_pernet_subsys(&run_counts_net_operations);
	if (err)
		return err;
	err = run_counts_add_probes();
	if (err) {
		run_counts_remove_probes();
		unregister_pernet_subsys(&run_counts_net_operations);
	}
	return err;
}

/* Probes count for namespaces, so they are removed before what they count in. */
static void __exit run_counts_unregister(void)
{
	run_counts_remove_probes();
	unregister_pernet_subsys(&run_counts_net_operations);
}

module_init(run_counts_register)
module_exit(run_counts_unregister)
MODULE_DESCRIPTION("Counts of each network namespace that the kernel itself does not have");
MODULE_AUTHOR("The authors of the TCP congestion-control orchestrator");
MODULE_VERSION("1.1");
MODULE_LICENSE("GPL");

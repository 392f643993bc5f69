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
 */

#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/tcp.h>
#include <trace/events/tcp.h>

#include "compat.h"

#define RUN_COUNTS_FILE "run_counts"	/* in /proc/net */

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

static int __net_init run_counts_net_init(struct net *net)
{
	if (!proc_create_net_single(RUN_COUNTS_FILE, 0444, net->proc_net, run_counts_show, NULL))
		return -ENOMEM;
	return 0;
}

static void __net_exit run_counts_net_exit(struct net *net)
{
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

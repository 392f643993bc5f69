// SPDX-License-Identifier: GPL-2.0-only
/*
 * run_trace: a file that hands out what happened to packets and connections.
 *
 * Writing struct run_trace_setup to /proc/run_trace begins a trace, which another one replaces.
 * Reading ends it, and gives its records in the order in which they were made. It is no device:
 * with one, a run with CAKE had another digest, probably as its node in /dev takes one of the
 * kernel's random numbers.
 *
 * All is taken from tracepoints of the kernel, and from one of sch_link. Nothing is polled, and
 * nothing that is traced changes: a run with a trace has the packets of a run without.
 */

#include <linux/fs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/proc_fs.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>
#include <trace/events/napi.h>
#include <trace/events/net.h>
#include <trace/events/skb.h>
#include <trace/events/sock.h>
#include <trace/events/tcp.h>
#include <trace/events/timer.h>

#include "link_trace.h"
#include "run_trace.h"

static DEFINE_MUTEX(run_trace_mutex);	/* of the setup and of the file's readers */

/* What is traced; wanted is 0 until it is set up. It changes only while no probe is registered. */
static struct run_trace_setup run_trace_setup;

struct run_trace_probe {
	const char *name;
	void *probe;
	u32 wanted;			/* by one of these */
	struct tracepoint *point;
	bool registered;
};

#define RUN_TRACE_FILE "run_trace"	/* in /proc */

#define RUN_TRACE_OF_TCP (RUN_TRACE_ACKS | RUN_TRACE_TCP)
#define RUN_TRACE_OF_LINKS (RUN_TRACE_PACKETS | RUN_TRACE_QUEUE | RUN_TRACE_DROPS)
#define RUN_TRACE_ALL (RUN_TRACE_OF_TCP | RUN_TRACE_OF_LINKS)

/*
 * A socket is known until tcp_destroy_sock says that it is freed. So that probe is registered
 * before all that make a socket known, and removed after them.
 */
static struct run_trace_probe run_trace_probes[] = {
	{ "tcp_destroy_sock", run_trace_destroy_sock, RUN_TRACE_OF_TCP },
	{ "tcp_probe", run_trace_tcp_probe, RUN_TRACE_OF_TCP },
	{ "tcp_cong_state_set", run_trace_cong_state_set, RUN_TRACE_OF_TCP },
	{ "tcp_retransmit_skb", run_trace_retransmit_skb, RUN_TRACE_OF_TCP },
	{ "inet_sock_set_state", run_trace_sock_set_state, RUN_TRACE_OF_TCP },
	{ "napi_poll", run_trace_napi_poll, RUN_TRACE_OF_TCP },
	{ "timer_expire_entry", run_trace_timer_entry, RUN_TRACE_OF_TCP },
	{ "timer_expire_exit", run_trace_timer_exit, RUN_TRACE_OF_TCP },
	{ "net_dev_start_xmit", run_trace_start_xmit, RUN_TRACE_PACKETS | RUN_TRACE_TCP },
	{ "netif_receive_skb", run_trace_receive, RUN_TRACE_PACKETS },
	{ "kfree_skb", run_trace_kfree_skb, RUN_TRACE_ALL },
	{ "link_packet", run_trace_link_packet, RUN_TRACE_OF_LINKS, &__tracepoint_link_packet },
};

/* Return whether records of a kind are wanted of what happened then. */
bool run_trace_wants(u32 kind, u64 time_ns)
{
	return run_trace_setup.wanted & kind && time_ns >= run_trace_setup.from_ns &&
	       time_ns < run_trace_setup.to_ns;
}

/* Return how many bytes of a frame are wanted at most. */
u32 run_trace_snap_bytes(void)
{
	return run_trace_setup.snap_bytes;
}

/*
 * Let the compiler compare the probes with the kernel's tracepoints. Registering them does not: the
 * kernel exports few of them, so they are found by name.
 */
static void run_trace_check_types(void)
{
	check_trace_callback_type_tcp_destroy_sock(run_trace_destroy_sock);
	check_trace_callback_type_tcp_probe(run_trace_tcp_probe);
	check_trace_callback_type_tcp_cong_state_set(run_trace_cong_state_set);
	check_trace_callback_type_tcp_retransmit_skb(run_trace_retransmit_skb);
	check_trace_callback_type_inet_sock_set_state(run_trace_sock_set_state);
	check_trace_callback_type_napi_poll(run_trace_napi_poll);
	check_trace_callback_type_timer_expire_entry(run_trace_timer_entry);
	check_trace_callback_type_timer_expire_exit(run_trace_timer_exit);
	check_trace_callback_type_net_dev_start_xmit(run_trace_start_xmit);
	check_trace_callback_type_netif_receive_skb(run_trace_receive);
	check_trace_callback_type_kfree_skb(run_trace_kfree_skb);
	check_trace_callback_type_link_packet(run_trace_link_packet);
}

static void run_trace_find_point(struct tracepoint *point, void *data)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(run_trace_probes); i++)
		if (!strcmp(point->name, run_trace_probes[i].name))
			run_trace_probes[i].point = point;
}

/* Remove probes from the first one given on, and wait until none of them runs. */
static void run_trace_remove_probes(int first)
{
	struct run_trace_probe *each;
	int i;

	for (i = ARRAY_SIZE(run_trace_probes) - 1; i >= first; i--) {
		each = &run_trace_probes[i];
		if (each->registered)
			tracepoint_probe_unregister(each->point, each->probe, NULL);
		each->registered = false;
	}
	tracepoint_synchronize_unregister();
}

static void run_trace_stop(void)
{
	if (!run_trace_setup.wanted)
		return;
	run_trace_remove_probes(1);
	run_trace_tcp_end();
	run_trace_remove_probes(0);
	run_trace_setup.wanted = 0;
}

static int run_trace_start(const struct run_trace_setup *setup)
{
	struct run_trace_probe *each;
	int i, err;

	err = run_trace_begin_store(setup->limit_bytes);
	if (err)
		return err;
	run_trace_setup = *setup;
	for (i = 0; i < ARRAY_SIZE(run_trace_probes); i++) {
		each = &run_trace_probes[i];
		if (!(each->wanted & setup->wanted))
			continue;
		err = tracepoint_probe_register(each->point, each->probe, NULL);
		if (err) {
			run_trace_stop();
			run_trace_clear();
			return err;
		}
		each->registered = true;
	}
	return 0;
}

static ssize_t run_trace_write(struct file *file, const char __user *from, size_t count,
			       loff_t *position)
{
	struct run_trace_setup setup;
	int err;

	if (count != sizeof(setup))
		return -EINVAL;
	if (copy_from_user(&setup, from, sizeof(setup)))
		return -EFAULT;
	if (setup.version != RUN_TRACE_VERSION)
		return -EPROTONOSUPPORT;
	if (setup.wanted & ~RUN_TRACE_ALL || setup.snap_bytes > RUN_TRACE_SNAP_MAX)
		return -EINVAL;
	mutex_lock(&run_trace_mutex);
	run_trace_stop();
	err = run_trace_start(&setup);
	mutex_unlock(&run_trace_mutex);
	return err ? err : count;
}

/* Several readers share the records, as each is handed out once. */
static ssize_t run_trace_read(struct file *file, char __user *to, size_t count, loff_t *position)
{
	ssize_t copied;

	mutex_lock(&run_trace_mutex);
	run_trace_stop();
	copied = run_trace_take(to, count);
	mutex_unlock(&run_trace_mutex);
	return copied;
}

static const struct proc_ops run_trace_operations = {
	.proc_read = run_trace_read,
	.proc_write = run_trace_write,
	.proc_lseek = noop_llseek,
};

static int __init run_trace_register(void)
{
	int i;

	run_trace_check_types();
	if (IS_ENABLED(CONFIG_PREEMPT_RT)) {
		pr_err("run_trace: PREEMPT_RT gives no memory in probes\n");
		return -EOPNOTSUPP;
	}
	for_each_kernel_tracepoint(run_trace_find_point, NULL);
	for (i = 0; i < ARRAY_SIZE(run_trace_probes); i++) {
		if (run_trace_probes[i].point)
			continue;
		pr_err("run_trace: this kernel has no tracepoint %s\n", run_trace_probes[i].name);
		return -EOPNOTSUPP;
	}
	if (!proc_create(RUN_TRACE_FILE, 0600, NULL, &run_trace_operations))
		return -ENOMEM;
	return 0;
}

/* The file is read by nobody when it has been removed, but a trace may run. */
static void __exit run_trace_unregister(void)
{
	remove_proc_entry(RUN_TRACE_FILE, NULL);
	run_trace_stop();
	run_trace_clear();
}

module_init(run_trace_register)
module_exit(run_trace_unregister)
MODULE_DESCRIPTION("Hands out what happened to packets and connections");
MODULE_AUTHOR("The authors of the TCP congestion-control orchestrator");
MODULE_VERSION("1.1");
MODULE_LICENSE("GPL");

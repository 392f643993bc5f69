/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * run_trace: what its files share.
 *
 * run_trace_main.c      the file in /proc, the setup, the tracepoints
 * run_trace_store.c     records, kept until they are read
 * run_trace_net.c       frames at devices, packets in links, drops
 * run_trace_tcp.c       connections: what the tracepoints say
 * run_trace_end.c       connections: which ends are known, their events
 * run_trace_work.c      connections: states after segments and timers
 * run_trace_counters.c  connections: causes, from the host's SNMP counters
 */
#ifndef RUN_TRACE_H
#define RUN_TRACE_H

#include <linux/ip.h>
#include <linux/irqflags.h>
#include <linux/ktime.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/timer.h>
#include <linux/types.h>

#include "compat.h"
#include "uapi/run_trace.h"

struct Qdisc;

/*
 * Now. In a guest's simulated time a reading of the clock takes a process some time unless
 * interrupts are off. Probes run in processes, too, and a trace must move nothing.
 */
static inline u64 run_trace_now_ns(void)
{
	unsigned long flags;
	u64 now_ns;

	local_irq_save(flags);
	now_ns = ktime_get_ns();
	local_irq_restore(flags);
	return now_ns;
}

/* run_trace_main.c */
bool run_trace_wants(u32 kind, u64 time_ns);
u32 run_trace_snap_bytes(void);

/* run_trace_store.c */
int run_trace_begin_store(u64 limit_bytes);
void run_trace_clear(void);
void *run_trace_add(u8 kind, u8 what, u32 of, u64 time_ns, size_t bytes);
ssize_t run_trace_take(char __user *to, size_t count);

/* run_trace_net.c: probes of tracepoints */
void run_trace_start_xmit(void *data, const struct sk_buff *skb, const struct net_device *dev);
void run_trace_receive(void *data, struct sk_buff *skb);
CC_PROBE_OF_KFREE_SKB(run_trace_kfree_skb);
void run_trace_link_packet(void *data, struct Qdisc *sch, struct Qdisc *queue,
			   struct sk_buff *skb, u8 step, u64 time_ns, u64 sojourn_ns);

/* run_trace_tcp.c: probes of tracepoints, and what run_trace_net.c sees of connections */
CC_PROBE_OF_TCP_PROBE(run_trace_tcp_probe);
void run_trace_cong_state_set(void *data, struct sock *sk, const u8 ca_state);
CC_PROBE_OF_RETRANSMIT_SKB(run_trace_retransmit_skb);
void run_trace_sock_set_state(void *data, const struct sock *sk, const int oldstate,
			      const int newstate);
void run_trace_destroy_sock(void *data, struct sock *sk);
void run_trace_napi_poll(void *data, struct napi_struct *napi, int work, int budget);
void run_trace_timer_entry(void *data, struct timer_list *timer, unsigned long base);
void run_trace_timer_exit(void *data, struct timer_list *timer);
void run_trace_tcp_sends(struct sock *sk, u64 now_ns);
void run_trace_tcp_receives(const struct sk_buff *skb, const struct iphdr *ip, u64 now_ns);
void run_trace_tcp_end(void);

#endif /* RUN_TRACE_H */

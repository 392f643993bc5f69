// SPDX-License-Identifier: GPL-2.0-only
/*
 * run_trace: which ends of connections are known, and the begin of each record of them.
 *
 * An end is known from the first event that is seen of it. So a trace that begins later has the
 * connections that there are. Those over IPv6 are left out: records have addresses of IPv4.
 */

#include <linux/hashtable.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <net/ipv6.h>
#include <net/tcp.h>

#include "run_trace_tcp.h"

static DEFINE_RAW_SPINLOCK(run_trace_tcp_lock);
static DEFINE_HASHTABLE(run_trace_ends, 8);
static DEFINE_HASHTABLE(run_trace_hosts, 6);
static LIST_HEAD(run_trace_closing);
static u32 run_trace_last_number;

/* Keep other CPUs and interrupts from what is known of connections; return the flags. */
unsigned long run_trace_lock(void)
	__acquires(&run_trace_tcp_lock)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&run_trace_tcp_lock, flags);
	return flags;
}

void run_trace_unlock(unsigned long flags)
	__releases(&run_trace_tcp_lock)
{
	raw_spin_unlock_irqrestore(&run_trace_tcp_lock, flags);
}

static struct run_trace_host *run_trace_host_of(const struct net *net)
{
	struct run_trace_host *host;

	hash_for_each_possible(run_trace_hosts, host, node, (unsigned long)net)
		if (host->net == net)
			return host;
	host = kzalloc(sizeof(*host) + run_trace_counters_bytes(), GFP_ATOMIC | __GFP_NOWARN);
	if (!host)
		return NULL;
	host->net = net;
	run_trace_begin_counters(host);
	hash_add(run_trace_hosts, &host->node, (unsigned long)net);
	return host;
}

/* Forget a host without ends: another namespace may get its address. */
static void run_trace_put_host(struct run_trace_host *host)
{
	if (host->ends)
		return;
	hash_del(&host->node);
	kfree(host);
}

/* Return the end whose socket this is, NULL if it is not known. The socket is not read. */
struct run_trace_end *run_trace_known_end(const struct sock *sk)
{
	struct run_trace_end *end;

	hash_for_each_possible(run_trace_ends, end, node, (unsigned long)sk)
		if (end->sk == sk)
			return end;
	return NULL;
}

/*
 * Return the end for which a segment is, if one side of its connection has closed it. The kernel
 * has a tracepoint for segments of established connections only.
 */
struct run_trace_end *run_trace_closing_end(const struct net *net, const struct iphdr *ip,
					    const struct tcphdr *tcp)
{
	const struct inet_sock *inet;
	struct run_trace_end *end;

	list_for_each_entry(end, &run_trace_closing, closing) {
		inet = inet_sk(end->sk);
		if (end->host->net == net &&
		    inet->inet_daddr == ip->saddr && inet->inet_saddr == ip->daddr &&
		    inet->inet_dport == tcp->source && inet->inet_sport == tcp->dest)
			return end;
	}
	return NULL;
}

/* Note the state in which an end is: whether one side has closed the connection. */
void run_trace_note_state(struct run_trace_end *end, int state)
{
	const int closing = TCPF_FIN_WAIT1 | TCPF_FIN_WAIT2 | TCPF_CLOSING | TCPF_CLOSE_WAIT |
			    TCPF_LAST_ACK;

	list_del_init(&end->closing);
	if ((1 << state) & closing)
		list_add(&end->closing, &run_trace_closing);
}

static bool run_trace_is_ipv4(const struct sock *sk)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		return ipv6_addr_v4mapped(&sk->sk_v6_daddr);
#endif
	return sk->sk_family == AF_INET;
}

static void run_trace_tell_end(const struct run_trace_end *end, u64 now_ns)
{
	const struct inet_sock *inet = inet_sk(end->sk);
	struct run_trace_socket *record;

	record = run_trace_add(RUN_TRACE_SOCKET, 0, end->number, now_ns, sizeof(*record));
	if (!record)
		return;
	record->saddr = inet->inet_saddr;
	record->daddr = inet->inet_daddr;
	record->sport = ntohs(inet->inet_sport);
	record->dport = ntohs(inet->inet_dport);
	strscpy(record->ca_name, inet_csk(end->sk)->icsk_ca_ops->name, RUN_TRACE_CA_NAME);
}

/* Return a socket's end, which is known then; NULL if it cannot be. */
struct run_trace_end *run_trace_end_of(struct sock *sk, u64 now_ns)
{
	struct run_trace_end *end = run_trace_known_end(sk);
	struct run_trace_host *host;

	if (end || !run_trace_is_ipv4(sk))
		return end;
	host = run_trace_host_of(sock_net(sk));
	if (!host)
		return NULL;
	end = kzalloc(sizeof(*end), GFP_ATOMIC | __GFP_NOWARN);
	if (!end) {
		run_trace_put_host(host);
		return NULL;
	}
	INIT_LIST_HEAD(&end->open);
	INIT_LIST_HEAD(&end->closing);
	end->sk = sk;
	end->host = host;
	end->host->ends++;
	end->number = ++run_trace_last_number;
	end->cwnd = tcp_snd_cwnd(tcp_sk(sk));
	hash_add(run_trace_ends, &end->node, (unsigned long)sk);
	run_trace_note_state(end, sk->sk_state);
	run_trace_tell_end(end, now_ns);
	return end;
}

void run_trace_forget_end(struct run_trace_end *end)
{
	end->host->ends--;
	run_trace_put_host(end->host);
	hash_del(&end->node);
	list_del(&end->closing);
	kfree(end);
}

void run_trace_forget_ends(void)
{
	struct run_trace_end *end;
	struct hlist_node *next;
	int bucket;

	hash_for_each_safe(run_trace_ends, bucket, next, end, node)
		run_trace_forget_end(end);
	run_trace_last_number = 0;
}

/* Return a new event of an end to be filled, NULL when it is not wanted. */
struct run_trace_event *run_trace_new_event(const struct run_trace_end *end, u8 what, u64 now_ns)
{
	const struct tcp_sock *tp = tcp_sk(end->sk);
	struct run_trace_event *record;

	if (!run_trace_wants(RUN_TRACE_TCP, now_ns))
		return NULL;
	record = run_trace_add(RUN_TRACE_EVENT, what, end->number, now_ns, sizeof(*record));
	if (!record)
		return NULL;
	record->cwnd = tcp_snd_cwnd(tp);
	record->ssthresh = tp->snd_ssthresh;
	return record;
}

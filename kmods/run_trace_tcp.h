/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * run_trace: what the files about connections share.
 *
 * One lock protects all of it. A socket is known from the first event that is seen of it
 * until the kernel is about to free it, so a known one may be read while the lock is held. Its
 * fields may change meanwhile when another CPU works on it.
 */
#ifndef RUN_TRACE_TCP_H
#define RUN_TRACE_TCP_H

#include <linux/ip.h>
#include <linux/list.h>
#include <linux/tcp.h>
#include <net/sock.h>

#include "run_trace.h"

/* A host is a network namespace. It is known while an end of a connection in it is. */
struct run_trace_host {
	struct hlist_node node;
	const struct net *net;
	u32 ends;
	unsigned long counted[];	/* the counters at the last look, for each CPU */
};

/* What a segment or a timer makes a connection's end do */
struct run_trace_work {
	u64 time_ns;			/* when it began */
	u32 seq, end_seq, ack_seq;
	int cpu;			/* where it began */
	bool preemptible;		/* a process does it, with bottom halves on */
	u8 by;
};

struct run_trace_end {			/* of a connection */
	struct hlist_node node;
	struct list_head open;		/* in the list of ends with work, else empty */
	struct list_head closing;	/* in the list of ends that are closed, else empty */
	struct sock *sk;
	struct run_trace_host *host;
	struct run_trace_work work;
	u32 number;
	u32 cwnd;			/* at the end of the last work */
};

/* run_trace_end.c */
unsigned long run_trace_lock(void);
void run_trace_unlock(unsigned long flags);
struct run_trace_end *run_trace_known_end(const struct sock *sk);
struct run_trace_end *run_trace_end_of(struct sock *sk, u64 now_ns);
struct run_trace_end *run_trace_closing_end(const struct net *net, const struct iphdr *ip,
					    const struct tcphdr *tcp);
void run_trace_note_state(struct run_trace_end *end, int state);
void run_trace_forget_end(struct run_trace_end *end);
void run_trace_forget_ends(void);
struct run_trace_event *run_trace_new_event(const struct run_trace_end *end, u8 what, u64 now_ns);

/* run_trace_work.c */
void run_trace_begin_work(struct run_trace_end *end, u8 by, u64 now_ns);
void run_trace_finish_work(struct run_trace_end *end);
void run_trace_turn_to(const struct sock *sk);
bool run_trace_works_here(void);
void run_trace_abandon_works(void);

/* run_trace_counters.c */
size_t run_trace_counters_bytes(void);
void run_trace_begin_counters(struct run_trace_host *host);
void run_trace_skip_counters(struct run_trace_host *host);
void run_trace_tell_counters(const struct run_trace_end *end, u64 now_ns);

static inline bool run_trace_has_work(const struct run_trace_end *end)
{
	return !list_empty(&end->open);
}

#endif /* RUN_TRACE_TCP_H */

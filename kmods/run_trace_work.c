// SPDX-License-Identifier: GPL-2.0-only
/*
 * run_trace: states of connections after segments and timers.
 *
 * The kernel has a tracepoint at the begin of what a segment makes a connection do, and none at its
 * end. The end is noticed by what comes next: another segment, the end of the softirq's poll, the
 * end of the timer. So a state is that after an ACK and after what the ACK let out.
 *
 * Most work is done in a softirq, which nothing else of networking interrupts on its CPU. A process
 * works on the segments that came while it owned the socket. Softirqs interrupt it, and it may be
 * preempted and go on elsewhere. Its work is over when it does not own the socket any more.
 */

#include <linux/inet_diag.h>
#include <net/tcp.h>

#include "run_trace_tcp.h"

static LIST_HEAD(run_trace_open);

static void run_trace_put_info(struct run_trace_state *record, struct sock *sk)
{
	const struct tcp_congestion_ops *ops = inet_csk(sk)->icsk_ca_ops;
	union tcp_cc_info info = {};
	size_t bytes;
	int kind = 0;

	BUILD_BUG_ON(sizeof(info) > RUN_TRACE_CA_INFO);
	if (ops->get_info) {
		bytes = ops->get_info(sk, ~0U, &kind, &info);
		record->info_bytes = min(bytes, sizeof(info));
		record->info_kind = kind;
		memcpy(record->info, &info, record->info_bytes);
	} else {
		record->info_bytes = RUN_TRACE_CA_INFO;
		memcpy(record->info, inet_csk_ca(sk), RUN_TRACE_CA_INFO);
	}
}

static void run_trace_put_state(struct run_trace_state *record, struct sock *sk)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	record->snd_una = tp->snd_una;
	record->snd_nxt = tp->snd_nxt;
	record->snd_wnd = tp->snd_wnd;
	record->cwnd = tcp_snd_cwnd(tp);
	record->ssthresh = tp->snd_ssthresh;
	record->srtt_us = tp->srtt_us >> 3;
	record->rttvar_us = tp->mdev_us >> 2;
	record->rtt_us = tp->rack.rtt_us;
	record->min_rtt_us = tcp_min_rtt(tp);
	record->rto_us = jiffies_to_usecs(icsk->icsk_rto);
	record->packets_out = tp->packets_out;
	record->sacked_out = tp->sacked_out;
	record->lost_out = tp->lost_out;
	record->retrans_out = tp->retrans_out;
	record->delivered = tp->delivered;
	record->delivered_ce = tp->delivered_ce;
	record->lost = tp->lost;
	record->total_retrans = tp->total_retrans;
	record->reordering = tp->reordering;
	record->mss = tp->mss_cache;
	record->rcv_wnd = tp->rcv_wnd;
	record->pacing_rate = READ_ONCE(sk->sk_pacing_rate);
	record->ca_state = icsk->icsk_ca_state;
	record->backoff = icsk->icsk_backoff;
	record->limited = tp->chrono_type;
	record->app_limited = !!tp->app_limited;
	record->pending = icsk->icsk_pending;
	run_trace_put_info(record, sk);
}

/* Whether a connection's end sends data, or has just had all of it acknowledged */
static bool run_trace_is_sender(const struct sock *sk)
{
	return tcp_sk(sk)->packets_out || tcp_sk(sk)->data_segs_out;
}

static void run_trace_tell_state(const struct run_trace_end *end)
{
	const struct run_trace_work *work = &end->work;
	struct run_trace_state *record;

	if (!run_trace_wants(RUN_TRACE_ACKS, work->time_ns) || !run_trace_is_sender(end->sk))
		return;
	record = run_trace_add(RUN_TRACE_STATE, work->by, end->number, work->time_ns,
			       sizeof(*record));
	if (!record)
		return;
	record->seq = work->seq;
	record->end_seq = work->end_seq;
	record->ack_seq = work->ack_seq;
	run_trace_put_state(record, end->sk);
}

/* Note that work begins on an end that has none. */
void run_trace_begin_work(struct run_trace_end *end, u8 by, u64 now_ns)
{
	run_trace_skip_counters(end->host);
	end->work = (struct run_trace_work){
		.time_ns = now_ns, .by = by, .cpu = smp_processor_id(),
		.preemptible = !in_softirq(),
	};
	list_add_tail(&end->open, &run_trace_open);
}

/* Tell what has come of an end's work, which is over. */
void run_trace_finish_work(struct run_trace_end *end)
{
	list_del_init(&end->open);
	run_trace_tell_counters(end, end->work.time_ns);
	run_trace_tell_state(end);
	end->cwnd = tcp_snd_cwnd(tcp_sk(end->sk));
}

/*
 * This CPU works on a socket from now on, or on none: finish all works that are over by that. What
 * has been counted here is of the process that is interrupted, if there is one.
 */
void run_trace_turn_to(const struct sock *sk)
{
	struct run_trace_end *end, *next;
	bool here;

	list_for_each_entry_safe(end, next, &run_trace_open, open) {
		if (end->sk == sk)
			continue;
		here = end->work.cpu == smp_processor_id();
		if (end->work.preemptible ? !sock_owned_by_user_nocheck(end->sk) : here)
			run_trace_finish_work(end);
		else if (here)
			run_trace_tell_counters(end, end->work.time_ns);
	}
}

/* Return whether this CPU may be at work for an end, or a process at whatever CPU. */
bool run_trace_works_here(void)
{
	const struct run_trace_end *end;

	list_for_each_entry(end, &run_trace_open, open)
		if (end->work.preemptible || end->work.cpu == smp_processor_id())
			return true;
	return false;
}

/* The trace ends: forget works that may not be over, and finish those that are. */
void run_trace_abandon_works(void)
{
	struct run_trace_end *end, *next;

	list_for_each_entry_safe(end, next, &run_trace_open, open) {
		if (end->work.preemptible && sock_owned_by_user_nocheck(end->sk))
			list_del_init(&end->open);
		else
			run_trace_finish_work(end);
	}
}

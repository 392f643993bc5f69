// SPDX-License-Identifier: GPL-2.0-only
/*
 * run_trace: what the tracepoints of TCP and of timers say of connections.
 *
 * Those of TCP fire where the socket is locked: in a softirq, or in a process. Timers run in a
 * softirq, and lock their socket after their tracepoint. All use one lock, which no interrupt may
 * interrupt, because a trace is to be complete and in order rather than fast.
 */

#include <net/tcp.h>

#include "run_trace_tcp.h"

CC_PROBE_OF_TCP_PROBE(run_trace_tcp_probe)
{
	u64 now_ns = run_trace_now_ns();
	struct run_trace_end *end;
	unsigned long flags;

	flags = run_trace_lock();
	run_trace_turn_to(sk);
	end = run_trace_end_of(sk, now_ns);
	if (end) {
		if (run_trace_has_work(end))
			run_trace_finish_work(end);
		run_trace_begin_work(end, RUN_TRACE_BY_SEGMENT, now_ns);
		end->work.seq = TCP_SKB_CB(skb)->seq;
		end->work.end_seq = TCP_SKB_CB(skb)->end_seq;
		end->work.ack_seq = TCP_SKB_CB(skb)->ack_seq;
	}
	run_trace_unlock(flags);
}

void run_trace_napi_poll(void *data, struct napi_struct *napi, int work, int budget)
{
	unsigned long flags;

	flags = run_trace_lock();
	run_trace_turn_to(NULL);
	run_trace_unlock(flags);
}

void run_trace_cong_state_set(void *data, struct sock *sk, const u8 ca_state)
{
	struct run_trace_event *record = NULL;
	u64 now_ns = run_trace_now_ns();
	struct run_trace_end *end;
	unsigned long flags;

	flags = run_trace_lock();
	run_trace_turn_to(sk);
	end = run_trace_end_of(sk, now_ns);
	if (end && inet_csk(sk)->icsk_ca_state != ca_state) {
		run_trace_tell_counters(end, now_ns);
		record = run_trace_new_event(end, RUN_TRACE_CA_STATE, now_ns);
	}
	if (record) {
		record->value = ca_state;
		record->before = inet_csk(sk)->icsk_ca_state;
		record->seq = tcp_sk(sk)->snd_una;
		record->end_seq = tcp_sk(sk)->snd_nxt;
	}
	run_trace_unlock(flags);
}

CC_PROBE_OF_RETRANSMIT_SKB(run_trace_retransmit_skb)
{
	struct run_trace_event *record;
	u64 now_ns = run_trace_now_ns();
	struct run_trace_end *end;
	unsigned long flags;

	if (CC_RETRANSMIT_ERROR)
		return;
	flags = run_trace_lock();
	run_trace_turn_to(sk);
	end = run_trace_end_of((struct sock *)sk, now_ns);
	record = end ? run_trace_new_event(end, RUN_TRACE_RETRANSMIT, now_ns) : NULL;
	if (record) {
		record->value = inet_csk(sk)->icsk_ca_state;
		record->before = TCP_SKB_CB(skb)->sacked;
		record->seq = TCP_SKB_CB(skb)->seq;
		record->end_seq = TCP_SKB_CB(skb)->end_seq;
	}
	run_trace_unlock(flags);
}

void run_trace_sock_set_state(void *data, const struct sock *sk, const int oldstate,
			      const int newstate)
{
	struct run_trace_event *record;
	u64 now_ns = run_trace_now_ns();
	struct run_trace_end *end;
	unsigned long flags;

	if (sk->sk_protocol != IPPROTO_TCP || newstate == TCP_LISTEN || oldstate == TCP_LISTEN)
		return;
	flags = run_trace_lock();
	run_trace_turn_to(sk);
	if (newstate == TCP_ESTABLISHED)
		end = run_trace_end_of((struct sock *)sk, now_ns);
	else
		end = run_trace_known_end(sk);
	record = end ? run_trace_new_event(end, RUN_TRACE_TCP_STATE, now_ns) : NULL;
	if (record) {
		record->value = newstate;
		record->before = oldstate;
	}
	if (end)
		run_trace_note_state(end, newstate);
	run_trace_unlock(flags);
}

/* The kernel frees a socket soon after this: whoever waits for the lock must not find it. */
void run_trace_destroy_sock(void *data, struct sock *sk)
{
	struct run_trace_end *end;
	unsigned long flags;

	flags = run_trace_lock();
	end = run_trace_known_end(sk);
	if (end) {
		if (run_trace_has_work(end))
			run_trace_finish_work(end);
		run_trace_forget_end(end);
	}
	run_trace_unlock(flags);
}

/* Whether a timer that fires does something for its connection, as tcp_write_timer() decides it */
static bool run_trace_is_due(const struct sock *sk)
{
	return inet_csk(sk)->icsk_pending && !time_after(cc_retransmit_expires(sk), jiffies);
}

void run_trace_timer_entry(void *data, struct timer_list *timer, unsigned long base)
{
	/* Any timer: the address is only compared with those of known sockets. */
	struct sock *sk = cc_sock_of_retransmit_timer(timer);
	struct run_trace_event *record = NULL;
	u64 now_ns = run_trace_now_ns();
	struct run_trace_end *end;
	unsigned long flags;

	flags = run_trace_lock();
	end = run_trace_known_end(sk);
	if (end && run_trace_is_due(sk)) {
		run_trace_turn_to(NULL);
		/* A process that owns the socket does it later; another CPU may be at work. */
		if (!run_trace_has_work(end) && !sock_owned_by_user_nocheck(sk))
			run_trace_begin_work(end, RUN_TRACE_BY_TIMER, now_ns);
		record = run_trace_new_event(end, RUN_TRACE_TIMER, now_ns);
	}
	if (record) {
		record->value = inet_csk(sk)->icsk_pending;
		record->before = jiffies_to_usecs(inet_csk(sk)->icsk_rto);
		record->seq = tcp_sk(sk)->snd_una;
		record->end_seq = tcp_sk(sk)->snd_nxt;
	}
	run_trace_unlock(flags);
}

void run_trace_timer_exit(void *data, struct timer_list *timer)
{
	unsigned long flags;

	flags = run_trace_lock();
	run_trace_turn_to(NULL);
	run_trace_unlock(flags);
}

/*
 * A first SYN leaves: the connection begins. Only now has it a port, and its SYN timer is to find
 * it known, or what that timer counts would be of nobody.
 */
static void run_trace_syn_sent(struct sock *sk, u64 now_ns)
{
	struct run_trace_event *record;
	struct run_trace_end *end;

	if (sk->sk_state != TCP_SYN_SENT || run_trace_known_end(sk))
		return;
	end = run_trace_end_of(sk, now_ns);
	record = end ? run_trace_new_event(end, RUN_TRACE_TCP_STATE, now_ns) : NULL;
	if (record) {
		record->value = TCP_SYN_SENT;
		record->before = TCP_CLOSE;
	}
}

/*
 * A segment leaves. Where no work goes on, it was the application that let the connection send:
 * tell what has been counted for that, and whether the window has changed, as after a pause.
 */
void run_trace_tcp_sends(struct sock *sk, u64 now_ns)
{
	struct run_trace_event *record;
	struct run_trace_end *end;
	unsigned long flags;
	u32 cwnd;

	flags = run_trace_lock();
	run_trace_syn_sent(sk, now_ns);
	end = run_trace_works_here() ? NULL : run_trace_known_end(sk);
	if (end) {
		run_trace_tell_counters(end, now_ns);
		cwnd = tcp_snd_cwnd(tcp_sk(sk));
		record = NULL;
		if (cwnd != end->cwnd)
			record = run_trace_new_event(end, RUN_TRACE_CWND, now_ns);
		if (record) {
			record->value = cwnd;
			record->before = end->cwnd;
		}
		end->cwnd = cwnd;
	}
	run_trace_unlock(flags);
}

/*
 * A segment comes to a host. In a connection that one side has closed, it is the begin of work: TCP
 * handles it next, on this CPU, unless a process has the socket.
 */
void run_trace_tcp_receives(const struct sk_buff *skb, const struct iphdr *ip, u64 now_ns)
{
	const struct tcphdr *tcp;
	struct run_trace_end *end;
	struct tcphdr buffer;
	unsigned long flags;
	u32 bytes;

	if (ip->protocol != IPPROTO_TCP || ip->frag_off & htons(IP_OFFSET | IP_MF))
		return;
	tcp = skb_header_pointer(skb, ip->ihl * 4, sizeof(buffer), &buffer);
	if (!tcp)
		return;
	flags = run_trace_lock();
	end = run_trace_closing_end(dev_net(skb->dev), ip, tcp);
	if (end && !sock_owned_by_user_nocheck(end->sk))
		run_trace_turn_to(NULL);
	if (end && !sock_owned_by_user_nocheck(end->sk) && !run_trace_has_work(end)) {
		run_trace_begin_work(end, RUN_TRACE_BY_SEGMENT, now_ns);
		bytes = ntohs(ip->tot_len) - (ip->ihl + tcp->doff) * 4;
		end->work.seq = ntohl(tcp->seq);
		end->work.end_seq = end->work.seq + bytes + tcp->syn + tcp->fin;
		end->work.ack_seq = ntohl(tcp->ack_seq);
	}
	run_trace_unlock(flags);
}

/* The trace ends. Only run_trace_destroy_sock() is still a probe, so no socket goes unseen. */
void run_trace_tcp_end(void)
{
	unsigned long flags;

	flags = run_trace_lock();
	run_trace_abandon_works();
	run_trace_forget_ends();
	run_trace_unlock(flags);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Flows over one drop-tail bottleneck, with the senders and receivers of ns-2
 * (or a sender like Linux's), whose thresholds come from the modules' own
 * filters. It prints one JSON object.
 */

#include "receiver.h"
#include "sack.h"

static bool with_sack(void)
{
	return (enum recovery)opt.recovery == RECOVERY_SACK;
}

static void flow_start(struct flow *flow)
{
	flow->ssthresh = opt.window;
	flow->recover = 1;
	flow->backoff = 1;
	flow->boot_ns = ns_of(random_unit() * opt.tick_s);
	flow->rto_s = with_sack() ? 1 : 6;
	flow->cwnd = with_sack() ? opt.initial_window : 1;
	if (with_sack())
		sack_send(flow);
	else
		sender_send(flow, U32_MAX);
}

static void take_samples(void)
{
	struct totals *total;
	u32 i;

	for (i = 0; i < (u32)opt.flows; i++) {
		total = &flows[i].total;
		if (!counting())
			continue;
		total->samples++;
		total->estimate += estimate_bytes_s(&flows[i]);
		total->cwnd += flows[i].cwnd;
		total->ssthresh += flows[i].ssthresh;
	}
	event_add((struct event){ .kind = EVENT_SAMPLE,
				  .ns = now_ns + ns_of(opt.sample_s) });
}

static void handle(const struct event *event)
{
	struct flow *flow = &flows[event->flow];

	switch (event->kind) {
	case EVENT_START:
		flow_start(flow);
		break;
	case EVENT_QUEUE:
		link_arrive(event->flow, event->segment);
		break;
	case EVENT_SENT:
		link_sent();
		break;
	case EVENT_DATA:
		receiver_data(flow, event->segment);
		break;
	case EVENT_ACK:
		if (with_sack())
			sack_ack(flow, event);
		else
			sender_ack(flow, event->next);
		break;
	case EVENT_DELAYED_ACK:
		receiver_timer(flow, event->number);
		break;
	case EVENT_TIMEOUT:
		if (!flow->timer_on || event->number != flow->timer_number)
			break;
		flow->timer_on = false;
		if (with_sack())
			sack_expired(flow);
		else
			sender_expired(flow);
		break;
	case EVENT_REORDERING:
		sack_waited(flow);
		break;
	case EVENT_SAMPLE:
		take_samples();
	}
}

static void simulate(void)
{
	u64 end_ns = ns_of(opt.duration_s);
	struct event event;
	u32 i;

	for (i = 0; i < 20; i++)
		random_state = random_state * 6364136223846793005ULL +
			       (u64)opt.seed + 1442695040888963407ULL;
	for (i = 0; i < (u32)opt.flows; i++)
		event_add((struct event){ .kind = EVENT_START, .flow = i,
			  .ns = ns_of(random_unit() * opt.start_s) });
	event_add((struct event){ .kind = EVENT_SAMPLE });
	do {
		event = event_take();
		handle(&event);
	} while (now_ns < end_ns);
}

static void print_list(const char *name, const double *values)
{
	u32 i;

	printf(", \"%s\": [", name);
	for (i = 0; i < (u32)opt.flows; i++)
		printf("%s%.6g", i ? ", " : "", values[i]);
	printf("]");
}

static void report(void)
{
	double seconds = opt.duration_s - opt.warmup_s, count = opt.flows;
	double fair = opt.rate_bps / 8 / count;
	double estimate[FLOWS_MAX], goodput[FLOWS_MAX], sum = 0, squares = 0;
	struct totals all = { 0 };
	u32 i;

	for (i = 0; i < (u32)count; i++) {
		const struct totals *t = &flows[i].total;

		estimate[i] = t->estimate / t->samples / fair;
		goodput[i] = (double)t->received * opt.payload_bytes / seconds /
			     fair;
		sum += goodput[i];
		squares += goodput[i] * goodput[i];
		all.estimate += estimate[i] / count;
		all.estimate_acks += t->estimate_acks / fair;
		all.acks += t->acks;
		all.close_acks += t->close_acks;
		all.own += t->own;
		all.next += t->next;
		all.cwnd += t->cwnd / t->samples / count;
		all.ssthresh += t->ssthresh / t->samples / count;
		all.timeouts += t->timeouts;
		all.fast_retransmits += t->fast_retransmits;
		all.in_recovery_s += t->in_recovery_s;
		all.rtt_s += t->rtt_s;
		all.rtt_samples += t->rtt_samples;
		all.sent += t->sent;
	}
	printf("{\"estimate\": %.6g, \"estimate_per_ack\": %.6g, \"x\": %.6g",
	       all.estimate, all.estimate_acks / (double)all.acks,
	       all.next / all.own);
	printf(", \"utilisation\": %.6g, \"goodput\": %.6g, \"jain\": %.6g",
	       (double)link_bytes * 8 / seconds / opt.rate_bps, sum / count,
	       sum * sum / count / squares);
	printf(", \"dropped\": %.6g, \"close_acks\": %.6g",
	       (double)link_drops / (double)link_arrivals,
	       (double)all.close_acks / (double)all.acks);
	printf(", \"timeouts_per_s\": %.6g, \"fast_retransmits_per_s\": %.6g",
	       (double)all.timeouts / seconds / count,
	       (double)all.fast_retransmits / seconds / count);
	printf(", \"in_recovery\": %.6g, \"rtt_s\": %.6g",
	       all.in_recovery_s / seconds / count, all.rtt_s / all.rtt_samples);
	printf(", \"cwnd\": %.6g, \"ssthresh\": %.6g, \"rtt_min_s\": %.6g",
	       all.cwnd, all.ssthresh, flows[0].rtt_min_s);
	print_list("estimates", estimate);
	print_list("goodputs", goodput);
	printf("}\n");
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		option_set(argv[i]);
	if (opt.flows < 1 || opt.flows > FLOWS_MAX || opt.queue_packets >= QUEUE_MAX ||
	    opt.duration_s <= opt.warmup_s) {
		fprintf(stderr, "flows, queue_packets or duration_s out of range\n");
		return 2;
	}
	simulate();
	report();
	return 0;
}

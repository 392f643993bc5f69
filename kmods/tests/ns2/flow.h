/* SPDX-License-Identifier: GPL-2.0-only */
/* The state of a flow, and the path that all flows share */
#ifndef NS2_FLOW_H
#define NS2_FLOW_H

#include "../../core/csfq.h"
#include "../../core/tibet.h"
#include "../../core/westwood.h"
#include "options.h"

#define FLOWS_MAX 64
#define RING 16384U		/* segments between the oldest and the newest */
#define QUEUE_MAX 16384U

enum cut { CUT_NONE, CUT_DUPLICATES, CUT_EXITED, CUT_TIMEOUT };

/* A segment of the sender with SACK */
struct sent {
	u32	order;		/* of its last transmission */
	bool	again, sacked, lost, in_flight;
};

struct estimator {
	struct westwood westwood;
	struct tibet tibet;
	u64	csfq;
	double	literal, literal_sample;
	u64	last_ns;	/* of the last sample; 0: none yet */
	u64	sent_ns;	/* of the last transmission */
	u32	pending;	/* segments of ACKs in the same microsecond */
	u32	duplicates;	/* counted before, not yet acknowledged */
	double	last_rate;
};

struct totals {
	u64	sent, dropped, received, timeouts, fast_retransmits, acks;
	u64	close_acks;	/* ACKs within 1.1 segment times of the last */
	double	estimate, estimate_acks, own, next, cwnd, ssthresh;
	double	in_recovery_s, rtt_s;
	u32	samples, rtt_samples;
};

struct flow {
	/* windows, in segments */
	double	cwnd, ssthresh;
	u32	inflation;	/* duplicate ACKs in recovery (dupwnd) */
	u32	duplicates;
	/* segments: una is the first that is not acknowledged */
	u32	una, next, top;	/* top: first that was never sent */
	u32	recover;	/* top at the last cut */
	bool	partial_seen;
	enum cut last_cut;
	/* time */
	bool	timing;
	u32	timed_end;	/* one past the segment that was timed last */
	u64	timed_ns, boot_ns;
	bool	timer_on;
	u32	timer_number;
	int	srtt_ticks8, rttvar_ticks4;
	double	srtt_s, rttvar_s, rto_s, rtt_min_s;
	u32	backoff;
	/* the sender with SACK */
	struct sent sent[RING];
	u64	sent_ns[RING];
	u32	order, newest, sacked, lost, in_flight;
	u32	prior_cwnd, reduction_delivered, reduction_out;
	bool	recovering, loss_state, probed, waiting;
	u64	recovering_ns;
	/* the receiver */
	bool	have[RING];
	u32	expected, highest, delayed_segment, delayed_number;
	bool	delayed;
	/* the path */
	u64	access_free_ns;
	struct estimator estimator;
	struct totals total;
};

static struct flow flows[FLOWS_MAX];

struct queued {
	u32	flow, segment;
};

static struct queued queue[QUEUE_MAX];
static u32 queue_first, queue_length;
static bool link_busy;
static struct queued link_segment;
static u64 link_bytes, link_drops, link_arrivals;

static inline bool counting(void)
{
	return now_s() >= opt.warmup_s;
}

static inline double segment_time_s(void)
{
	return (opt.payload_bytes + opt.header_bytes) * 8 / opt.rate_bps;
}

static inline void link_send(struct queued segment)
{
	link_busy = true;
	link_segment = segment;
	event_add((struct event){ .kind = EVENT_SENT,
				  .ns = now_ns + ns_of(segment_time_s()) });
}

/* A segment reaches the drop-tail queue */
static inline void link_arrive(u32 flow, u32 segment)
{
	struct queued arrived = { flow, segment };
	bool full = link_busy && queue_length >= (u32)opt.queue_packets;

	if (counting())
		link_arrivals++;
	if (full || (opt.loss > 0 && random_unit() < opt.loss)) {
		flows[flow].total.dropped += counting();
		link_drops += counting();
		return;
	}
	if (!link_busy) {
		link_send(arrived);
		return;
	}
	queue[(queue_first + queue_length++) % QUEUE_MAX] = arrived;
}

/* The bottleneck has sent a segment; it arrives half a round trip later */
static inline void link_sent(void)
{
	event_add((struct event){ .kind = EVENT_DATA,
				  .ns = now_ns + ns_of(opt.rtt_s / 2),
				  .flow = link_segment.flow,
				  .segment = link_segment.segment });
	if (counting())
		link_bytes += (u64)opt.payload_bytes;
	link_busy = false;
	if (!queue_length)
		return;
	link_send(queue[queue_first]);
	queue_first = (queue_first + 1) % QUEUE_MAX;
	queue_length--;
}

/*
 * Send a segment: after a random time of up to overhead_s (ns-2's overhead_), and
 * over the flow's access link, if there is one.
 */
static inline void path_send(struct flow *flow, u32 segment)
{
	u32 number = (u32)(flow - flows);
	double bits = (opt.payload_bytes + opt.header_bytes) * 8;
	u64 ns = now_ns;

	if (opt.overhead_s > 0)
		ns += ns_of(random_unit() * opt.overhead_s);
	ns = max_t(u64, ns, flow->access_free_ns);
	if (opt.access_bps > 0)
		ns += ns_of(bits / opt.access_bps);
	flow->access_free_ns = ns;
	if (ns == now_ns)
		link_arrive(number, segment);
	else
		event_add((struct event){ .kind = EVENT_QUEUE, .ns = ns,
					  .flow = number, .segment = segment });
}

#endif /* NS2_FLOW_H */

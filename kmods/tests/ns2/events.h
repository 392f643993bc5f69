/* SPDX-License-Identifier: GPL-2.0-only */
/* The clock of the simulation: events in the order of their time */
#ifndef NS2_EVENTS_H
#define NS2_EVENTS_H

#include "../check.h"

#define NS_PER_S 1000000000ULL
#define NO_SEGMENT U32_MAX

enum event_kind {
	EVENT_START,		/* a flow begins */
	EVENT_QUEUE,		/* a segment reaches the bottleneck's queue */
	EVENT_SENT,		/* the bottleneck has sent a segment */
	EVENT_DATA,		/* a segment reaches its receiver */
	EVENT_ACK,		/* an ACK reaches its sender */
	EVENT_DELAYED_ACK,	/* the timer of a delayed ACK */
	EVENT_TIMEOUT,		/* the retransmission timer */
	EVENT_REORDERING,	/* RACK has waited for reordered segments */
	EVENT_SAMPLE,		/* the estimates are read */
};

struct event {
	u64	ns;
	u64	order;		/* of events at the same time */
	enum event_kind kind;
	u32	flow;
	u32	next;		/* an ACK's next expected segment */
	u32	segment;	/* a segment; for an ACK one that it reports */
	u32	segment2;	/* an ACK's second one, or NO_SEGMENT */
	u32	number;		/* of a timer's start; an old one is void */
};

#define EVENTS_MAX 262144U

static struct event events[EVENTS_MAX];
static u32 events_waiting;
static u64 events_added;
static u64 now_ns;

static inline bool event_before(const struct event *a, const struct event *b)
{
	return a->ns != b->ns ? a->ns < b->ns : a->order < b->order;
}

static inline void event_add(struct event event)
{
	u32 at = events_waiting++;

	if (events_waiting >= EVENTS_MAX) {
		fprintf(stderr, "too many events\n");
		exit(1);
	}
	event.order = events_added++;
	while (at && event_before(&event, &events[(at - 1) / 2])) {
		events[at] = events[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	events[at] = event;
}

/* Remove the earliest event, and set the clock to it */
static inline struct event event_take(void)
{
	struct event first = events[0], last = events[--events_waiting];
	u32 at = 0, child;

	while ((child = 2 * at + 1) < events_waiting) {
		if (child + 1 < events_waiting &&
		    event_before(&events[child + 1], &events[child]))
			child++;
		if (!event_before(&events[child], &last))
			break;
		events[at] = events[child];
		at = child;
	}
	events[at] = last;
	now_ns = first.ns;
	return first;
}

static inline double now_s(void)
{
	return (double)now_ns / NS_PER_S;
}

static inline u64 ns_of(double seconds)
{
	return (u64)(seconds * NS_PER_S + 0.5);
}

#endif /* NS2_EVENTS_H */

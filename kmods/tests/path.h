/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A sender in slow start and its receiver, with a bottleneck between them: 10
 * Mbit/s, segments of 1500 bytes, round-trip time 100 ms, no other traffic and
 * no loss. The receiver acknowledges each segment, or every second one
 * (delayed). Then it waits 40 ms for the second one, as Linux does.
 */
#ifndef TESTS_PATH_H
#define TESTS_PATH_H

#include <string.h>

#include "check.h"

#define PATH_SEGMENTS 4096	/* most segments of a connection */
#define PATH_SEGMENT_BYTES 1500
#define PATH_SEGMENT_US 1200
#define PATH_BYTES_PER_S 1250000.0
#define PATH_RTT_US 100000
#define PATH_DELAY_US 40000
#define PATH_PAUSE_US 1000000

struct path {
	bool	delayed;
	u32	initial_window;	/* segments; it is restored after a pause */
	u32	window;
	u32	now_us;
	u32	una, nxt, end;	/* acknowledged, sent, written: segments */
	u32	free_us;	/* when the bottleneck has sent all it has */
	u32	sent_us[PATH_SEGMENTS];
	u32	arrived_us[PATH_SEGMENTS]; /* when its ACK would be back */
};

struct path_ack {
	u32	time_us, sent_us;
	u32	una, nxt;	/* bytes */
	u32	segments;
};

static inline struct path path_of(u32 initial_window, bool delayed)
{
	return (struct path){
		.delayed = delayed, .initial_window = initial_window,
	};
}

static inline void path_send(struct path *p)
{
	for (; p->nxt < p->end && p->nxt - p->una < p->window; p->nxt++) {
		u32 begin_us = p->now_us > p->free_us ? p->now_us : p->free_us;

		p->free_us = begin_us + PATH_SEGMENT_US;
		p->sent_us[p->nxt] = p->now_us;
		p->arrived_us[p->nxt] = p->free_us + PATH_RTT_US;
	}
}

/* The application writes after a pause, in which nothing is on the way */
static inline void path_write(struct path *p, u32 segments)
{
	p->now_us += PATH_PAUSE_US;
	p->window = p->initial_window;
	p->end += segments;
	path_send(p);
}

/* Go on to the next ACK; return false when nothing is on the way */
static inline bool path_next(struct path *p, struct path_ack *ack)
{
	u32 last = p->una;

	if (last == p->nxt)
		return false;
	p->now_us = p->arrived_us[last];
	if (p->delayed) {
		u32 late_us = p->now_us + PATH_DELAY_US;

		if (last + 1 < p->nxt && p->arrived_us[last + 1] <= late_us)
			p->now_us = p->arrived_us[++last];
		else
			p->now_us = late_us;
	}
	*ack = (struct path_ack){ .segments = last + 1 - p->una };
	p->window += ack->segments;
	p->una = last + 1;
	ack->time_us = p->now_us;
	ack->sent_us = p->sent_us[last];
	ack->una = p->una * PATH_SEGMENT_BYTES;
	ack->nxt = p->nxt * PATH_SEGMENT_BYTES;
	path_send(p);
	return true;
}

#endif /* TESTS_PATH_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/* What a run is made of. Each option is "name=value" on the command line. */
#ifndef NS2_OPTIONS_H
#define NS2_OPTIONS_H

#include <string.h>

#include "events.h"

enum recovery {
	RECOVERY_RENO,		/* ns-2's Reno: a partial ACK ends recovery */
	RECOVERY_RENO_FLAT,	/* the same without inflation of the window */
	RECOVERY_NEWRENO,	/* ns-2's NewReno */
	RECOVERY_SACK,		/* Linux: SACK, RACK, proportional reduction */
};

enum control {
	CONTROL_RENO,		/* half of the window */
	CONTROL_WESTWOOD,	/* estimate * RTTmin */
};

enum filter {
	FILTER_WESTWOOD1,
	FILTER_WESTWOOD2,
	FILTER_LITERAL,		/* Westwood 2 with a negative pole, in double */
	FILTER_TIBET,
	FILTER_TIBET_SENT,	/* TIBET with a sample for each sent segment */
	FILTER_CSFQ,
};

/* What a sample of an ACK counts */
enum counted {
	COUNTED_DELIVERED,	/* segments that SACK reports, as Linux does */
	COUNTED_DUPLICATES,	/* a duplicate ACK as one segment (Mascolo) */
	COUNTED_CUMULATIVE,	/* what the ACK advances; 0 for a duplicate */
	COUNTED_ADVANCES,	/* the same; duplicates are no samples */
};

struct options {
	/* the path; access_bps 0: no access links */
	double	flows, rate_bps, rtt_s, access_bps, payload_bytes, header_bytes;
	double	queue_packets, loss, overhead_s;
	/* the sender; exits: recovery ends as in ns-2 from July 2003 on */
	double	recovery, control, window, initial_window, bug_fix, exits;
	double	limited_transmit, tick_s, rto_min_s, count_segments, clamp;
	/* the receiver */
	double	delayed_ack_s, fill_at_once;
	/* the estimate; most_segments 0: no limit of a sample */
	double	filter, counted, most_segments, tau_s, zero_samples;
	double	least_rest_s;
	/* the run */
	double	seed, duration_s, warmup_s, start_s, sample_s;
};

/*
 * TIBET's section 2.2.3 (ten flows, 10 Mbit/s, 100 ms, segments of 1000 bytes,
 * delayed ACKs, a queue of one BDP), and the defaults of ns-2.26 (2003).
 */
static struct options opt = {
	.flows = 10, .rate_bps = 10e6, .rtt_s = 0.1, .payload_bytes = 1000,
	.queue_packets = 125,
	.recovery = RECOVERY_RENO, .control = CONTROL_WESTWOOD,
	.window = 10000, .initial_window = 2, .bug_fix = 1,
	.limited_transmit = 1, .tick_s = 0.1, .rto_min_s = 1, .clamp = 1,
	.delayed_ack_s = 0.1, .fill_at_once = 1,
	.filter = FILTER_WESTWOOD2, .counted = COUNTED_DUPLICATES,
	.most_segments = 2, .tau_s = 0.5,
	.seed = 1, .duration_s = 300, .warmup_s = 50, .start_s = 1,
	.sample_s = 0.1,
};

struct option {
	const char *name;
	double *value;
	const char *names;	/* words for 0, 1, ...; NULL: a number */
};

#define OPTION(name) { #name, &opt.name, NULL }

static const struct option option_list[] = {
	OPTION(flows), OPTION(rate_bps), OPTION(rtt_s), OPTION(access_bps),
	OPTION(payload_bytes), OPTION(header_bytes), OPTION(queue_packets),
	OPTION(loss), OPTION(overhead_s), OPTION(window),
	OPTION(initial_window), OPTION(bug_fix), OPTION(exits),
	OPTION(limited_transmit), OPTION(tick_s), OPTION(rto_min_s),
	OPTION(count_segments), OPTION(clamp), OPTION(delayed_ack_s),
	OPTION(fill_at_once), OPTION(most_segments), OPTION(tau_s),
	OPTION(zero_samples), OPTION(least_rest_s), OPTION(seed),
	OPTION(duration_s), OPTION(warmup_s), OPTION(start_s),
	OPTION(sample_s),
	{ "recovery", &opt.recovery, "reno reno-flat newreno sack" },
	{ "control", &opt.control, "reno westwood" },
	{ "filter", &opt.filter,
	  "westwood1 westwood2 literal tibet tibet-sent csfq" },
	{ "counted", &opt.counted,
	  "delivered duplicates cumulative advances" },
};

static inline double option_word(const struct option *option, const char *word)
{
	const char *at = option->names;
	size_t length;
	int value;

	for (value = 0; *at; value++) {
		length = strcspn(at, " ");
		if (strlen(word) == length && !strncmp(at, word, length))
			return value;
		at += length + strspn(at + length, " ");
	}
	fprintf(stderr, "%s=%s: valid are %s\n", option->name, word,
		option->names);
	exit(2);
}

static inline void option_set(const char *text)
{
	size_t length = strcspn(text, "="), i;
	const char *word = text + length + !!text[length];
	char *end;

	for (i = 0; i < sizeof(option_list) / sizeof(*option_list); i++) {
		const struct option *option = &option_list[i];

		if (strlen(option->name) != length ||
		    strncmp(option->name, text, length))
			continue;
		if (option->names) {
			*option->value = option_word(option, word);
			return;
		}
		*option->value = strtod(word, &end);
		if (end == word || *end) {
			fprintf(stderr, "%s: not a number\n", text);
			exit(2);
		}
		return;
	}
	fprintf(stderr, "%s: no such option\n", text);
	exit(2);
}

#endif /* NS2_OPTIONS_H */

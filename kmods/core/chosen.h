/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A list of numbers as ranges, against which packets are counted one by one.
 * The first packet has the number 1.
 */
#ifndef CORE_CHOSEN_H
#define CORE_CHOSEN_H

#include "arith.h"

struct chosen_range {
	u32 first;
	u32 last;
};

/* How far the packets have been counted */
struct chosen_place {
	u64 number;	/* of the last packet */
	u32 range;	/* the first range that does not end before the next one */
};

/* Return whether ranges begin at 1 or later, ascend, and have no number twice */
static inline bool chosen_valid(const struct chosen_range *ranges, u32 count)
{
	u32 before = 0, i;

	for (i = 0; i < count; i++) {
		if (ranges[i].first <= before ||
		    ranges[i].last < ranges[i].first)
			return false;
		before = ranges[i].last;
	}
	return true;
}

/* Count the next packet, and return whether its number is in a valid list */
static inline bool chosen_next(const struct chosen_range *ranges, u32 count,
			       struct chosen_place *place)
{
	u64 number = ++place->number;

	if (place->range == count || number < ranges[place->range].first)
		return false;
	if (number == ranges[place->range].last)
		place->range++;
	return true;
}

#endif /* CORE_CHOSEN_H */

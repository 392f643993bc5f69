/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The synthetic ACK arrivals of TIBET's Figs 1, 5, 6 and 10. All packets have
 * 1000 bytes. Intervals are exponential, Rayleigh, or alternate between T and
 * 2T. The paper gives no mean interval; here it is 10 ms (100 kB/s).
 */
#ifndef TESTS_ARRIVALS_H
#define TESTS_ARRIVALS_H

#include "check.h"

#define ARRIVAL_BYTES 1000
#define ARRIVAL_MEAN_US 10000
#define ARRIVALS 200000

enum arrivals {
	ARRIVALS_EXPONENTIAL,
	ARRIVALS_RAYLEIGH,
	ARRIVALS_PERIODIC,
};

static inline u32 arrival_us(enum arrivals kind, u32 k)
{
	double us = ARRIVAL_MEAN_US;

	if (kind == ARRIVALS_EXPONENTIAL)
		us *= -log(random_unit());
	else if (kind == ARRIVALS_RAYLEIGH)
		us *= sqrt(2 / acos(-1)) * sqrt(-2 * log(random_unit()));
	else
		us *= k % 2 ? 4.0 / 3 : 2.0 / 3;
	return (u32)fmax(us + 0.5, 1);
}

#endif /* TESTS_ARRIVALS_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small test harness: checks that print their place and values, and
 * repeatable random numbers that favour extremes. All tests are one program
 * (test_core.c).
 */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../core/arith.h"

/* The program ends after this number of failed checks */
#ifndef CHECKS_TO_FAIL
#define CHECKS_TO_FAIL 20
#endif

static unsigned int checks_failed;
static unsigned long checks_made;

#define CHECK(condition) check_true((condition), __FILE__, __LINE__, #condition)
#define CHECK_EQ(got, wanted) \
	check_equal((got), (wanted), __FILE__, __LINE__, #got)
/* |got - wanted| <= relative * |wanted| + absolute */
#define CHECK_NEAR(got, wanted, relative, absolute) \
	check_near((got), (wanted), (relative), (absolute), __FILE__, \
		   __LINE__, #got)

static inline void check_failed(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: %s", file, line, what);
	if (++checks_failed >= CHECKS_TO_FAIL) {
		fprintf(stderr, "\ntoo many failures\n");
		exit(1);
	}
}

static inline void check_true(bool ok, const char *file, int line,
			      const char *what)
{
	checks_made++;
	if (ok)
		return;
	check_failed(file, line, what);
	fprintf(stderr, " does not hold\n");
}

static inline void check_equal(u64 got, u64 wanted, const char *file, int line,
			       const char *what)
{
	checks_made++;
	if (got == wanted)
		return;
	check_failed(file, line, what);
	fprintf(stderr, " is %llu, not %llu\n", got, wanted);
}

static inline void check_near(double got, double wanted, double relative,
			      double absolute, const char *file, int line,
			      const char *what)
{
	checks_made++;
	if (fabs(got - wanted) <= relative * fabs(wanted) + absolute)
		return;
	check_failed(file, line, what);
	fprintf(stderr, " is %.12g, not %.12g\n", got, wanted);
}

#define RANDOM_SEED 88172645463325252ULL

static u64 random_state = RANDOM_SEED;

static inline u64 random_u64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Return a random number in (0, 1) */
static inline double random_unit(void)
{
	return ((double)(random_u64() >> 11) + 0.5) / 9007199254740992.0;
}

/* Return a number of up to this many bits; magnitudes are equally likely */
static inline u64 random_bits(unsigned int bits)
{
	u64 top = bits == 64 ? U64_MAX : (1ULL << bits) - 1;

	switch (random_u64() % 16) {
	case 0:
		return 0;
	case 1:
		return top;
	default:
		return (random_u64() & top) >> (random_u64() % bits);
	}
}

static inline double from_q32(u64 value)
{
	return (double)value / 4294967296.0;
}

static inline double from_q10(u64 value)
{
	return (double)value / 1024.0;
}

#endif /* TESTS_CHECK_H */

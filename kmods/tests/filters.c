// SPDX-License-Identifier: GPL-2.0-only
/*
 * usage: filters SEED...
 *
 * Print the mean estimate of every filter over the true rate, for the arrivals
 * of TIBET's Figs 1, 5, 6 and 10: a line "SEED ARRIVALS FILTER VALUE" for each.
 * Seed 0 has the arrivals of test_figures.c. Only that of periodic arrivals is
 * equal for all seeds. kmods/filters.py compiles this.
 */

#include "biases.h"

static const struct {
	const char *name;
	enum arrivals kind;
} kinds[] = {
	{ "exponential", ARRIVALS_EXPONENTIAL },
	{ "rayleigh", ARRIVALS_RAYLEIGH },
	{ "periodic", ARRIVALS_PERIODIC },
};

/* splitmix64 (S. Vigna), so that near seeds have states far from each other */
static u64 mixed(u64 seed)
{
	u64 z = seed + 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static void print_biases(unsigned long long seed, const char *arrivals,
			 const struct biases *b)
{
	const char *form = "%llu %s %s %.17g\n";

	printf(form, seed, arrivals, "westwood1", b->westwood1);
	printf(form, seed, arrivals, "westwood2", b->westwood2);
	printf(form, seed, arrivals, "westwood3", b->westwood3);
	printf(form, seed, arrivals, "csfq", b->csfq);
	printf(form, seed, arrivals, "tibet", b->tibet);
}

int main(int argc, char **argv)
{
	unsigned int k;
	int i;

	for (i = 1; i < argc; i++) {
		unsigned long long seed = strtoull(argv[i], NULL, 10);

		random_state = seed ? mixed(seed) : RANDOM_SEED;
		for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
			struct biases b = figure_biases(kinds[k].kind);

			print_biases(seed, kinds[k].name, &b);
		}
	}
	return checks_failed || i == 1;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * All tests of the core headers in one program. So each function of the headers
 * exists once, and its branch coverage is one number. Exits with 0 if all
 * checks hold.
 */

#include <string.h>

#include "check.h"
#include "test_arith.c"
#include "test_exponential.c"
#include "test_westwoodplus.c"
#include "test_logwestwood.c"
#include "test_tibet.c"
#include "test_westwood.c"
#include "test_windows.c"
#include "test_packetpair.c"
#include "test_prr.c"
#include "test_figures.c"
#include "test_chosen.c"
#include "test_sojourn.c"
#include "test_prague.c"
#include "test_prague_fallback.c"

static const struct test {
	const char *name;
	void (*run)(void);
} tests[] = {
	{ "arith", test_arith },
	{ "exponential", test_exponential },
	{ "westwoodplus", test_westwoodplus },
	{ "logwestwood", test_logwestwood },
	{ "tibet", test_tibet },
	{ "westwood", test_westwood },
	{ "windows", test_windows },
	{ "packetpair", test_packetpair },
	{ "prr", test_prr },
	{ "figures", test_figures },
	{ "chosen", test_chosen },
	{ "sojourn", test_sojourn },
	{ "prague", test_prague },
	{ "prague_fallback", test_prague_fallback },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	const struct test *test;
	unsigned int ran = 0;

	for (test = tests; test->run; test++) {
		if (argc > 1 && strcmp(argv[1], test->name))
			continue;
		test->run();
		ran++;
	}
	printf("%u tests, %lu checks, %u failed\n", ran, checks_made,
	       checks_failed);
	return checks_failed || !ran;
}

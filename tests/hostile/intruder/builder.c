// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run by the Kbuild, natively and in the build's sandbox. Without an argument it tries every act and
 * prints the answers as rows of a table, which the module prints when it is loaded; with a number
 * and the folder that it may write it goes on until something stops it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bounded.h"

int main(int argc, char **argv)
{
	unsigned int place;

	if (argc == 1) {
		for (place = 0; place < ARRAY_LENGTH(acts); place++)
			printf("SAID(%s, %ld)\n", acts[place].name, acts[place].attempt());
		return 0;
	}
	switch (atoi(argv[1])) {
	case 1:
		fprintf(stderr, "forked %ld\n", forked_until_refused());
		break;
	case 2:
		fprintf(stderr, "mapped %ld MiB\n", mapped_until_refused());
		break;
	case 3:
		fprintf(stderr, "opened %ld\n", opened_until_refused());
		break;
	case 4:
		fprintf(stderr, "temporary %ld MiB\n", filled_until_refused("/tmp/filled"));
		break;
	case 5: /* more of the disk than a build may take, in files that are each small enough */
		for (place = 0;; place++) {
			char path[256];

			snprintf(path, sizeof(path), "%s/filled-%u", argv[2], place);
			if (filled_until_refused(path) <= 0)
				slept(100);
		}
	case 6:
		for (;;)
			fputs("nothing new\n", stderr);
	case 7:
		for (;;)
			slept(1000);
	}
	return 1;
}

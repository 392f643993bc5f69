/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Acts that no boundary refuses at first: each goes on until something bounds it. They return what
 * they came to.
 */
#ifndef BOUNDED_H
#define BOUNDED_H

#include "acts.h"

#define PIECE (1L << 20)

static char piece[PIECE];

static long forked_until_refused(void)
{
	long count = 0;
	long child;

	while ((child = host6(__NR_clone, 17, 0, 0, 0, 0, 0)) > 0)
		count++;
	if (child == 0)
		for (;;)
			slept(1000);
	return count;
}

static long mapped_until_refused(void)
{
	long pieces = 0;

	for (;; pieces++) {
		/* readable and writable; private, anonymous, with its pages at once */
		long at = host6(__NR_mmap, 0, 64 * PIECE, 3, 0x8022, -1, 0);

		if (at < 0 && at > -4096)
			return 64 * pieces;
	}
}

static long filled_until_refused(const char *path)
{
	long fd = host(__NR_open, (long)path, WRITE_ONLY | CREATE, 0644);
	long pieces = 0;

	if (fd < 0)
		return fd;
	while (host(__NR_write, fd, (long)piece, PIECE) == PIECE)
		pieces++;
	return pieces;
}

static long opened_until_refused(void)
{
	long count = 0;

	while (host(__NR_open, (long)"/dev/null", READ_ONLY, 0) >= 0)
		count++;
	return count;
}

static long number_text(char *text, unsigned long number)
{
	char digits[24];
	long length = 0, place = 0;

	do
		digits[length++] = '0' + number % 10;
	while (number /= 10);
	while (length)
		text[place++] = digits[--length];
	text[place] = 0;
	return place;
}

static long made_until_refused(const char *folder)
{
	char path[64];
	long base = 0;
	long count = 0;

	for (; folder[base]; base++)
		path[base] = folder[base];
	for (;; count++) {
		long fd;

		number_text(path + base, count);
		fd = host(__NR_open, (long)path, WRITE_ONLY | CREATE, 0644);
		if (fd < 0)
			return count;
		host(__NR_close, fd, 0, 0);
	}
}

#endif

// SPDX-License-Identifier: GPL-2.0-only
/* Lets a program that spins on times(2) come to an end in virtual time; loaded by LD_PRELOAD.
 *
 * A guest's clock stands still while a program computes. Reading the clock takes 256 ns of it, and
 * a system call that fails takes 1 us, but times(2) takes none. packetdrill calls it until a tick
 * has passed (schedule_start_time_usecs() in its run.c), which would be for ever. Here each call
 * sleeps first.
 */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#define STEP_NS 50000 /* a fifth of what packetdrill waits after a tick */

clock_t times(struct tms *buffer)
{
	const struct timespec step = { .tv_sec = 0, .tv_nsec = STEP_NS };

	nanosleep(&step, NULL);
	return syscall(SYS_times, buffer);
}

// SPDX-License-Identifier: GPL-2.0-only
/* Do tasks keep their vector registers over system calls, task switches and signals?
 *
 * usage: registers TASKS ROUNDS      prints "kept", or which task lost them in what
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int signals;

static void clobber(int number)
{
	signals += number == SIGUSR1;
	asm volatile("vpcmpeqb %%ymm7, %%ymm7, %%ymm7\n\tvxorps %%ymm0, %%ymm0, %%ymm0"
		     ::: "xmm0", "xmm7");
}

/* Lays two values into registers, enters the kernel, and reads them again. */
static int round_trip(long number, long argument, long other, const unsigned char *in,
		      unsigned char *out)
{
	long status = number;

	asm volatile("vmovdqu (%[in]), %%ymm0\n\t"
		     "vmovdqu 32(%[in]), %%ymm7\n\t"
		     "syscall\n\t"
		     "vmovdqu %%ymm0, (%[out])\n\t"
		     "vmovdqu %%ymm7, 32(%[out])\n\t"
		     : "+a"(status)
		     : "D"(argument), "S"(other), [in] "r"(in), [out] "r"(out)
		     : "rcx", "r11", "memory", "xmm0", "xmm7");
	return memcmp(in, out, 64) == 0;
}

static long rounds;

static void *task(void *seed)
{
	unsigned char in[64], out[64];

	for (long round = 0; round < rounds; round++) {
		memset(in, (int)((long)seed * 16 + round), sizeof(in));
		in[31] = in[63] = (unsigned char)(long)seed;
		if (!round_trip(SYS_sched_yield, 0, 0, in, out))
			return "a switch";
		if (!round_trip(SYS_tkill, syscall(SYS_gettid), SIGUSR1, in, out))
			return "a signal";
	}
	return NULL;
}

int main(int count, char **words)
{
	int tasks = count > 2 ? atoi(words[1]) : 2, bad = 0;
	pthread_t other;
	void *lost;

	rounds = count > 2 ? atol(words[2]) : 1000;
	signal(SIGUSR1, clobber);
	for (int number = 1; number < tasks; number++) {
		if (fork() == 0) {
			pthread_create(&other, NULL, task, (void *)(long)(2 * number));
			lost = task((void *)(long)(2 * number + 1));
			if (lost)
				printf("process %d lost its registers in %s\n", number, (char *)lost);
			bad = lost != NULL;
			pthread_join(other, &lost);
			if (lost)
				printf("thread of %d lost its registers in %s\n", number, (char *)lost);
			if (signals < rounds)
				printf("%d signals, fewer than %ld\n", signals, rounds);
			fflush(stdout);
			_exit(bad || lost);
		}
	}
	for (int status, number = 1; number < tasks; number++) {
		wait(&status);
		bad |= status != 0;
	}
	puts(bad ? "lost" : "kept");
	return bad;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * A stranger's congestion control whose initialisation attacks the host. `act` chooses how: 0 not
 * at all; 1 every act that must be refused; others go on until something bounds them, or hand out
 * what no test bed would.
 */
#include <linux/module.h>
#include <linux/string.h>
#include <net/tcp.h>

#include "bounded.h"

static unsigned int act;
module_param(act, uint, 0644);
MODULE_PARM_DESC(act, "what to do to the host");

static unsigned int variant;
module_param(variant, uint, 0644);
MODULE_PARM_DESC(variant, "which file, or which text");

#define OUT "/bed/out/"

#define SAID(name, answer) { #name, answer },
static const struct {
	const char *name;
	long answer;
} of_the_build[] = {
#include "said.h"
};

static const char *const records[] = {
	OUT "tcp.bin", OUT "queue.bin", OUT "facts.jsonl", OUT "progress", OUT "failure",
	OUT "transfers.bin", OUT "datagrams.bin",
};

/* What no test bed says. None is valid where it stands; some are valid JSON. */
static const char *const texts[] = {
	"{\"fact\": \"done\"",
	"\xff\xfe\n",
	"[]\n1\nnull\n",
	"{\"fact\": \"queues\", \"names\": 7, \"policers\": null}\n{\"fact\": \"done\"}\n",
	"{\"fact\": \"done\", \"origin_ns\": 1e999}\n",
	"{\"fact\": \"done\", \"origin_ns\": 99999999999999999999999999}\n",
	"{\"fact\": \"flow_error\"}\n",
	"{\"fact\": \"flow_error\", \"flow\": \"\033]0;owned\007\033[2J\", \"problem\": \"\\u0000\"}\n",
};

static long wrote_file(const char *path, const char *text, long size)
{
	long fd = host(__NR_open, (long)path, WRITE_ONLY | CREATE | 01000, 0644);
	long result = host(__NR_write, fd, (long)text, size);

	host(__NR_close, fd, 0, 0);
	return result;
}

static long say_progress(const char *phase, unsigned long time_ns)
{
	char text[64];
	long size = strlen(phase);

	memcpy(text, phase, size);
	text[size++] = ' ';
	size += number_text(text + size, time_ns);
	return wrote_file(OUT "progress", text, size);
}

static void wait_for_ever(void)
{
	for (;;)
		slept(1000);
}

static void end_as_if_done(void)
{
	say_progress("done", 12000000000UL);
	host(__NR_exit_group, 0, 0, 0);
}

static void try_all(void)
{
	unsigned int place;

	for (place = 0; place < ARRAY_SIZE(of_the_build); place++)
		pr_info("intruder: build %s %ld\n", of_the_build[place].name,
			of_the_build[place].answer);
	for (place = 0; place < ARRAY_SIZE(acts); place++)
		pr_info("intruder: guest %s %ld\n", acts[place].name, acts[place].attempt());
}

static void flood_console(void)
{
	int count;

	memset(piece, 'x', PIECE);
	for (count = 0; count < 300; count++)
		host(__NR_write, 1, (long)piece, PIECE);
}

static void make_folders(void)
{
	host(__NR_mkdir, (long)OUT "closed", 0700, 0);
	host(__NR_mkdir, (long)OUT "closed/inner", 0700, 0);
	wrote_file(OUT "closed/inner/file", "x", 1);
	host(__NR_chmod, (long)OUT "closed/inner", 0, 0);
	host(__NR_chmod, (long)OUT "closed", 0, 0);
}

static void pretend_progress(void)
{
	unsigned long time_ns;

	for (time_ns = 0;; time_ns++) {
		say_progress("traffic", time_ns);
		slept(20);
	}
}

static void replace_record(void)
{
	const char *path = records[variant % 10];

	host(__NR_unlink, (long)path, 0, 0);
	switch (variant / 10) {
	case 0:
		host(__NR_mknod, (long)path, 010666, 0);
		break;
	case 1:
		host(__NR_symlink, (long)"/etc/shadow", (long)path, 0);
		break;
	case 2:
		host(__NR_symlink, (long)"/dev/zero", (long)path, 0);
		break;
	case 3:
		host(__NR_mkdir, (long)path, 0755, 0);
		break;
	case 4:
		wrote_file(path, "", 0);
		host(__NR_truncate, (long)path, 1L << 40, 0);
		break;
	case 5:
		wrote_file(path, piece, PIECE);
		break;
	}
	if (variant % 10 != 3)
		say_progress("traffic", 1000000);
	slept(500);
	host(__NR_exit_group, 0, 0, 0);
}

static void replace_log(void)
{
	host(__NR_unlink, (long)OUT "bed.log", 0, 0);
	host(__NR_symlink, (long)"/etc/hostname", (long)OUT "bed.log", 0);
	host(__NR_exit_group, 0, 0, 0);
}

static void write_malformed(void)
{
	const char *text = texts[variant % ARRAY_SIZE(texts)];

	wrote_file(OUT "facts.jsonl", text, strlen(text));
	wrote_file(OUT "tcp.bin", "\0\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0", 16);
	wrote_file(OUT "queue.bin", "x", 1);
	end_as_if_done();
}

static void attack(void)
{
	switch (act) {
	case 1:
		return try_all();
	case 2:
		pr_info("intruder: forked %ld\n", forked_until_refused());
		return;
	case 3:
		pr_info("intruder: mapped %ld MiB\n", mapped_until_refused());
		return;
	case 4:
		pr_info("intruder: opened %ld\n", opened_until_refused());
		return;
	case 5:
		pr_info("intruder: temporary %ld MiB\n", filled_until_refused("/tmp/filled"));
		pr_info("intruder: memory %ld MiB\n", filled_until_refused("/dev/shm/filled"));
		return;
	case 6:
		filled_until_refused(OUT "filled");
		return wait_for_ever();
	case 7:
		made_until_refused(OUT "many-");
		return wait_for_ever();
	case 8:
		return flood_console();
	case 9:
		return make_folders();
	case 10:
		return wait_for_ever();
	case 11:
		return pretend_progress();
	case 12:
		return replace_record();
	case 13:
		return replace_log();
	case 14:
		return write_malformed();
	case 15:
		pr_info("intruder: \033]0;owned\007\033[2J\n");
		return;
	case 16:
		host(__NR_kill, 1, 9, 0);
		return;
	}
}

static struct tcp_congestion_ops intruder __read_mostly = {
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "intruder",
};

static int __init intruder_register(void)
{
	attack();
	/* The test reads what was said from the run, which is kept of one that fails. */
	return act ? -EPERM : tcp_register_congestion_control(&intruder);
}

static void __exit intruder_unregister(void)
{
	tcp_unregister_congestion_control(&intruder);
}

module_init(intruder_register);
module_exit(intruder_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Reno that attacks its host");

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a stranger's code may try against the host, by system calls of the host. Included by the
 * module, which makes them from within User Mode Linux, and by the program that its Kbuild runs.
 *
 * An act that the boundary must refuse would, without a boundary, write back what is there, or
 * fail for another reason than rights: on a host without a boundary nothing changes either.
 */
#ifndef ACTS_H
#define ACTS_H

#include <asm/unistd.h>

#include "target.h" /* TARGET: a process of the host that belongs to whoever runs this */

#define READ_ONLY 0
#define WRITE_ONLY 01
#define READ_WRITE 02
#define CREATE 0100
#define NOT_THERE "/nonexistent"
#define ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static long host6(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 asm("r10") = d;
	register long r8 asm("r8") = e;
	register long r9 asm("r9") = f;
	long result;

	asm volatile("syscall"
		     : "=a"(result)
		     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
		     : "rcx", "r11", "memory");
	return result;
}

static long host(long number, long a, long b, long c)
{
	return host6(number, a, b, c, 0, 0, 0);
}

static long opened(const char *path, long flags)
{
	long fd = host(__NR_open, (long)path, flags, 0644);

	if (fd >= 0) {
		host(__NR_close, fd, 0, 0);
		if (flags & CREATE)
			host(__NR_unlink, (long)path, 0, 0);
	}
	return fd < 0 ? fd : 0;
}

/* Writes what is there: nothing changes where this is allowed. */
static long written_back(const char *path)
{
	char text[256];
	long fd = host(__NR_open, (long)path, READ_WRITE, 0);
	long size;

	if (fd < 0)
		return fd;
	size = host(__NR_read, fd, (long)text, sizeof(text));
	if (size > 0) {
		host(__NR_lseek, fd, 0, 0);
		size = host(__NR_write, fd, (long)text, size);
	}
	host(__NR_close, fd, 0, 0);
	return size;
}

static long wrote(const char *path, const char *text, long size)
{
	long fd = host(__NR_open, (long)path, WRITE_ONLY, 0);
	long result;

	if (fd < 0)
		return fd;
	result = host(__NR_write, fd, (long)text, size);
	host(__NR_close, fd, 0, 0);
	return result;
}

static long socket_of(long family, long type, long protocol)
{
	long fd = host(__NR_socket, family, type, protocol);

	if (fd >= 0)
		host(__NR_close, fd, 0, 0);
	return fd < 0 ? fd : 0;
}

static long connected_to_abstract(void)
{
	/* A name outside of all files, at which the test listens on the host. */
	char address[] = "\1\0\0orchestrator-hostile-test";
	long fd = host(__NR_socket, 1, 1, 0);
	long result = host(__NR_connect, fd, (long)address, sizeof(address) - 1);

	host(__NR_close, fd, 0, 0);
	return result;
}

static long cloned(long flags)
{
	long child = host6(__NR_clone, flags | 17, 0, 0, 0, 0, 0);

	if (child == 0)
		host(__NR_exit, 0, 0, 0);
	return child < 0 ? child : 0;
}

static long owned_by_root(void)
{
	long fd = host(__NR_open, (long)"/tmp/owned", WRITE_ONLY | CREATE, 0644);
	long result = host(__NR_fchown, fd, 0, 0);

	host(__NR_close, fd, 0, 0);
	host(__NR_unlink, (long)"/tmp/owned", 0, 0);
	return result;
}

static long raised_limit(void)
{
	unsigned long limit[2] = { ~0UL, ~0UL };

	return host6(__NR_prlimit64, 0, 6, (long)limit, 0, 0, 0);
}

static long slept(long milliseconds)
{
	long time[2] = { milliseconds / 1000, milliseconds % 1000 * 1000000 };

	return host(__NR_nanosleep, (long)time, 0, 0);
}

/* name, what it gives: below zero is refused */
#define ACTS(X)                                                                                   \
	X(open_passwd, opened("/etc/passwd", WRITE_ONLY))                                         \
	X(create_in_etc, opened("/etc/intruder", WRITE_ONLY | CREATE))                            \
	X(create_in_usr, opened("/usr/intruder", WRITE_ONLY | CREATE))                            \
	X(create_in_home, opened("/home/intruder", WRITE_ONLY | CREATE))                          \
	X(create_in_root, opened("/root/intruder", WRITE_ONLY | CREATE))                          \
	X(create_in_var, opened("/var/intruder", WRITE_ONLY | CREATE))                            \
	X(create_in_run, opened("/run/intruder", WRITE_ONLY | CREATE))                            \
	X(create_in_dev, opened("/dev/intruder", WRITE_ONLY | CREATE))                            \
	X(sysctl_core_pattern, written_back("/proc/sys/kernel/core_pattern"))                     \
	X(sysctl_stat_interval, written_back("/proc/sys/vm/stat_interval"))                       \
	X(sysctl_swappiness, written_back("/proc/sys/vm/swappiness"))                             \
	X(sysrq, opened("/proc/sysrq-trigger", WRITE_ONLY))                                       \
	X(read_shadow, opened("/etc/shadow", READ_ONLY))                                          \
	X(read_keys, opened("/proc/keys", READ_ONLY))                                             \
	X(read_timers, opened("/proc/timer_list", READ_ONLY))                                     \
	X(read_kcore, opened("/proc/kcore", READ_ONLY))                                           \
	X(read_kernel_log, opened("/dev/kmsg", READ_ONLY))                                        \
	X(open_memory, opened("/dev/mem", READ_WRITE))                                            \
	X(open_disk, opened("/dev/vda", READ_WRITE))                                              \
	X(open_loop, opened("/dev/loop-control", READ_WRITE))                                     \
	X(open_fuse, opened("/dev/fuse", READ_WRITE))                                             \
	X(open_kvm, opened("/dev/kvm", READ_WRITE))                                               \
	X(open_tun, opened("/dev/net/tun", READ_WRITE))                                           \
	X(read_sysfs, opened("/sys/kernel/notes", READ_ONLY))                                     \
	X(target_memory, opened("/proc/" TARGET_TEXT "/mem", READ_ONLY))                          \
	X(make_device, host(__NR_mknod, (long)"/tmp/device", 020666, 0x101))                      \
	X(link_out, host(__NR_link, (long)"/usr/bin/env", (long)"/tmp/linked", 0))                \
	X(own_by_root, owned_by_root())                                                           \
	X(unix_abstract, connected_to_abstract())                                                 \
	X(socket_inet, socket_of(2, 1, 0))                                                        \
	X(socket_inet6, socket_of(10, 1, 0))                                                      \
	X(socket_netlink, socket_of(16, 3, 0))                                                    \
	X(socket_packet, socket_of(17, 3, 0))                                                     \
	X(socket_key, socket_of(15, 3, 2))                                                        \
	X(socket_bluetooth, socket_of(31, 3, 1))                                                  \
	X(socket_alg, socket_of(38, 5, 0))                                                        \
	X(socket_vsock, socket_of(40, 1, 0))                                                      \
	X(socket_xdp, socket_of(44, 3, 0))                                                        \
	X(signal_target, host(__NR_kill, TARGET, 15, 0))                                          \
	X(trace_target, host6(__NR_ptrace, 0x4206, TARGET, 0, 0, 0, 0))                           \
	X(priority, host(__NR_setpriority, 0, 0, -20))                                            \
	X(raise_limit, raised_limit())                                                            \
	X(oom_score, wrote("/proc/self/oom_score_adj", "-1000", 5))                               \
	FILTERED(X)

/* What the filter must refuse by itself, whatever the arguments: so they are invalid. */
#define FILTERED(X)                                                                               \
	X(mount, host6(__NR_mount, 0, (long)NOT_THERE, 0, 32, 0, 0))                              \
	X(umount, host(__NR_umount2, (long)NOT_THERE, 0, 0))                                      \
	X(pivot_root, host(__NR_pivot_root, (long)NOT_THERE, (long)NOT_THERE, 0))                 \
	X(chroot, host(__NR_chroot, (long)NOT_THERE, 0, 0))                                       \
	X(unshare, host(__NR_unshare, 0x1, 0, 0))                                                 \
	X(setns, host(__NR_setns, -1, 0, 0))                                                      \
	X(clone_user, cloned(0x10000000 | 0x200 | 0x10000))                                       \
	X(clone3, host(__NR_clone3, 0, 0, 0))                                                     \
	X(bpf, host(__NR_bpf, -1, 0, 0))                                                          \
	X(perf_event_open, host6(__NR_perf_event_open, 0, 0, -1, -1, ~0UL, 0))                    \
	X(seccomp_strict, host(__NR_seccomp, 0, 0, (long)NOT_THERE))                              \
	X(seccomp_listener, host(__NR_seccomp, 1, 8, 0))                                          \
	X(seccomp_logged, host(__NR_seccomp, 1, 1 | 2, 0))                                        \
	X(seccomp_sizes, host(__NR_seccomp, 3, 0, 0))                                             \
	X(prctl_seccomp, host(__NR_prctl, 22, 2, 0))                                              \
	X(prctl_high_half, host(__NR_prctl, 0x100000016, 2, 0))                                   \
	X(userfaultfd, host(__NR_userfaultfd, ~0UL, 0, 0))                                        \
	X(io_uring_setup, host(__NR_io_uring_setup, 0, 0, 0))                                     \
	X(memfd_create, host(__NR_memfd_create, 0, 0, 0))                                         \
	X(keyctl, host(__NR_keyctl, 99999, 0, 0))                                                 \
	X(add_key, host6(__NR_add_key, 0, 0, 0, 0, 0, 0))                                         \
	X(request_key, host6(__NR_request_key, 0, 0, 0, 0, 0, 0))                                 \
	X(init_module, host(__NR_init_module, 0, 0, 0))                                           \
	X(finit_module, host(__NR_finit_module, -1, 0, 0))                                        \
	X(delete_module, host(__NR_delete_module, 0, 0, 0))                                       \
	X(kexec_load, host6(__NR_kexec_load, 0, 99, 0, 99, 0, 0))                                 \
	X(reboot, host(__NR_reboot, 0, 0, 0))                                                     \
	X(swapon, host(__NR_swapon, (long)NOT_THERE, 0, 0))                                       \
	X(acct, host(__NR_acct, (long)NOT_THERE, 0, 0))                                           \
	X(settimeofday, host(__NR_settimeofday, 1, 0, 0))                                         \
	X(adjtimex, host(__NR_adjtimex, 0, 0, 0))                                                 \
	X(iopl, host(__NR_iopl, 99, 0, 0))                                                        \
	X(syslog, host(__NR_syslog, 99, 0, 0))                                                    \
	X(quotactl, host6(__NR_quotactl, -1, 0, 0, 0, 0, 0))                                      \
	X(open_by_handle_at, host(__NR_open_by_handle_at, -1, 0, 0))                              \
	X(name_to_handle_at, host6(__NR_name_to_handle_at, -1, 0, 0, 0, ~0L, 0))                  \
	X(fanotify_init, host(__NR_fanotify_init, ~0UL, ~0UL, 0))                                 \
	X(process_vm_readv, host6(__NR_process_vm_readv, TARGET, 0, 0, 0, 0, ~0UL))               \
	X(process_vm_writev, host6(__NR_process_vm_writev, TARGET, 0, 0, 0, 0, ~0UL))             \
	X(pidfd_open, host(__NR_pidfd_open, 0, ~0UL, 0))                                          \
	X(shmget, host(__NR_shmget, 0, 0, 0))                                                     \
	X(msgget, host(__NR_msgget, 99, 0, 0))                                                    \
	X(semget, host(__NR_semget, 0, -1, 0))                                                    \
	X(mq_open, host6(__NR_mq_open, 0, 0, 0, 0, 0, 0))                                         \
	X(sethostname, host(__NR_sethostname, 0, -1, 0))                                          \
	X(sched_setscheduler, host(__NR_sched_setscheduler, 0, -1, 0))                            \
	X(fsopen, host(__NR_fsopen, 0, ~0UL, 0))                                                  \
	X(move_mount, host6(__NR_move_mount, -1, 0, -1, 0, ~0UL, 0))                              \
	X(open_tree, host(__NR_open_tree, -1, 0, ~0UL))                                           \
	X(ioctl_tiocsti, host(__NR_ioctl, 0, 0x5412, (long)"x"))                                  \
	X(ioctl_tioclinux, host(__NR_ioctl, 0, 0x541c, (long)"x"))                                \
	X(ioctl_high_half, host(__NR_ioctl, 0, 0x100005412, (long)"x"))

#define DEFINE_ACT(name, attempt) static long try_##name(void) { return (attempt); }
#define LIST_ACT(name, attempt) { #name, try_##name },

ACTS(DEFINE_ACT)

static const struct {
	const char *name;
	long (*attempt)(void);
} acts[] = { ACTS(LIST_ACT) };

#endif

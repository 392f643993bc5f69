/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All differences between kernels 6.1 and 7.0 that concern the modules.
 *
 * One difference needs no code here. in_ack_event comes before the kernel counts
 * what an ACK acknowledges, or after it (from 6.1.141 and 6.12.31 on). No module
 * uses it: pkts_acked always comes after the counting.
 */
#ifndef CC_COMPAT_H
#define CC_COMPAT_H

#include <linux/sysctl.h>
#include <linux/version.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

/*
 * What "depends on 64BIT" says in a Kconfig file. Settings of up to 100 Gbit/s
 * are unsigned long, and get_info reads u64 estimates without a lock.
 */
#ifndef CONFIG_64BIT
#error "needs a 64-bit kernel"
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "needs Linux 6.1 or later"
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0)
#error "needs Linux 7.0 or earlier: 7.1 made CA_EVENT_TX_START an operation"
#endif

/* The arguments of cong_control; modules use sk and rs alone */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#define CC_CONTROL_ARGUMENTS struct sock *sk, const struct rate_sample *rs
#else
#define CC_CONTROL_ARGUMENTS						\
	struct sock *sk, u32 ack, int flag, const struct rate_sample *rs
#endif

/*
 * Register the first count entries of a table of count + 1 entries. The last
 * one is empty: kernels before 6.6 need it to find the end. Later kernels take
 * the number, and kernels from 6.11 on reject an empty entry within that
 * number.
 */
static inline struct ctl_table_header *
cc_register_sysctls(struct net *net, struct ctl_table *table, size_t count)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
	return register_net_sysctl(net, "net/ipv4", table);
#else
	return register_net_sysctl_sz(net, "net/ipv4", table, count);
#endif
}

#endif /* CC_COMPAT_H */

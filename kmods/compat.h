/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between kernels 6.1 and 7.0, and nowhere else. Not here, because
 * the modules get along without: cong_control (another argument since 6.10),
 * and the place of in_ack_event, before or after pkts_acked (moved within
 * stable series: 6.1.141, 6.12.31); differences of tp->delivered serve both.
 */
#ifndef CC_COMPAT_H
#define CC_COMPAT_H

#include <linux/sysctl.h>
#include <linux/version.h>
#include <net/net_namespace.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "needs Linux 6.1 or later"
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0)
#error "CA_EVENT_TX_START became an operation of its own in 7.1: not served"
#endif

/*
 * Registers the count entries of a table of count + 1, whose last is empty:
 * kernels before 6.6 look for that end, later ones are told the number and
 * those from 6.11 on reject an empty entry among them.
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

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Settings of a network namespace, below net.ipv4. Emulated hosts of one
 * machine are namespaces, so their flows may have different settings. A module
 * x defines
 *
 *   struct x_net { struct cc_netns sysctls; unsigned long field; ... };
 *   CC_SETTING(x, field, low, high, "what it is");
 *   static const struct ctl_table x_table[] = { CC_SETTING_ENTRY(x, field), {} };
 *
 * and calls cc_netns_add() and cc_netns_remove() from its pernet_operations.
 * catalogue.py reads the range of the setting x_field from the CC_SETTING line.
 */
#ifndef CC_NETNS_H
#define CC_NETNS_H

#include <linux/slab.h>
#include <linux/string.h>
#include <net/netns/generic.h>

#include "compat.h"

/* A part of a module's state of a namespace */
struct cc_netns {
	struct ctl_table_header *header;
	struct ctl_table *table;
};

/* The setting net.ipv4.<module>_<field>: an integer in a range, initially 0 */
#define CC_SETTING(module, field, low, high, text)			\
	static_assert(sizeof_field(struct module##_net, field) ==	\
		      sizeof(unsigned long));				\
	static const unsigned long module##_##field##_range[] = {	\
		(low), (high)						\
	};								\
	MODULE_INFO(setting, #module "_" #field ":" text		\
		    " (" #low " to " #high ")")

/* Its sysctl entry; cc_netns_add() sets .data of each namespace's copy */
#define CC_SETTING_ENTRY(module, field)	{				\
	.procname	= #module "_" #field,				\
	.maxlen		= sizeof(unsigned long),			\
	.mode		= 0644,						\
	.proc_handler	= proc_doulongvec_minmax,			\
	.extra1		= (void *)&module##_##field##_range[0],		\
	.extra2		= (void *)&module##_##field##_range[1],		\
}

/*
 * Register a namespace's copy of a table. values are the settings of its count
 * entries, in their order; an empty entry is behind them.
 */
static inline int cc_netns_add(struct net *net, struct cc_netns *own,
			       const struct ctl_table *template,
			       unsigned long *const *values, size_t count)
{
	size_t i;

	own->table = kmemdup(template, (count + 1) * sizeof(*template),
			     GFP_KERNEL);
	if (!own->table)
		return -ENOMEM;
	for (i = 0; i < count; i++)
		own->table[i].data = values[i];
	own->header = cc_register_sysctls(net, own->table, count);
	if (own->header)
		return 0;
	kfree(own->table);
	return -ENOMEM;
}

static inline void cc_netns_remove(struct cc_netns *own)
{
	unregister_net_sysctl_table(own->header);
	kfree(own->table);
}

#endif /* CC_NETNS_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Settings of a network namespace, below net.ipv4: what may differ between the
 * hosts, and so the flows, of one machine. A module defines a struct with its
 * values, a template table whose .data are offsets into that struct (as
 * pointers), and calls cc_netns_add/remove from its pernet_operations.
 */
#ifndef CC_NETNS_H
#define CC_NETNS_H

#include <linux/slab.h>
#include <net/netns/generic.h>

#include "compat.h"

/* The beginning of what a module keeps for each namespace */
struct cc_netns {
	struct ctl_table_header *header;
	struct ctl_table *table;
};

/* .data of a template's entry */
#define CC_NETNS_FIELD(type, field) ((void *)offsetof(type, field))

static int cc_netns_add(struct net *net, struct cc_netns *own,
			const struct ctl_table *template, size_t count)
{
	size_t i;

	own->table = kcalloc(count + 1, sizeof(*template), GFP_KERNEL);
	if (!own->table)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		own->table[i] = template[i];
		own->table[i].data = (char *)own + (size_t)template[i].data;
	}
	own->header = cc_register_sysctls(net, own->table, count);
	if (own->header)
		return 0;
	kfree(own->table);
	return -ENOMEM;
}

static void cc_netns_remove(struct cc_netns *own)
{
	unregister_net_sysctl_table(own->header);
	kfree(own->table);
}

#endif /* CC_NETNS_H */

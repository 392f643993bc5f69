/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code that the congestion controls here share.
 *
 *   cc_param.h    module parameters with a range
 *   cc_flow.h     samples from ACKs, round-trip times
 *   cc_pair.h     packet pairs
 *   cc_window.h   growth of the window, ssthresh
 *   cc_info.h     get_info and the trace
 *
 * A module defines CC_TRACE_SYSTEM before it includes this file, and most end
 * with CC_MODULE. cc_control.h, cc_ect1.h, cc_estimator.h, cc_netns.h and
 * cc_westwoodplus.h are for some modules.
 */
#ifndef CC_H
#define CC_H

#include <linux/module.h>
#include <net/tcp.h>

#include "compat.h"

#include "cc_flow.h"
#include "cc_info.h"
#include "cc_pair.h"
#include "cc_param.h"
#include "cc_window.h"

/* The trace event is defined in the one file that includes this header */
#define CREATE_TRACE_POINTS
#include "cc_trace.h"
#undef CREATE_TRACE_POINTS

/* modinfo shows these for every module; dkms.conf reads the version */
MODULE_AUTHOR("The authors of the TCP congestion-control orchestrator");
MODULE_VERSION("1.1");

/*
 * The first kernel on which a module works, and what earlier ones lack. modinfo
 * prints it, and catalogue.py reads it from this line: a run on an earlier
 * kernel is refused. For a host of one's own CC_REFUSE_TO_LOAD takes the place
 * of the module's code there, so that one Kbuild serves all kernels.
 */
#define CC_SINCE(major, minor, what)					\
	static const char cc_since[] __maybe_unused =			\
		#major "." #minor " or later, which has " what;		\
	MODULE_INFO(since, #major "." #minor ": " what)

#define CC_REFUSE_TO_LOAD(name)						\
static int __init name##_register(void)					\
{									\
	pr_err("%s: needs Linux %s\n", KBUILD_MODNAME, cc_since);	\
	return -EOPNOTSUPP;						\
}									\
module_init(name##_register)

/* The state has room in a socket, and cc_flow_of() is right for it */
#define CC_CHECK_STATE(state, flow)					\
	do {								\
		BUILD_BUG_ON(sizeof(state) > ICSK_CA_PRIV_SIZE);	\
		BUILD_BUG_ON(offsetof(state, flow));			\
	} while (0)

/*
 * Register a congestion control when its module is loaded. The macro stands for
 * the last lines of a module that does nothing else then, as
 * module_platform_driver() does for drivers. state is the type of its state of
 * a connection, and flow the struct cc_flow there.
 */
#define CC_MODULE(ops, state, flow)					\
static int __init ops##_register(void)					\
{									\
	CC_CHECK_STATE(state, flow);					\
	return tcp_register_congestion_control(&(ops));			\
}									\
module_init(ops##_register);						\
									\
static void __exit ops##_unregister(void)				\
{									\
	tcp_unregister_congestion_control(&(ops));			\
}									\
module_exit(ops##_unregister)

#endif /* CC_H */

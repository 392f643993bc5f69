/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Module parameters with a range of valid values. catalogue.py reads the lines
 * that begin with CC_PARAM.
 *
 * Headers here hold no data and no functions other than inline ones, so that
 * each of several files of one module may include them. Macros such as CC_PARAM
 * define what needs storage in the file that uses them.
 */
#ifndef CC_PARAM_H
#define CC_PARAM_H

#include <linux/kernel.h>
#include <linux/moduleparam.h>
#include <linux/sysfs.h>

/* A parameter's variable and its valid values */
struct cc_range {
	unsigned int *value;
	unsigned int low;
	unsigned int high;
	bool power_of_two;
};

static inline int cc_range_set(const char *text, const struct kernel_param *kp)
{
	const struct cc_range *range = kp->arg;
	unsigned int value;
	int err = kstrtouint(text, 0, &value);

	if (err)
		return err;
	if (value < range->low || value > range->high ||
	    (range->power_of_two && value & (value - 1))) {
		pr_err("%s: %s=%u: valid are %s%u to %u\n", KBUILD_MODNAME,
		       kp->name, value,
		       range->power_of_two ? "powers of two from " : "",
		       range->low, range->high);
		return -EINVAL;
	}
	WRITE_ONCE(*range->value, value);
	return 0;
}

static inline int cc_range_get(char *buffer, const struct kernel_param *kp)
{
	const struct cc_range *range = kp->arg;

	return sysfs_emit(buffer, "%u\n", READ_ONCE(*range->value));
}

#define CC_PARAM_CHECKED(name, first, low_, high_, two, text)		\
	static unsigned int name __read_mostly = (first);		\
	static const struct cc_range name##_range = {			\
		.value = &(name), .low = (low_), .high = (high_),	\
		.power_of_two = (two),					\
	};								\
	static const struct kernel_param_ops name##_ops = {		\
		.set = cc_range_set, .get = cc_range_get,		\
	};								\
	module_param_cb(name, &name##_ops, (void *)&name##_range, 0644); \
	__MODULE_PARM_TYPE(name, "uint");				\
	MODULE_PARM_DESC(name, text " (" #low_ " to " #high_ ", default " \
			 #first ")")

#define CC_PARAM(name, first, low, high, text) \
	CC_PARAM_CHECKED(name, first, low, high, false, text)

#endif /* CC_PARAM_H */

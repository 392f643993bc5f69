/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The few kernel names that the core headers use, to compile them in user
 * space. A kernel build never includes this file.
 */
#ifndef CORE_USERSPACE_H
#define CORE_USERSPACE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

#define READ_ONCE(x)		(x)
#define WRITE_ONCE(x, value)	((x) = (value))

#define U32_MAX UINT32_MAX
#define U64_MAX UINT64_MAX

#define min_t(type, a, b) ({		\
	type __a = (a);			\
	type __b = (b);			\
	__a < __b ? __a : __b; })

#define max_t(type, a, b) ({		\
	type __a = (a);			\
	type __b = (b);			\
	__a > __b ? __a : __b; })

static inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

static inline u64 div64_u64(u64 a, u64 b)
{
	return a / b;
}

static inline u64 div64_u64_rem(u64 a, u64 b, u64 *rest)
{
	*rest = a % b;
	return a / b;
}

#endif /* CORE_USERSPACE_H */

// SPDX-License-Identifier: GPL-2.0-only
/* Compare core/sojourn.h with the description of the buckets in uapi/pkt_sch_link.h */

#include "check.h"
#include "../core/sojourn.h"

/* Where a bucket begins and ends, in ns */
static u64 sojourn_low(u32 bucket)
{
	u32 shift = bucket / 64 - 1;

	if (bucket < 128)
		return bucket * 8ULL;
	return ((bucket % 64 + 64ULL) << shift) * 8;
}

static void test_edges(void)
{
	u32 i;

	for (i = 0; i < SOJOURN_BUCKETS; i++) {
		u64 low = sojourn_low(i), high = sojourn_low(i + 1);

		CHECK(low < high);
		CHECK_EQ(sojourn_bucket(low), i);
		CHECK_EQ(sojourn_bucket(high - 1), i);
		/* The middle is within 1/128 of every time, or within 4 ns */
		CHECK((high - low) / 2 <= max_t(u64, 4, low / 128));
	}
	CHECK_EQ(sojourn_low(SOJOURN_BUCKETS), 1ULL << 39);
}

static void test_random_times(void)
{
	int i;

	for (i = 0; i < 100000; i++) {
		u64 time_ns = random_bits(40);
		u32 bucket = sojourn_bucket(time_ns);

		CHECK(bucket < SOJOURN_BUCKETS);
		CHECK(sojourn_low(bucket) <= time_ns);
		CHECK(time_ns < sojourn_low(bucket + 1) || bucket == SOJOURN_BUCKETS - 1);
	}
}

static void test_longer_times(void)
{
	CHECK_EQ(sojourn_bucket(1ULL << 39), SOJOURN_BUCKETS - 1);
	CHECK_EQ(sojourn_bucket(U64_MAX), SOJOURN_BUCKETS - 1);
}

static void test_sojourn(void)
{
	test_edges();
	test_random_times();
	test_longer_times();
}

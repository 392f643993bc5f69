// SPDX-License-Identifier: GPL-2.0-only
/* Compare core/chosen.h with a search of the whole list for each packet */

#include "check.h"
#include "../core/chosen.h"

#define CHOSEN_MOST 8

static bool chosen_has(const struct chosen_range *ranges, u32 count, u64 number)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (number >= ranges[i].first && number <= ranges[i].last)
			return true;
	return false;
}

static void test_valid_lists(void)
{
	static const struct chosen_range good[] = {
		{ 1, 1 }, { 2, 4 }, { 6, U32_MAX - 1 }, { U32_MAX, U32_MAX },
	};
	static const struct chosen_range wrong[][2] = {
		{ { 0, 1 }, { 3, 3 } },	/* there is no packet 0 */
		{ { 3, 2 }, { 4, 4 } },	/* ends before it begins */
		{ { 1, 3 }, { 3, 4 } },	/* has a number twice */
		{ { 5, 5 }, { 1, 1 } },	/* descends */
		{ { 1, U32_MAX }, { U32_MAX, U32_MAX } },
	};
	u32 i;

	for (i = 0; i <= 4; i++)
		CHECK(chosen_valid(good, i));
	for (i = 0; i < 5; i++)
		CHECK(!chosen_valid(wrong[i], 2));
	CHECK(chosen_valid(wrong[2], 1));
	CHECK(!chosen_valid(wrong[0], 1));
}

static void test_numbers(void)
{
	struct chosen_range ranges[CHOSEN_MOST];
	int i;

	for (i = 0; i < 20000; i++) {
		struct chosen_place place = { 0, 0 };
		u32 count = random_u64() % (CHOSEN_MOST + 1), last = 0, k;
		u64 number;

		for (k = 0; k < count; k++) {
			ranges[k].first = last + 1 + random_u64() % 4;
			ranges[k].last = ranges[k].first + random_u64() % 3;
			last = ranges[k].last;
		}
		CHECK(chosen_valid(ranges, count));
		for (number = 1; number <= last + 3; number++) {
			CHECK_EQ(chosen_next(ranges, count, &place),
				 chosen_has(ranges, count, number));
			CHECK_EQ(place.number, number);
		}
		CHECK_EQ(place.range, count);
	}
}

static void test_large_numbers(void)
{
	static const struct chosen_range all = { 1, U32_MAX };
	struct chosen_place place = { U32_MAX - 1, 0 };

	CHECK(chosen_next(&all, 1, &place));
	CHECK(!chosen_next(&all, 1, &place));
	CHECK_EQ(place.number, 1ULL << 32);
	/* Numbers do not begin again at 1 behind the last one of 32 bits */
	CHECK(!chosen_next(&all, 1, &place));
}

static void test_chosen(void)
{
	test_valid_lists();
	test_numbers();
	test_large_numbers();
}

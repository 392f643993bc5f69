// SPDX-License-Identifier: GPL-2.0-only
/*
 * core/packetpair.h: the formula against least squares in double precision, the
 * rules for a flight one by one, and the estimates of a simulated sender.
 *
 * Deviations of these oracles from the papers: the rules for a flight are those
 * of core/packetpair.h. Keshav and Hoe have none.
 */

#include "check.h"
#include "path.h"
#include "../core/packetpair.h"

/* Least squares over n points, the first at the origin, in the textbook form */
static double slope(const double *t, const double *y, int n)
{
	double tm = 0, ym = 0, over = 0, under = 0;
	int i;

	for (i = 0; i < n; i++) {
		tm += t[i] / n;
		ym += y[i] / n;
	}
	for (i = 0; i < n; i++) {
		over += (t[i] - tm) * (y[i] - ym);
		under += (t[i] - tm) * (t[i] - tm);
	}
	return over / under * 1e6;
}

static void test_pair_rate(void)
{
	int i, n;

	for (i = 0; i < 200000; i++) {
		double t[3] = { 0 }, y[3] = { 0 };
		u64 rate;

		t[1] = (double)random_bits(23);
		t[2] = t[1] + (double)random_bits(23) + 1;
		y[1] = (double)random_bits(30);
		y[2] = y[1] + (double)random_bits(30);
		n = 2 + (int)(random_u64() & 1);
		if (n == 2)
			t[1]++;
		rate = pp_rate(n, (u64)t[1], (u64)y[1], n == 3 ? (u64)t[2] : 0,
			       n == 3 ? (u64)y[2] : 0);
		CHECK_NEAR(from_q10(rate),
			   fmin(slope(t, y, n), 281474976710656.0), 1 / 1e5, 1);
	}
	CHECK_EQ(pp_rate(2, 1200, 1500, 0, 0), 1250000 << 10);
	CHECK_EQ(pp_rate(3, 1, CORE_BYTES_MAX, 1, CORE_BYTES_MAX), CORE_BW_MAX);
	/* a divisor just above 32 bits is halved, not cut */
	CHECK_EQ(pp_rate(2, 65536, 1000001, 0, 0), 15625015625ULL);
	CHECK_EQ(pp_rate(2, 65535, 1000001, 0, 0), 15625254047ULL);
}

/* ACK i of a flight of ten segments sent at once, with 1200 us between ACKs */
static struct pp_ack flight_ack(u32 i)
{
	return (struct pp_ack){
		.time_us = 4294960000U + 1200 * i,
		.sent_us = 4294860000U,
		.una = 4294966000U + 1500 * i,
		.nxt = 4294966000U + 15000,
		.segments = 2,
		.valid = true,
	};
}

/* Return what a second ACK that differs in this way gives; 0: it is refused */
static u64 second_ack(s32 time_us, s32 sent_us, s32 una, bool valid)
{
	struct packet_pair p = { 0 };
	struct pp_ack first = flight_ack(1), ack = flight_ack(2);
	u64 rate;

	CHECK_EQ(pp_ack(&p, &first, 2), 0);
	ack.time_us += time_us;
	ack.sent_us += sent_us;
	ack.una += una;
	ack.valid = valid;
	rate = pp_ack(&p, &ack, 2);
	CHECK_EQ(p.refused, !rate);
	CHECK_EQ(p.count, rate ? 255 : valid);
	return rate;
}

static void test_pair_rules(void)
{
	s32 until_end = 15000 - 3000;	/* of the flight, from the second ACK */

	CHECK_EQ(second_ack(0, 0, 0, true), 1250000 << 10);
	CHECK_EQ(second_ack(0, 0, 0, false), 0);
	/* more data, but not the last of the flight */
	CHECK_EQ(second_ack(0, 0, -1500, true), 0);
	CHECK(second_ack(0, 0, -1499, true));
	CHECK_EQ(second_ack(0, 0, until_end, true), 0);
	CHECK(second_ack(0, 0, until_end - 1, true));
	/* later, and within the longest time */
	CHECK_EQ(second_ack(-1200, 0, 0, true), 0);
	CHECK_EQ(second_ack(-1300, 0, 0, true), 0);
	CHECK(second_ack(-1199, 0, 0, true));
	CHECK(second_ack(16777215 - 1200, 0, 0, true));
	CHECK_EQ(second_ack(16777216 - 1200, 0, 0, true), 0);
	/* back to back: within an eighth of 1200 us, and not before the first */
	CHECK(second_ack(0, 150, 0, true));
	CHECK_EQ(second_ack(0, 151, 0, true), 0);
	CHECK_EQ(second_ack(0, -1, 0, true), 0);
	/* at most a millisecond */
	CHECK(second_ack(8000 - 1200, 1000, 0, true));
	CHECK_EQ(second_ack(80000 - 1200, 1001, 0, true), 0);
	/* a round trip of 100 ms apart */
	CHECK_EQ(second_ack(100000 - 1200, 100000, 0, true), 0);
}

/* Return the rate of two ACKs of so many segments, the second one late */
static u64 late_rate(u32 first_segments, u32 second_segments, u32 late_us)
{
	struct packet_pair p = { 0 };
	struct pp_ack first = flight_ack(1), second = flight_ack(2);

	first.segments = first_segments;
	second.segments = second_segments;
	second.time_us += late_us;
	pp_ack(&p, &first, 2);
	return pp_ack(&p, &second, 2);
}

static u64 segments_rate(u32 first_segments, u32 second_segments)
{
	return late_rate(first_segments, second_segments, 0);
}

static void test_pair_segments(void)
{
	CHECK(segments_rate(1, 1));
	CHECK(segments_rate(1, 2));
	CHECK(segments_rate(2, 2));
	CHECK_EQ(segments_rate(2, 1), 0);
	CHECK_EQ(segments_rate(255, 254), 0);
	CHECK(segments_rate(256, 255));
	CHECK_EQ(segments_rate(256, 254), 0);
	/* a single segment that the receiver may have waited with */
	CHECK(late_rate(1, 1, 20000 - 1200 - 1));
	CHECK_EQ(late_rate(1, 1, 20000 - 1200), 0);
	CHECK(late_rate(1, 2, 40000));
}

/* Such an ACK after two others, as a connection showed 0.40 of 9.57 Mbit/s */
static void test_pair_delayed_third_ack(void)
{
	struct packet_pair p = { 0 };
	struct pp_ack ack;
	u32 i;

	for (i = 1; i <= 3; i++) {
		ack = flight_ack(i);
		ack.segments = 1;
		if (i == 3)
			ack.time_us += 40960;
		CHECK_EQ(pp_ack(&p, &ack, 3), 0);
	}
	CHECK_EQ(p.refused, 1);
	CHECK_EQ(p.count, 1);
}

static void test_pair_third_ack(void)
{
	struct pp_ack first = flight_ack(1), second = flight_ack(2);
	struct pp_ack third = flight_ack(3);
	struct packet_pair p = { 0 }, q;

	pp_ack(&p, &first, 3);
	CHECK_EQ(pp_ack(&p, &second, 3), 0);
	CHECK_EQ(p.count, 2);
	/* sent until the second left the bottleneck, and an eighth of 2400 us */
	q = p;
	third.sent_us += 1500;
	CHECK_EQ(pp_ack(&q, &third, 3), 1250000 << 10);
	q = p;
	third.sent_us++;
	CHECK_EQ(pp_ack(&q, &third, 3), 0);
	CHECK_EQ(q.refused, 1);
	CHECK_EQ(q.count, 1);
	CHECK_EQ(q.first_us, third.time_us);
	/* ACKs of one microsecond, or of the same data, are no two points */
	third = flight_ack(3);
	third.time_us = second.time_us;
	q = p;
	CHECK_EQ(pp_ack(&q, &third, 3), 0);
	third = flight_ack(3);
	third.una = second.una;
	q = p;
	CHECK_EQ(pp_ack(&q, &third, 3), 0);
	CHECK_EQ(q.refused, 1);
	/* three points that are not on a line */
	third = flight_ack(3);
	third.time_us += 600;
	CHECK_NEAR(from_q10(pp_ack(&p, &third, 3)), 986842.1, 1 / 1e6, 0);
	/* further ACKs do not count */
	q = p;
	first.valid = false;
	CHECK_EQ(pp_ack(&p, &first, 3), 0);
	CHECK(!memcmp(&p, &q, sizeof(p)));
}

static void test_pair_refused(void)
{
	struct packet_pair p = { 0 };
	struct pp_ack ack = flight_ack(1);
	u32 i;

	ack.valid = false;
	for (i = 1; i <= 70000; i++) {
		CHECK_EQ(pp_ack(&p, &ack, 2), 0);
		CHECK_EQ(p.refused, i < 65535 ? i : 65535);
	}
	for (i = 1; i <= 2; i++) {
		ack = flight_ack(i);
		CHECK_EQ(!!pp_ack(&p, &ack, 2), i == 2);
	}
	CHECK_EQ(sizeof(p), 28);
}

/* Let what was written arrive; return the estimate divided by the path's rate */
static double path_estimate(struct path *path, struct packet_pair *p,
			    u32 wanted)
{
	struct path_ack got;
	u64 rate = 0;

	while (!rate && path_next(path, &got)) {
		const struct pp_ack ack = {
			.time_us = got.time_us, .sent_us = got.sent_us,
			.una = got.una, .nxt = got.nxt, .valid = true,
			.segments = got.segments,
		};

		rate = pp_ack(p, &ack, wanted);
	}
	return from_q10(rate) / PATH_BYTES_PER_S;
}

/* Every initial window gives the path's rate, with and without delayed ACKs */
static void test_pair_initial_windows(void)
{
	u32 window, delayed, wanted;

	for (window = 1; window <= 10; window++) {
		for (delayed = 0; delayed <= 1; delayed++) {
			for (wanted = 2; wanted <= 3; wanted++) {
				struct path path = path_of(window, delayed);
				struct packet_pair p = { 0 };

				path_write(&path, 100);
				CHECK_NEAR(path_estimate(&path, &p, wanted), 1,
					   1 / 1e6, 0);
				CHECK(path.una < 24);
				CHECK(p.refused < 8);
			}
		}
	}
}

/*
 * Responses of some segments, each after a pause, and then much data. ACKs of
 * responses are a pause apart. A last segment that is alone at the receiver is
 * acknowledged 40 ms late. Neither may count.
 */
static void test_pair_responses(void)
{
	u32 response, wanted, i;

	for (response = 1; response <= 3; response++) {
		for (wanted = 2; wanted <= 3; wanted++) {
			struct path path = path_of(10, true);
			struct packet_pair p = { 0 };

			for (i = 0; i < 10; i++) {
				path_write(&path, response);
				CHECK(!path_estimate(&path, &p, wanted));
			}
			CHECK_EQ(p.refused, response == 3 ? 19 : 9);
			path_write(&path, 100);
			CHECK_NEAR(path_estimate(&path, &p, wanted), 1, 1 / 1e6,
				   0);
		}
	}
}

static void test_packetpair(void)
{
	test_pair_rate();
	test_pair_rules();
	test_pair_segments();
	test_pair_delayed_third_ack();
	test_pair_third_ack();
	test_pair_refused();
	test_pair_initial_windows();
	test_pair_responses();
}

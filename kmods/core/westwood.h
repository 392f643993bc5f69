/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The three filters of TCP Westwood before Westwood+, as TIBET's authors give
 * them: A. Capone, L. Fratta, F. Martignon, "Bandwidth Estimation Schemes for
 * TCP over Wireless Networks", section 2.2.3. d is the time since the last ACK,
 * and s[k] the acknowledged bytes divided by d:
 *
 *   1:  B[k] = (1 - p) * (s[k] + s[k-1]) / 2 + p * B[k-1],  p = 19/21
 *   2:  the same with p = (2 tau - d) / (2 tau + d)
 *   3:  B[k] = (1 - p[k]) * s[k] + p[k] * B[k-1],
 *       p[k] = (2 tau[k] - d) / (2 tau[k] + d), s[k] over an interval T[k]
 *
 * The weights sum up to at most 21, and 21 * 2^58 < 2^63.
 */
#ifndef CORE_WESTWOOD_H
#define CORE_WESTWOOD_H

#include "arith.h"

#define WW1_OLD_WEIGHT 19
#define WW1_WEIGHTS 21

struct westwood {
	u64	bw;		/* the estimate, q10 bytes/s */
	u64	sample;		/* the last sample, q10 bytes/s */
};

/* One step of filter 1: both samples have the weight (1 - p) / 2 = 1/21 */
static inline void ww1_update(struct westwood *w, u64 sample)
{
	w->bw = core_div_nearest(WW1_OLD_WEIGHT * w->bw + sample + w->sample,
				 WW1_WEIGHTS);
	WRITE_ONCE(w->sample, sample);
}

/*
 * Return 1 - p = 2d / (2 tau + d), q32. For d > 2 tau the pole p would be
 * negative and the filter would oscillate. p is 0 there, so the gain never
 * exceeds 1.
 */
static inline u64 ww_gain(u32 elapsed_us, u32 tau_us)
{
	u64 elapsed = elapsed_us;

	if (elapsed >= 2 * (u64)tau_us)
		return CORE_ONE_Q32;
	return 2 * div64_u64(elapsed << 32, 2 * (u64)tau_us + elapsed);
}

/*
 * Return 0.6^n, q32, by squaring: the effect of n samples that are tau/2 apart,
 * whose pole is (2 tau - tau/2) / (2 tau + tau/2). From n = 44 on it is 0.
 */
#define WW2_IDLE_POLE_Q32 2576980378ULL

static inline u64 ww2_idle_pole(u32 n)
{
	u64 power = WW2_IDLE_POLE_Q32, result = CORE_ONE_Q32;

	if (n >= 44)
		return 0;
	for (; n; n >>= 1) {
		if (n & 1)
			result = core_mul_q32(result, power);
		power = core_mul_q32(power, power);
	}
	return result;
}

/*
 * One step of filter 2. With zero_samples it adds an empty sample for each
 * tau/2 without an ACK, as Mascolo et al. do (Wireless Networks 8, 2002, [4] in
 * the paper); the paper's pseudo-code has no such samples. Here they are added
 * all at once. The first is averaged with the last real sample and gives
 * B = 0.6 B + 0.2 s. Each other one gives B = 0.6 B.
 */
static inline void ww2_update(struct westwood *w, u64 sample, u32 elapsed_us,
			      u32 tau_us, bool zero_samples)
{
	u32 half_us = tau_us / 2;

	if (zero_samples && half_us && elapsed_us > half_us) {
		u32 n = (elapsed_us - 1) / half_us;

		w->bw = core_blend(w->bw, w->sample / 2,
				   CORE_ONE_Q32 - WW2_IDLE_POLE_Q32);
		w->bw = core_mul_q32(w->bw, ww2_idle_pole(n - 1));
		WRITE_ONCE(w->sample, 0);
		elapsed_us -= n * half_us;
	}
	w->bw = core_blend(w->bw, (sample + w->sample) / 2,
			   ww_gain(elapsed_us, tau_us));
	WRITE_ONCE(w->sample, sample);
}

/*
 * T[k] and tau[k] are not in TIBET's text, but in its reference [10] (Wang et
 * al., "Adaptive Bandwidth Share Estimation in TCP Westwood", Globecom 2002).
 * This is an interpretation of that scheme, which may differ from the original:
 *
 *   T[k] = RTT * (VE - B) / VE with VE = cwnd / RTTmin, the rate without
 *          queues. T[k] is up to a round trip in congestion, a single ACK
 *          without it.
 *   tau[k] = RTT * (1 + N * U / Umax) with N = 10: the filter is slow while
 *          samples are unstable.
 *   U[k] = 0.6 * U[k-1] + 0.4 * |s[k] - s[k-1]|. Umax is the largest of the
 *          last five to ten U (two blocks of five).
 *
 * The bytes of the last T[k] come from two blocks of that length: all bytes of
 * the current block, and the share of the previous block that is within T[k].
 */
#define WW3_OLD_INSTABILITY 3
#define WW3_INSTABILITIES 5
#define WW3_BLOCK 5

struct westwood3 {
	u64	bw;		/* the estimate, q10 bytes/s */
	u64	sample;		/* the last sample, q10 bytes/s */
	u64	instability;	/* U, q10 bytes/s */
	u64	block_max;	/* largest U of the current block of samples */
	u64	last_block_max;	/* largest U of the previous block */
	u32	samples;	/* samples in the current block */
	u32	span_us;	/* T of the current block of bytes; 0: none */
	u32	into_us;	/* time of the last ACK since its begin */
	u32	bytes;		/* bytes acknowledged in it */
	u32	last_bytes;	/* bytes acknowledged in the previous block */
	bool	first;		/* there is no previous block */
};

/* Return T[k]; at 0 each ACK is a sample */
static inline u32 ww3_span_us(u64 bw, u32 cwnd_bytes, u32 rtt_us,
			      u32 rtt_min_us)
{
	u64 needed = core_bdp_bytes(bw, rtt_min_us);

	if (needed >= cwnd_bytes)
		return 0;
	return core_scale(rtt_us, cwnd_bytes - (u32)needed, cwnd_bytes);
}

/* Return s[k]; an ACK that comes after T[k] or more is a sample by itself */
static inline u64 ww3_sample(struct westwood3 *w, u32 bytes, u32 elapsed_us,
			     u32 span_us)
{
	u64 within;

	if (elapsed_us >= span_us) {
		WRITE_ONCE(w->span_us, 0);
		return core_rate(bytes, elapsed_us);
	}
	if (!w->span_us) {
		w->first = true;
		WRITE_ONCE(w->span_us, span_us);
		w->into_us = elapsed_us;
		w->bytes = 0;
	} else {
		w->into_us += elapsed_us;
	}
	if (w->into_us >= w->span_us) {
		w->into_us = min_t(u32, w->into_us - w->span_us, span_us);
		WRITE_ONCE(w->span_us, span_us);
		w->last_bytes = w->bytes;
		w->bytes = 0;
		w->first = false;
	}
	w->bytes += bytes;
	if (w->first)
		return core_rate(w->bytes, w->into_us);
	within = core_scale(w->last_bytes, w->span_us - w->into_us, w->span_us);
	return core_rate(w->bytes + within, w->span_us);
}

/* Return tau[k]; get_info calls it, too */
static inline u32 ww3_tau_us(const struct westwood3 *w, u32 rtt_us, u32 n)
{
	u64 top = max_t(u64, READ_ONCE(w->block_max),
			READ_ONCE(w->last_block_max));
	u64 now = min_t(u64, READ_ONCE(w->instability), top);

	if (!top)
		return rtt_us;
	while (top > U32_MAX) {
		top >>= 1;
		now >>= 1;
	}
	return min_t(u64, rtt_us + core_scale((u64)rtt_us * n, now, top),
		     U32_MAX);
}

/* One step of filter 3; n is N above */
static inline void ww3_update(struct westwood3 *w, u64 sample, u32 elapsed_us,
			      u32 rtt_us, u32 n)
{
	u64 change = sample > w->sample ? sample - w->sample :
					  w->sample - sample;
	u64 block_max = w->block_max, instability, gain;

	instability = core_div_nearest(WW3_OLD_INSTABILITY * w->instability +
				       (WW3_INSTABILITIES -
					WW3_OLD_INSTABILITY) * change,
				       WW3_INSTABILITIES);
	WRITE_ONCE(w->instability, instability);
	if (w->samples == WW3_BLOCK) {
		WRITE_ONCE(w->last_block_max, w->block_max);
		block_max = 0;
		w->samples = 0;
	}
	w->samples++;
	WRITE_ONCE(w->block_max, max_t(u64, block_max, instability));
	gain = ww_gain(elapsed_us, ww3_tau_us(w, rtt_us, n));
	WRITE_ONCE(w->bw, core_blend(w->bw, sample, gain));
	w->sample = sample;
}

#endif /* CORE_WESTWOOD_H */

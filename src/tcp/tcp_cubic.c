// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/tcp_cubic.h"

enum {
    WINDOW_MAX = 1 << 30,  // RFC 7323 2.3
    // After this time the curve has reached the largest window even with the smallest segments:
    // 2^30 / 64 segments are C times the cube of 347 s.
    TIME_MAX_MS = 350 * 1000,
    // The slope of the Reno-friendly window: alpha = 3 (1 - beta) / (1 + beta) (RFC 9438 4.3).
    ALPHA_OVER = 9,
    ALPHA_UNDER = 17,
};

// cubic_root: computes the root bit by bit, from the highest bit down.
uint32_t cubic_root(uint64_t x)
{
    uint64_t root = 0;
    for (int bit = 63; bit >= 0; bit -= 3) {
        root *= 2;
        const uint64_t step = 3 * root * (root + 1) + 1;
        if (x >> bit >= step) {
            x -= step << bit;
            root++;
        }
    }
    return (uint32_t)root;
}

// K = cbrt((W_max - cwnd) / C), in segments and seconds: times 10^9 / 0.4 in milliseconds.
uint32_t cubic_k_ms(uint32_t w_max, uint32_t cwnd, uint32_t mss)
{
    return cubic_root((uint64_t)(w_max - cwnd) * 2500000000u / mss);
}

// C t^3 in bytes: 0.4 mss (ms / 1000)^3 = ms^3 mss / (2.5 10^9). The truncation is less than a
// thousandth of a byte.
static uint64_t cube_bytes(uint32_t ms, uint32_t mss)
{
    const uint64_t t = MIN(ms, (uint32_t)TIME_MAX_MS);
    return t * t * t / 128 * mss / (2500000000u / 128);
}

static_assert(2500000000u % 128 == 0, "the division by 128 is exact");

uint32_t cubic_window(const struct cubic *q, uint32_t mss, uint32_t t_ms)
{
    if (t_ms >= q->k_ms)
        return (uint32_t)MIN(q->w_max + cube_bytes(t_ms - q->k_ms, mss), (uint64_t)WINDOW_MAX);
    const uint64_t below = cube_bytes(q->k_ms - t_ms, mss);
    return below < q->w_max ? q->w_max - (uint32_t)below : 0;
}

static void begin_epoch(struct cubic *q, uint32_t cwnd, uint32_t mss, uint32_t now_ms)
{
    q->epoch_ms = now_ms | (now_ms == 0);
    q->w_est = cwnd;
    q->w_est_frac = q->cwnd_frac = 0;
    q->k_ms = q->w_max > cwnd ? cubic_k_ms(q->w_max, cwnd, mss) : 0;
    q->w_max = MAX(q->w_max, cwnd);
}

// add: adds bytes in units of 2^-16 to a window and its fraction.
static void add(uint32_t *window, uint16_t *frac, uint64_t bytes16)
{
    const uint64_t sum = ((uint64_t)*window << 16 | *frac) + bytes16;
    *window = (uint32_t)MIN(sum >> 16, (uint64_t)WINDOW_MAX);
    *frac = (uint16_t)sum;
}

// grow_w_est: RFC 9438 4.3, figure 4: the estimated window of Reno.
static void grow_w_est(struct cubic *q, uint32_t cwnd, uint32_t mss, uint32_t acked,
                       uint32_t cwnd_prior)
{
    const uint64_t bytes16 = ((uint64_t)mss << 16) * acked / cwnd;
    add(&q->w_est, &q->w_est_frac,
        q->w_est < cwnd_prior ? bytes16 * ALPHA_OVER / ALPHA_UNDER : bytes16);
}

uint32_t cubic_acked(struct cubic *q, uint32_t cwnd, uint32_t mss, uint32_t acked, uint32_t now_ms,
                     uint32_t rtt_ms, uint32_t cwnd_prior)
{
    if (q->epoch_ms == 0)
        begin_epoch(q, cwnd, mss, now_ms);
    acked = MIN(acked, cwnd);
    grow_w_est(q, cwnd, mss, acked, cwnd_prior);
    const int32_t since_ms = (int32_t)(now_ms - q->epoch_ms);  // -1: an epoch at 0 is stored as 1
    const uint32_t t_ms = (uint32_t)MAX(since_ms, 0);
    if (cubic_window(q, mss, t_ms) < q->w_est)
        return MAX(cwnd, q->w_est);  // the Reno-friendly region
    // 4.4, 4.5: the concave or convex region; cwnd grows to at most 1.5 times in a round trip.
    const uint32_t most = (uint32_t)MIN(cwnd + (uint64_t)cwnd / 2, (uint64_t)WINDOW_MAX);
    const uint32_t target = MIN(MAX(cubic_window(q, mss, t_ms + rtt_ms), cwnd), most);
    add(&cwnd, &q->cwnd_frac, (((uint64_t)(target - cwnd) << 32) / cwnd * acked) >> 16);
    return cwnd;
}

void cubic_event(struct cubic *q, uint32_t cwnd)
{
    q->prior_w_max = q->w_max;
    q->w_max = cwnd < q->w_max ? (uint32_t)((uint64_t)cwnd * 17 / 20) : cwnd;
    q->epoch_ms = 0;
}

void cubic_timeout(struct cubic *q)
{
    q->w_max = 0;
    q->epoch_ms = 0;
}

void cubic_undo(struct cubic *q)
{
    q->w_max = q->prior_w_max;
    q->epoch_ms = 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// tcp_cubic.h: CUBIC (RFC 9438) in integers: bytes, milliseconds, no clock and no connection.
//
//   cwnd ^            W_max . . . . . . . . . __------        C = 0.4 segments/s^3
//        |\                            __---/         /       beta = 0.7
//        | \                       _--/              /
//        |  \ beta              _-/                _/         W(t) = C (t - K)^3 + W_max
//        |   \________-------/
//        +----+--------------------------------+-----> t
//             epoch begins                     K
#pragma once
#include "mem/block.h"

// cubic_root: the integer part of the cube root.
uint32_t cubic_root(uint64_t x);

// cubic_k_ms: K of RFC 9438 4.2: the time in which the curve rises from cwnd, below w_max, to
// w_max.
uint32_t cubic_k_ms(uint32_t w_max, uint32_t cwnd, uint32_t mss);

// cubic_window: W_cubic(t) (RFC 9438 4.2, figure 1), t_ms after the begin of the epoch; at most
// 2^30.
uint32_t cubic_window(const struct cubic *q, uint32_t mss, uint32_t t_ms);

// cubic_acked: the new congestion window after `acked` bytes in congestion avoidance (RFC 9438 4.2
// to 4.5). Begins an epoch if none has begun. cwnd_prior: the window before the last congestion
// event (4.3).
uint32_t cubic_acked(struct cubic *q, uint32_t cwnd, uint32_t mss, uint32_t acked, uint32_t now_ms,
                     uint32_t rtt_ms, uint32_t cwnd_prior);

// cubic_event: a congestion event at window cwnd: sets W_max, with fast convergence (4.7), and ends
// the epoch. cubic_timeout: after it the next epoch begins at the end of slow start (4.8).
void cubic_event(struct cubic *q, uint32_t cwnd);
void cubic_timeout(struct cubic *q);

// cubic_undo: reverts the last event, which was false (4.9).
void cubic_undo(struct cubic *q);

// cubic_rest: excludes a time of ms, in which cwnd did not limit sending, from the time of the
// curve (4.2, the application-limited case).
static inline void cubic_rest(struct cubic *q, uint32_t ms)
{
    if (q->epoch_ms != 0)
        q->epoch_ms = (q->epoch_ms + ms) | (q->epoch_ms + ms == 0);
}

// cubic_beta: the window after a loss (4.6). cubic_beta_ecn: after an ECE: a router that marks has
// a short queue, so that a smaller reduction drains it (RFC 8511 3.1).
static inline uint32_t cubic_beta(uint32_t window)
{
    return (uint32_t)((uint64_t)window * 7 / 10);
}

static inline uint32_t cubic_beta_ecn(uint32_t window)
{
    return (uint32_t)((uint64_t)window * 17 / 20);
}

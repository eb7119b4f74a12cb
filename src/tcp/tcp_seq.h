// SPDX-License-Identifier: BSD-3-Clause
// tcp_seq.h: sequence numbers.
#pragma once
#include "mem/block.h"

// Sequence numbers, RFC 9293 3.4.
static inline bool seq_lt(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

static inline bool seq_leq(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) <= 0;
}

// tcp_flight: bytes sent and not acknowledged.
static inline uint32_t tcp_flight(const struct block *b)
{
    return b->snd_nxt - b->snd_una;
}

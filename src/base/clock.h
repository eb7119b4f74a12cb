// SPDX-License-Identifier: BSD-3-Clause
// clock.h: time as the stack sees it: one reading a turn, handed down as an argument.
#pragma once
#include "base/base.h"

// clock_now: the protocol clock of one turn. Both count from the same start; ms wraps after 49 days
// and is compared by difference only.
struct clock_now {
    uint64_t us;
    uint32_t ms;  // (uint32_t)(us / 1000)
};

static inline struct clock_now clock_at_us(uint64_t us)
{
    return (struct clock_now){us, (uint32_t)(us / 1000)};
}

// time_before: a is earlier than b, both 32-bit clocks that wrap (ms or sequence-like).
static inline bool time_before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

// tsc_read: the cycle counter: feeds stage counters, never the protocol.
static inline uint64_t tsc_read(void)
{
    return __builtin_ia32_rdtsc();
}

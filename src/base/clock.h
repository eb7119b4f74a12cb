// SPDX-License-Identifier: BSD-3-Clause
// clock.h: the time of the stack. It is read once in a turn and passed down as an argument.
#pragma once
#include "base/base.h"

// clock_now: the protocol clock of one turn. us and ms count from the same start. ms wraps after 49
// days; compare it by difference only.
struct clock_now {
    uint64_t us;
    uint32_t ms;  // (uint32_t)(us / 1000)
};

static inline struct clock_now clock_at_us(uint64_t us)
{
    return (struct clock_now){us, (uint32_t)(us / 1000)};
}

// time_before: whether a is earlier than b; both are 32-bit clocks that wrap.
static inline bool time_before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

// tsc_read: the CPU's cycle counter. It measures stages; the protocol never uses it.
static inline uint64_t tsc_read(void)
{
    return __builtin_ia32_rdtsc();
}

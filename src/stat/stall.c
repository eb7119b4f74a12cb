// SPDX-License-Identifier: BSD-3-Clause
#include "stat/stall.h"

// is_whole: entry i is valid while i + STALL_RING > n. The worker may be writing entry n, which
// overwrites entry n - STALL_RING.
static bool is_whole(uint64_t i, uint64_t n)
{
    return n - i < STALL_RING;
}

unsigned stall_take(const struct stall_ring *r, uint64_t *taken, struct stall *out, unsigned max,
                    uint64_t *missed)
{
    const uint64_t n = shared_u64_load_acquire(&r->n);
    const uint64_t first = is_whole(*taken, n) ? *taken : n - (STALL_RING - 1);
    unsigned got = 0, torn = 0;
    for (; got < max && first + got != n; got++)
        out[got] = r->at[(first + got) % STALL_RING];
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    const uint64_t now = shared_u64_load(&r->n);
    while (torn < got && !is_whole(first + torn, now))
        torn++;
    for (unsigned i = torn; i < got; i++)
        out[i - torn] = out[i];
    *missed += first + torn - *taken;
    *taken = first + got;
    return got - torn;
}

const char *stall_stage_name(const struct stall *s)
{
    return s->stage < STAGE_COUNT ? stat_stage_names[s->stage].name : "untimed";
}

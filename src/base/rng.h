// SPDX-License-Identifier: BSD-3-Clause
// rng.h: a seeded random number generator, not for secrets (fault injection, load, tests). Source:
// Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014 (splitmix64).
#pragma once
#include "base/base.h"

struct rng {
    uint64_t state;
};

static inline uint64_t rng_u64(struct rng *r)
{
    uint64_t z = (r->state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

// rng_below: a random number in [0, n), n > 0; its bias is below n / 2^32.
static inline uint32_t rng_below(struct rng *r, uint32_t n)
{
    return (uint32_t)((rng_u64(r) >> 32) * n >> 32);
}

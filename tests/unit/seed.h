// SPDX-License-Identifier: BSD-3-Clause
// seed.h: the seed of a randomized test: C10M_SEED from the environment, else one of its own,
// printed so that a failure can be run again.
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/rng.h"

static inline struct rng test_rng(const char *test)
{
    const char *given = getenv("C10M_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    fprintf(stderr, "%s: C10M_SEED=%llu\n", test, (unsigned long long)seed);
    return (struct rng){seed};
}

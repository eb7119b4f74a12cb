// SPDX-License-Identifier: BSD-3-Clause
// load_histogram.h: a histogram of times with three significant digits over nine decades, in the
// layout of Gil Tene's HdrHistogram (Debian 12 has no package of its C library): each power of two
// from 2048 on has 1024 buckets of equal width, so that no value is off by more than 1 / 1024;
// below, each nanosecond has its own.
//
//   bucket of v  =  shift * 1024 + (v >> shift),   shift = bits of v above the eleventh
#pragma once
#include "base/base.h"

enum {
    LOAD_HISTOGRAM_SUB_BITS = 10,
    LOAD_HISTOGRAM_TOP_BIT = 36,  // values of 2^37 ns, 137 s, and more count as one less than that
    LOAD_HISTOGRAM_BUCKETS = (LOAD_HISTOGRAM_TOP_BIT - LOAD_HISTOGRAM_SUB_BITS + 2)
                             << LOAD_HISTOGRAM_SUB_BITS,
};

// load_histogram: all zero is an empty one. 229 KB, of which a run touches a few lines.
struct load_histogram {
    uint64_t n, max_ns, sum_ns;
    uint64_t count[LOAD_HISTOGRAM_BUCKETS];
};

static inline uint32_t load_histogram_bucket(uint64_t ns)
{
    const uint64_t v = MIN(ns, (UINT64_C(2) << LOAD_HISTOGRAM_TOP_BIT) - 1);
    const uint32_t top = 63 - (uint32_t)__builtin_clzll(v | 1);
    const uint32_t shift = top > LOAD_HISTOGRAM_SUB_BITS ? top - LOAD_HISTOGRAM_SUB_BITS : 0;
    return (shift << LOAD_HISTOGRAM_SUB_BITS) + (uint32_t)(v >> shift);
}

// load_histogram_add: one value.
static inline void load_histogram_add(struct load_histogram *h, uint64_t ns)
{
    h->n++;
    h->sum_ns += ns;
    h->max_ns = MAX(h->max_ns, ns);
    h->count[load_histogram_bucket(ns)]++;
}

// load_histogram_ns: the least value, to three digits and rounded up, that `part` (0..1) of all
// values do not exceed; 1: the largest, exactly. 0 of an empty histogram.
uint64_t load_histogram_ns(const struct load_histogram *h, double part);

// load_histogram_mean_ns: exactly; 0 of an empty histogram.
double load_histogram_mean_ns(const struct load_histogram *h);

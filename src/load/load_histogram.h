// SPDX-License-Identifier: BSD-3-Clause
// load_histogram.h: a histogram of times with three significant digits over nine decades, in the
// layout of Gil Tene's HdrHistogram (Debian 12 has no package of its C library): each power of two
// from 2048 on has 1024 buckets of equal width, so that the error of a value is at most 1 / 1024.
// Below 2048, each nanosecond has its own bucket.
//
//   bucket of v  =  shift * 1024 + (v >> shift),   shift = number of bits of v above the eleventh
#pragma once
#include "base/base.h"

enum {
    LOAD_HISTOGRAM_SUB_BITS = 10,
    LOAD_HISTOGRAM_TOP_BIT = 36,  // larger values count as 2^37 - 1 ns (137 s)
    LOAD_HISTOGRAM_BUCKETS = (LOAD_HISTOGRAM_TOP_BIT - LOAD_HISTOGRAM_SUB_BITS + 2)
                             << LOAD_HISTOGRAM_SUB_BITS,
};

// load_histogram: all zero is an empty histogram. 229 KB, of which a run uses few cache lines.
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

// load_histogram_add: adds one value.
static inline void load_histogram_add(struct load_histogram *h, uint64_t ns)
{
    h->n++;
    h->sum_ns += ns;
    h->max_ns = MAX(h->max_ns, ns);
    h->count[load_histogram_bucket(ns)]++;
}

// load_histogram_ns: the quantile `part` (0..1), with three significant digits, rounded up; part 1:
// the exact maximum. 0 for an empty histogram.
uint64_t load_histogram_ns(const struct load_histogram *h, double part);

// load_histogram_mean_ns: the exact mean; 0 for an empty histogram.
double load_histogram_mean_ns(const struct load_histogram *h);

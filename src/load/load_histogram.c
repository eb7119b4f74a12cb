// SPDX-License-Identifier: BSD-3-Clause
#include "load/load_histogram.h"

// The largest value in bucket b.
static uint64_t bucket_end(uint32_t b)
{
    const uint32_t half = 1u << LOAD_HISTOGRAM_SUB_BITS;
    const uint32_t shift = b < 2 * half ? 0 : b / half - 1;
    const uint64_t sub = b - shift * half;
    return ((sub + 1) << shift) - 1;
}

uint64_t load_histogram_ns(const struct load_histogram *h, double part)
{
    const double exact = part * (double)h->n;
    const uint64_t below = (uint64_t)exact, want = below + ((double)below < exact);
    uint64_t sum = 0;
    if (part >= 1)
        return h->max_ns;
    for (uint32_t b = 0; b < LOAD_HISTOGRAM_BUCKETS; b++) {
        sum += h->count[b];
        if (sum != 0 && sum >= want)
            return MIN(bucket_end(b), h->max_ns);
    }
    return 0;
}

double load_histogram_mean_ns(const struct load_histogram *h)
{
    return h->n == 0 ? 0 : (double)h->sum_ns / (double)h->n;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "stat/latency.h"

#include <inttypes.h>
#include <math.h>

#include "stat/counters.h"

const struct latency_quantile latency_quantiles[LATENCY_QUANTILES] = {
    {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99_9", 0.999}, {"p99_99", 0.9999}};

void latency_snapshot(struct latency *dst, const struct latency *src)
{
    for (unsigned i = 0; i < LATENCY_BUCKETS; i++)
        dst->counts[i] = stat_load(&src->counts[i]);
    dst->max_cycles = stat_load(&src->max_cycles);
}

void latency_since(struct latency *now, const struct latency *before)
{
    uint64_t top = 0;
    for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
        now->counts[i] -= before->counts[i];
        if (now->counts[i] != 0)
            top = latency_top(i);
    }
    now->max_cycles = MIN(now->max_cycles, top);
}

void latency_sum(struct latency *l, const struct latency *other)
{
    for (unsigned i = 0; i < LATENCY_BUCKETS; i++)
        l->counts[i] += other->counts[i];
    l->max_cycles = MAX(l->max_cycles, other->max_cycles);
}

uint64_t latency_count(const struct latency *l)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < LATENCY_BUCKETS; i++)
        n += l->counts[i];
    return n;
}

uint64_t latency_at(const struct latency *l, double quantile)
{
    const uint64_t n = latency_count(l);
    const uint64_t rank = MAX((uint64_t)ceil(quantile * (double)n), 1u);
    uint64_t below = 0;
    for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
        below += l->counts[i];
        if (below >= rank)
            return MIN(latency_top(i), l->max_cycles);
    }
    return 0;
}

static uint64_t to_ns(uint64_t cycles, uint64_t tsc_hz)
{
    return (uint64_t)((unsigned __int128)cycles * 1000000000 / tsc_hz);
}

void latency_render(struct text *out, const struct latency *l, const char *prefix, const char *what,
                    uint64_t tsc_hz)
{
    text_printf(out, "%s%s %" PRIu64 "\n", prefix, what, latency_count(l));
    for (unsigned i = 0; i < LATENCY_QUANTILES; i++)
        text_printf(out, "%s%s_ns %" PRIu64 "\n", prefix, latency_quantiles[i].name,
                    to_ns(latency_at(l, latency_quantiles[i].at), tsc_hz));
    text_printf(out, "%smax_ns %" PRIu64 "\n", prefix, to_ns(l->max_cycles, tsc_hz));
    for (uint32_t i = 0; i < LATENCY_BUCKETS; i++)
        if (l->counts[i] != 0)
            text_printf(out, "%sbucket_le_%" PRIu64 " %" PRIu64 "\n", prefix,
                        to_ns(latency_top(i), tsc_hz), l->counts[i]);
}

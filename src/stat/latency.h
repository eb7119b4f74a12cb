// SPDX-License-Identifier: BSD-3-Clause
// latency.h: histograms of the lengths of a worker's turns, in cycles. The worker is the only
// writer; the control thread reads the words as it reads counters.
//
// Packets that rx_burst returns are answered, and passed to tx_burst, in the same turn. The length
// of a turn is therefore the time from rx to tx of each of its packets, plus their first and last
// stage. It is added once for each turn, weighted by the packets received. Idle turns are counted
// separately, once each. They show how much time the machine takes from the core (interrupts, other
// threads, the hypervisor). As an idle turn is shorter, and thus interrupted less often, they are a
// strict reference.
//
// Buckets are log-linear: exact below 32 cycles, then 16 in each octave, so that the ends of a
// bucket differ by at most a sixteenth.
#pragma once
#include "base/text.h"

enum {
    LATENCY_SUB_BITS = 4,
    LATENCY_SUBS = 1 << LATENCY_SUB_BITS,
    LATENCY_BITS = 36,  // 2^36 cycles: 17 s at 4 GHz; longer times go to the last bucket
    LATENCY_BUCKETS = (LATENCY_BITS - LATENCY_SUB_BITS + 1) * LATENCY_SUBS,
};

struct latency {
    uint64_t counts[LATENCY_BUCKETS];
    uint64_t max_cycles;
    uint64_t notice_cycles;  // the writer examines longer turns
} CACHE_ALIGNED;

// latency_bucket: the bucket of a time. latency_top: the longest time of a bucket.
static inline uint32_t latency_bucket(uint64_t cycles)
{
    const uint64_t v = MIN(cycles, (1ull << LATENCY_BITS) - 1);
    const uint32_t shift = 63 - LATENCY_SUB_BITS - (uint32_t)__builtin_clzll(v | LATENCY_SUBS);
    return (shift << LATENCY_SUB_BITS) + (uint32_t)(v >> shift);
}

static inline uint64_t latency_top(uint32_t bucket)
{
    const uint32_t shift = MAX(bucket >> LATENCY_SUB_BITS, 1u) - 1;
    return ((uint64_t)(bucket - (shift << LATENCY_SUB_BITS) + 1) << shift) - 1;
}

// latency_add: adds `cycles` n times, n >= 0. The caller keeps the maximum.
static inline void latency_add(struct latency *l, uint64_t cycles, uint64_t n)
{
    l->counts[latency_bucket(cycles)] += n;
}

// latency_snapshot: copies as stat_snapshot(). latency_since: subtracts *before from *now. The
// maximum becomes the top of the highest bucket in use, because the exact one may be older.
void latency_snapshot(struct latency *dst, const struct latency *src);
void latency_since(struct latency *now, const struct latency *before);

// latency_sum: adds *other to *l.
void latency_sum(struct latency *l, const struct latency *other);

// latency_count: the sum of all buckets. latency_at: the top of the bucket of this quantile (0 to
// 1), at most the maximum; 0 if the histogram is empty. Both of a snapshot.
uint64_t latency_count(const struct latency *l);
uint64_t latency_at(const struct latency *l, double quantile);

// latency_quantiles: the quantiles that are shown, and their names (p50, p90, p99, p99_9, p99_99).
struct latency_quantile {
    const char *name;
    double at;
};
enum { LATENCY_QUANTILES = 5 };
extern const struct latency_quantile latency_quantiles[LATENCY_QUANTILES];

// latency_render: `PREFIXpackets N` (the word is `what`), PREFIXp50_ns to PREFIXp99_99_ns,
// PREFIXmax_ns, then a line `PREFIXbucket_le_NS COUNT` for each bucket in use, not cumulative. Of a
// snapshot.
void latency_render(struct text *out, const struct latency *l, const char *prefix, const char *what,
                    uint64_t tsc_hz);

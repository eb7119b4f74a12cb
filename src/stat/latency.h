// SPDX-License-Identifier: BSD-3-Clause
// latency.h: how long the turns of a worker's loop took, as histograms of cycles. One writer, its
// worker, which adds plainly; the control thread reads words as it reads counters.
//
// What rx_burst brings is answered, and given to tx_burst, in the same turn: a turn's length is the
// time from rx to tx of each of its packets (and a little more: the packets in its first stage and
// housekeeping in its last). It is added once a turn, weighted by the packets received. Turns
// without work are counted apart, each once: they are an idle loop on the same core at the same
// time, so what the machine takes from the core (interrupts, other threads, the hypervisor) shows
// there as well. An idle turn is the shorter one and is hit more rarely: as a yardstick it is
// strict.
//
// Buckets are log-linear: exact below 32 cycles, then 16 an octave, so that a bucket's ends differ
// by at most a sixteenth.
#pragma once
#include "base/text.h"

enum {
    LATENCY_SUB_BITS = 4,
    LATENCY_SUBS = 1 << LATENCY_SUB_BITS,
    LATENCY_BITS = 36,  // 2^36 cycles: 17 s at 4 GHz; what is longer lies in the last bucket
    LATENCY_BUCKETS = (LATENCY_BITS - LATENCY_SUB_BITS + 1) * LATENCY_SUBS,
};

struct latency {
    uint64_t counts[LATENCY_BUCKETS];
    uint64_t max_cycles;
    uint64_t notice_cycles;  // the writer's: what is longer, it looks at
} CACHE_ALIGNED;

// latency_bucket: of a time. latency_top: the longest time of that bucket.
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

// latency_add: n times `cycles`; the maximum is the caller's to keep. n may be 0.
static inline void latency_add(struct latency *l, uint64_t cycles, uint64_t n)
{
    l->counts[latency_bucket(cycles)] += n;
}

// latency_snapshot: a copy, as stat_snapshot makes it. latency_since: what *now has more than
// *before, in *now; its maximum becomes the top of the highest bucket, as the exact one may be of
// earlier.
void latency_snapshot(struct latency *dst, const struct latency *src);
void latency_since(struct latency *now, const struct latency *before);

// latency_sum: *l gets those of *other as well.
void latency_sum(struct latency *l, const struct latency *other);

// latency_count: of all buckets. latency_at: the time that the share `quantile` (0 to 1) of them
// did not exceed: the top of the bucket where it lies, and never more than the maximum; 0 of
// nothing. Of a snapshot.
uint64_t latency_count(const struct latency *l);
uint64_t latency_at(const struct latency *l, double quantile);

// latency_quantiles: those that are shown, and their names (p50, p90, p99, p99_9, p99_99).
struct latency_quantile {
    const char *name;
    double at;
};
enum { LATENCY_QUANTILES = 5 };
extern const struct latency_quantile latency_quantiles[LATENCY_QUANTILES];

// latency_render: `PREFIXpackets N` (the word is `what`), PREFIXp50_ns to PREFIXp99_99_ns,
// PREFIXmax_ns, then one line `PREFIXbucket_le_NS COUNT` for each bucket in use, not cumulative. Of
// a snapshot.
void latency_render(struct text *out, const struct latency *l, const char *prefix, const char *what,
                    uint64_t tsc_hz);

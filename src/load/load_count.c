#include "load/load_internal.h"

const struct load_counters *load_counters(const struct load *l)
{
    return &l->c;
}

uint64_t load_lost(const struct load *l)
{
    const uint64_t all = (uint64_t)l->p.connections * l->p.rounds;
    return (l->p.rounds != 0 ? all : l->c.asked) - l->c.answered;
}

bool load_all_right(const struct load *l)
{
    const struct load_counters *c = &l->c;
    return c->opened == l->p.connections && c->answered != 0 && load_lost(l) == 0 &&
           c->wrong == 0 && c->failed == 0 && (l->p.shared || c->strangers == 0) &&
           (!l->p.close || c->closed == l->p.connections);
}

void load_count_latency(struct load *l, uint32_t us)
{
    const uint32_t v = us + 16, top = 31 - (uint32_t)__builtin_clz(v);
    const uint32_t bucket = (top - 4) * 16 + (v >> (top - 4) & 15);
    l->histogram[MIN(bucket, (uint32_t)LOAD_BUCKETS - 1)]++;
}

double load_percentile_us(const struct load *l, double part)
{
    uint64_t all = 0, sum = 0;
    for (uint32_t b = 0; b < LOAD_BUCKETS; b++)
        all += l->histogram[b];
    for (uint32_t b = 0; b < LOAD_BUCKETS; b++) {
        sum += l->histogram[b];
        if (sum != 0 && (double)sum >= part * (double)all)
            return (double)((16ULL + b % 16) << (b / 16)) - 16;
    }
    return 0;
}

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
    return c->opened == l->p.connections && (c->answered | c->stream_bytes) != 0 &&
           load_lost(l) == 0 && c->wrong == 0 && c->failed == 0 &&
           (l->p.shared || c->strangers == 0) && (!l->p.close || c->closed == l->p.connections);
}

const struct load_hdr *load_latency(const struct load *l)
{
    return &l->latency;
}

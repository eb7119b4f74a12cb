// SPDX-License-Identifier: BSD-3-Clause
#include "load/load_internal.h"

const struct load_counters *load_counters(const struct load *l)
{
    return &l->c;
}

uint64_t load_lost(const struct load *l)
{
    if (l->udp != NULL)
        return l->c.datagrams_lost + l->in_flight;
    const uint64_t all = (uint64_t)l->p.connections * l->p.rounds;
    const bool known = l->p.rounds != 0 && l->p.tuples == 0;
    return (known ? all : l->c.asked) - l->c.answered;
}

static bool full_all_right(const struct load *l)
{
    const struct load_counters *c = &l->c;
    return l->p.tuples == 0 || (c->full_done != 0 && c->full_done == c->full_begun);
}

bool load_all_right(const struct load *l)
{
    const struct load_counters *c = &l->c;
    return (c->opened == l->held || l->udp != NULL) && (c->answered | c->stream_bytes) != 0 &&
           load_lost(l) == 0 && c->wrong == 0 && c->failed == 0 && full_all_right(l) &&
           c->given_up == 0 && c->refused == 0 && (l->p.shared || c->strangers == 0) &&
           (!l->p.close || c->closed == l->held || l->udp != NULL);
}

const struct load_histogram *load_full_time(const struct load *l)
{
    return &l->full_time;
}

const struct load_histogram *load_latency(const struct load *l)
{
    return &l->latency;
}

const struct load_histogram *load_corrected(const struct load *l)
{
    return l->schedule.rate != 0 ? &l->corrected : NULL;
}

const struct load_schedule *load_schedule_of(const struct load *l)
{
    return &l->schedule;
}

uint32_t load_answer_bytes(const struct load *l)
{
    if (l->http == NULL)
        return l->p.payload;
    return l->http->learned ? l->http->answer_bytes : 0;
}

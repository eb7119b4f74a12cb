// SPDX-License-Identifier: BSD-3-Clause
#include "trace/trace_slots.h"

static bool is_open(const struct trace_slot *s)
{
    return s->request != 0 && !s->answered;
}

struct trace_slot *trace_slots_find(struct trace_slots *s, const struct trace_record *of)
{
    for (unsigned i = 0; i < TRACE_SLOTS; i++)
        if (is_open(&s->at[i]) && s->at[i].block == of->id && s->at[i].generation == of->mid)
            return &s->at[i];
    return NULL;
}

static unsigned count_open(const struct trace_slots *s)
{
    unsigned n = 0;
    for (unsigned i = 0; i < TRACE_SLOTS; i++)
        n += is_open(&s->at[i]);
    return n;
}

static struct trace_slot *oldest(struct trace_slots *s)
{
    struct trace_slot *o = NULL;
    for (unsigned i = 0; i < TRACE_SLOTS; i++)
        if (is_open(&s->at[i]) && (o == NULL || s->at[i].request < o->request))
            o = &s->at[i];
    return o;
}

struct trace_slot *trace_slots_take(struct trace_slots *s, const struct trace_record *request)
{
    if (request->id != TRACE_DATAGRAM && count_open(s) >= TRACE_OPEN_MAX)
        return oldest(s);
    for (unsigned i = 0; i < TRACE_SLOTS; i++)
        if (s->at[i].request == 0)
            return &s->at[i];
    return NULL;
}

void trace_slots_settle(struct trace_slots *s)
{
    for (unsigned i = 0; i < TRACE_SLOTS; i++)
        if (s->at[i].answered)
            s->at[i] = (struct trace_slot){.request = 0};
}

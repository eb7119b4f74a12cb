// SPDX-License-Identifier: BSD-3-Clause
#include "trace/trace_cut.h"

void trace_cut_note(struct trace_cut *c, const struct trace_event *e)
{
    switch (e->kind) {
    case TRACE_turn:
        c->turn = *e;
        c->in_turn = !e->end;
        return;
    case TRACE_stage:
        c->stage = *e;
        c->in_stage = !e->end;
        return;
    case TRACE_request:
        c->requests[e->slot] = *e;
        return;
    case TRACE_answer:
        c->requests[e->slot].request = 0;
        return;
    default:
        return;
    }
}

static bool end_slice(bool *is_open, const struct trace_event *of, int64_t ns,
                      struct trace_event *e)
{
    if (!*is_open)
        return false;
    *is_open = false;
    *e = *of;
    e->ns = ns;
    e->end = true;
    return true;
}

static bool end_request(struct trace_event *of, int64_t ns, struct trace_event *e)
{
    if (of->request == 0)
        return false;
    *e = *of;
    e->kind = TRACE_answer;
    e->ns = ns;
    e->forgotten = true;
    of->request = 0;
    return true;
}

bool trace_cut_next(struct trace_cut *c, int64_t ns, struct trace_event *e)
{
    if (end_slice(&c->in_stage, &c->stage, ns, e) || end_slice(&c->in_turn, &c->turn, ns, e))
        return true;
    for (unsigned i = 0; i < TRACE_SLOTS; i++)
        if (end_request(&c->requests[i], ns, e))
            return true;
    return false;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "trace/trace_core.h"

#include <string.h>

#include "trace/trace_turns.h"

int64_t trace_scope_ns(const struct trace_scope *s, uint64_t tsc)
{
    const struct trace_about *a = &s->log->about;
    return (int64_t)((unsigned __int128)(tsc - a->start_tsc) * 1000000000 / a->tsc_hz);
}

void trace_core_init(struct trace_core *c, struct trace_scope *scope, unsigned core)
{
    const struct trace_log_core *from = &scope->log->cores[core];
    c->scope = scope;
    c->chunk = from->first;
    memcpy(c->levels, from->levels, sizeof(c->levels));
}

static bool next_record(struct trace_core *c, struct trace_record *out)
{
    while (c->chunk != NULL && c->at == c->chunk->n) {
        c->chunk = c->chunk->next;
        c->at = 0;
    }
    if (c->chunk == NULL)
        return false;
    *out = c->chunk->at[c->at++];
    return true;
}

static bool is_wanted(const struct trace_core *c, const struct trace_record *p)
{
    return trace_scope_ns(c->scope, p->when) >= c->scope->from_ns;
}

static void take_turn(struct trace_core *c, const struct trace_record *p)
{
    c->turn = *p;
    c->in_turn = true;
    c->has_stages = false;
}

static void take_stages(struct trace_core *c, const struct trace_record *p)
{
    c->packed = *p;
    c->has_stages = true;
}

static void take_end(struct trace_core *c, const struct trace_record *p)
{
    if (c->in_order && c->in_turn && is_wanted(c, p))
        trace_turns_end(c, p);
    else
        trace_turns_timed(c);
    c->in_turn = false;
    c->in_order = true;
}

static void take_gap(struct trace_core *c, const struct trace_record *p)
{
    trace_turns_idle(c);
    trace_turns_forget(c);
    c->missing += MIN(p->id, UINT32_MAX - c->missing);
    c->in_gap = true;
    c->in_order = c->in_turn = false;
}

// end_gap: at the first timed record after it. `lost` is shown where the gap begins, if that is
// within the time that is wanted.
static void end_gap(struct trace_core *c, bool shown)
{
    const struct trace_record lost = {.kind = TRACE_LOST, .id = c->missing};
    if (c->in_gap && shown)
        trace_turns_add(c, c->scope->from_ns, &lost);
    c->missing = 0;
    c->in_gap = false;
}

// begin: the levels that the pools have when what is wanted begins, which may be within a turn.
static void begin(struct trace_core *c)
{
    const int64_t at = c->in_turn ? MIN(c->scope->from_ns, trace_scope_ns(c->scope, c->turn.when))
                                  : c->scope->from_ns;
    for (unsigned i = 0; i < TRACE_POOLS; i++)
        if (c->levels[i].when != 0)
            trace_turns_add(c, MAX(at, trace_scope_ns(c->scope, c->levels[i].when)), &c->levels[i]);
    c->begun = true;
}

// look_at_time: a timed record may be the first after a gap, the first that is wanted, or before.
static void look_at_time(struct trace_core *c, const struct trace_record *p)
{
    const bool wanted = is_wanted(c, p);
    if (!c->begun && wanted)
        begin(c);
    end_gap(c, wanted);
    if (!wanted && p->kind == TRACE_pool && p->small < TRACE_POOLS)
        c->levels[p->small] = *p;
}

static void take(struct trace_core *c, const struct trace_record *p)
{
    if ((!c->begun || c->in_gap) && trace_is_timed(p))
        look_at_time(c, p);
    if (p->kind >= TRACE_KINDS) {
        take_gap(c, p);
    } else if (p->kind == TRACE_turn) {
        take_turn(c, p);
    } else if (p->kind == TRACE_stages) {
        take_stages(c, p);
    } else if (p->kind == TRACE_unfollowed) {
        if (is_wanted(c, p))
            c->scope->not_followed += p->id;
    } else if (p->kind == TRACE_stage) {
        take_end(c, p);
    } else if (c->in_order || trace_is_timed(p)) {
        if (c->n_pending == TRACE_PENDING_MAX)
            trace_turns_idle(c);
        if (!trace_is_timed(p) || is_wanted(c, p))
            c->pending[c->n_pending++] = *p;
    }
}

// put_rest: there are no more records.
static void put_rest(struct trace_core *c)
{
    if (!c->begun)
        begin(c);
    end_gap(c, true);
    trace_turns_idle(c);
}

bool trace_core_refill(struct trace_core *c)
{
    struct trace_record p;
    if (c->next_ready < c->n_ready)
        return true;
    c->next_ready = c->n_ready = 0;
    while (c->n_ready == 0 && next_record(c, &p))
        take(c, &p);
    if (c->n_ready == 0)
        put_rest(c);
    return c->n_ready != 0;
}

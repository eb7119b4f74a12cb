// SPDX-License-Identifier: BSD-3-Clause
#include "trace/trace_turns.h"

#include "stat/trace_stages.h"

static struct trace_event event_of(int64_t ns, const struct trace_record *from)
{
    return (struct trace_event){
        .ns = ns, .kind = from->kind, .small = from->small, .mid = from->mid, .id = from->id};
}

static struct trace_event *show(struct trace_core *c, const struct trace_event *e)
{
    CHECK(c->n_ready < TRACE_READY_MAX);
    struct trace_event *shown = &c->ready[c->n_ready++];
    c->last_ns = MAX(e->ns, c->last_ns);
    *shown = *e;
    shown->ns = c->last_ns;
    return shown;
}

static struct trace_event *add(struct trace_core *c, int64_t ns, const struct trace_record *from)
{
    const struct trace_event e = event_of(ns, from);
    return show(c, &e);
}

void trace_turns_add(struct trace_core *c, int64_t ns, const struct trace_record *from)
{
    add(c, ns, from);
}

static struct trace_event *put_event(struct trace_core *c, int64_t ns,
                                     const struct trace_record *of)
{
    CHECK(c->n_happened < TRACE_HAPPENED_MAX);
    c->happened[c->n_happened] = event_of(ns, of);
    return &c->happened[c->n_happened++];
}

static struct trace_event *put_in_slot(struct trace_core *c, int64_t ns, enum trace_kind kind,
                                       const struct trace_slot *s)
{
    const struct trace_record of = {0, (uint8_t)kind, s->service, s->generation, s->block};
    struct trace_event *e = put_event(c, ns, &of);
    e->slot = (uint8_t)(s - c->slots.at);
    e->request = s->request;
    return e;
}

// put_request: one of the same connection, whose answer was not recorded, is forgotten.
static void put_request(struct trace_core *c, int64_t ns, const struct trace_record *of)
{
    struct trace_slot *s = trace_slots_find(&c->slots, of);
    if (s == NULL)
        s = trace_slots_take(&c->slots, of);
    if (s == NULL)
        return;
    if (s->request != 0)
        put_in_slot(c, ns, TRACE_answer, s)->forgotten = true;
    *s = (struct trace_slot){of->id, of->mid, of->small, false, ++c->scope->requests};
    put_in_slot(c, ns, TRACE_request, s);
}

static void put_answer(struct trace_core *c, int64_t ns, const struct trace_record *of)
{
    struct trace_slot *s = trace_slots_find(&c->slots, of);
    if (s == NULL)
        return;
    put_in_slot(c, ns, TRACE_answer, s)->closed = (of->small & TRACE_CLOSED) != 0;
    s->answered = true;
}

static void put(struct trace_core *c, int64_t ns, const struct trace_record *of)
{
    if (of->kind == TRACE_request)
        put_request(c, ns, of);
    else if (of->kind == TRACE_answer)
        put_answer(c, ns, of);
    else
        put_event(c, ns, of);
}

static int64_t stage_end(const struct trace_core *c, unsigned i)
{
    return trace_scope_ns(c->scope, c->stages[i].when);
}

// time_of: when a record of the gathered turn happened. A turn whose stages were not timed has one.
static int64_t time_of(const struct trace_core *c, const struct trace_record *p)
{
    const bool timed = c->n_stages > STAGE_tx;
    if (p->kind == TRACE_answer)
        return stage_end(c, timed ? STAGE_tx : c->n_stages - 1);
    if (trace_is_timed(p) && p->kind != TRACE_request)
        return trace_scope_ns(c->scope, p->when);
    if (p->kind == TRACE_request || !timed || p->when == 0)
        return trace_scope_ns(c->scope, c->turn.when);
    return stage_end(c, (unsigned)MIN(p->when, c->n_stages) - 1);
}

// sort: happened[] by time; what happened at one time stays in its order.
static void sort(struct trace_core *c)
{
    for (unsigned i = 1; i < c->n_happened; i++) {
        const struct trace_event e = c->happened[i];
        unsigned k = i;
        for (; k != 0 && c->happened[k - 1].ns > e.ns; k--)
            c->happened[k] = c->happened[k - 1];
        c->happened[k] = e;
    }
}

// gather: pending[] becomes happened[], in the order of the records.
static void gather(struct trace_core *c,
                   int64_t (*when)(const struct trace_core *, const struct trace_record *))
{
    c->n_happened = 0;
    for (unsigned i = 0; i < c->n_pending; i++)
        put(c, when(c, &c->pending[i]), &c->pending[i]);
    trace_slots_settle(&c->slots);
    c->n_pending = 0;
}

static bool happened_in_stage(const struct trace_core *c, const struct trace_event *e, unsigned s,
                              int64_t end)
{
    return e->ns < end || s == c->n_stages - 1 || (e->ns == end && e->kind == TRACE_answer);
}

static void end_slice(struct trace_event *begin, struct trace_event *end)
{
    end->end = true;
    begin->until_ns = end->ns;
}

// put_turn: the gathered turn.
static void put_turn(struct trace_core *c)
{
    const int64_t begin = trace_scope_ns(c->scope, c->turn.when);
    unsigned next = 0;
    gather(c, time_of);
    sort(c);
    for (; next < c->n_happened && c->happened[next].ns < begin; next++)
        show(c, &c->happened[next]);
    struct trace_event *turn = add(c, begin, &c->turn);
    for (unsigned s = 0; s < c->n_stages; s++) {
        const int64_t end = stage_end(c, s);
        struct trace_event *stage = add(c, s == 0 ? begin : stage_end(c, s - 1), &c->stages[s]);
        for (; next < c->n_happened && happened_in_stage(c, &c->happened[next], s, end); next++)
            show(c, &c->happened[next]);
        end_slice(stage, add(c, end, &c->stages[s]));
    }
    end_slice(turn, add(c, c->last_ns, &c->turn));
}

static int64_t idle_time_of(const struct trace_core *c, const struct trace_record *p)
{
    return trace_is_timed(p) ? trace_scope_ns(c->scope, p->when) : c->last_ns;
}

static void show_happened(struct trace_core *c)
{
    for (unsigned i = 0; i < c->n_happened; i++)
        show(c, &c->happened[i]);
}

void trace_turns_idle(struct trace_core *c)
{
    gather(c, idle_time_of);
    show_happened(c);
}

void trace_turns_timed(struct trace_core *c)
{
    unsigned n = 0;
    for (unsigned i = 0; i < c->n_pending; i++)
        if (trace_is_timed(&c->pending[i]))
            c->pending[n++] = c->pending[i];
    c->n_pending = n;
    trace_turns_idle(c);
}

// unpack_stages: those of the turn that ends with p; one for all if they were not timed.
static void unpack_stages(struct trace_core *c, const struct trace_record *p)
{
    const uint64_t begin = c->turn.when, cycles = p->when - MIN(begin, p->when);
    c->n_stages = 0;
    for (unsigned i = 0; c->has_stages && i < STAGE_housekeeping; i++) {
        const uint64_t at = MIN(trace_unpack_stage(&c->packed, p, i), cycles);
        c->stages[c->n_stages++] =
            (struct trace_record){.when = begin + at, .kind = TRACE_stage, .small = (uint8_t)i};
    }
    const uint8_t last = c->has_stages ? STAGE_housekeeping : STAGE_COUNT;
    c->stages[c->n_stages++] =
        (struct trace_record){.when = begin + cycles, .kind = TRACE_stage, .small = last};
}

void trace_turns_end(struct trace_core *c, const struct trace_record *end)
{
    unpack_stages(c, end);
    put_turn(c);
}

void trace_turns_forget(struct trace_core *c)
{
    c->n_happened = 0;
    for (unsigned i = 0; i < TRACE_SLOTS; i++) {
        struct trace_slot *s = &c->slots.at[i];
        if (s->request != 0)
            put_in_slot(c, c->last_ns, TRACE_answer, s)->forgotten = true;
        s->request = 0;
    }
    show_happened(c);
}

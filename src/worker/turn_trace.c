// SPDX-License-Identifier: BSD-3-Clause
#include "worker/turn_trace.h"

#include "stat/trace_stages.h"
#include "tcp/tcp_trace.h"

enum {
    RECORDS_AHEAD = 16,    // four cache lines: more than a turn without events writes
    LOOKS_MAX = 2,         // events of a turn that are looked at for a request
    BUSY_PER_MS = 100,     // busy turns of a core that has time to read the clock for each stage,
    FOLLOWED_PER_MS = 50,  // ... to follow a request of each: 150 ns if its block is in no cache
};

static void look_at_pool(struct worker *w, enum trace_pool pool, uint32_t used)
{
    struct trace_ring *r = w->trace;
    if (likely(r->pools_seen[pool] == used))
        return;
    r->pools_seen[pool] = used;
    trace_write(r, &(struct trace_record){w->marks[0], TRACE_pool, (uint8_t)pool, 0, used});
}

// tell_levels: all of them, once for each who asks.
static void tell_levels(struct trace_ring *r)
{
    const uint32_t asked = shared_u32_load(&r->levels_asked);
    if (likely(r->levels_told == asked))
        return;
    r->levels_told = asked;
    for (unsigned i = 0; i < TRACE_POOLS; i++)
        r->pools_seen[i] = UINT32_MAX;
}

static void look_at_pools(struct worker *w)
{
    const struct tcp *t = &w->tcp;
    tell_levels(w->trace);
    look_at_pool(w, TRACE_POOL_blocks, t->block_pool->count - t->block_pool->n_free);
    look_at_pool(w, TRACE_POOL_buffers, t->bufs.data_count - t->bufs.n_free_data);
    look_at_pool(w, TRACE_POOL_half_open, t->syn_pool->count - t->syn_pool->n_free);
    look_at_pool(w, TRACE_POOL_time_wait, t->tw4.used + t->tw6.used);
}

static NOINLINE void dropped(struct worker *w, unsigned reason)
{
    struct trace_ring *r = w->trace;
    const uint64_t n = MIN(w->stats->drops[reason] - r->drops_seen[reason], (uint64_t)UINT32_MAX);
    r->drops_seen[reason] += n;
    trace_write(r,
                &(struct trace_record){w->marks[0], TRACE_drop, (uint8_t)reason, 0, (uint32_t)n});
}

static void look_at_drops(struct worker *w)
{
    for (unsigned i = DROP_NONE + 1; i < DROP_COUNT; i++)
        if (unlikely(w->stats->drops[i] != w->trace->drops_seen[i]))
            dropped(w, i);
}

// look_at_apps: whether an application leaves it to the worker to find its requests.
static void look_at_apps(struct worker *w)
{
    const struct c10m_service *sv = w->sock.services;
    w->trace->some_unmarked = false;
    for (unsigned i = 0; i < TCP_SERVICES_MAX; i++)
        w->trace->some_unmarked |= sv[i].app != NULL && !sv[i].app->marks_requests;
}

// begin: what happened before is not recorded. The levels are, as the first records: who asks for
// records asks for them, too.
static NOINLINE void begin(struct worker *w)
{
    struct trace_ring *r = w->trace;
    for (unsigned i = 0; i < DROP_COUNT; i++)
        r->drops_seen[i] = w->stats->drops[i];
    r->open_used = 0;
    r->open_bits = 0;
    r->left = TRACE_TURN_MAX;
    r->skipped = r->begun = r->unfollowed = 0;
    r->samples = false;
    look_at_apps(w);
    w->traced = true;
    w->tcp.trace = r;
}

static NOINLINE void end(struct worker *w)
{
    w->traced = false;
    w->tcp.trace = NULL;
}

// tell_unfollowed: how many requests a trace does not have.
static void tell_unfollowed(struct worker *w)
{
    struct trace_ring *r = w->trace;
    if (r->unfollowed == 0)
        return;
    trace_write(r, &(struct trace_record){w->marks[0], TRACE_unfollowed, 0, 0, r->unfollowed});
    r->unfollowed = 0;
}

// pace: once in a millisecond: what the turns of the next one are recorded with, and what is rare.
static NOINLINE void pace(struct worker *w, uint64_t passed, uint64_t ms)
{
    struct trace_ring *r = w->trace;
    const struct core_stats *st = w->stats;
    look_at_drops(w);
    tell_unfollowed(w);
    look_at_apps(w);
    const uint64_t turns = (st->c.turns_busy - r->paced_busy) / (passed / ms);
    r->samples = turns >= FOLLOWED_PER_MS;
    r->times_all = turns < BUSY_PER_MS && (st->cycles[STAGE_idle] - r->paced_idle) * 2 >= passed;
    r->paced_tsc = w->marks[0];
    r->paced_busy = st->c.turns_busy;
    r->paced_idle = st->cycles[STAGE_idle];
}

bool turn_trace_look(struct worker *w)
{
    struct trace_ring *r = w->trace;
    const bool asked = r != NULL && shared_u32_load(&r->asked) != 0;
    if (unlikely(asked != w->traced))
        (asked ? begin : end)(w);
    if (likely(!asked))
        return false;
    look_at_pools(w);
    const uint64_t passed = w->marks[0] - r->paced_tsc,
                   ms = w->stall_cycles * (1000 / WORKER_STALL_US);
    if (passed >= ms)
        pace(w, passed, ms);
    return r->times_all;
}

// begin_requests: data for an application that does not mark its requests begins one. Of the events
// that are not looked at, each may have been a request. tcp_traced() reads the generation, in a
// line of the block that no common packet touches: with a million connections it comes from memory,
// for which this turn and the next one wait. Of a core that is in a hurry few turns get here.
static void begin_requests(struct worker *w)
{
    struct tcp *t = &w->tcp;
    struct trace_ring *r = w->trace;
    uint32_t k = 0;
    for (; k < MIN(w->n_events, (uint32_t)LOOKS_MAX) && r->begun < TRACE_REQUESTS_MAX; k++) {
        const struct tcp_verdict *v = &w->verdicts[w->events[k]];
        const struct block *b = &t->blocks[v->block];
        if ((v->events & (TCP_EV_DATA | TCP_EV_CHAIN)) == 0 || b->state == TCP_FREE ||
            w->sock.services[b->service].app->marks_requests)
            continue;
        struct trace_open *o = trace_begin(r, tcp_traced(t, b));
        if (o != NULL)
            o->snd_end = b->snd_una;  // all before is acknowledged, as a rule
    }
    r->unfollowed += w->n_events - k;
}

// end_requests: the first bytes that an application queues end the request.
static void end_requests(struct worker *w)
{
    struct trace_ring *r = w->trace;
    for (uint32_t left = r->open_used; left != 0; left &= left - 1) {
        const struct trace_open *o = &r->open[__builtin_ctz(left)];
        if (o->marked)
            continue;
        const struct block *b = &w->tcp.blocks[o->conn.block];
        if (b->generation != o->conn.generation)
            trace_end_closed(r, o->conn);
        else if (b->snd_end != o->snd_end)
            trace_end(r, o->conn);
    }
}

static void write_turn(const struct worker *w)
{
    struct trace_ring *r = w->trace;
    const struct trace_turn_id id = {(uint8_t)w->n_events, (uint8_t)MIN(w->n_expired, UINT8_MAX),
                                     (uint16_t)MIN(r->skipped, UINT16_MAX)};
    const struct trace_record turn = {w->marks[0], TRACE_turn, (uint8_t)w->n_rx,
                                      (uint16_t)w->tcp.n_out, trace_turn_pack(id)};
    struct trace_record stages, end = {w->tsc_end, TRACE_stage, STAGE_COUNT, 0, 0};
    trace_write(r, &turn);
    if (w->timed) {
        trace_pack_stages(w->marks, &stages, &end);
        trace_write(r, &stages);
    }
    trace_write(r, &end);
}

// next_turn: whether requests of the next busy turn are followed is known now: account_turn() is
// about to decide whether its stages are timed.
static void next_turn(const struct worker *w)
{
    struct trace_ring *r = w->trace;
    const bool timed = (w->stats->c.turns_busy & w->timed_mask) == 0;
    r->begun = timed || !r->samples ? 0 : TRACE_REQUESTS_MAX;
    r->left = TRACE_TURN_MAX;
    r->skipped = 0;
    const uint64_t next = shared_u64_load(&r->n);
    for (; r->fetched < next + RECORDS_AHEAD; r->fetched += CACHE_LINE / sizeof(r->at[0]))
        prefetch0_w(&r->at[r->fetched & r->mask]);
}

void turn_trace_end(struct worker *w)
{
    if (w->trace->some_unmarked)
        begin_requests(w);
    end_requests(w);
    write_turn(w);
    next_turn(w);
}

void turn_trace_stall(struct worker *w, const struct stall *s)
{
    const uint64_t us = s->cycles * w->clock.us_per_tick_q32 >> 32;
    point_stall(w->tcp.trace, s->end_tsc, s->stage, (uint32_t)MIN(us, (uint64_t)UINT32_MAX));
}

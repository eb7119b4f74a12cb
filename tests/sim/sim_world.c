// SPDX-License-Identifier: BSD-3-Clause
// The world: who has a turn next, what is opened when, and when all of it has to be over.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim.h"

uint8_t sim_pattern[SIM_PATTERN + SIM_PATTERN_MORE];
struct sim_cover sim_cover;
struct sim_world *sim_world;

_Noreturn void sim_fail(const char *format, ...)
{
    struct sim_world *w = sim_world;
    char text[400];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    snprintf(w->result->message, sizeof(w->result->message), "at %llu.%06llu ms: %s",
             (unsigned long long)(w->now_ns / 1000000), (unsigned long long)(w->now_ns % 1000000),
             text);
    sim_trace_close(w->trace);
    _exit(1);
}

static void fill_pattern(void)
{
    static bool filled;
    if (filled)
        return;
    filled = true;
    struct rng r = {20260101};
    for (unsigned i = 0; i < SIM_PATTERN; i++)
        sim_pattern[i] = (uint8_t)(rng_u64(&r) >> 56);
    for (unsigned i = SIM_PATTERN; i < sizeof(sim_pattern); i++)
        sim_pattern[i] = sim_pattern[i - SIM_PATTERN];
}

static int by_start(const void *a, const void *b)
{
    const struct sim_conn *x = &sim_world->plan->conns[*(const uint32_t *)a];
    const struct sim_conn *y = &sim_world->plan->conns[*(const uint32_t *)b];
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x < y ? -1 : 1;
}

static void order_conns(struct sim_world *w)
{
    for (uint32_t i = 0; i < w->plan->n_conns; i++)
        if (w->plan->conns[i].start_ns != UINT64_MAX && !(w->o->conns_off[i / 64] >> i % 64 & 1))
            w->order[w->to_start++] = i;
    qsort(w->order, w->to_start, sizeof(w->order[0]), by_start);
}

static struct sim_world *world_new(const struct sim_options *o, struct pkt_pool *pool,
                                   struct sim_result *result)
{
    struct sim_world *w = calloc(1, sizeof(*w));
    CHECK(w != NULL);
    w->plan = calloc(1, sizeof(*w->plan));
    CHECK(w->plan != NULL);
    sim_world = w;
    w->o = o;
    w->result = result;
    w->pool = pool;
    w->hash = o->seed;
    sim_plan_make(w->plan, o->seed);
    if (o->trace != NULL)
        w->trace = sim_trace_open(o->trace, w->plan->n_hosts);
    struct rng seeds = {o->seed ^ 0x5851f42d4c957f2dULL};
    for (unsigned i = 0; i < SIM_HOSTS_MAX; i++)
        for (unsigned k = 0; k < SIM_HOSTS_MAX; k++) {
            w->links[i][k].plan = &w->plan->links[i][k];
            for (unsigned f = 0; f < FAULT_COUNT; f++)
                w->links[i][k].rng[f].state = rng_u64(&seeds);
        }
    sim_app_begin(w);
    for (unsigned i = 0; i < w->plan->n_hosts; i++)
        w->hosts[i] = sim_host_new(w, i, &seeds);
    order_conns(w);
    return w;
}

static void start_due(struct sim_world *w)
{
    while (w->next_start < w->to_start &&
           w->plan->conns[w->order[w->next_start]].start_ns <= w->now_ns) {
        if (sim_app_start(w, w->order[w->next_start]))
            w->result->conns++;
        w->next_start++;
    }
}

// The host whose turn it is; its time, or that of the next opening if that comes first.
static struct sim_host *next_turn(const struct sim_world *w, uint64_t *at)
{
    struct sim_host *first = NULL;
    *at = UINT64_MAX;
    for (unsigned i = 0; i < w->plan->n_hosts; i++) {
        const uint64_t t = sim_is_dead(w, i) ? UINT64_MAX : sim_host_next(w->hosts[i]);
        if (t < *at) {
            *at = t;
            first = w->hosts[i];
        }
    }
    if (w->next_start < w->to_start) {
        const uint64_t t = w->plan->conns[w->order[w->next_start]].start_ns;
        if (t <= *at) {
            *at = t;
            return NULL;
        }
    }
    return first;
}

static uint64_t ms_to_ns(uint64_t ms)
{
    return ms * 1000000;
}

// How long anything may go on after the last opening or closing, or the last bytes that came, when
// no fault is left: the slowest of the timeouts that the hosts have.
static uint64_t patience_ns(const struct sim_world *w)
{
    uint64_t most = 0;
    for (unsigned i = 0; i < w->plan->n_hosts; i++) {
        const struct sim_host_plan *h = &w->plan->hosts[i];
        const struct tcp_config *c = &h->tcp;
        const uint32_t tries = MAX(c->retries, MAX(c->syn_retries, c->synack_retries)) + 2;
        const uint64_t ms = (uint64_t)tries * c->rto_max_ms + c->time_wait_ms + c->fin_wait2_ms +
                            MAX(h->keepalive_ms, 5000u) + 10ull * h->keepalive_interval_ms + 60000;
        most = MAX(most, ms_to_ns(ms));
    }
    for (uint32_t i = 0; i < w->plan->n_conns; i++)
        for (unsigned s = 0; s < 2; s++)
            most = MAX(most, ms_to_ns(w->plan->conns[i].side[s].life_ms) + ms_to_ns(60000));
    return most;
}

// Bulk transfers have no life of their own: as long as bytes move, they may go on.
static void check_patience(const struct sim_world *w, uint64_t patience)
{
    const uint64_t since = MAX(w->last_event_ns, w->plan->heal_ns);
    if (w->now_ns < since + patience + ms_to_ns(600000))
        return;
    for (uint32_t i = 0; i < w->plan->n_conns; i++)
        for (unsigned s = 0; s < 2; s++) {
            const struct sim_side *side = &w->plan->conns[i].side[s];
            if ((side->opened || (w->plan->conns[i].started && side->active)) && !side->closed)
                sim_fail("connection %u, side %u outlives all its timeouts (%llu s); host %u block "
                         "%u: %s; sent %llu, received %llu",
                         i, s, (unsigned long long)(patience / 1000000000), side->host, side->block,
                         tcp_state_name(w->hosts[side->host]->w->tcp.blocks[side->block].state),
                         (unsigned long long)side->sent, (unsigned long long)side->received);
        }
    for (unsigned i = 0; i < w->plan->n_hosts; i++)
        if (!sim_is_dead(w, i))
            sim_check_end(w->hosts[i]);
}

static bool is_over(const struct sim_world *w)
{
    if (w->open_sides != 0 || w->next_start < w->to_start)
        return false;
    for (unsigned i = 0; i < w->plan->n_hosts; i++)
        if (!sim_is_dead(w, i) &&
            (tcp_check_leaks(&w->hosts[i]->w->tcp) != NULL || sim_wire_next(w, i) != UINT64_MAX))
            return false;
    return true;
}

static void run(struct sim_world *w)
{
    const uint64_t patience = patience_ns(w);
    for (uint64_t turns = 0; w->o->until_ns == 0 || w->now_ns < w->o->until_ns; turns++) {
        uint64_t at;
        struct sim_host *h = next_turn(w, &at);
        w->now_ns = MAX(w->now_ns, at);
        if (!w->died && w->now_ns >= w->plan->dead_ns)
            sim_app_die(w, w->plan->n_hosts - 1);
        if (h == NULL)
            start_due(w);
        else if (sim_is_dead(w, h->id))
            continue;
        else
            sim_host_turn(h);
        if (turns % 64 != 0)
            continue;
        if (is_over(w))
            return;
        check_patience(w, patience);
    }
}

static void finish(struct sim_world *w)
{
    const bool whole = w->o->until_ns == 0;
    if (whole) {
        sim_app_finish(w);
        for (unsigned i = 0; i < w->plan->n_hosts; i++)
            if (!sim_is_dead(w, i))
                sim_check_end(w->hosts[i]);
    }
    sim_wire_drain(w);
    for (unsigned i = 0; i < w->plan->n_hosts; i++) {
        w->result->delivered += w->hosts[i]->w->stats->c.delivered + w->hosts[i]->w->stats->c.kept;
        if (!whole)
            continue;
        sim_host_free(w->hosts[i]);
    }
    const unsigned free_count = pkt_pool_free_count(w->pool);
    if (whole && free_count != w->pool->mp.size)
        sim_fail("%u packets are not back", w->pool->mp.size - free_count);
}

static uint64_t wall_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void sim_run_seed(const struct sim_options *o, struct pkt_pool *pool, struct sim_result *result)
{
    const uint64_t begin = wall_ns();
    memset(&sim_cover, 0, sizeof(sim_cover));
    fill_pattern();
    struct sim_world *w = world_new(o, pool, result);
    run(w);
    finish(w);
    sim_trace_close(w->trace);
    result->hash = w->hash;
    result->virtual_ns = w->now_ns;
    result->wall_ns = wall_ns() - begin;
    result->cover = sim_cover;
    result->done = true;
    free(w->plan);
    free(w);
    sim_world = NULL;
}

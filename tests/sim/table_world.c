// SPDX-License-Identifier: BSD-3-Clause
// A world of the table: two hosts and their path; whose turn it is.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "table.h"

enum { CHECK_TURNS = 4096 };

uint8_t sim_pattern[SIM_PATTERN + SIM_PATTERN_MORE];
struct sim_cover sim_cover;
struct sim_world *sim_world;
struct table_world *table_now;
struct pkt_pool *table_pool;
uint64_t table_seed = 1;

_Noreturn void sim_fail(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    fflush(stdout);
    fprintf(stderr, "FAILED at %.6f s: ", (double)table_now->w.now_ns / 1e9);
    vfprintf(stderr, format, ap);
    fputc('\n', stderr);
    va_end(ap);
    _Exit(1);
}

// No process of these worlds ends.
void sim_adopt(struct sim_host *h)
{
    SIM_CHECK(false, "host %u: nobody adopts its connections here", h->id);
}

// What the simulator checks after each turn is checked here of a few: the queues are long.
void sim_check_turn(struct sim_host *h)
{
    const struct tcp *t = &h->w->tcp;
    char what[TCP_CHECK_BYTES];
    SIM_CHECK(stat_balance(h->w->stats) == 0, "host %u: the balance is %lld", h->id,
              (long long)stat_balance(h->w->stats));
    if (h->turns % CHECK_TURNS != 0)
        return;
    for (uint32_t ix = 0; ix < h->w->block_count; ix++)
        SIM_CHECK(tcp_check_block(t, ix, &h->shadows[ix].numbers, what), "host %u: %s", h->id,
                  what);
    SIM_CHECK(tcp_check_pools(t, h->w->block_count, what), "host %u: %s", h->id, what);
}

static void fill_pattern(void)
{
    struct rng r = {20260101};
    for (unsigned i = 0; i < SIM_PATTERN; i++)
        sim_pattern[i] = (uint8_t)(rng_u64(&r) >> 56);
    for (unsigned i = SIM_PATTERN; i < sizeof(sim_pattern); i++)
        sim_pattern[i] = sim_pattern[i - SIM_PATTERN];
}

const struct table_path table_gigabit = {
    .mbit_per_s = 1000, .queue_bytes = 6250000, .rtt_ns = 50 * TABLE_MS};
const struct table_path table_hundred = {
    .mbit_per_s = 100, .queue_bytes = 250000, .rtt_ns = 20 * TABLE_MS};

struct table_setup table_default(void)
{
    struct table_setup s = {
        .tcp = tcp_config_default(), .rcv_limit = TABLE_RCV_LIMIT, .snd_limit = TABLE_RCV_LIMIT};
    s.tcp.window_scale = 10;  // the limit fits
    return s;
}

struct table_world *table_begin(const struct table_path *path, const struct table_setup *setup)
{
    struct table_world *t = calloc(1, sizeof(*t));
    CHECK(t != NULL);
    struct sim_world *w = &t->w;
    w->plan = calloc(1, sizeof(*w->plan));
    CHECK(w->plan != NULL);
    if (sim_pattern[0] == sim_pattern[1])
        fill_pattern();
    sim_world = w;
    table_now = t;
    w->o = &t->options;
    w->result = &t->result;
    w->pool = table_pool;
    t->path = *path;
    t->no_hystart = setup->no_hystart;
    t->rng.state = table_seed;
    struct rng seeds = {table_seed ^ 0x5851f42d4c957f2dULL};
    w->plan->n_hosts = 2;
    w->plan->dead_ns = UINT64_MAX;
    for (unsigned i = 0; i < 2; i++) {
        w->plan->hosts[i] =
            (struct sim_host_plan){.tcp = setup->tcp,
                                   .mtu = 1500,
                                   .connections = 16,
                                   .buffers = TABLE_BUFFERS,
                                   .extensions = 16,
                                   .flight_logs = 16,
                                   .syn_received = 16,
                                   .time_wait = 16,
                                   .congestion = setup->congestion,
                                   .rcv_limit = setup->rcv_limit,
                                   .snd_limit = setup->snd_limit,
                                   .rcv_initial = setup->rcv_initial,
                                   .snd_initial = setup->snd_initial,
                                   .keepalive_probes = 9,
                                   .keepalive_interval_ms = 75000,
                                   .gap_ns = i == 0 && setup->gap_ns != 0 ? setup->gap_ns : 5000,
                                   .clock_us = 1000000,
                                   .statics = true,
                                   .few_max = 1};
        w->hosts[i] = sim_host_new(w, i, &seeds);
        if (setup->no_flight_logs)  // as if other connections had all of them
            index_pool_init(w->hosts[i]->w->tcp.flights.small_free, 0);
    }
    return t;
}

struct table_flow *table_add(struct table_world *t, uint64_t start_ns, uint64_t bytes)
{
    CHECK(t->n_flows < TABLE_FLOWS_MAX);
    struct table_flow *f = &t->flows[t->n_flows++];
    f->start_ns = start_ns;
    f->bursts[0].bytes = bytes;
    f->n_bursts = 1;
    return f;
}

static uint64_t next_start(const struct table_world *t, unsigned *which)
{
    uint64_t at = UINT64_MAX;
    for (unsigned i = 0; i < t->n_flows; i++)
        if (t->flows[i].port == 0 && t->flows[i].start_ns < at) {
            at = t->flows[i].start_ns;
            *which = i;
        }
    return at;
}

// There is no key for it: the record is told that its first slow start has none.
static void end_hystart(const struct table_world *t)
{
    for (unsigned i = 0; i < t->n_flows; i++) {
        const struct block *b = table_sender(t, i);
        struct ext_cc *c =
            b != NULL && b->ext != EXT_NONE ? &t->w.hosts[0]->w->tcp.exts[b->ext].cc : NULL;
        if (c == NULL || !(c->flags & CC_HYSTART))
            continue;
        c->flags &= (uint16_t) ~(CC_HYSTART | CC_CSS);
        c->cubic = (struct cubic){0};
    }
}

bool table_run_until(struct table_world *t, uint64_t until_ns,
                     bool (*done)(const struct table_world *t))
{
    struct sim_world *w = &t->w;
    for (;;) {
        unsigned start = 0;
        const uint64_t opens = next_start(t, &start);
        const uint64_t a = sim_host_next(w->hosts[0]), b = sim_host_next(w->hosts[1]);
        const uint64_t at = MIN(opens, MIN(a, b));
        if (at >= until_ns) {
            w->now_ns = until_ns;
            return false;
        }
        w->now_ns = MAX(w->now_ns, at);
        if (opens <= at)
            table_connect(t, start);
        else
            sim_host_turn(w->hosts[b < a]);
        if (t->no_hystart)
            end_hystart(t);
        if (done != NULL && done(t))
            return true;
    }
}

void table_run(struct table_world *t, uint64_t until_ns)
{
    table_run_until(t, until_ns, NULL);
}

void table_end(struct table_world *t)
{
    sim_wire_drain(&t->w);
    for (unsigned i = 0; i < 2; i++)
        sim_host_free(t->w.hosts[i]);
    const unsigned free_count = pkt_pool_free_count(table_pool);
    SIM_CHECK(free_count == table_pool->mp.size, "%u packets are not back",
              table_pool->mp.size - free_count);
    free(t->w.plan);
    free(t);
    table_now = NULL;
    sim_world = NULL;
}

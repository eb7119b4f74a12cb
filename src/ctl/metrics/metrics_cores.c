// SPDX-License-Identifier: BSD-3-Clause
// metrics_cores.c: the families of cores.
#include <stdio.h>
#include <string.h>

#include "ctl/metrics/metrics_internal.h"
#include "stat/latency.h"
#include "worker/worker.h"

static const struct worker *worker_at(const struct metrics_now *now, unsigned i)
{
    return server_worker(now->shown->server, i);
}

void metrics_clock(const struct metrics_now *now)
{
    for (unsigned i = 0; i < now->n_cores; i++)
        PUT(now, metrics_whole(worker_tsc_hz(worker_at(now, i))),
            LABEL("core", now->core_names[i]));
}

void metrics_useful(const struct metrics_now *now)
{
    struct liveness_now p;
    for (unsigned i = 0; i < now->n_cores; i++) {
        liveness_look(now->shown->liveness, i, liveness_clock_ns(), &p);
        PUT(now, metrics_real(p.recent.useful), LABEL("core", now->core_names[i]));
    }
}

void metrics_stalled(const struct metrics_now *now)
{
    struct liveness_now p;
    for (unsigned i = 0; i < now->n_cores; i++) {
        liveness_look(now->shown->liveness, i, liveness_clock_ns(), &p);
        PUT(now, metrics_real(p.state == LIVENESS_STALLED ? (double)p.for_ms / 1e3 : 0),
            LABEL("core", now->core_names[i]));
    }
}

void metrics_hangs(const struct metrics_now *now)
{
    for (unsigned i = 0; i < now->n_cores; i++)
        PUT(now, metrics_whole(hang_watch_look(now->shown->hangs, i)->hangs),
            LABEL("core", now->core_names[i]));
}

void metrics_drops(const struct metrics_now *now)
{
    for (unsigned i = 0; i < now->n_cores; i++)
        for (unsigned d = DROP_NONE + 1; d < DROP_COUNT; d++)
            PUT(now, metrics_whole(now->cores[i].drops[d]), LABEL("core", now->core_names[i]),
                LABEL("reason", stat_drop_names[d].name),
                LABEL("side", stat_drop_kinds[d].side == DROP_SIDE_rx ? "rx" : "tx"));
}

void metrics_stage_cycles(const struct metrics_now *now)
{
    for (unsigned i = 0; i < now->n_cores; i++)
        for (unsigned st = 0; st < STAGE_COUNT; st++)
            PUT(now, metrics_whole(now->cores[i].cycles[st]), LABEL("core", now->core_names[i]),
                LABEL("stage", stat_stage_names[st].name));
}

// The histogram is finer than these buckets: what it cannot tell from a bound counts above it. The
// sum is of the middles of its buckets, which are a sixteenth wide.
static void put_histogram(const struct metrics_now *now, const char *core, const struct latency *l,
                          uint64_t tsc_hz)
{
    uint64_t below = 0;
    double sum_cycles = 0;
    uint32_t b = 0;
    for (unsigned i = 0; i < METRIC_BOUNDS; i++) {
        char le[16];
        snprintf(le, sizeof(le), "%g", metrics_bounds[i]);
        for (; b < LATENCY_BUCKETS && (double)latency_top(b) <= metrics_bounds[i] * (double)tsc_hz;
             b++)
            below += l->counts[b];
        const struct metric_label labels[] = {{"core", core}, {"le", le}};
        metrics_put(now, "_bucket", metrics_whole(below), 2, labels);
    }
    for (uint32_t k = 0; k < LATENCY_BUCKETS; k++) {
        const double low = k == 0 ? 0 : (double)latency_top(k - 1) + 1;
        sum_cycles += (double)l->counts[k] * (low + (double)latency_top(k)) / 2;
    }
    const struct metric_label labels[] = {{"core", core}, {"le", "+Inf"}};
    const uint64_t count = latency_count(l);
    metrics_put(now, "_bucket", metrics_whole(count), 2, labels);
    metrics_put(now, "_sum", metrics_real(sum_cycles / (double)tsc_hz), 1, labels);
    metrics_put(now, "_count", metrics_whole(count), 1, labels);
}

void metrics_latency(const struct metrics_now *now)
{
    static struct latency copy;
    for (unsigned i = 0; i < now->n_cores; i++) {
        latency_snapshot(&copy, &worker_at(now, i)->busy);
        put_histogram(now, now->core_names[i], &copy, worker_tsc_hz(worker_at(now, i)));
    }
}

void metrics_idle_turns(const struct metrics_now *now)
{
    static struct latency copy;
    for (unsigned i = 0; i < now->n_cores; i++) {
        latency_snapshot(&copy, &worker_at(now, i)->idle);
        put_histogram(now, now->core_names[i], &copy, worker_tsc_hz(worker_at(now, i)));
    }
}

static const char *const causes[STALL_CAUSES] = {
#define CAUSE_NAME(name, help) #name,
    STALL_CAUSE_TABLE(CAUSE_NAME)
#undef CAUSE_NAME
};

void metrics_stalls(const struct metrics_now *now)
{
    uint64_t ns;
    for (unsigned i = 0; i < now->n_cores; i++)
        for (unsigned c = 0; c < STALL_CAUSES; c++)
            PUT(now,
                metrics_whole(stalls_by_cause(now->shown->stalls, i, (enum stall_cause)c, &ns)),
                LABEL("core", now->core_names[i]), LABEL("cause", causes[c]));
}

void metrics_stall_seconds(const struct metrics_now *now)
{
    uint64_t ns;
    for (unsigned i = 0; i < now->n_cores; i++)
        for (unsigned c = 0; c < STALL_CAUSES; c++) {
            stalls_by_cause(now->shown->stalls, i, (enum stall_cause)c, &ns);
            PUT(now, metrics_real((double)ns / 1e9), LABEL("core", now->core_names[i]),
                LABEL("cause", causes[c]));
        }
}

// ---- what Linux does to the worker, as of the last second

static void put_host(const struct metrics_now *now, uint64_t (*of)(const struct linux_counts *c))
{
    for (unsigned i = 0; i < now->n_cores; i++)
        PUT(now, metrics_whole(of(stalls_host(now->shown->stalls, i))),
            LABEL("core", now->core_names[i]));
}

static uint64_t forced(const struct linux_counts *c)
{
    return c->forced;
}

static uint64_t faults(const struct linux_counts *c)
{
    return c->faults_minor + c->faults_major;
}

void metrics_switches(const struct metrics_now *now)
{
    put_host(now, forced);
}

void metrics_page_faults(const struct metrics_now *now)
{
    put_host(now, faults);
}

// since: of the CPU, Linux counts from its boot on; here it is from the server's start.
static uint64_t since(uint64_t value, uint64_t start)
{
    return value > start ? value - start : 0;
}

struct interrupts {
    uint64_t timer, other;
};

static struct interrupts interrupts_of(const struct linux_counts *c)
{
    struct interrupts sum = {0, 0};
    for (unsigned i = 0; i < c->n_interrupts; i++)
        *(strcmp(c->interrupts[i].name, "LOC") == 0 ? &sum.timer : &sum.other) +=
            c->interrupts[i].count;
    return sum;
}

void metrics_interrupts(const struct metrics_now *now)
{
    for (unsigned i = 0; i < now->n_cores; i++) {
        const struct interrupts is = interrupts_of(stalls_host(now->shown->stalls, i));
        const struct interrupts was = interrupts_of(&now->shown->interrupts_before[i]);
        PUT(now, metrics_whole(since(is.timer, was.timer)), LABEL("core", now->core_names[i]),
            LABEL("kind", "timer"));
        PUT(now, metrics_whole(since(is.other, was.other)), LABEL("core", now->core_names[i]),
            LABEL("kind", "other"));
    }
}

void metrics_wait_seconds(const struct metrics_now *now)
{
    for (unsigned i = 0; i < now->n_cores; i++)
        PUT(now, metrics_real((double)stalls_host(now->shown->stalls, i)->wait_ns / 1e9),
            LABEL("core", now->core_names[i]));
}

void metrics_steal_seconds(const struct metrics_now *now)
{
    for (unsigned i = 0; i < now->n_cores; i++) {
        const uint64_t ticks = since(stalls_host(now->shown->stalls, i)->steal_ticks,
                                     now->shown->interrupts_before[i].steal_ticks);
        PUT(now, metrics_real((double)ticks * LINUX_TICK_NS / 1e9),
            LABEL("core", now->core_names[i]));
    }
}

// ---- pools

enum pool_figure { POOL_SIZE, POOL_USED, POOL_USED_HIGH };

// A choice and no callback: gcc 12 at -O3 takes `p->size` of a callback for another function with
// the same code, of another type, and warns that this type is too large.
static uint64_t figure_of(const struct fill_pool *p, enum pool_figure figure)
{
    switch (figure) {
    case POOL_SIZE:
        return p->size;
    case POOL_USED:
        return p->used;
    case POOL_USED_HIGH:
        return p->used_high;
    }
    return 0;
}

static void put_pools(const struct metrics_now *now, enum pool_figure figure)
{
    struct fill_pool pools[FILL_POOLS_MAX];
    for (unsigned i = 0; i < now->n_cores; i++) {
        const unsigned n = fill_pools(now->shown->fill, i, pools);
        for (unsigned k = 0; k < n; k++)
            PUT(now, metrics_whole(figure_of(&pools[k], figure)), LABEL("core", now->core_names[i]),
                LABEL("pool", pools[k].name));
    }
}

void metrics_pool_size(const struct metrics_now *now)
{
    put_pools(now, POOL_SIZE);
}

void metrics_pool_used(const struct metrics_now *now)
{
    put_pools(now, POOL_USED);
}

void metrics_pool_used_max(const struct metrics_now *now)
{
    put_pools(now, POOL_USED_HIGH);
}

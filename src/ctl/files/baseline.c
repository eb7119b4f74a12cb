// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/files/baseline.h"

#include <stdlib.h>
#include <string.h>

#include "worker/worker.h"

struct worker_base {
    struct core_stats stats;
    struct latency busy, idle;
};

struct ctl_baseline {
    const struct server *server;
    bool is_gauge[CORE_COUNTER_COUNT];
    struct port_stats ports[WORKER_PORTS_MAX];
    unsigned n_workers;
    struct worker_base *workers;
};

static bool ends_in_now(const char *name)
{
    const size_t n = strlen(name);
    return n > 4 && strcmp(name + n - 4, "_now") == 0;
}

struct ctl_baseline *ctl_baseline_new(const struct server *s)
{
    struct ctl_baseline *b = calloc(1, sizeof(*b));
    if (b == NULL)
        return NULL;
    b->server = s;
    b->n_workers = server_workers(s);
    const size_t bytes = MAX(b->n_workers, 1u) * sizeof(struct worker_base);
    b->workers = aligned_alloc(CACHE_LINE, bytes);
    if (b->workers == NULL) {
        free(b);
        return NULL;
    }
    memset(b->workers, 0, bytes);
    for (unsigned i = 0; i < CORE_COUNTER_COUNT; i++)
        b->is_gauge[i] = ends_in_now(stat_counter_names[i].name);
    return b;
}

void ctl_baseline_free(struct ctl_baseline *b)
{
    if (b != NULL)
        free(b->workers);
    free(b);
}

void ctl_baseline_core(const struct ctl_baseline *b, unsigned worker, struct core_stats *now)
{
    if (b == NULL)
        return;
    const struct core_stats *base = &b->workers[worker].stats;
    uint64_t *to = (uint64_t *)&now->c;
    const uint64_t *from = (const uint64_t *)&base->c;
    for (unsigned i = 0; i < CORE_COUNTER_COUNT; i++)
        to[i] -= b->is_gauge[i] ? 0 : from[i];
    for (unsigned i = 0; i < DROP_COUNT; i++)
        now->drops[i] -= base->drops[i];
    for (unsigned i = 0; i < STAGE_COUNT; i++)
        now->cycles[i] -= base->cycles[i];
}

void ctl_baseline_latency(const struct ctl_baseline *b, unsigned worker, bool idle,
                          struct latency *now)
{
    if (b != NULL)
        latency_since(now, idle ? &b->workers[worker].idle : &b->workers[worker].busy);
}

void ctl_baseline_port(const struct ctl_baseline *b, unsigned port, struct port_stats *now)
{
    if (b == NULL)
        return;
    uint64_t *to = (uint64_t *)now;
    const uint64_t *from = (const uint64_t *)&b->ports[port];
    for (unsigned i = 0; i < sizeof(*now) / sizeof(uint64_t); i++)
        to[i] -= from[i];
}

// Packets that the worker had received in its present turn and not accounted for yet count as
// received after the reset, so that `balance` is 0 after the reset too.
void ctl_baseline_reset_core(struct ctl_baseline *b, unsigned worker)
{
    struct core_stats *base = &b->workers[worker].stats;
    stat_snapshot(base, server_worker(b->server, worker)->stats);
    base->c.rx_packets -= (uint64_t)stat_balance(base);
}

void ctl_baseline_reset_latency(struct ctl_baseline *b, unsigned worker)
{
    const struct worker *w = server_worker(b->server, worker);
    latency_snapshot(&b->workers[worker].busy, &w->busy);
    latency_snapshot(&b->workers[worker].idle, &w->idle);
}

void ctl_baseline_reset_port(struct ctl_baseline *b, unsigned port)
{
    struct port *p = server_port(b->server, port);
    b->ports[port] = (struct port_stats){0};
    p->ops->stats(p, &b->ports[port]);
}

// SPDX-License-Identifier: BSD-3-Clause
#include "prof/trace_source.h"

#include <stdio.h>

#include "mem/block.h"
#include "mem/buf.h"

static_assert((int)TRACE_CORES_MAX == (int)SERVER_WORKERS_MAX, "each worker is a core");
static_assert((int)TRACE_SERVICES_MAX == (int)TCP_SERVICES_MAX, "each service has a name");
static_assert(ARRAY_LEN(((struct c10m_service *)0)->trace_events) == TRACE_EVENTS_MAX,
              "so has each of its events");
static_assert(TCP_SERVICES_MAX <= 1 << TRACE_WHY_SHIFT, "a service and more fit in a byte");

static void add_pools(struct trace_about *a, const struct tcp *t)
{
    a->pools[TRACE_POOL_blocks].entry_bytes = sizeof(struct block);
    a->pools[TRACE_POOL_blocks].entries += t->block_pool->count;
    a->pools[TRACE_POOL_buffers].entry_bytes = BUF_BYTES;
    a->pools[TRACE_POOL_buffers].entries += t->bufs.data_count;
    a->pools[TRACE_POOL_half_open].entry_bytes = sizeof(struct syn_record);
    a->pools[TRACE_POOL_half_open].entries += t->syn_pool->count;
    a->pools[TRACE_POOL_time_wait].entry_bytes = sizeof(struct time_wait);
    a->pools[TRACE_POOL_time_wait].entries += (uint64_t)t->tw4.capacity + t->tw6.capacity;
}

static void name_services(struct trace_about *a, const struct server *s)
{
    for (unsigned i = 0; i < server_params_of(s)->n_services; i++) {
        const struct c10m_service *sv = server_service(s, i);
        snprintf(a->services[i].name, TRACE_NAME_BYTES, "%s", sv->name);
        for (int k = 0; k < sv->n_trace_events; k++)
            snprintf(a->services[i].events[k], TRACE_NAME_BYTES, "%s", sv->trace_events[k]);
    }
}

static void fill(struct trace_about *a, const struct prof_shown *s, struct trace_ring **rings)
{
    *a = (struct trace_about){.n_cores = server_workers(s->server)};
    snprintf(a->version, sizeof(a->version), "%s", s->version);
    for (unsigned i = 0; i < a->n_cores; i++) {
        const struct worker *w = server_worker(s->server, i);
        rings[i] = w->trace;
        a->cpus[i] = w->cpu;
        a->start_tsc = w->clock.start_tsc;
        a->tsc_hz = worker_tsc_hz(w);
        add_pools(a, &w->tcp);
    }
    name_services(a, s->server);
}

bool trace_source_busy(const struct prof_shown *s)
{
    const struct trace_ring *first = server_worker(s->server, 0)->trace;
    return first != NULL && shared_u32_load(&first->asked) >= TRACE_LOGS_MAX;
}

struct trace_log *trace_source_log(const struct prof_shown *s, enum trace_full full,
                                   uint64_t bytes_max, struct err *err)
{
    struct trace_ring *rings[SERVER_WORKERS_MAX];
    struct trace_about a;
    fill(&a, s, rings);
    if (rings[0] == NULL) {
        err_set(err, "no traces: [control] trace_ring is 0");
        return NULL;
    }
    struct trace_log *l = trace_log_new(&a, rings, full, bytes_max);
    if (l == NULL)
        err_set(err, "no memory for a trace");
    return l;
}

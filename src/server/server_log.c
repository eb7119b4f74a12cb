// SPDX-License-Identifier: BSD-3-Clause
#include "server/server_log.h"

#include <rte_ring.h>
#include <string.h>

#include "base/base.h"
#include "server/server_internal.h"
#include "worker/log_ring.h"

bool server_logs(const struct server_params *p)
{
    for (unsigned i = 0; i < p->n_services; i++) {
        const struct server_service_params *sp = &p->services[i];
        if (sp->app->log != NULL && sp->param != NULL && sp->param(sp->conf, "access_log") != NULL)
            return true;
    }
    return false;
}

uint64_t server_log_footprint(void)
{
    return ALIGN_UP((uint64_t)rte_ring_get_memsize_elem(LOG_UNIT_BYTES, LOG_RING_UNITS),
                    CACHE_LINE);
}

struct rte_ring *server_log_init(void *mem)
{
    struct rte_ring *r = mem;
    CHECK(rte_ring_init(r, "log", LOG_RING_UNITS, RING_F_SP_ENQ | RING_F_SC_DEQ) == 0);
    return r;
}

static bool drain_one(struct server *s, struct rte_ring *r)
{
    struct log_head head;
    uint8_t record[LOG_RECORD_UNITS_MAX * LOG_UNIT_BYTES] __attribute__((aligned(8)));
    if (rte_ring_sc_dequeue_bulk_elem(r, &head, LOG_UNIT_BYTES, 1, NULL) == 0)
        return false;
    // The worker enqueues a record as a whole: after its head its data is there.
    const unsigned n = log_units(head.bytes);
    CHECK(rte_ring_sc_dequeue_bulk_elem(r, record, LOG_UNIT_BYTES, n, NULL) == n);
    struct c10m_service *sv = &s->services[head.service];
    s->log_lost[head.service] += sv->app->log(sv, record, head.bytes);
    s->log_handed[head.service]++;
    return true;
}

void server_log_drain(struct server *s)
{
    uint64_t before[TCP_SERVICES_MAX];
    memcpy(before, s->log_handed, sizeof(before));
    for (unsigned i = 0; i < s->params.n_workers; i++) {
        struct worker *w = s->workers[i];
        for (unsigned n = 0; w != NULL && w->log != NULL && n < LOG_DRAIN_MAX; n++)
            if (!drain_one(s, w->log))
                break;
    }
    for (unsigned i = 0; i < s->params.n_services; i++)
        if (s->log_handed[i] != before[i])
            s->log_lost[i] += s->services[i].app->log(&s->services[i], NULL, 0);
}

void server_log_reopen(struct server *s)
{
    server_log_drain(s);
    for (unsigned i = 0; i < s->params.n_services; i++)
        if (s->services[i].app->log != NULL)
            s->log_lost[i] += s->services[i].app->log(&s->services[i], NULL, C10M_LOG_REOPEN);
}

void server_log_counts(const struct server *s, unsigned service, uint64_t *handed, uint64_t *lost)
{
    *handed = s->log_handed[service];
    *lost = s->log_lost[service];
}

// SPDX-License-Identifier: BSD-3-Clause
#include "worker/log_ring.h"

#include <rte_ring.h>
#include <string.h>

#include "worker/egress.h"

bool c10m_log(struct c10m_conn *c, const void *record, size_t len)
{
    struct {
        struct log_head head;
        uint8_t record[LOG_RECORD_UNITS_MAX * LOG_UNIT_BYTES];
    } m;
    const struct worker *w = worker_of_sock(c->k);
    if (w->log == NULL || len == 0 || len > C10M_LOG_BYTES_MAX)
        return false;
    m.head = (struct log_head){.bytes = (uint32_t)len, .service = c->b->service};
    memcpy(m.record, record, len);
    const unsigned n = 1 + log_units((uint32_t)len);
    return rte_ring_sp_enqueue_bulk_elem(w->log, &m, LOG_UNIT_BYTES, n, NULL) == n;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "server/fill_levels.h"

#include <inttypes.h>
#include <rte_ring.h>
#include <stdlib.h>

#include "pkt/pkt.h"
#include "pkt/port.h"
#include "server/app_threads.h"
#include "server/server_internal.h"
#include "server/server_log.h"
#include "server/server_memory.h"
#include "worker/handoff.h"

struct fill_levels {
    const struct server *server;
    uint64_t packets_high[SERVER_WORKERS_MAX], jumbo_high[SERVER_WORKERS_MAX];
};

struct fill_levels *fill_new(const struct server *s)
{
    struct fill_levels *d = calloc(1, sizeof(*d));
    if (d != NULL)
        d->server = s;
    return d;
}

void fill_free(struct fill_levels *d)
{
    free(d);
}

// Packets move between the ring and the cache while both are added up, so the sum is limited to the
// size of the pool.
static struct fill_pool of_packets(const char *name, const struct pkt_pool *pool)
{
    const struct rte_mempool *mp = &pool->mp;
    const uint64_t size = mp->size, free = pkt_pool_free_count(pool);
    return (struct fill_pool){.name = name,
                              .size = size,
                              .used = size - MIN(free, size),
                              .entry_bytes = mp->header_size + mp->elt_size + mp->trailer_size};
}

static void note_high(uint64_t *high, struct fill_pool *packets)
{
    *high = MAX(*high, packets->used);
    packets->used_high = *high;
}

// note_packets: the pool of jumbo packets, if there is one, is the last of n.
static void note_packets(struct fill_levels *d, unsigned worker, struct fill_pool *pools,
                         unsigned n)
{
    note_high(&d->packets_high[worker], &pools[0]);
    if (d->server->jumbo_pools[worker] != NULL)
        note_high(&d->jumbo_high[worker], &pools[n - 1]);
}

void fill_poll(struct fill_levels *d)
{
    for (unsigned w = 0; w < server_workers(d->server); w++) {
        struct fill_pool both[2] = {of_packets("packets", d->server->pools[w])};
        if (d->server->jumbo_pools[w] != NULL)
            both[1] = of_packets("jumbo_packets", d->server->jumbo_pools[w]);
        note_packets(d, w, both, 2);
    }
}

static struct fill_pool of_indices(const char *name, uint32_t entry_bytes,
                                   const struct index_pool *p)
{
    const uint32_t free = peek_u32(&p->n_free) + peek_u32(&p->n_deferred);
    return (struct fill_pool){name, p->count, p->count - MIN(free, p->count),
                              p->count - MIN(peek_u32(&p->low_water), p->count), entry_bytes};
}

static struct fill_pool of_ring(const char *name, const struct time_wait_ring *r, uint32_t high)
{
    const uint32_t used = peek_u32(&r->used);
    return (struct fill_pool){name, r->capacity, used, MAX(high, used), r->record_bytes};
}

static struct fill_pool of_count(const char *name, uint64_t size, uint32_t used, uint32_t high,
                                 uint32_t entry_bytes)
{
    return (struct fill_pool){name, size, used, MAX(high, used), entry_bytes};
}

unsigned fill_pools_now(const struct server *s, unsigned worker, struct fill_pool *out)
{
    const struct worker *w = server_worker(s, worker);
    const struct tcp *t = &w->tcp;
    const struct worker_highest *h = &w->highest;
    const struct buf_pool *b = &t->bufs;
    const uint64_t timers = server_timers(w->block_count, t->syn_pool->count);
    const uint32_t refs = b->count - b->data_count;
    unsigned n = 0;
    out[n++] = of_packets("packets", s->pools[worker]);
    out[n++] = of_indices("blocks", sizeof(struct block), t->block_pool);
    out[n++] = of_indices("syn_records", sizeof(struct syn_record), t->syn_pool);
    out[n++] = of_indices("extensions", sizeof(struct ext), t->ext_pool);
    out[n++] = of_indices("flight_logs", FLIGHT_BYTES, t->flights.small_free);
    out[n++] = of_indices("flight_logs_large", FLIGHT_LARGE_BYTES, t->flights.large_free);
    out[n++] = of_ring("time_wait", &t->tw4, peek_u32(&h->time_wait));
    out[n++] = of_ring("time_wait6", &t->tw6, peek_u32(&h->time_wait6));
    out[n++] = of_count("buffers", b->data_count, b->data_count - peek_u32(&b->n_free_data),
                        b->data_count - peek_u32(&b->low_water), BUF_STRIDE + sizeof(struct buf));
    out[n++] = of_count("references", refs, refs - peek_u32(&b->n_free_refs),
                        peek_u32(&h->references), sizeof(struct buf));
    out[n++] = of_count("timers", timers, peek_u32(&t->wheel->entries), peek_u32(&h->timers), 0);
    out[n++] = of_count("flow_entries", t->table->capacity, peek_u32(&t->table->count),
                        peek_u32(&h->flow_entries), 0);
    if (s->jumbo_pools[worker] != NULL)
        out[n++] = of_packets("jumbo_packets", s->jumbo_pools[worker]);
    return n;
}

unsigned fill_pools(struct fill_levels *d, unsigned worker, struct fill_pool *out)
{
    const unsigned n = fill_pools_now(d->server, worker, out);
    note_packets(d, worker, out, n);
    return n;
}

static void pool_lines(struct text *out, const char *prefix, const struct fill_pool *p)
{
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {{"size", p->size},
                {"free_now", p->size - MIN(p->used, p->size)},
                {"used_now", p->used},
                {"used_high", p->used_high}};
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++)
        text_printf(out, "%s%s_%s %" PRIu64 "\n", prefix, p->name, rows[i].name, rows[i].value);
}

void fill_pools_render(struct fill_levels *d, struct text *out)
{
    struct fill_pool each[SERVER_WORKERS_MAX][FILL_POOLS_MAX], sum[FILL_POOLS_MAX];
    const unsigned workers = server_workers(d->server);
    unsigned n = 0;
    for (unsigned w = 0; w < workers; w++) {
        n = fill_pools(d, w, each[w]);
        for (unsigned i = 0; i < n; i++) {
            if (w == 0)
                sum[i] = (struct fill_pool){.name = each[w][i].name};
            sum[i].size += each[w][i].size;
            sum[i].used += each[w][i].used;
            sum[i].used_high += each[w][i].used_high;
        }
    }
    for (unsigned i = 0; i < n; i++)
        pool_lines(out, "", &sum[i]);
    for (unsigned w = 0; w < workers && workers > 1; w++) {
        char prefix[FILL_NAME_BYTES];
        snprintf(prefix, sizeof(prefix), "worker_%u_", w);
        for (unsigned i = 0; i < n; i++)
            pool_lines(out, prefix, &each[w][i]);
    }
}

void fill_worker_render(struct fill_levels *d, unsigned worker, struct text *out)
{
    struct fill_pool pools[FILL_POOLS_MAX];
    const unsigned n = fill_pools(d, worker, pools);
    for (unsigned i = 0; i < n; i++)
        pool_lines(out, "", &pools[i]);
}

// rx_waiting -1: the device does not tell, or this worker has no queue there.
static void port_lines(const struct server *s, unsigned worker, unsigned port, struct text *out)
{
    struct port *p = server_port(s, port);
    const struct worker_port *wp = &server_worker(s, worker)->ports[port];
    const struct port_view *v = p->ops->view;
    struct handoff_counts c = {0};
    const bool asks = v != NULL && v->rx_waiting != NULL && worker < p->queues;
    text_printf(out, "%s_rx_waiting %d\n", p->name, asks ? v->rx_waiting(p, (uint16_t)worker) : -1);
    text_printf(out, "%s_tx_waiting %u\n%s_dirty_blocks %u\n", p->name, peek_u32(&wp->tx.n),
                p->name, peek_u32(&server_worker(s, worker)->tcp.lanes.at[port].n));
    if (server_handoff(s, port) == NULL)
        return;
    handoff_read(server_handoff(s, port), worker, &c);
    text_printf(out, "%s_handed_waiting %u\n%s_tx_handed_waiting %u\n", p->name, c.waiting, p->name,
                c.tx_waiting);
}

static void box_lines(const struct server *s, const struct worker *w, struct text *out)
{
    for (unsigned i = 0; i < w->n_boxed; i++) {
        const struct worker_box *b = &w->boxes[w->boxed[i]];
        const char *name = server_service(s, w->boxed[i])->name;
        text_printf(out, "%s_messages_in %u\n%s_messages_out %u\n", name, rte_ring_count(b->in),
                    name, rte_ring_count(b->out));
    }
    if (w->n_boxed != 0)
        text_printf(out, "messages_max %d\n", C10M_MESSAGES_MAX);
}

void fill_queues_render(const struct server *s, unsigned worker, struct text *out)
{
    const struct worker *w = server_worker(s, worker);
    for (unsigned p = 0; p < w->n_ports; p++)
        port_lines(s, worker, p, out);
    text_printf(out, "rx_behind_us_high %u\n", peek_u32(&w->highest.behind_us));
    text_printf(out, "tx_waiting_high %u\ntx_waiting_max %d\n", peek_u32(&w->highest.tx),
                WORKER_TX_MAX);
    text_printf(out, "dirty_blocks %u\ndirty_blocks_high %u\noutput_turn_max %d\n",
                peek_u32(&w->tcp.n_dirty), peek_u32(&w->highest.dirty), TCP_OUT_MAX);
    if (w->log != NULL)
        text_printf(out, "log_units %u\nlog_units_max %d\n", rte_ring_count(w->log),
                    LOG_RING_UNITS - 1);
    box_lines(s, w, out);
}

// SPDX-License-Identifier: BSD-3-Clause
#include "bench/measure.h"

#include <rte_cycles.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "bench/bare.h"
#include "drivers/eal.h"
#include "drivers/port_table.h"
#include "drivers/ring.h"

enum {
    POOL_PACKETS = 4096,
    WARM_BATCHES = 50,
    BATCHES_MAX = 1 << 20,  // most batches stored for the median
};

uint32_t bench_slots(uint32_t batch)
{
    uint32_t slots = RING_SLOTS_MIN;
    while (slots < batch)
        slots *= 2;
    return slots;
}

uint32_t bench_pool_packets(uint32_t batch)
{
    return MAX((uint32_t)POOL_PACKETS, 4 * bench_slots(batch));
}

int bench_wire_open(uint32_t batch, struct bench_wire *w, struct err *err)
{
    const uint32_t slots = bench_slots(batch), packets = bench_pool_packets(batch);
    w->server_pool = pkt_pool_create("bench_server", packets, -1);
    w->client_pool = pkt_pool_create("bench_client", packets, -1);
    if (w->server_pool == NULL || w->client_pool == NULL)
        return err_set(err, "no memory for two pools of %u packets", packets);
    struct port_params p = {.name = "server",
                            .driver = "ring",
                            .queues = 1,
                            .rx_ring = slots,
                            .tx_ring = slots,
                            .node = -1,
                            .pools = {w->server_pool}};
    if ((w->server = port_open(&p, err)) == NULL)
        return -1;
    p.name = "client";
    p.pools[0] = w->client_pool;
    w->client = ring_open_far(w->server, &p, err);
    return w->client == NULL ? -1 : 0;
}

void bench_wire_close(struct bench_wire *w)
{
    port_close(w->client);
    port_close(w->server);
    pkt_pool_destroy(w->server_pool);
    pkt_pool_destroy(w->client_pool);
}

static int compare(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static int feed_for(struct feed *f, double seconds, struct bench_row *row, struct err *err)
{
    struct turn_loop_sums did;
    for (unsigned i = 0; i < WARM_BATCHES; i++)
        if (feed_batch(f, &did, err) != 0)
            return -1;
    float *costs = malloc(BATCHES_MAX * sizeof(costs[0]));
    CHECK(costs != NULL);
    uint64_t end = tsc_read() + (uint64_t)(seconds * (double)rte_get_tsc_hz());
    size_t n = 0;
    int rc = 0;
    do {
        rc = feed_batch(f, &did, err);
        row->packets += did.packets;
        row->cycles += did.cycles;
        row->turns += did.turns;
        costs[n++] = (float)did.cycles / (float)did.packets;
    } while (rc == 0 && tsc_read() < end && n < BATCHES_MAX && !interrupted());
    qsort(costs, n, sizeof(costs[0]), compare);
    row->median = costs[n / 2];
    free(costs);
    return rc;
}

static int add_all(struct bare *b, const struct feed_params *fp, struct err *err)
{
    for (uint32_t i = 0; i < fp->connections; i++) {
        if (interrupted())
            return err_set(err, "interrupted");
        struct feed_conn c = feed_conn_at(fp, i);
        if (!bare_add(b, i, c.remote_v4, c.remote_port))
            return err_set(err, "no free place in the table for connection %u", i);
    }
    return 0;
}

int bench_slice(struct turn_loop *server, struct feed *f, double seconds, struct bench_row *row,
                struct err *err)
{
    server->stop = 0;
    if (eal_worker_launch(0, turn_loop_run, server, err) != 0)
        return -1;
    int rc = feed_for(f, seconds, row, err);
    if (rc == 0)
        rc = feed_settle(f, err);
    if (rc == 0 && interrupted())
        rc = err_set(err, "interrupted");
    turn_loop_stop(server);
    eal_worker_join(0);
    return rc;
}

int bench_bare_open(const struct bench_options *o, struct bench_wire *w, struct bench_bare *b,
                    struct bench_row *row, struct err *err)
{
    struct bare_params bp = {.port = w->server,
                             .pool = w->server_pool,
                             .local_v4 = BENCH_SERVER_V4,
                             .local_port = BENCH_SERVER_PORT,
                             .connections = row->connections,
                             .kept = o->batch};
    *b = (struct bench_bare){.bare = bare_new(&bp, err)};
    if (b->bare == NULL)
        return -1;
    b->server = (struct turn_loop){.turn = bare_turn, .ctx = b->bare};
    struct feed_params fp = {.port = w->client,
                             .pool = w->client_pool,
                             .server = &b->server,
                             .server_mac = w->server->mac,
                             .server_v4 = BENCH_SERVER_V4,
                             .client_v4 = BENCH_CLIENT_V4,
                             .server_port = BENCH_SERVER_PORT,
                             .connections = row->connections,
                             .batch = MIN(o->batch, row->connections & ~1u),
                             .payload = o->payload,
                             .order = o->order,
                             .seed = o->seed};
    row->page_bytes = bare_page_bytes(b->bare);
    row->memory_bytes = bare_memory_bytes(b->bare);
    if (add_all(b->bare, &fp, err) == 0 && (b->feed = feed_new(&fp, err)) != NULL)
        return 0;
    bare_free(b->bare);
    b->bare = NULL;
    return -1;
}

int bench_bare_close(struct bench_bare *b, struct err *err)
{
    int rc = 0;
    if (b->bare != NULL && bare_dropped(b->bare) != 0)
        rc = err_set(err, "the loop dropped %llu packets",
                     (unsigned long long)bare_dropped(b->bare));
    feed_free(b->feed);
    bare_free(b->bare);
    return rc;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "bench/bench_pair.h"

#include <stdlib.h>

#include "base/interrupt.h"
#include "bench/bench_server.h"
#include "drivers/port_table.h"

void bench_pair_params(const struct bench_options *o, struct server_params *p, const char *prefix)
{
    uint32_t most = 0;
    for (unsigned i = 0; i < o->count_n; i++)
        most = MAX(most, o->counts[i]);
    bench_server_params(p, prefix, &bench_echo_app, most, o->batch, o->client_cpu, o->server_cpu);
}

int bench_pair_join(const struct bench_options *o, struct server *s, struct bench_pair *pair,
                    struct err *err)
{
    *pair = (struct bench_pair){.w = server_worker(s, 0)};
    pair->pool = pkt_pool_create("echo_client", bench_pool_packets(o->batch), -1);
    if (pair->pool == NULL)
        return err_set(err, "no memory for the client's packets");
    pair->client = bench_client_open(s, pair->pool, err);
    return pair->client == NULL ? -1 : 0;
}

void bench_pair_part(struct bench_pair *pair)
{
    port_close(pair->client);
    pkt_pool_destroy(pair->pool);
}

int bench_pair_open(const struct bench_options *o, struct bench_pair *pair, uint32_t connections,
                    struct err *err)
{
    struct worker *w = pair->w;
    pair->server = (struct turn_loop){.turn = bench_turn, .ctx = w};
    struct feed_params fp = {.port = pair->client,
                             .pool = pair->pool,
                             .server = &pair->server,
                             .server_mac = w->ports[0].port->mac,
                             .server_v4 = BENCH_SERVER_V4,
                             .client_v4 = BENCH_CLIENT_V4,
                             .server_port = BENCH_SERVER_PORT,
                             .connections = connections,
                             .batch = MIN(o->batch, connections & ~1u),
                             .payload = o->payload,
                             .order = o->order,
                             .seed = o->seed,
                             .check_tcp_sum = true};
    for (uint32_t i = 0; i < connections; i++) {
        if (interrupted())
            return err_set(err, "interrupted");
        if (!bench_install(&w->tcp, feed_conn_at(&fp, i)))
            return err_set(err, "no free place for connection %u", i);
    }
    stat_snapshot(&pair->before, w->stats);
    pair->feed = feed_new(&fp, err);
    return pair->feed == NULL ? -1 : 0;
}

int bench_pair_close(struct bench_pair *pair, struct core_stats *now, struct err *err)
{
    int rc = 0;
    stat_snapshot(now, pair->w->stats);
    if (stat_dropped_rx(now) + stat_dropped_tx(now) != 0)
        rc = err_set(err, "the server dropped %llu packets",
                     (unsigned long long)(stat_dropped_rx(now) + stat_dropped_tx(now)));
    feed_free(pair->feed);
    pair->feed = NULL;
    bench_uninstall_all(pair->w);
    return rc;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *v, unsigned n)
{
    qsort(v, n, sizeof(v[0]), by_size);
    return n % 2 != 0 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

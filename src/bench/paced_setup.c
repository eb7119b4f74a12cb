// SPDX-License-Identifier: BSD-3-Clause
#include "bench/paced_setup.h"

#include <stdio.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "bench/bench_prof.h"
#include "bench/measure.h"
#include "drivers/port_table.h"

static void name_stalls(void *stalls)
{
    stalls_poll(stalls);
}

static void begin_stalls(void *stalls)
{
    stalls_restart(stalls);
    stalls_poll(stalls);
}

static int install_all(struct worker *w, uint32_t connections, struct err *err)
{
    const struct feed_params fp = {.client_v4 = BENCH_CLIENT_V4};
    for (uint32_t i = 0; i < connections; i++) {
        if (interrupted())
            return err_set(err, "interrupted");
        if (!bench_install(&w->tcp, feed_conn_at(&fp, i)))
            return err_set(err, "no free place for connection %u", i);
    }
    return 0;
}

int paced_setup_open(const struct bench_server_options *o, const struct c10m_app *app,
                     struct paced_setup *st, struct err *err)
{
    static char prefix[SERVER_PREFIX_BYTES];
    struct server_params p;
    snprintf(prefix, sizeof(prefix), "c10mbench%d", (int)getpid());
    bench_server_params(&p, prefix, app, o->connections, PACED_SLOTS, o->client_cpu, o->server_cpu);
    p.buffers = 2 * o->connections + PACED_SLOTS;  // replies are stored until their acknowledgment
    p.extra_packet_bytes = 64u << 20;              // pool of the client
    bench_pages(&p, o->name);
    st->server = server_start(&p, err);
    if (st->server == NULL)
        return -1;
    st->w = server_worker(st->server, 0);
    st->pool = pkt_pool_create("paced_client", bench_pool_packets(PACED_SLOTS), -1);
    st->client = bench_client_open(st->server, st->pool, err);
    if (st->client == NULL || install_all(st->w, o->connections, err) != 0)
        return -1;
    st->stalls = stalls_new(st->server);
    const struct paced_params pp = {.port = st->client,
                                    .pool = st->pool,
                                    .w = st->w,
                                    .server_v4 = BENCH_SERVER_V4,
                                    .client_v4 = BENCH_CLIENT_V4,
                                    .server_port = BENCH_SERVER_PORT,
                                    .connections = o->connections,
                                    .begun = begin_stalls,
                                    .between = name_stalls,
                                    .arg = st->stalls};
    if (st->stalls != NULL)
        st->paced = paced_new(&pp);
    return st->paced == NULL ? err_set(err, "no memory") : bench_prof_begin(st->server, err);
}

void paced_setup_close(struct paced_setup *st)
{
    struct err ignored;
    bench_prof_end(&ignored);
    paced_free(st->paced);
    stalls_free(st->stalls);
    if (st->client != NULL)
        port_close(st->client);
    pkt_pool_destroy(st->pool);
    if (st->server != NULL)
        server_stop(st->server);
}

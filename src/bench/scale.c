// SPDX-License-Identifier: BSD-3-Clause
// Measures the cost per packet with 1, 2, 4, 8 workers and a fixed number of connections: how much
// workers without shared data slow each other by shared caches and memory bandwidth.
//
// One client fills the rings of all workers while they stand still, then starts them at once. So
// all workers run at the same time at their maximum rate, and one core is enough to feed them. Each
// worker has a queue of one port, to which the client sends the packets of this worker, as RSS
// does.
#include <rte_cycles.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "bench/bench_main.h"
#include "bench/bench_prof.h"
#include "bench/bench_server.h"
#include "bench/bench_server_options.h"
#include "bench/measure.h"
#include "bench/options.h"
#include "drivers/port_table.h"
#include "worker/worker.h"

enum {
    BATCH = 1024,
    PAYLOAD = 64,
    WARM = 10,            // batches at the start of a slice that are not measured
    ROUNDS = 4,           // slices per row
    COSTS_MAX = 1 << 18,  // most batches of a row
    ROWS_MAX = BENCH_SERVER_LIST_MAX + 1,
    CLIENT_STRIDE = 1 << 16,  // client addresses per worker
};

static const char help[] =
    "usage: c10m bench scale [OPTIONS]\n"
    "\n"
    "Measure the cycles per packet with several workers at the same time and a fixed total number "
    "of\n"
    "connections: request in, reply out, pure ACK in, fed in lockstep by one client. The client "
    "and each\n"
    "worker need a core of their own; a row for which the machine has too few cores says so. If "
    "cores\n"
    "have two threads, two workers on one core are measured, too.\n"
    "\n"
    "  --workers LIST      numbers of workers (default 1,2,4,8)\n"
    "  --connections N     number of connections of all workers together (default 100k)\n"
    "  --seconds S         seconds for each row (default 3)\n"
    "  --cpus A,B          CPUs of the client and of the first worker (default 0,1)\n"
    "  --share             let several workers share a CPU; this only tests the benchmark itself, "
    "its\n"
    "                      figures then have no meaning\n" BENCH_JSON_HELP;

// cpus: the CPUs available for workers, first one of each core.
struct cpus {
    unsigned n;
    unsigned at[SERVER_WORKERS_MAX];
    int sibling;     // sibling thread of the first CPU; -1: none
    unsigned cores;  // available cores, with that of the client
};

struct lane {
    struct worker *w;
    struct turn_loop server;
    struct feed *feed;
};

struct row {
    uint32_t workers;
    bool siblings, measured;
    unsigned n;
    float *costs;  // cycles per packet for each batch of each worker
};

static uint32_t hold CACHE_ALIGNED;  // written by the client: nonzero stops the workers

// Returns the other thread of the core of a CPU; -1: none. The list has the form `0,8` or `0-1`.
static int sibling_of(unsigned cpu)
{
    char path[96], text[64] = "";
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list",
             cpu);
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return -1;
    const bool any = fgets(text, sizeof(text), f) != NULL;
    fclose(f);
    unsigned a, b;
    if (!any || sscanf(text, "%u%*[,-]%u", &a, &b) != 2)
        return -1;
    return (int)(a == cpu ? b : a);
}

static bool has(const struct cpus *c, unsigned cpu)
{
    for (unsigned i = 0; i < c->n; i++)
        if (c->at[i] == cpu)
            return true;
    return false;
}

static void find_cpus(const struct bench_server_options *o, struct cpus *c)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set);
    c->n = 0;
    c->at[c->n++] = o->server_cpu;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE && c->n < SERVER_WORKERS_MAX - 1; cpu++) {
        const int sibling = sibling_of(cpu);
        const bool taken = has(c, cpu) || (sibling >= 0 && has(c, (unsigned)sibling));
        if (CPU_ISSET(cpu, &set) && !taken && cpu != o->client_cpu && sibling != (int)o->client_cpu)
            c->at[c->n++] = cpu;
    }
    c->cores = c->n + 1;
    c->sibling = sibling_of(o->server_cpu);
    if (c->sibling < 0 || (unsigned)c->sibling == o->client_cpu ||
        !CPU_ISSET((unsigned)c->sibling, &set))
        c->sibling = -1;
}

static int lane_open(struct lane *l, struct worker *w, struct port *client, struct pkt_pool *pool,
                     uint32_t connections, struct err *err)
{
    l->w = w;
    l->server = (struct turn_loop){.turn = bench_turn, .ctx = w, .hold = &hold};
    const struct feed_params fp = {.port = client,
                                   .queue = (uint16_t)w->id,
                                   .pool = pool,
                                   .server = &l->server,
                                   .server_mac = w->ports[0].port->mac,
                                   .server_v4 = BENCH_SERVER_V4,
                                   .client_v4 = BENCH_CLIENT_V4 + w->id * CLIENT_STRIDE,
                                   .server_port = BENCH_SERVER_PORT,
                                   .connections = connections,
                                   .batch = MIN((uint32_t)BATCH, connections & ~1u),
                                   .payload = PAYLOAD,
                                   .order = FEED_RANDOM,
                                   .seed = 1 + w->id,
                                   .check_tcp_sum = true};
    for (uint32_t i = 0; i < connections; i++) {
        if (interrupted())
            return err_set(err, "interrupted");
        if (!bench_install(&w->tcp, feed_conn_at(&fp, i)))
            return err_set(err, "worker %u: no free place for connection %u", w->id, i);
    }
    l->feed = feed_new(&fp, err);
    return l->feed == NULL ? -1 : 0;
}

static void lane_close(struct lane *l)
{
    feed_free(l->feed);
    if (l->w != NULL)
        bench_uninstall_all(l->w);
    *l = (struct lane){.feed = NULL};
}

static void set_hold(uint32_t to)
{
    __atomic_store_n(&hold, to, __ATOMIC_RELEASE);
}

// Sends one batch to each worker while the workers stand still.
static int batch(struct lane *lanes, unsigned n, struct row *row, struct err *err)
{
    for (unsigned i = 0; i < n; i++)
        if (feed_begin(lanes[i].feed, err) != 0)
            return -1;
    set_hold(0);
    for (unsigned i = 0; i < n; i++) {
        struct turn_loop_sums did;
        if (feed_end(lanes[i].feed, &did, err) != 0)
            return -1;
        if (row != NULL && row->n < COSTS_MAX)
            row->costs[row->n++] = (float)did.cycles / (float)did.packets;
    }
    set_hold(1);
    return 0;
}

static int feed_all(struct lane *lanes, unsigned n, double seconds, struct row *row,
                    struct err *err)
{
    int rc = 0;
    for (unsigned i = 0; i < WARM && rc == 0; i++)
        rc = batch(lanes, n, NULL, err);
    const uint64_t end = tsc_read() + (uint64_t)(seconds * (double)rte_get_tsc_hz());
    do
        rc = rc == 0 ? batch(lanes, n, row, err) : rc;
    while (rc == 0 && tsc_read() < end && !interrupted());
    set_hold(0);
    for (unsigned i = 0; i < n && rc == 0; i++)
        rc = feed_settle(lanes[i].feed, err);
    return rc == 0 && interrupted() ? err_set(err, "interrupted") : rc;
}

// setup: the server with the number of workers of the largest row, and its client.
struct setup {
    struct server *server;
    struct pkt_pool *pool;
    struct port *client;
    struct lane lanes[SERVER_WORKERS_MAX];
};

static unsigned worker_of(const struct setup *st, const struct row *row, unsigned i)
{
    return row->siblings && i == 1 ? server_workers(st->server) - 1 : i;
}

static int slice(const struct bench_server_options *o, struct setup *st, struct row *row,
                 struct err *err)
{
    const unsigned n = row->workers;
    const uint32_t each = o->connections / n;
    unsigned launched = 0;
    int rc = 0;
    set_hold(1);
    for (unsigned i = 0; i < n && rc == 0; i++)
        rc = lane_open(&st->lanes[i], server_worker(st->server, worker_of(st, row, i)), st->client,
                       st->pool, each, err);
    for (; launched < n && rc == 0; launched += rc == 0)
        rc = eal_worker_launch(worker_of(st, row, launched), turn_loop_run,
                               &st->lanes[launched].server, err);
    set_hold(0);  // an idle turn provides packets for the rings
    if (rc == 0)
        rc = feed_all(st->lanes, n, o->seconds / ROUNDS, row, err);
    for (unsigned i = 0; i < launched; i++) {
        turn_loop_stop(&st->lanes[i].server);
        eal_worker_join(worker_of(st, row, i));
    }
    for (unsigned i = 0; i < n; i++)
        lane_close(&st->lanes[i]);
    row->measured = rc == 0;
    return rc;
}

static int by_size(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void print_row(const struct bench_server_options *o, const struct row *row,
                      const struct row *first, const struct cpus *c, bool comma)
{
    const unsigned needs = row->workers + 1;
    if (!row->measured && o->json) {
        printf("%s{\"workers\":%u,\"measured\":false,\"needs_cores\":%u,\"cores\":%u}",
               comma ? "," : "", row->workers, needs, c->cores);
        return;
    }
    if (!row->measured) {
        printf("%7u  needs %u cores, this machine has %u\n", row->workers, needs, c->cores);
        return;
    }
    const double median = row->costs[row->n / 2], decile = row->costs[row->n / 10];
    const double to_one = median / first->costs[first->n / 2];
    const double mpps = row->workers * (double)rte_get_tsc_hz() / median / 1e6;
    if (o->json)
        printf("%s{\"workers\":%u,\"measured\":true,\"on_one_core\":%s,\"cycles_per_packet\":%.1f,"
               "\"lower_decile\":%.1f,\"to_first\":%.3f,\"mpps\":%.2f,\"batches\":%u}",
               comma ? "," : "", row->workers, row->siblings ? "true" : "false", median, decile,
               to_one, mpps, row->n);
    else
        printf("%7u  %13.1f  %12.1f  %8.3f  %6.2f%s\n", row->workers, median, decile, to_one, mpps,
               row->siblings ? "  two threads of one core" : "");
}

static unsigned make_rows(const struct bench_server_options *o, const struct cpus *c,
                          struct row *rows)
{
    unsigned n = 0;
    for (unsigned i = 0; i < o->worker_n; i++)
        rows[n++] = (struct row){.workers = o->workers[i]};
    if (c->sibling >= 0)
        rows[n++] = (struct row){.workers = 2, .siblings = true};
    return n;
}

static bool fits(const struct row *row, const struct cpus *c)
{
    return row->siblings || row->workers <= c->n;
}

static int setup_open(const struct bench_server_options *o, const struct cpus *c,
                      const struct row *rows, unsigned n, struct setup *st, struct err *err)
{
    static char prefix[SERVER_PREFIX_BYTES];
    struct server_params p;
    snprintf(prefix, sizeof(prefix), "c10mbench%d", (int)getpid());
    bench_server_params(&p, prefix, &bench_echo_app, o->connections, BATCH, o->client_cpu,
                        o->server_cpu);
    p.n_workers = 1;
    for (unsigned i = 0; i < n; i++)
        if (fits(&rows[i], c) && !rows[i].siblings)
            p.n_workers = MAX(p.n_workers, rows[i].workers);
    memcpy(p.worker_cpu, c->at, sizeof(c->at));
    if (c->sibling >= 0)
        p.worker_cpu[p.n_workers++] = (unsigned)c->sibling;
    p.cpus_shared = o->share;
    p.connections = o->connections * p.n_workers;  // a single worker has all of them
    p.services[0].tcp.connections_max = p.connections;
    p.extra_packet_bytes = (uint64_t)p.n_workers * (64u << 20);
    bench_pages(&p, o->name);
    st->server = server_start(&p, err);
    if (st->server == NULL)
        return -1;
    for (unsigned i = 0; i < p.n_workers; i++)  // no packets are handed over between workers
        server_worker(st->server, i)->ports[0].port = server_port(st->server, 0);
    st->pool = pkt_pool_create("scale_client", bench_pool_packets(BATCH) * p.n_workers, -1);
    st->client = bench_client_open(st->server, st->pool, err);
    return st->client == NULL ? -1 : 0;
}

static void setup_close(struct setup *st)
{
    struct err ignored;
    bench_prof_end(&ignored);
    if (st->client != NULL)
        port_close(st->client);
    pkt_pool_destroy(st->pool);
    if (st->server != NULL)
        server_stop(st->server);
}

static int measure(const struct bench_server_options *o, const struct cpus *c, struct setup *st,
                   struct row *rows, unsigned n, struct err *err)
{
    for (unsigned i = 0; i < n; i++)
        rows[i].costs = malloc(COSTS_MAX * sizeof(rows[i].costs[0]));
    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned k = 0; k < n; k++) {
            struct row *row = &rows[round % 2 == 0 ? k : n - 1 - k];
            if (row->costs == NULL)
                return err_set(err, "no memory");
            if (fits(row, c) && slice(o, st, row, err) != 0)
                return -1;
        }
    for (unsigned i = 0; i < n; i++)
        qsort(rows[i].costs, rows[i].n, sizeof(rows[i].costs[0]), by_size);
    return 0;
}

static void print(const struct bench_server_options *o, const struct cpus *c,
                  const struct row *rows, unsigned n)
{
    const struct row *first = NULL;
    if (o->json)
        printf("{\"bench\":\"scale\",\"connections\":%u,\"cores\":%u,\"rows\":[", o->connections,
               c->cores);
    else
        printf("echo, request in, reply out, pure ACK in; %u connections in all, one client\n"
               "workers  cycles/packet  lower decile  to first    Mpps\n",
               o->connections);
    for (unsigned i = 0; i < n; i++) {
        if (first == NULL && rows[i].measured)
            first = &rows[i];
        print_row(o, &rows[i], first, c, i != 0);
    }
    if (o->json)
        printf("],\"siblings\":%s}\n", c->sibling >= 0 ? "true" : "false");
    else if (c->sibling < 0)
        printf(
            "      2  on two threads of one core: the core of the first worker has one thread\n");
}

int bench_scale(int argc, char **argv)
{
    static struct setup st;
    static struct row rows[ROWS_MAX];
    struct bench_server_options o = {.name = "scale",
                                     .connections = 100000,
                                     .seconds = 3,
                                     .server_cpu = 1,
                                     .takes = "wx",
                                     .workers = {1, 2, 4, 8},
                                     .worker_n = 4};
    struct cpus c;
    struct err err = {.text = ""};
    int rc = bench_server_options_parse(argc, argv, help, &o);
    if (rc != 0)
        return rc == 1 ? 0 : 2;
    find_cpus(&o, &c);
    for (; o.share && c.n < SERVER_WORKERS_MAX - 1; c.n++)
        c.at[c.n] = o.server_cpu;
    const unsigned n = make_rows(&o, &c, rows);
    rc = setup_open(&o, &c, rows, n, &st, &err);
    if (rc == 0)
        rc = bench_prof_begin(st.server, &err);
    if (rc == 0)
        rc = measure(&o, &c, &st, rows, n, &err);
    if (rc == 0)
        rc = bench_prof_end(&err);
    if (rc == 0)
        print(&o, &c, rows, n);
    else
        fprintf(stderr, "c10m bench scale: %s\n", err.text);
    for (unsigned i = 0; i < n; i++)
        free(rows[i].costs);
    setup_close(&st);
    return rc == 0 ? 0 : 1;
}

#include <getopt.h>
#include <rte_cycles.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/bare.h"
#include "bench/bench_main.h"
#include "bench/feed.h"
#include "drivers/eal.h"
#include "drivers/hugefiles.h"
#include "drivers/port_table.h"
#include "drivers/ring.h"

enum {
    COUNTS_MAX = 16,
    POOL_PACKETS = 4096,
    POOL_MIB = 64,  // both pools and the rings at the default batch
    WARM_BATCHES = 50,
    BATCHES_MAX = 1 << 20,  // whose cost is kept for the median
    CONNECTIONS_MAX = 50000000,
    SERVER_V4 = 0x0a000001,  // 10.0.0.1
    CLIENT_V4 = 0x0a400000,  // 10.64.0.0 and up
    SERVER_PORT = 7,
};

struct options {
    uint32_t counts[COUNTS_MAX];
    unsigned count_n;
    uint32_t batch, payload;
    double seconds;
    enum feed_order order;
    uint64_t seed;
    unsigned client_cpu, server_cpu;
    bool json;
};

struct row {
    uint32_t connections;
    uint64_t packets, cycles, turns;
    double median;  // cycles per packet, over batches
    size_t page_bytes, memory_bytes;
};

static const char help[] =
    "usage: c10m bench roofline [OPTIONS]\n"
    "\n"
    "Measures the bare loop: the memory work of a TCP echo (request in, reply out, pure ACK in) "
    "on\n"
    "one core, fed in lockstep by the other. Its rate is packets received over busy time.\n"
    "\n"
    "  --connections LIST  connections, e.g. 1k,10k,1M (default 1k,10k,100k,1M,10M)\n"
    "  --seconds S         seconds for each number of connections (default 3)\n"
    "  --batch N           packets published at once, even (default 1024)\n"
    "  --payload BYTES     bytes of each request, 8 to 1460 (default 64)\n"
    "  --order ORDER       connections at `random` (default) or in `turn`\n"
    "  --seed N            of the random order (default 1)\n"
    "  --cpus A,B          the client's and the loop's CPU (default 0,1)\n"
    "  --json              one JSON object instead of the table\n"
    "\n"
    "10 M connections want 1,370 free 2 MiB pages; without them ordinary memory is used, and "
    "said.\n";

static bool parse_count(const char *text, char **end, uint32_t *out)
{
    unsigned long long v = strtoull(text, end, 10);
    if (*end == text)
        return false;
    if (**end == 'k' || **end == 'K')
        v *= 1000, (*end)++;
    else if (**end == 'm' || **end == 'M')
        v *= 1000000, (*end)++;
    *out = (uint32_t)v;
    return v >= 2 && v <= CONNECTIONS_MAX;
}

static bool parse_counts(const char *text, struct options *o)
{
    o->count_n = 0;
    for (;;) {
        char *end;
        if (o->count_n == COUNTS_MAX || !parse_count(text, &end, &o->counts[o->count_n++]))
            return false;
        if (*end == '\0')
            return true;
        if (*end != ',')
            return false;
        text = end + 1;
    }
}

static bool parse_u32(const char *text, uint32_t min, uint32_t max, uint32_t *out)
{
    char *end;
    unsigned long long v = strtoull(text, &end, 10);
    *out = (uint32_t)v;
    return end != text && *end == '\0' && v >= min && v <= max;
}

static bool parse_option(int c, struct options *o)
{
    char *end;
    uint32_t seed;
    switch (c) {
    case 'c':
        return parse_counts(optarg, o);
    case 's':
        o->seconds = strtod(optarg, &end);
        return end != optarg && *end == '\0' && o->seconds > 0 && o->seconds <= 3600;
    case 'b':
        return parse_u32(optarg, 2, FEED_BATCH_MAX, &o->batch) && o->batch % 2 == 0;
    case 'p':
        return parse_u32(optarg, FEED_PAYLOAD_MIN, FEED_PAYLOAD_MAX, &o->payload);
    case 'o':
        o->order = strcmp(optarg, "turn") == 0 ? FEED_IN_TURN : FEED_RANDOM;
        return o->order == FEED_IN_TURN || strcmp(optarg, "random") == 0;
    case 'r':
        if (!parse_u32(optarg, 0, UINT32_MAX, &seed))
            return false;
        o->seed = seed;
        return true;
    case 'u':
        return sscanf(optarg, "%u,%u", &o->client_cpu, &o->server_cpu) == 2 &&
               o->client_cpu != o->server_cpu;
    case 'j':
        o->json = true;
        return true;
    }
    return false;
}

// 0: go on; 1: help was printed; 2: bad usage.
static int parse_options(int argc, char **argv, struct options *o)
{
    static const struct option table[] = {
        {"connections", required_argument, NULL, 'c'},
        {"seconds", required_argument, NULL, 's'},
        {"batch", required_argument, NULL, 'b'},
        {"payload", required_argument, NULL, 'p'},
        {"order", required_argument, NULL, 'o'},
        {"seed", required_argument, NULL, 'r'},
        {"cpus", required_argument, NULL, 'u'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int c, index = 0;
    optind = 1;
    while ((c = getopt_long(argc, argv, "h", table, &index)) != -1) {
        if (c == 'h') {
            fputs(help, stdout);
            return 1;
        }
        if (c == '?')
            return 2;
        if (!parse_option(c, o)) {
            fprintf(stderr, "c10m bench roofline: --%s %s: see --help\n", table[index].name,
                    optarg ? optarg : "");
            return 2;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "c10m bench roofline: %s: no such argument\n", argv[optind]);
        return 2;
    }
    return 0;
}

static int start_eal(const struct options *o, struct err *err)
{
    struct hugepages pages;
    uint64_t bytes = (uint64_t)POOL_MIB << 20;
    uint64_t scale = 1 + o->batch / 2048;
    bool huge = hugepages_read(2 << 20, &pages) && pages.free * pages.page_bytes >= bytes * scale;
    char prefix[32];
    snprintf(prefix, sizeof(prefix), "c10mbench%d", (int)getpid());
    struct eal_params p = {.file_prefix = prefix,
                           .main_cpu = o->client_cpu,
                           .workers = 1,
                           .worker_cpu = {o->server_cpu},
                           .hugepages = huge,
                           .memory_bytes = {bytes * scale}};
    return eal_start(&p, err);
}

struct wire {
    struct port *server, *client;
    struct pkt_pool *server_pool, *client_pool;
};

static int open_wire(const struct options *o, struct wire *w, struct err *err)
{
    uint32_t slots = RING_SLOTS_MIN;
    while (slots < o->batch)
        slots *= 2;
    uint32_t packets = MAX((uint32_t)POOL_PACKETS, 4 * slots);
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

static void close_wire(struct wire *w)
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

static int feed_for(struct feed *f, double seconds, struct row *row, struct err *err)
{
    struct lockstep_sums did;
    for (unsigned i = 0; i < WARM_BATCHES; i++)
        if (feed_batch(f, &did, err) != 0)
            return -1;
    float *costs = malloc(BATCHES_MAX * sizeof(costs[0]));
    CHECK(costs != NULL);
    uint64_t end = tsc_read() + (uint64_t)(seconds * (double)rte_get_tsc_hz());
    size_t n = 0;
    int rc = 0;
    while (rc == 0 && tsc_read() < end && n < BATCHES_MAX) {
        rc = feed_batch(f, &did, err);
        row->packets += did.packets;
        row->cycles += did.cycles;
        row->turns += did.turns;
        costs[n++] = (float)did.cycles / (float)did.packets;
    }
    qsort(costs, n, sizeof(costs[0]), compare);
    row->median = costs[n / 2];
    free(costs);
    return rc;
}

static int add_all(struct bare *b, const struct feed_params *fp, struct err *err)
{
    for (uint32_t i = 0; i < fp->connections; i++) {
        struct feed_conn c = feed_conn_at(fp, i);
        if (!bare_add(b, i, c.remote_v4, c.remote_port))
            return err_set(err, "connection %u found no place in the table", i);
    }
    return 0;
}

static int measure(const struct options *o, struct wire *w, struct row *row, struct err *err)
{
    struct bare_params bp = {.port = w->server,
                             .pool = w->server_pool,
                             .local_v4 = SERVER_V4,
                             .local_port = SERVER_PORT,
                             .connections = row->connections,
                             .kept = o->batch};
    struct bare *b = bare_new(&bp, err);
    if (b == NULL)
        return -1;
    struct lockstep_server server = {.turn = bare_turn, .ctx = b};
    struct feed_params fp = {.port = w->client,
                             .pool = w->client_pool,
                             .server = &server,
                             .server_mac = w->server->mac,
                             .server_v4 = SERVER_V4,
                             .client_v4 = CLIENT_V4,
                             .server_port = SERVER_PORT,
                             .connections = row->connections,
                             .batch = MIN(o->batch, row->connections & ~1u),
                             .payload = o->payload,
                             .order = o->order,
                             .seed = o->seed};
    struct feed *f = NULL;
    int rc = add_all(b, &fp, err);
    if (rc == 0)
        rc = (f = feed_new(&fp, err)) == NULL ? -1 : 0;
    if (rc == 0)
        rc = eal_worker_launch(0, lockstep_run, &server, err);
    if (rc == 0) {
        rc = feed_for(f, o->seconds, row, err);
        lockstep_stop(&server);
        eal_worker_join(0);
        if (rc == 0 && bare_dropped(b) != 0)
            rc = err_set(err, "the loop dropped %llu packets", (unsigned long long)bare_dropped(b));
    }
    row->page_bytes = bare_page_bytes(b);
    row->memory_bytes = bare_memory_bytes(b);
    feed_free(f);
    bare_free(b);
    return rc;
}

static void print_row(const struct options *o, const struct row *r, bool first)
{
    double cycles = (double)r->cycles / (double)r->packets, hz = (double)rte_get_tsc_hz();
    if (o->json) {
        printf("%s{\"connections\":%u,\"packets\":%llu,\"mpps\":%.3f,\"cycles_per_packet\":%.1f,"
               "\"median_cycles_per_packet\":%.1f,\"ns_per_packet\":%.2f,\"burst\":%.1f,"
               "\"page_bytes\":%zu,\"memory_bytes\":%zu}",
               first ? "" : ",", r->connections, (unsigned long long)r->packets, hz / cycles / 1e6,
               cycles, r->median, cycles / hz * 1e9, (double)r->packets / (double)r->turns,
               r->page_bytes, r->memory_bytes);
        return;
    }
    printf("%11u  %6.2f  %13.1f  %13.1f  %9.1f  %5.1f  %7zu\n", r->connections, hz / cycles / 1e6,
           cycles, r->median, cycles / hz * 1e9, (double)r->packets / (double)r->turns,
           r->page_bytes >> 10);
    fflush(stdout);
}

static void print_head(const struct options *o)
{
    const char *order = o->order == FEED_RANDOM ? "random" : "turn";
    if (o->json)
        printf("{\"bench\":\"roofline\",\"batch\":%u,\"payload_bytes\":%u,\"order\":\"%s\","
               "\"tsc_hz\":%llu,\"packet_page_bytes\":%llu,\"rows\":[",
               o->batch, o->payload, order, (unsigned long long)rte_get_tsc_hz(),
               (unsigned long long)eal_page_bytes());
    else
        printf("bare loop: request in, reply out, pure ACK in; %u-byte payload, batches of %u, "
               "order %s, TSC %.0f MHz, packets in %llu KiB pages\n"
               "connections    Mpps  cycles/packet  (median)       ns/packet  burst  page KiB\n",
               o->payload, o->batch, order, (double)rte_get_tsc_hz() / 1e6,
               (unsigned long long)eal_page_bytes() >> 10);
}

static int run(const struct options *o)
{
    struct err err = {""};
    struct wire w = {0};
    if (start_eal(o, &err) != 0 || open_wire(o, &w, &err) != 0) {
        fprintf(stderr, "c10m bench roofline: %s\n", err.text);
        return 1;
    }
    print_head(o);
    bool small_pages = eal_page_bytes() < 2 << 20;
    int rc = 0;
    for (unsigned i = 0; i < o->count_n && rc == 0; i++) {
        struct row row = {.connections = o->counts[i]};
        if ((rc = measure(o, &w, &row, &err)) == 0)
            print_row(o, &row, i == 0);
        small_pages |= row.page_bytes < 2 << 20;
    }
    if (o->json)
        printf("],\"hugepages\":%s}\n", small_pages ? "false" : "true");
    if (rc != 0)
        fprintf(stderr, "c10m bench roofline: %s\n", err.text);
    else if (small_pages)
        fprintf(stderr,
                "warning: not enough free huge pages (sysctl vm.nr_hugepages): ordinary memory "
                "was used, the figures are too low\n");
    close_wire(&w);
    eal_stop();
    return rc == 0 ? 0 : 1;
}

int bench_roofline(int argc, char **argv)
{
    struct options o = {.counts = {1000, 10000, 100000, 1000000, 10000000},
                        .count_n = 5,
                        .batch = 1024,
                        .payload = 64,
                        .seconds = 3,
                        .seed = 1,
                        .server_cpu = 1};
    int rc = parse_options(argc, argv, &o);
    return rc == 0 ? run(&o) : rc == 1 ? 0 : 2;
}

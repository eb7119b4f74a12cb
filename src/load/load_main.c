#include "load/load_main.h"

#include <getopt.h>
#include <rte_cycles.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/port_table.h"
#include "drivers/ring.h"
#include "load/load.h"
#include "worker/server.h"

enum {
    SERVER_V4 = 0x0a000001,   // 10.0.0.1
    GATEWAY_V4 = 0x0a0000fe,  // 10.0.0.254: us
    CLIENT_V4 = 0x0a400000,   // 10.64.0.0 and up
    ECHO_PORT = 7,
    RING_SLOTS = 8192,
};

static const struct mac_addr client_mac = {{2, 0, 0, 0, 0, 9}};

struct options {
    bool hold;
    uint32_t connections, rounds, window, payload;
    double seconds;
    enum load_order order;
    uint64_t seed;
    unsigned client_cpu, server_cpu;
    enum pages_kind pages;
    bool timestamps, close, json, quiet;
};

static const char help[] =
    "usage: c10m load hold [OPTIONS]     opens connections, asks each of them, rounds of it\n"
    "       c10m load request [OPTIONS]  asks again as soon as the answer has come\n"
    "\n"
    "A server with an echo service runs in the same process, joined by a ring port.\n"
    "Every answer is compared byte for byte and acknowledged by a segment of its own.\n"
    "\n"
    "  --connections N   default 1M (hold), 1k (request); k and M are taken\n"
    "  --rounds N        hold: requests of each connection (default 3)\n"
    "  --seconds S       request: for how long (default 5)\n"
    "  --order ORDER     connections at `random` (default) or in `turn`\n"
    "  --payload BYTES   of a request, 8 to 1400 (default 64)\n"
    "  --window N        connections that wait for an answer at a time (default 1024)\n"
    "  --close           close every connection in the end\n"
    "  --no-timestamps   do not offer the timestamp option\n"
    "  --hugepage KIND   auto (default), 2M, 1G or none\n"
    "  --seed N          of the order (default 1)\n"
    "  --cpus A,B        the client's and the server's CPU (default 0,1)\n"
    "  --json            one JSON object instead of the table\n"
    "  --quiet           no line per second\n";

static bool parse_u32(const char *text, uint32_t min, uint32_t max, uint32_t *out)
{
    char *end;
    unsigned long long v = strtoull(text, &end, 10);
    if (*end == 'k' || *end == 'K')
        v *= 1000, end++;
    else if (*end == 'M')
        v *= 1000000, end++;
    *out = (uint32_t)v;
    return end != text && *end == '\0' && v >= min && v <= max;
}

static bool parse_pages(const char *text, enum pages_kind *out)
{
    static const char *const names[] = {
        [PAGES_AUTO] = "auto", [PAGES_1G] = "1G", [PAGES_2M] = "2M", [PAGES_NONE] = "none"};
    for (unsigned i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(text, names[i]) == 0) {
            *out = (enum pages_kind)i;
            return true;
        }
    return false;
}

static bool parse_option(int c, struct options *o)
{
    uint32_t seed;
    char *end;
    switch (c) {
    case 'c':
        return parse_u32(optarg, 1, 200000000, &o->connections);
    case 'r':
        return parse_u32(optarg, 1, 1000000, &o->rounds);
    case 's':
        o->seconds = strtod(optarg, &end);
        return end != optarg && *end == '\0' && o->seconds > 0 && o->seconds <= 86400;
    case 'o':
        o->order = strcmp(optarg, "turn") == 0 ? LOAD_IN_TURN : LOAD_RANDOM;
        return o->order == LOAD_IN_TURN || strcmp(optarg, "random") == 0;
    case 'p':
        return parse_u32(optarg, LOAD_PAYLOAD_MIN, LOAD_PAYLOAD_MAX, &o->payload);
    case 'w':
        return parse_u32(optarg, 1, RING_SLOTS / 4, &o->window);
    case 'g':
        return parse_pages(optarg, &o->pages);
    case 'e':
        o->seed = parse_u32(optarg, 0, UINT32_MAX, &seed) ? seed : 0;
        return true;
    case 'u':
        return sscanf(optarg, "%u,%u", &o->client_cpu, &o->server_cpu) == 2 &&
               o->client_cpu != o->server_cpu;
    case 'C':
        return o->close = true;
    case 'T':
        o->timestamps = false;
        return true;
    case 'j':
        return o->json = true;
    case 'q':
        return o->quiet = true;
    default:
        return false;
    }
}

// -1: go on; else the exit status.
static int parse_options(int argc, char **argv, struct options *o)
{
    static const struct option table[] = {
        {"connections", required_argument, NULL, 'c'},
        {"rounds", required_argument, NULL, 'r'},
        {"seconds", required_argument, NULL, 's'},
        {"order", required_argument, NULL, 'o'},
        {"payload", required_argument, NULL, 'p'},
        {"window", required_argument, NULL, 'w'},
        {"hugepage", required_argument, NULL, 'g'},
        {"seed", required_argument, NULL, 'e'},
        {"cpus", required_argument, NULL, 'u'},
        {"close", no_argument, NULL, 'C'},
        {"no-timestamps", no_argument, NULL, 'T'},
        {"json", no_argument, NULL, 'j'},
        {"quiet", no_argument, NULL, 'q'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(help, stdout);
        return 0;
    }
    if (argc < 2 || (strcmp(argv[1], "hold") != 0 && strcmp(argv[1], "request") != 0)) {
        fputs(help, stderr);
        return 2;
    }
    o->hold = strcmp(argv[1], "hold") == 0;
    o->connections = o->hold ? 1000000 : 1000;
    int c, index = 0;
    optind = 1;
    argc--;
    argv++;
    while ((c = getopt_long(argc, argv, "h", table, &index)) != -1) {
        if (c == 'h') {
            fputs(help, stdout);
            return 0;
        }
        if (c == '?')
            return 2;
        if (!parse_option(c, o)) {
            fprintf(stderr, "c10m load: --%s %s: see --help\n", table[index].name,
                    optarg != NULL ? optarg : "");
            return 2;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "c10m load: %s: no such argument\n", argv[optind]);
        return 2;
    }
    return -1;
}

// The least that an echo can do; at the peer's FIN the stack closes.
static size_t echo_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    return c10m_send(c, data, len);
}

static const struct c10m_app echo = {.name = "echo", .data = echo_data};

static void make_params(const struct options *o, struct server_params *p, const char *prefix)
{
    server_params_default(p);
    p->prefix = prefix;
    p->pages = o->pages;
    p->linux_cpu = o->client_cpu;
    p->worker_cpu[0] = o->server_cpu;
    p->connections = o->connections;
    p->time_wait = MIN(o->connections, 65536u);
    p->packets = 4 * RING_SLOTS;
    p->extra_packet_bytes = 4ull * RING_SLOTS * 2560 + (2 << 20);
    p->n_ports = 1;
    struct server_port_params *pp = &p->ports[0];
    pp->port = (struct port_params){.name = "wire", .driver = "ring", .node = -1};
    pp->port.rx_ring = pp->port.tx_ring = RING_SLOTS;
    net_config_default(&pp->net);
    pp->net.n_locals = 1;
    pp->net.locals[0] = (struct net_local){SERVER_V4, 24};
    pp->net.gateway = GATEWAY_V4;
    pp->net.n_statics = 1;
    pp->net.statics[0] = (struct net_static){GATEWAY_V4, client_mac};
    p->n_services = 1;
    p->services[0] = (struct server_service_params){.name = "echo", .app = &echo};
    p->services[0].tcp = (struct tcp_service){.ports = {ECHO_PORT},
                                              .n_ports = 1,
                                              .local_ix = UINT16_MAX,
                                              .nodelay = true,
                                              .rcv_limit = 65536,
                                              .snd_limit = 65536,
                                              .connections_max = o->connections};
}

struct run {
    const struct options *o;
    struct server *server;
    struct load *load;
    struct pkt_pool *pool;
    struct port *port;
    double open_s, ask_s, close_s;
    struct core_stats asked_from, asked_to;
};

static int set_up(struct run *r, struct err *err)
{
    struct port_params far = {.name = "client",
                              .driver = "ring",
                              .queues = 1,
                              .node = -1,
                              .has_mac = true,
                              .mac = client_mac};
    r->pool = pkt_pool_create("load_client", 4 * RING_SLOTS, -1);
    if (r->pool == NULL)
        return err_set(err, "no memory for the client's packets");
    far.pools[0] = r->pool;
    r->port = ring_open_far(server_port(r->server, 0), &far, err);
    if (r->port == NULL)
        return -1;
    const struct load_params lp = {
        .port = r->port,
        .pool = r->pool,
        .server_mac = server_port(r->server, 0)->mac,
        .server_v4 = SERVER_V4,
        .first_v4 = CLIENT_V4,
        .server_port = ECHO_PORT,
        .connections = r->o->connections,
        .window = MIN(r->o->window, r->o->connections),
        .payload = r->o->payload,
        .rounds = r->o->hold ? r->o->rounds : 0,
        .order = r->o->order,
        .seed = r->o->seed,
        .timestamps = r->o->timestamps,
        .close = r->o->close,
    };
    r->load = load_new(&lp, err);
    return r->load == NULL ? -1 : server_run(r->server, err);
}

static void progress(const struct run *r, uint64_t second)
{
    const struct load_counters *c = load_counters(r->load);
    fprintf(stderr, "%4llu s  opened %llu  answered %llu  wrong %llu  failed %llu  repeated %llu\n",
            (unsigned long long)second, (unsigned long long)c->opened,
            (unsigned long long)c->answered, (unsigned long long)c->wrong,
            (unsigned long long)c->failed, (unsigned long long)c->repeated);
}

static void drive(struct run *r)
{
    const struct core_stats *stats = server_worker(r->server, 0)->stats;
    const double hz = (double)rte_get_tsc_hz();
    const uint64_t start = tsc_read();
    enum load_phase phase = LOAD_OPEN;
    uint64_t second = 0;
    double began = 0, now = 0;
    while (phase != LOAD_END) {
        now = (double)(tsc_read() - start) / hz;
        const enum load_phase next = load_turn(r->load, (uint64_t)(now * 1e6));
        if (next != phase) {
            *(phase == LOAD_OPEN  ? &r->open_s
              : phase == LOAD_ASK ? &r->ask_s
                                  : &r->close_s) = now - began;
            stat_snapshot(next == LOAD_ASK ? &r->asked_from : &r->asked_to, stats);
            began = now;
            phase = next;
        }
        if (!r->o->hold && phase == LOAD_ASK && now - began >= r->o->seconds)
            load_stop_asking(r->load);
        if ((uint64_t)now != second) {
            second = (uint64_t)now;
            if (!r->o->quiet)
                progress(r, second);
        }
    }
}

static double per(double value, double by)
{
    return by > 0 ? value / by : 0;
}

static void report(const struct run *r, bool ok)
{
    const struct load_counters *c = load_counters(r->load);
    uint64_t cycles = 0;
    for (unsigned s = 0; s < STAGE_idle; s++)
        cycles += r->asked_to.cycles[s] - r->asked_from.cycles[s];
    const double packets = (double)(r->asked_to.c.rx_packets - r->asked_from.c.rx_packets);
    struct text arenas;
    text_init(&arenas, 1 << 16);
    server_arenas(r->server, &arenas);
    if (r->o->json) {
        printf("{\"load\":\"%s\",\"ok\":%s,\"connections\":%u,\"opened\":%llu,\"answered\":%llu,"
               "\"closed\":%llu,\"wrong\":%llu,\"failed\":%llu,\"repeated\":%llu,",
               r->o->hold ? "hold" : "request", ok ? "true" : "false", r->o->connections,
               (unsigned long long)c->opened, (unsigned long long)c->answered,
               (unsigned long long)c->closed, (unsigned long long)c->wrong,
               (unsigned long long)c->failed, (unsigned long long)c->repeated);
        printf("\"duplicates\":%llu,\"strangers\":%llu,\"client_pool_empty\":%llu,"
               "\"client_tx_full\":%llu,\"open_s\":%.3f,\"ask_s\":%.3f,\"close_s\":%.3f,",
               (unsigned long long)c->duplicates, (unsigned long long)c->strangers,
               (unsigned long long)c->client_pool_empty, (unsigned long long)c->client_tx_full,
               r->open_s, r->ask_s, r->close_s);
        printf("\"opens_per_s\":%.0f,\"answers_per_s\":%.0f,\"server_cycles_per_packet\":%.1f,"
               "\"server_busy_mpps\":%.3f,\"p50_us\":%.0f,\"p99_us\":%.0f,\"p999_us\":%.0f}\n",
               per((double)c->opened, r->open_s), per((double)c->answered, r->ask_s),
               per((double)cycles, packets),
               per((double)rte_get_tsc_hz() * packets, (double)cycles) / 1e6,
               load_percentile_us(r->load, 0.5), load_percentile_us(r->load, 0.99),
               load_percentile_us(r->load, 0.999));
    } else {
        printf("connections   %u opened %llu in %.2f s: %.0f a second\n", r->o->connections,
               (unsigned long long)c->opened, r->open_s, per((double)c->opened, r->open_s));
        printf("answers       %llu in %.2f s: %.0f a second; wrong %llu, failed %llu\n",
               (unsigned long long)c->answered, r->ask_s, per((double)c->answered, r->ask_s),
               (unsigned long long)c->wrong, (unsigned long long)c->failed);
        if (r->o->close)
            printf("closed        %llu in %.2f s: %.0f a second\n", (unsigned long long)c->closed,
                   r->close_s, per((double)c->closed, r->close_s));
        printf("latency       p50 %.0f us, p99 %.0f us, p99.9 %.0f us, max %.0f us\n",
               load_percentile_us(r->load, 0.5), load_percentile_us(r->load, 0.99),
               load_percentile_us(r->load, 0.999), load_percentile_us(r->load, 1));
        printf("repeated      %llu; duplicates %llu, strangers %llu\n",
               (unsigned long long)c->repeated, (unsigned long long)c->duplicates,
               (unsigned long long)c->strangers);
        printf("client        pool empty %llu, wire full %llu\n",
               (unsigned long long)c->client_pool_empty, (unsigned long long)c->client_tx_full);
        printf("server        %.1f cycles a received packet while asked, %.2f Mpps of busy time\n",
               per((double)cycles, packets),
               per((double)rte_get_tsc_hz() * packets, (double)cycles) / 1e6);
        fputs(text_str(&arenas), stdout);
    }
    text_free(&arenas);
}

// Every answer came and was right, and as many as were asked for.
static bool all_right(const struct run *r)
{
    const struct load_counters *c = load_counters(r->load);
    const uint64_t n = r->o->connections;
    return c->opened == n && c->wrong == 0 && c->failed == 0 && c->strangers == 0 &&
           (!r->o->hold || c->answered == n * r->o->rounds) && c->answered != 0 &&
           (!r->o->close || c->closed == n);
}

int load_main(int argc, char **argv)
{
    struct options o = {.rounds = 3,
                        .window = 1024,
                        .payload = 64,
                        .seconds = 5,
                        .seed = 1,
                        .server_cpu = 1,
                        .timestamps = true};
    const int rc = parse_options(argc, argv, &o);
    if (rc >= 0)
        return rc;
    static struct run r;
    static struct server_params p;
    struct err err = {""};
    char prefix[32];
    snprintf(prefix, sizeof(prefix), "c10mload%d", (int)getpid());
    make_params(&o, &p, prefix);
    r.o = &o;
    bool ok = false, ran = false;
    r.server = server_start(&p, &err);
    if (r.server != NULL && set_up(&r, &err) == 0) {
        drive(&r);
        ok = all_right(&r);
        ran = true;
        report(&r, ok);
    }
    if (!ran)
        fprintf(stderr, "c10m load: %s\n", err.text);
    if (r.server != NULL)
        server_stop_workers(r.server);
    load_free(r.load);
    port_close(r.port);
    pkt_pool_destroy(r.pool);
    if (r.server != NULL)
        server_stop(r.server);
    return ok ? 0 : 1;
}

#include "load/load_main.h"

#include <rte_cycles.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "drivers/port_table.h"
#include "drivers/ring.h"
#include "load/load_liar.h"
#include "load/load_report.h"
#include "worker/server.h"

enum {
    SERVER_V4 = 0x0a000001,   // 10.0.0.1
    GATEWAY_V4 = 0x0a0000fe,  // 10.0.0.254: us
    CLIENT_V4 = 0x0a400000,   // 10.64.0.0 and up
    ECHO_PORT = 7,
};

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
    (void)sig;
    interrupted = 1;
}

// Ctrl-C and SIGTERM end the load with the report of what was done and everything given back; the
// second one ends it at once. What the caller ignores (a shell's background job) stays ignored.
static void catch_signals(void)
{
    static const int caught[] = {SIGINT, SIGTERM};
    const struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND};
    for (unsigned i = 0; i < ARRAY_LEN(caught); i++) {
        struct sigaction before;
        if (sigaction(caught[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(caught[i], &act, NULL);
    }
}

static const struct mac_addr client_mac = {{2, 0, 0, 0, 0, 9}};

// The server's end of the wire, with a port around it that makes trouble if there is to be any.
static void make_port(const struct load_options *o, struct server_params *p)
{
    struct server_port_params *pp = &p->ports[0];
    struct port_params *wire = &pp->port;
    if (load_faults_on(&o->faults)) {
        pp->port = (struct port_params){.name = "trouble",
                                        .driver = "fault",
                                        .queues = 1,
                                        .node = -1,
                                        .seed = o->seed,
                                        .loss_ppm = o->faults.loss_ppm,
                                        .reorder_ppm = o->faults.reorder_ppm,
                                        .duplicate_ppm = o->faults.duplicate_ppm,
                                        .corrupt_ppm = o->faults.corrupt_ppm,
                                        .delay_ms = o->faults.delay_ms};
        p->packets += 2 * FAULT_HOLD;
        wire = &pp->inner;
    }
    *wire = (struct port_params){.name = "wire",
                                 .driver = "ring",
                                 .queues = 1,
                                 .node = -1,
                                 .rx_ring = LOAD_RING_SLOTS,
                                 .tx_ring = LOAD_RING_SLOTS};
    net_config_default(&pp->net);
    pp->net.n_locals = 1;
    pp->net.locals[0] = (struct net_local){SERVER_V4, 24};
    pp->net.gateway = GATEWAY_V4;
    pp->net.n_statics = 1;
    pp->net.statics[0] = (struct net_static){GATEWAY_V4, client_mac};
    p->n_ports = 1;
}

static void make_params(const struct load_options *o, const struct c10m_app *app,
                        const char *prefix, struct server_params *p)
{
    server_params_default(p);
    p->prefix = prefix;
    p->pages = o->pages;
    p->linux_cpu = o->client_cpu;
    p->n_workers = o->workers;
    p->cpus_shared = o->workers > 1;
    for (unsigned i = 0; i < o->workers; i++)
        p->worker_cpu[i] = o->server_cpu;
    // A hash does not spread evenly: an eighth more, and some for the few.
    p->connections = o->connections + (o->workers > 1 ? o->connections / 8 + 1024 : 0);
    p->time_wait = MIN(o->connections, 65536u);
    p->packets = 4 * LOAD_RING_SLOTS;
    // The client's packets: of ordinary pages each takes one.
    p->extra_packet_bytes =
        4ull * LOAD_RING_SLOTS * (o->pages == PAGES_NONE ? 4352 : 2560) + (2 << 20);
    make_port(o, p);
    p->n_services = 1;
    p->services[0] = (struct server_service_params){.name = "echo", .app = app};
    p->services[0].tcp = (struct tcp_service){.ports = {ECHO_PORT},
                                              .n_ports = 1,
                                              .local_ix = UINT16_MAX,
                                              .nodelay = true,
                                              .rcv_limit = 65536,
                                              .snd_limit = 65536,
                                              .connections_max = p->connections};
}

struct run {
    struct load_options o;
    struct server *server;
    struct load *load;
    struct pkt_pool *pool;
    struct port *port;
    struct load_result result;
};

static int set_up(struct run *r, struct err *err)
{
    struct port *server_end = server_port(r->server, 0), *wrapped = fault_inner(server_end);
    struct port_params far = {.name = "client",
                              .driver = "ring",
                              .queues = 1,
                              .node = -1,
                              .has_mac = true,
                              .mac = client_mac};
    r->pool = pkt_pool_create("load_client", 4 * LOAD_RING_SLOTS, -1);
    if (r->pool == NULL)
        return err_set(err, "no memory for the client's packets");
    far.pools[0] = r->pool;
    r->port = ring_open_far(wrapped != NULL ? wrapped : server_end, &far, err);
    if (r->port == NULL)
        return -1;
    const struct load_params lp = {
        .port = r->port,
        .pool = r->pool,
        .server_mac = server_end->mac,
        .server_v4 = SERVER_V4,
        .first_v4 = CLIENT_V4,
        .server_port = ECHO_PORT,
        .connections = r->o.connections,
        .window = MIN(r->o.window, r->o.connections),
        .payload = r->o.payload,
        .rounds = r->o.kind == LOAD_HOLD ? r->o.rounds : 0,
        .order = r->o.order,
        .seed = r->o.seed,
        .timestamps = r->o.timestamps,
        .close = r->o.close,
    };
    r->load = load_new(&lp, err);
    return r->load == NULL ? -1 : server_run(r->server, err);
}

static void progress(const struct run *r, uint64_t second)
{
    struct text line;
    text_init(&line, 1 << 10);
    load_report_progress(r->load, second, &line);
    fputs(text_str(&line), stderr);
    text_free(&line);
}

// The sum of all workers' counters.
static void snapshot(const struct run *r, struct core_stats *sum)
{
    const struct core_stats *each[LOAD_WORKERS_MAX];
    for (unsigned i = 0; i < r->o.workers; i++)
        each[i] = server_worker(r->server, i)->stats;
    stat_sum(sum, each, r->o.workers);
}

// A phase of the load has ended, after seconds.
static void note_phase(struct run *r, enum load_phase ended, enum load_phase next, double seconds)
{
    struct load_result *out = &r->result;
    double *const took[] = {&out->open_s, &out->ask_s, &out->close_s};
    *took[ended] = seconds;
    if (next == LOAD_ASK)
        snapshot(r, &out->asked_from);
    if (ended == LOAD_ASK)
        snapshot(r, &out->asked_to);
}

static void drive(struct run *r)
{
    const double hz = (double)rte_get_tsc_hz();
    const uint64_t start = tsc_read();
    enum load_phase phase = LOAD_OPEN;
    uint64_t second = 0;
    double began = 0, now = 0;
    while (phase != LOAD_END && !interrupted) {
        now = (double)(tsc_read() - start) / hz;
        const enum load_phase next = load_turn(r->load, (uint64_t)(now * 1e6));
        if (next != phase) {
            note_phase(r, phase, next, now - began);
            began = now;
            phase = next;
        }
        if (r->o.kind == LOAD_REQUEST && phase == LOAD_ASK && now - began >= r->o.seconds)
            load_stop_asking(r->load);
        if ((uint64_t)now != second) {
            second = (uint64_t)now;
            if (!r->o.quiet)
                progress(r, second);
        }
    }
    if (phase != LOAD_END)
        note_phase(r, phase, LOAD_END, now - began);
}

static void collect(struct run *r)
{
    struct load_result *out = &r->result;
    struct core_stats end;
    struct port *server_end = server_port(r->server, 0);
    snapshot(r, &end);
    out->workers = r->o.workers;
    for (unsigned i = 0; i < r->o.workers; i++)
        stat_snapshot(&out->end[i], server_worker(r->server, i)->stats);
    out->options = &r->o;
    out->load = r->load;
    out->interrupted = interrupted;
    out->ok = !interrupted && load_all_right(r->load);
    out->tsc_hz = (double)rte_get_tsc_hz();
    out->server_retransmitted = end.c.tx_retransmits_segs;
    if (fault_inner(server_end) != NULL)
        fault_read(server_end, &out->to_server, &out->to_client);
    if (r->o.faults.falsify_ppm != 0)
        out->falsified = load_liar_lies();
}

static void report(const struct run *r)
{
    struct text out;
    text_init(&out, 1 << 16);
    if (r->o.json) {
        load_report_json(&r->result, &out);
    } else {
        load_report_table(&r->result, &out);
        server_arenas(r->server, &out);
    }
    fputs(text_str(&out), stdout);
    text_free(&out);
}

static void tear_down(struct run *r)
{
    if (r->server != NULL)
        server_stop_workers(r->server);
    load_free(r->load);
    port_close(r->port);
    pkt_pool_destroy(r->pool);
    if (r->server != NULL)
        server_stop(r->server);
}

static int show_help(void)
{
    struct text help;
    text_init(&help, 1 << 14);
    load_options_help(&help);
    fputs(text_str(&help), stdout);
    text_free(&help);
    return 0;
}

int load_main(int argc, char **argv, const struct c10m_app *echo)
{
    static struct run r;
    static struct server_params p;
    struct err err = {""};
    char prefix[32];
    const int rc = load_options_parse(argc, argv, &r.o, &err);
    if (rc > 0)
        return show_help();
    if (rc < 0) {
        fprintf(stderr, "c10m load: %s\n", err.text);
        return 2;
    }
    if (r.o.faults.falsify_ppm != 0)
        echo = load_liar(echo, r.o.faults.falsify_ppm, r.o.seed);
    snprintf(prefix, sizeof(prefix), "c10mload%d", (int)getpid());
    make_params(&r.o, echo, prefix, &p);
    catch_signals();
    r.server = server_start(&p, &err);
    if (r.server != NULL && set_up(&r, &err) == 0) {
        drive(&r);
        collect(&r);
        report(&r);
    } else {
        fprintf(stderr, "c10m load: %s\n", err.text);
    }
    tear_down(&r);
    return r.result.ok ? 0 : 1;
}

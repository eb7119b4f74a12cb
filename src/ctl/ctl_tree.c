#include "ctl/ctl_tree.h"

#include <stdio.h>
#include <time.h>

#include "base/toeplitz.h"
#include "stat/render.h"
#include "worker/conns.h"
#include "worker/server_log.h"

// shown: what the callbacks look at. One server a process has a tree; freed with it.
struct shown {
    const struct server *server;
    const struct conf *conf;
    const char *version;
    struct timespec started;
    struct tree_node *root;
};

static int version_read(struct tree_out *out, void *data)
{
    const struct shown *s = data;
    return tree_printf(out, "c10m %s\n", s->version);
}

static int uptime_read(struct tree_out *out, void *data)
{
    const struct shown *s = data;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double up =
        (double)(now.tv_sec - s->started.tv_sec) + (double)(now.tv_nsec - s->started.tv_nsec) / 1e9;
    return tree_printf(out, "%.2f\n", up);
}

static int config_read(struct tree_out *out, void *data)
{
    const struct shown *s = data;
    return conf_print(s->conf, tree_text(out));
}

static int state_read(struct tree_out *out, void *data)
{
    static const char *const names[] = {
        [WORKER_IDLE] = "starting", [WORKER_RUNNING] = "running", [WORKER_STOPPED] = "stopped"};
    const struct worker *w = data;
    const uint32_t state = __atomic_load_n(&w->state, __ATOMIC_ACQUIRE);
    return tree_printf(out, "state %s\ncpu %u\nconnections_max %u\n", names[state], w->cpu,
                       w->block_count);
}

// Each of these renders a copy, so that lines of one reading belong together.
static int counters_read(struct tree_out *out, void *data)
{
    static struct core_stats copy;
    stat_snapshot(&copy, ((const struct worker *)data)->stats);
    counters_render(tree_text(out), &copy);
    return 0;
}

static int drops_read(struct tree_out *out, void *data)
{
    static struct core_stats copy;
    stat_snapshot(&copy, ((const struct worker *)data)->stats);
    drops_render(tree_text(out), &copy);
    return 0;
}

static int cycles_read(struct tree_out *out, void *data)
{
    static struct core_stats copy;
    stat_snapshot(&copy, ((const struct worker *)data)->stats);
    cycles_render(tree_text(out), &copy);
    return 0;
}

// What packets waited for their turn's end, then the turns without work.
static int latency_read(struct tree_out *out, void *data)
{
    static struct latency copy;
    const struct worker *w = data;
    const uint64_t hz = worker_tsc_hz(w);
    latency_snapshot(&copy, &w->busy);
    latency_render(tree_text(out), &copy, "", "packets", hz);
    latency_snapshot(&copy, &w->idle);
    latency_render(tree_text(out), &copy, "idle_", "turns", hz);
    return 0;
}

static int driver_read(struct tree_out *out, void *data)
{
    return tree_printf(out, "%s\n", ((const struct port *)data)->ops->driver);
}

static int rss_read(struct tree_out *out, void *data)
{
    const struct port *p = data;
    const bool by_port = (p->caps & PORT_RSS) != 0;
    return tree_printf(out, "queues %u\nspread_by %s\ntable_entries %u\n", p->queues,
                       by_port ? "port" : "software",
                       by_port ? p->rss_entries : (unsigned)TOEPLITZ_ENTRIES);
}

static int offloads_read(struct tree_out *out, void *data)
{
    static const struct {
        const char *name;
        uint32_t cap;
    } rows[] = {{"rx_ip_checksum", PORT_RX_IP_CKSUM},
                {"rx_l4_checksum", PORT_RX_L4_CKSUM},
                {"tx_ip_checksum", PORT_TX_IP_CKSUM},
                {"tx_l4_checksum", PORT_TX_L4_CKSUM},
                {"multi_segment", PORT_MULTI_SEG},
                {"tso", PORT_TSO},
                {"rss", PORT_RSS}};
    int rc = 0;
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++)
        rc |= tree_printf(out, "%s %s\n", rows[i].name,
                          ((const struct port *)data)->caps & rows[i].cap ? "port" : "software");
    return rc;
}

static int mac_read(struct tree_out *out, void *data)
{
    const uint8_t *b = ((const struct port *)data)->mac.b;
    return tree_printf(out, "%02x:%02x:%02x:%02x:%02x:%02x\n", b[0], b[1], b[2], b[3], b[4], b[5]);
}

static int port_counters_read(struct tree_out *out, void *data)
{
    struct port *p = data;
    struct port_stats s = {0};
    p->ops->stats(p, &s);
    tree_printf(out, "rx_packets %llu\nrx_bytes %llu\ntx_packets %llu\ntx_bytes %llu\n",
                (unsigned long long)s.rx_packets, (unsigned long long)s.rx_bytes,
                (unsigned long long)s.tx_packets, (unsigned long long)s.tx_bytes);
    return tree_printf(out, "rx_missed %llu\nrx_nombuf %llu\nrx_errors %llu\ntx_errors %llu\n",
                       (unsigned long long)s.rx_missed, (unsigned long long)s.rx_nombuf,
                       (unsigned long long)s.rx_errors, (unsigned long long)s.tx_errors);
}

static int ledger_read(struct tree_out *out, void *data)
{
    const struct shown *s = data;
    struct ledger l = {0};
    server_ledger(server_params_of(s->server), &l);
    ledger_render(&l, server_params_of(s->server)->connections, tree_text(out));
    return 0;
}

static int arenas_read(struct tree_out *out, void *data)
{
    server_arenas(((const struct shown *)data)->server, tree_text(out));
    return 0;
}

// Nobody is asked for on the way to ourselves, and Linux shows nobody there.
static bool has_neighbors(const struct server *s, unsigned port)
{
    return !server_params_of(s)->ports[port].net.loops;
}

static int arp_read(struct tree_out *out, void *data)
{
    const struct shown *s = data;
    char lines[4096];
    tree_printf(out, "%s", NET_ARP_HEAD);
    for (unsigned w = 0; w < server_workers(s->server); w++) {
        const struct worker *worker = server_worker(s->server, w);
        for (unsigned p = 0; p < worker->n_ports; p++) {
            const struct worker_port *wp = &worker->ports[p];
            for (uint32_t slot = 0; has_neighbors(s->server, p) && slot < net_arp_slots(wp->net);) {
                const size_t n =
                    net_arp_render(wp->net, wp->port->name, &slot, lines, sizeof(lines));
                tree_put(out, lines, n);
            }
        }
    }
    return 0;
}

static int ndisc_read(struct tree_out *out, void *data)
{
    const struct shown *s = data;
    char lines[4096];
    for (unsigned w = 0; w < server_workers(s->server); w++) {
        const struct worker *worker = server_worker(s->server, w);
        for (unsigned p = 0; p < worker->n_ports; p++) {
            const struct worker_port *wp = &worker->ports[p];
            for (uint32_t slot = 0; has_neighbors(s->server, p) && slot < net_nd_slots(wp->net);) {
                const size_t n =
                    net_nd_render(wp->net, wp->port->name, &slot, lines, sizeof(lines));
                tree_put(out, lines, n);
            }
        }
    }
    return 0;
}

static unsigned all_stats(const struct server *s, const struct core_stats **cores)
{
    const unsigned n = server_workers(s);
    for (unsigned i = 0; i < n; i++)
        cores[i] = server_worker(s, i)->stats;
    return n;
}

static int sockstat_read(struct tree_out *out, void *data)
{
    const struct core_stats *cores[SERVER_WORKERS_MAX];
    const struct shown *s = data;
    sockstat_render(tree_text(out), cores, all_stats(s->server, cores), BUF_BYTES);
    return 0;
}

static int sockstat6_read(struct tree_out *out, void *data)
{
    const struct core_stats *cores[SERVER_WORKERS_MAX];
    const struct shown *s = data;
    sockstat6_render(tree_text(out), cores, all_stats(s->server, cores));
    return 0;
}

static int snmp6_read(struct tree_out *out, void *data)
{
    const struct core_stats *cores[SERVER_WORKERS_MAX];
    const struct shown *s = data;
    snmp6_render(tree_text(out), cores, all_stats(s->server, cores));
    return 0;
}

static int snmp_read(struct tree_out *out, void *data)
{
    const struct core_stats *cores[SERVER_WORKERS_MAX];
    const struct shown *s = data;
    const struct server_params *p = server_params_of(s->server);
    const struct snmp_constants k = {64, p->tcp.rto_min_ms, p->tcp.rto_max_ms, p->connections};
    snmp_render(tree_text(out), cores, all_stats(s->server, cores), &k);
    return 0;
}

static int conns_read(struct tree_out *out, void *cursor, const void *data, enum conns_table table)
{
    const struct shown *s = data;
    return conns_next(s->server, table, cursor, tree_text(out));
}

static int tcp_next(struct tree_out *out, void *cursor, void *data)
{
    return conns_read(out, cursor, data, CONNS_TCP4);
}

static int tcp6_next(struct tree_out *out, void *cursor, void *data)
{
    return conns_read(out, cursor, data, CONNS_TCP6);
}

static int tcp_info_next(struct tree_out *out, void *cursor, void *data)
{
    return conns_read(out, cursor, data, CONNS_INFO);
}

static int udp_read(struct tree_out *out, void *data)
{
    udp_render(((const struct shown *)data)->server, false, tree_text(out));
    return 0;
}

static int udp6_read(struct tree_out *out, void *data)
{
    udp_render(((const struct shown *)data)->server, true, tree_text(out));
    return 0;
}

static int netstat_read(struct tree_out *out, void *data)
{
    const struct core_stats *cores[SERVER_WORKERS_MAX];
    const struct shown *s = data;
    netstat_render(tree_text(out), cores, all_stats(s->server, cores));
    return 0;
}

struct service_of {
    const struct server *server;
    unsigned ix;
};

static int service_counters_read(struct tree_out *out, void *data)
{
    const struct service_of *of = data;
    const struct c10m_service *sv = server_service(of->server, of->ix);
    for (int i = 0; i < sv->n_counters; i++) {
        uint64_t sum = 0;
        for (unsigned w = 0; w < server_workers(of->server); w++)
            sum += stat_load(&server_worker(of->server, w)->sock.counters[of->ix][i]);
        tree_printf(out, "%s %llu\n", sv->counters[i].name, (unsigned long long)sum);
    }
    return 0;
}

static int service_log_read(struct tree_out *out, void *data)
{
    const struct service_of *of = data;
    uint64_t handed, lost;
    server_log_counts(of->server, of->ix, &handed, &lost);
    return tree_printf(out, "records_written %llu\nrecords_lost %llu\n",
                       (unsigned long long)(handed - lost), (unsigned long long)lost);
}

static int add(struct tree_node *root, const char *path, int (*read)(struct tree_out *, void *),
               const void *data)
{
    return tree_file_ro(root, path, read, (void *)(uintptr_t)data) == NULL ? -1 : 0;
}

// cores/N, of worker w: its CPU, and the others' on the same CPU N.1, N.2 and so on.
static void core_name(const struct server *s, unsigned w, char *out, size_t bytes)
{
    unsigned before = 0;
    const unsigned cpu = server_worker(s, w)->cpu;
    for (unsigned i = 0; i < w; i++)
        before += server_worker(s, i)->cpu == cpu;
    if (before == 0)
        snprintf(out, bytes, "%u", cpu);
    else
        snprintf(out, bytes, "%u.%u", cpu, before);
}

struct stalls_of {
    const struct stalls *stalls;
    unsigned worker;
};

static int stalls_read(struct tree_out *out, void *data)
{
    const struct stalls_of *of = data;
    stalls_render(of->stalls, of->worker, tree_text(out));
    return 0;
}

static int stall_causes_read(struct tree_out *out, void *data)
{
    const struct stalls_of *of = data;
    stalls_causes_render(of->stalls, of->worker, tree_text(out));
    return 0;
}

static int fill_stalls(struct tree_node *root, const struct server *s, const struct stalls *stalls)
{
    static struct stalls_of of[SERVER_WORKERS_MAX];
    int rc = 0;
    for (unsigned w = 0; w < server_workers(s); w++) {
        char path[64], core[24];
        of[w] = (struct stalls_of){stalls, w};
        core_name(s, w, core, sizeof(core));
        snprintf(path, sizeof(path), "cores/%s/stalls", core);
        rc |= add(root, path, stalls_read, &of[w]);
        snprintf(path, sizeof(path), "cores/%s/stall_causes", core);
        rc |= add(root, path, stall_causes_read, &of[w]);
    }
    return rc;
}

static int fill_cores(struct tree_node *root, const struct server *s)
{
    static const struct {
        const char *name;
        int (*read)(struct tree_out *, void *);
    } files[] = {{"state", state_read},
                 {"counters", counters_read},
                 {"drops", drops_read},
                 {"cycles", cycles_read},
                 {"latency", latency_read}};
    int rc = 0;
    for (unsigned w = 0; w < server_workers(s); w++)
        for (unsigned i = 0; i < ARRAY_LEN(files); i++) {
            char path[64], core[24];
            core_name(s, w, core, sizeof(core));
            snprintf(path, sizeof(path), "cores/%s/%s", core, files[i].name);
            rc |= add(root, path, files[i].read, server_worker(s, w));
        }
    return rc;
}

static int fill_ports(struct tree_node *root, const struct server *s)
{
    static const struct {
        const char *name;
        int (*read)(struct tree_out *, void *);
    } files[] = {{"driver", driver_read},
                 {"mac", mac_read},
                 {"rss", rss_read},
                 {"offloads", offloads_read},
                 {"counters", port_counters_read}};
    int rc = 0;
    for (unsigned p = 0; p < server_params_of(s)->n_ports; p++)
        for (unsigned i = 0; i < ARRAY_LEN(files); i++) {
            char path[96];
            snprintf(path, sizeof(path), "ports/%s/%s", server_port(s, p)->name, files[i].name);
            rc |= add(root, path, files[i].read, server_port(s, p));
        }
    return rc;
}

static int fill_services(struct tree_node *root, const struct server *s)
{
    static struct service_of of[TCP_SERVICES_MAX];
    int rc = 0;
    for (unsigned i = 0; i < server_params_of(s)->n_services; i++) {
        char path[96];
        of[i] = (struct service_of){s, i};
        snprintf(path, sizeof(path), "apps/%s/counters", server_service(s, i)->name);
        rc |= add(root, path, service_counters_read, &of[i]);
        if (server_service(s, i)->app->log == NULL)
            continue;
        snprintf(path, sizeof(path), "apps/%s/log", server_service(s, i)->name);
        rc |= add(root, path, service_log_read, &of[i]);
    }
    return rc;
}

static int fill_conns(struct tree_node *root, struct shown *s)
{
    static const struct {
        const char *path;
        int (*next)(struct tree_out *, void *, void *);
    } files[] = {{"net/tcp", tcp_next}, {"net/tcp6", tcp6_next}, {"net/tcp_info", tcp_info_next}};
    int rc = add(root, "net/udp", udp_read, s) | add(root, "net/udp6", udp6_read, s);
    for (unsigned i = 0; i < ARRAY_LEN(files); i++) {
        const struct tree_ops ops = {.next = files[i].next,
                                     .cursor_bytes = sizeof(struct conns_cursor)};
        rc |= tree_file(root, files[i].path, 0444, &ops, s) == NULL ? -1 : 0;
    }
    return rc;
}

int ctl_tree_fill(struct tree *t, const struct server *s, const struct conf *c,
                  const struct stalls *stalls, const char *version, struct err *err)
{
    static struct shown shown;
    shown = (struct shown){.server = s, .conf = c, .version = version, .root = tree_root(t)};
    clock_gettime(CLOCK_MONOTONIC, &shown.started);
    struct tree_node *root = shown.root;
    int rc = add(root, "version", version_read, &shown) | add(root, "uptime", uptime_read, &shown) |
             add(root, "config", config_read, &shown) | fill_cores(root, s) |
             fill_stalls(root, s, stalls) | fill_ports(root, s) |
             add(root, "net/arp", arp_read, &shown) | add(root, "net/ndisc", ndisc_read, &shown) |
             add(root, "net/sockstat", sockstat_read, &shown) |
             add(root, "net/sockstat6", sockstat6_read, &shown) |
             add(root, "net/snmp", snmp_read, &shown) | add(root, "net/snmp6", snmp6_read, &shown) |
             add(root, "net/netstat", netstat_read, &shown) | fill_conns(root, &shown) |
             add(root, "mem/ledger", ledger_read, &shown) |
             add(root, "mem/arenas", arenas_read, &shown) | fill_services(root, s);
    return rc == 0 ? 0 : err_set(err, "control tree: %s", tree_error(root));
}

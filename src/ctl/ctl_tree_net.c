// net/: in Linux's formats.
#include "ctl/ctl_tree_priv.h"
#include "stat/render.h"
#include "worker/conns.h"

// Nobody is asked for on the way to ourselves, and Linux shows nobody there.
static bool has_neighbors(const struct server *s, unsigned port)
{
    return !server_params_of(s)->ports[port].net.loops;
}

static int arp_read(struct tree_out *out, void *data)
{
    const struct ctl_shown *s = data;
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
    const struct ctl_shown *s = data;
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
    const struct ctl_shown *s = data;
    sockstat_render(tree_text(out), cores, all_stats(s->server, cores), BUF_BYTES);
    return 0;
}

static int sockstat6_read(struct tree_out *out, void *data)
{
    const struct core_stats *cores[SERVER_WORKERS_MAX];
    const struct ctl_shown *s = data;
    sockstat6_render(tree_text(out), cores, all_stats(s->server, cores));
    return 0;
}

static int snmp6_read(struct tree_out *out, void *data)
{
    const struct core_stats *cores[SERVER_WORKERS_MAX];
    const struct ctl_shown *s = data;
    snmp6_render(tree_text(out), cores, all_stats(s->server, cores));
    return 0;
}

static int snmp_read(struct tree_out *out, void *data)
{
    const struct core_stats *cores[SERVER_WORKERS_MAX];
    const struct ctl_shown *s = data;
    const struct server_params *p = server_params_of(s->server);
    const struct snmp_constants k = {64, p->tcp.rto_min_ms, p->tcp.rto_max_ms, p->connections};
    snmp_render(tree_text(out), cores, all_stats(s->server, cores), &k);
    return 0;
}

static int conns_read(struct tree_out *out, void *cursor, const void *data, enum conns_table table)
{
    const struct ctl_shown *s = data;
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
    udp_render(((const struct ctl_shown *)data)->server, false, tree_text(out));
    return 0;
}

static int udp6_read(struct tree_out *out, void *data)
{
    udp_render(((const struct ctl_shown *)data)->server, true, tree_text(out));
    return 0;
}

static int netstat_read(struct tree_out *out, void *data)
{
    const struct core_stats *cores[SERVER_WORKERS_MAX];
    const struct ctl_shown *s = data;
    netstat_render(tree_text(out), cores, all_stats(s->server, cores));
    return 0;
}

int ctl_tree_net(const struct ctl_shown *s)
{
    static const struct {
        const char *path;
        int (*read)(struct tree_out *, void *);
    } files[] = {{"net/arp", arp_read},           {"net/ndisc", ndisc_read},
                 {"net/sockstat", sockstat_read}, {"net/sockstat6", sockstat6_read},
                 {"net/snmp", snmp_read},         {"net/snmp6", snmp6_read},
                 {"net/netstat", netstat_read},   {"net/udp", udp_read},
                 {"net/udp6", udp6_read}};
    static const struct {
        const char *path;
        int (*next)(struct tree_out *, void *, void *);
    } streams[] = {{"net/tcp", tcp_next}, {"net/tcp6", tcp6_next}, {"net/tcp_info", tcp_info_next}};
    int rc = 0;
    for (unsigned i = 0; i < ARRAY_LEN(files); i++)
        rc |= ctl_tree_add(s, files[i].path, files[i].read, s);
    for (unsigned i = 0; i < ARRAY_LEN(streams); i++) {
        const struct tree_ops ops = {.next = streams[i].next,
                                     .cursor_bytes = sizeof(struct conns_cursor)};
        rc |=
            tree_file(tree_root(s->tree), streams[i].path, 0444, &ops, (void *)(uintptr_t)s) == NULL
                ? -1
                : 0;
    }
    return rc;
}

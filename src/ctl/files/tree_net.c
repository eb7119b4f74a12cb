// SPDX-License-Identifier: BSD-3-Clause
// net/: in Linux's formats.

#include "ctl/files/tree_files_internal.h"
#include "mem/buf.h"
#include "server/connections.h"
#include "server/neighbor_tables.h"
#include "stat/render.h"

static int arp_read(struct tree_out *out, void *data)
{
    const struct ctl_shown *s = data;
    return server_neighbors_render(s->server, NEIGHBORS_ARP, tree_text(out));
}

static int ndisc_read(struct tree_out *out, void *data)
{
    const struct ctl_shown *s = data;
    return server_neighbors_render(s->server, NEIGHBORS_ND, tree_text(out));
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

static int drop_reasons_read(struct tree_out *out, void *data)
{
    (void)data;
    drop_reasons_render(tree_text(out));
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
                 {"net/udp6", udp6_read},         {"net/drop_reasons", drop_reasons_read}};
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

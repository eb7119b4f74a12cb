// net/: in Linux's formats.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/files/tree_files_internal.h"
#include "server/connections.h"
#include "stat/render.h"

// Nobody is asked for on the way to ourselves, and Linux shows nobody there.
static bool has_neighbors(const struct server *s, unsigned port)
{
    return !server_params_of(s)->ports[port].net.loops;
}

// seen: lines that are there already: each worker has its own cache, which mostly says the same.
struct seen {
    uint64_t *hashes;
    size_t mask;
};

// Whether the line is there already; it is from now on.
static bool seen_line(struct seen *s, const char *line, size_t n)
{
    uint64_t h = 14695981039346656037u;  // FNV-1a
    for (size_t i = 0; i < n; i++)
        h = (h ^ (uint8_t)line[i]) * 1099511628211u;
    h |= 1;
    for (size_t i = h & s->mask;; i = (i + 1) & s->mask) {
        if (s->hashes[i] == h)
            return true;
        if (s->hashes[i] == 0) {
            s->hashes[i] = h;
            return false;
        }
    }
}

static void put_new(struct tree_out *out, struct seen *seen, const char *lines, size_t n)
{
    for (const char *at = lines, *end; at < lines + n; at = end) {
        const char *newline = memchr(at, '\n', (size_t)(lines + n - at));
        end = newline != NULL ? newline + 1 : lines + n;
        if (!seen_line(seen, at, (size_t)(end - at)))
            tree_put(out, at, (size_t)(end - at));
    }
}

// neighbors: how one family's are found and rendered.
struct neighbors {
    uint32_t (*slots)(const struct net *n);
    size_t (*render)(const struct net *n, const char *port, uint32_t *slot, char *out,
                     size_t bytes);
};

static void put_neighbors(struct tree_out *out, struct seen *seen, const struct server *s,
                          const struct worker_port *wp, unsigned port, const struct neighbors *of)
{
    char lines[4096];
    for (uint32_t slot = 0; has_neighbors(s, port) && slot < of->slots(wp->net);) {
        const size_t n = of->render(wp->net, wp->port->name, &slot, lines, sizeof(lines));
        put_new(out, seen, lines, n);
    }
}

static int neighbors_read(struct tree_out *out, const struct server *s, const struct neighbors *of)
{
    struct seen seen = {NULL, 1};
    size_t slots = 1;
    for (unsigned w = 0; w < server_workers(s); w++)
        for (unsigned p = 0; p < server_worker(s, w)->n_ports; p++)
            slots += of->slots(server_worker(s, w)->ports[p].net);
    while (seen.mask < 2 * slots)
        seen.mask *= 2;
    seen.hashes = calloc(seen.mask, sizeof(seen.hashes[0]));
    if (seen.hashes == NULL)
        return -ENOMEM;
    seen.mask--;
    for (unsigned w = 0; w < server_workers(s); w++)
        for (unsigned p = 0; p < server_worker(s, w)->n_ports; p++)
            put_neighbors(out, &seen, s, &server_worker(s, w)->ports[p], p, of);
    free(seen.hashes);
    return 0;
}

static int arp_read(struct tree_out *out, void *data)
{
    static const struct neighbors arp = {net_arp_slots, net_arp_render};
    tree_printf(out, "%s", NET_ARP_HEAD);
    return neighbors_read(out, ((const struct ctl_shown *)data)->server, &arp);
}

static int ndisc_read(struct tree_out *out, void *data)
{
    static const struct neighbors ndisc = {net_nd_slots, net_nd_render};
    return neighbors_read(out, ((const struct ctl_shown *)data)->server, &ndisc);
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

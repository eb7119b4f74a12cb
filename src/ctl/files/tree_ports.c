// SPDX-License-Identifier: BSD-3-Clause
// ports/NAME/: properties and counters of the devices. Device counters are read only here, on the
// control thread, because DPDK allows one thread at a time to do so.
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/toeplitz.h"
#include "ctl/files/tree_files_internal.h"
#include "pkt/port.h"
#include "server/linux_port.h"
#include "worker/handoff.h"

enum { XSTATS_MAX = 4096, RSS_ENTRIES_MAX = 512 };

// port_of: the data of a file. port: the configured port, or the port that it wraps, or a member of
// it.
struct port_of {
    const struct ctl_shown *shown;
    struct port *port;
    unsigned ix, member;
};

// ctl_port_copies: written by the control thread and read by any thread, under a lock that is held
// only during a copy.
struct ctl_port_copies {
    pthread_mutex_t lock;
    uint64_t next_ns;  // used by the control thread only
    struct port_stats stats[WORKER_PORTS_MAX];
};

void ctl_ports_look(const struct ctl_shown *s)
{
    struct ctl_port_copies *c = s->ports;
    struct port_stats now[WORKER_PORTS_MAX] = {0};
    const uint64_t now_ns = liveness_clock_ns();
    if (now_ns < c->next_ns)
        return;
    c->next_ns = now_ns + (uint64_t)CTL_PORTS_LOOK_MS * 1000000;
    for (unsigned i = 0; i < server_params_of(s->server)->n_ports; i++) {
        struct port *p = server_port(s->server, i);
        p->ops->stats(p, &now[i]);
    }
    pthread_mutex_lock(&c->lock);
    memcpy(c->stats, now, sizeof(now));
    pthread_mutex_unlock(&c->lock);
}

int ctl_ports_open(struct ctl_shown *s)
{
    s->ports = calloc(1, sizeof(*s->ports));
    if (s->ports == NULL)
        return -1;
    pthread_mutex_init(&s->ports->lock, NULL);
    ctl_ports_look(s);
    return 0;
}

void ctl_ports_close(struct ctl_shown *s)
{
    if (s->ports != NULL)
        pthread_mutex_destroy(&s->ports->lock);
    free(s->ports);
}

void ctl_tree_port_stats(const struct ctl_shown *s, unsigned i, struct port_stats *out)
{
    pthread_mutex_lock(&s->ports->lock);
    *out = s->ports->stats[i];
    pthread_mutex_unlock(&s->ports->lock);
}

static struct port *port_at(const void *data)
{
    return ((const struct port_of *)data)->port;
}

static const struct port_view *view_of(const struct port *p)
{
    static const struct port_view none;
    return p->ops->view != NULL ? p->ops->view : &none;
}

static int driver_read(struct tree_out *out, void *data)
{
    struct port *p = port_at(data);
    tree_printf(out, "driver %s\n", p->ops->driver);
    if (view_of(p)->describe != NULL)
        view_of(p)->describe(p, tree_text(out));
    return 0;
}

static int mac_read(struct tree_out *out, void *data)
{
    const uint8_t *b = port_at(data)->mac.b;
    return tree_printf(out, "%02x:%02x:%02x:%02x:%02x:%02x\n", b[0], b[1], b[2], b[3], b[4], b[5]);
}

static int mtu_read(struct tree_out *out, void *data)
{
    return tree_printf(out, "mtu_bytes %u\n", port_at(data)->mtu);
}

static int link_lines(struct tree_out *out, bool known, const struct port_link *l)
{
    const bool told = known && (l->up || l->reason != PORT_LINK_UNKNOWN);
    if (!told)
        return tree_printf(out, "status unknown\nreason unknown\nspeed_mbps 0\nduplex unknown\n");
    return tree_printf(out, "status %s\nreason %s\nspeed_mbps %u\nduplex %s\n",
                       l->up ? "up" : "down", link_reason_name(l), l->speed_mbps,
                       l->full_duplex ? "full" : "half");
}

// Link changes of a wrapped port are counted for the port that wraps it.
static int inner_link_read(struct tree_out *out, void *data)
{
    struct port *p = port_at(data);
    struct port_link l = {0};
    if (view_of(p)->link != NULL)
        view_of(p)->link(p, &l);
    return link_lines(out, view_of(p)->link != NULL, &l);
}

static int link_read(struct tree_out *out, void *data)
{
    const struct port_of *of = data;
    struct link_now now;
    link_watch_look(of->shown->links, of->ix, liveness_clock_ns(), &now);
    link_lines(out, now.known, &now.link);
    return tree_printf(out, "for_ms %" PRIu64 "\nchanges %" PRIu64 "\nreopened %" PRIu64 "\n",
                       now.for_ms, now.changes, now.reopened);
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
                          port_at(data)->caps & rows[i].cap ? "port" : "software");
    return rc;
}

// The number of the table's n entries of each worker.
static void rss_shares(struct tree_out *out, unsigned n, unsigned workers)
{
    unsigned entries[SERVER_WORKERS_MAX] = {0};
    for (unsigned i = 0; i < n; i++)
        entries[toeplitz_home(i, n, workers)]++;
    for (unsigned w = 0; w < workers; w++)
        tree_printf(out, "worker_%u_entries %u\nworker_%u_share_ppm %u\n", w, entries[w], w,
                    entries[w] * 1000000 / n);
}

static void rss_counts(struct tree_out *out, const struct rss_watch *w)
{
    tree_printf(out, "state %s\nchecks %" PRIu64 "\nrepairs %" PRIu64 "\n",
                rss_state_name(w->state), w->checks, w->repairs);
    for (unsigned k = 0; k < PORT_RSS_ALL_KINDS; k++)
        tree_printf(out, "wrong_core_%s %" PRIu64 "\n", rss_kind_name((enum port_rss_kind)k),
                    w->wrong[k]);
}

// The queue of each entry of the device's RSS table; without such a table, the worker of each entry
// of the server's table.
static int rss_read(struct tree_out *out, void *data)
{
    uint16_t queues[RSS_ENTRIES_MAX];
    const struct port_of *of = data;
    struct port *p = of->port;
    const bool by_port = (p->caps & PORT_RSS) != 0;
    const bool given_up = of->shown->rss[of->ix].state == RSS_SOFTWARE;
    const unsigned workers = server_workers(of->shown->server);
    unsigned n = by_port ? p->rss_entries : (unsigned)TOEPLITZ_ENTRIES;
    tree_printf(out, "queues %u\nspread_by %s\ntable_entries %u\nkey ", p->queues,
                by_port && !given_up ? "port" : "software", n);
    for (unsigned i = 0; i < TOEPLITZ_KEY_BYTES; i++)
        tree_printf(out, "%02x", server_rss_key(of->shown->server)[i]);
    tree_printf(out, "\n");
    rss_counts(out, &of->shown->rss[of->ix]);
    rss_shares(out, n, workers);
    for (unsigned i = 0; i < n && !by_port; i++)
        tree_printf(out, "entry_%u %u\n", i, toeplitz_home(i, n, workers));
    if (!by_port || view_of(p)->rss_table == NULL)
        return 0;
    n = MIN(view_of(p)->rss_table(p, queues, RSS_ENTRIES_MAX), (unsigned)RSS_ENTRIES_MAX);
    for (unsigned i = 0; i < n; i++)
        tree_printf(out, "entry_%u %u\n", i, queues[i]);
    return 0;
}

static void lines(struct tree_out *out, const struct port_stats *s)
{
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {{"rx_packets", s->rx_packets},     {"rx_bytes", s->rx_bytes},
                {"tx_packets", s->tx_packets},     {"tx_bytes", s->tx_bytes},
                {"rx_missed", s->rx_missed},       {"rx_nombuf", s->rx_nombuf},
                {"rx_errors", s->rx_errors},       {"tx_errors", s->tx_errors},
                {"tx_no_device", s->tx_no_device}, {"rx_taken_away", s->rx_taken_away},
                {"rx_added", s->rx_added},         {"tx_taken_away", s->tx_taken_away},
                {"tx_added", s->tx_added},         {"rx_lost", port_rx_lost(s)},
                {"tx_lost", port_tx_lost(s)}};
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++)
        tree_printf(out, "%s %" PRIu64 "\n", rows[i].name, rows[i].value);
}

static int counters_read(struct tree_out *out, void *data)
{
    struct port *p = port_at(data);
    struct port_stats s = {0};
    p->ops->stats(p, &s);
    const struct port_of *of = data;
    if (p == server_port(of->shown->server, of->ix))  // not the wrapped port
        ctl_baseline_port(of->shown->baseline, of->ix, &s);
    lines(out, &s);
    return 0;
}

static int xstats_read(struct tree_out *out, void *data)
{
    struct port *p = port_at(data);
    if (view_of(p)->xstats == NULL)
        return 0;
    struct port_xstat *x = calloc(XSTATS_MAX, sizeof(*x));
    if (x == NULL)
        return -ENOMEM;
    const unsigned n = view_of(p)->xstats(p, x, XSTATS_MAX);
    for (unsigned i = 0; i < MIN(n, (unsigned)XSTATS_MAX); i++)
        tree_printf(out, "%s %" PRIu64 "\n", x[i].name, x[i].value);
    free(x);
    return 0;
}

// rx_waiting -1: unknown to the device.
static int queues_read(struct tree_out *out, void *data)
{
    struct port *p = port_at(data);
    tree_printf(out, "queues %u\n", p->queues);
    for (uint16_t q = 0; q < p->queues; q++)
        tree_printf(out, "queue_%u_rx_waiting %d\n", q,
                    view_of(p)->rx_waiting != NULL ? view_of(p)->rx_waiting(p, q) : -1);
    return 0;
}

static void worker_lines(struct tree_out *out, unsigned w, const struct handoff_counts *c)
{
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {{"wrong_core_packets", c->wrong_core}, {"copies", c->copies},
                {"taken_over", c->taken_over},         {"lost", c->lost},
                {"tx_handed", c->tx_handed},           {"waiting_now", c->waiting},
                {"tx_waiting_now", c->tx_waiting}};
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++)
        tree_printf(out, "worker_%u_%s %" PRIu64 "\n", w, rows[i].name, rows[i].value);
}

// For each worker, its counters of packets of this port that belong to other workers. Not with one
// worker.
static int workers_read(struct tree_out *out, void *data)
{
    const struct port_of *of = data;
    const struct server *s = of->shown->server;
    const struct handoff *handoff = server_handoff(s, of->ix);
    struct handoff_counts each[SERVER_WORKERS_MAX];
    uint64_t wrong = 0, lost = 0;
    memset(each, 0, sizeof(each));
    for (unsigned w = 0; w < server_workers(s); w++) {
        if (handoff != NULL)
            handoff_read(handoff, w, &each[w]);
        wrong += each[w].wrong_core;
        lost += each[w].lost;
    }
    tree_printf(out, "workers %u\nqueues %u\nring_packets %u\n", server_workers(s),
                of->port->queues, each[0].room);
    tree_printf(out, "wrong_core_packets %" PRIu64 "\nlost %" PRIu64 "\n", wrong, lost);
    for (unsigned w = 0; w < server_workers(s); w++)
        worker_lines(out, w, &each[w]);
    return 0;
}

static int linux_read(struct tree_out *out, void *data)
{
    const struct port_of *of = data;
    const struct server *s = of->shown->server;
    struct linux_port_counts c;
    linux_port_read_counts(s, of->ix, &c);
    tree_printf(out, "interface %s\nifindex %d\nstate %s\nrate_per_s %u\n",
                linux_port_name(s, of->ix), linux_port_ifindex(s, of->ix),
                linux_port_gone(s, of->ix) ? "gone" : "here",
                server_params_of(s)->ports[of->ix].linux_rate);
    for (unsigned k = 0; linux_class_name(k) != NULL; k++)
        tree_printf(out, "to_%s %" PRIu64 "\nover_rate_%s %" PRIu64 "\n", linux_class_name(k),
                    c.workers.given[k], linux_class_name(k), c.workers.rate[k]);
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {{"full", c.workers.full},
                {"written", c.written},
                {"written_bytes", c.written_bytes},
                {"refused", c.refused},
                {"read", c.read},
                {"read_bytes", c.read_bytes},
                {"sent", c.workers.sent},
                {"sent_bytes", c.workers.sent_bytes},
                {"waits", c.workers.waits},
                {"bad_source", c.workers.bad_source},
                {"bad_length", c.workers.bad_length},
                {"kernel_drops", c.kernel_drops},
                {"to_units_now", c.to_units},
                {"from_units_now", c.from_units}};
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++)
        tree_printf(out, "%s %" PRIu64 "\n", rows[i].name, rows[i].value);
    return 0;
}

static int member_read(struct tree_out *out, void *data)
{
    const struct port_of *of = data;
    struct port *bond = server_port(of->shown->server, of->ix);
    bond->ops->group->describe(bond, of->member, tree_text(out));
    return 0;
}

struct port_file {
    const char *name;
    int (*read)(struct tree_out *, void *);
};

static int add_files(const struct ctl_shown *s, const char *folder, const struct port_file *files,
                     unsigned n, struct port_of *of)
{
    int rc = 0;
    for (unsigned i = 0; i < n; i++) {
        char path[128];
        snprintf(path, sizeof(path), "ports/%s/%s", folder, files[i].name);
        rc |= ctl_tree_add(s, path, files[i].read, of);
    }
    return rc;
}

int ctl_tree_ports(const struct ctl_shown *s)
{
    static const struct port_file own[] = {
        {"link", link_read}, {"rss", rss_read}, {"workers", workers_read}};
    static const struct port_file shared[] = {{"linux", linux_read}};
    static const struct port_file inner[] = {{"link", inner_link_read}};
    static const struct port_file each[] = {{"driver", driver_read}, {"mac", mac_read},
                                            {"mtu", mtu_read},       {"offloads", offloads_read},
                                            {"queues", queues_read}, {"counters", counters_read},
                                            {"xstats", xstats_read}};
    static struct port_of of[WORKER_PORTS_MAX], in[WORKER_PORTS_MAX];
    static struct port_of members[WORKER_PORTS_MAX][PORT_MEMBERS_MAX];
    static const struct port_file joined[] = {{"member", member_read}};
    int rc = 0;
    for (unsigned i = 0; i < server_params_of(s->server)->n_ports; i++) {
        struct port *p = server_port(s->server, i);
        char folder[2 * PORT_NAME_BYTES + 16];
        of[i] = (struct port_of){s, p, i, 0};
        rc |= add_files(s, p->name, own, ARRAY_LEN(own), &of[i]) |
              add_files(s, p->name, each, ARRAY_LEN(each), &of[i]);
        if (linux_port_name(s->server, i) != NULL)
            rc |= add_files(s, p->name, shared, ARRAY_LEN(shared), &of[i]);
        struct port_member is;
        for (unsigned m = 0; p->ops->group != NULL && p->ops->group->member(p, m, &is); m++) {
            members[i][m] = (struct port_of){s, is.port, i, m};
            snprintf(folder, sizeof(folder), "%s/members/%s", p->name, is.port->name);
            rc |= add_files(s, folder, joined, ARRAY_LEN(joined), &members[i][m]) |
                  add_files(s, folder, inner, ARRAY_LEN(inner), &members[i][m]) |
                  add_files(s, folder, each, ARRAY_LEN(each), &members[i][m]);
        }
        if (view_of(p)->inner == NULL)
            continue;
        in[i] = (struct port_of){s, view_of(p)->inner(p), i, 0};
        snprintf(folder, sizeof(folder), "%s/inner", p->name);
        rc |= add_files(s, folder, inner, ARRAY_LEN(inner), &in[i]) |
              add_files(s, folder, each, ARRAY_LEN(each), &in[i]);
    }
    return rc;
}

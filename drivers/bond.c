// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/bond.h"

#include <stdlib.h>
#include <string.h>

#include "drivers/bond_internal.h"
#include "drivers/port_table.h"
#include "tables/driver_table.h"

static void add(struct port_stats *sum, const struct port_stats *s)
{
    sum->rx_packets += s->rx_packets;
    sum->rx_bytes += s->rx_bytes;
    sum->tx_packets += s->tx_packets;
    sum->tx_bytes += s->tx_bytes;
    sum->rx_missed += s->rx_missed;
    sum->rx_nombuf += s->rx_nombuf;
    sum->rx_errors += s->rx_errors;
    sum->tx_errors += s->tx_errors;
    sum->tx_no_device += s->tx_no_device;
}

// stats: those of all members. What the stack does not see of it was taken away, and LACPDUs were
// added.
static void stats(struct port *p, struct port_stats *out)
{
    const struct bond *b = bond_of(p);
    *out = (struct port_stats){0};
    for (unsigned m = 0; m < b->n; m++) {
        struct port_stats s = {0};
        b->members[m].port->ops->stats(b->members[m].port, &s);
        add(out, &s);
    }
    for (unsigned q = 0; q < p->queues; q++) {
        const struct bond_lane *l = &b->lanes[q];
        const uint64_t no_member = peek_u64(&l->tx_no_member);
        out->tx_errors += no_member;
        out->tx_no_device += no_member;
        out->tx_added += peek_u64(&l->slow_sent);
        for (unsigned m = 0; m < b->n; m++)
            out->rx_taken_away +=
                peek_u64(&l->counts[m].idle_packets) + peek_u64(&l->counts[m].slow_packets);
    }
}

// rss_table: that of the first member; the others have the same.
static unsigned rss_table(struct port *p, uint16_t *queues, unsigned max)
{
    struct port *first = bond_of(p)->members[0].port;
    const struct port_view *v = first->ops->view;
    return v != NULL && v->rss_table != NULL ? v->rss_table(first, queues, max) : 0;
}

static void rss_check(struct port *p, struct port_rss_check *out)
{
    const struct bond *b = bond_of(p);
    *out = (struct port_rss_check){.readable = true};
    for (unsigned m = 0; m < b->n; m++) {
        struct port *in = b->members[m].port;
        struct port_rss_check c = {0};
        if (in->ops->view != NULL && in->ops->view->rss_check != NULL)
            in->ops->view->rss_check(in, &c);
        out->readable &= c.readable;
        out->key_wrong |= c.key_wrong;
        out->mended |= c.mended;
        out->entries_wrong = (uint16_t)(out->entries_wrong + c.entries_wrong);
    }
}

static int rx_waiting(struct port *p, uint16_t q)
{
    const struct bond *b = bond_of(p);
    int sum = 0;
    for (unsigned m = 0; m < b->n; m++) {
        struct port *in = b->members[m].port;
        const struct port_view *v = in->ops->view;
        const int n = v != NULL && v->rx_waiting != NULL ? v->rx_waiting(in, q) : -1;
        if (n < 0)
            return -1;
        sum += n;
    }
    return sum;
}

static void describe(struct port *p, struct text *out)
{
    static const char *const hashes[] = {
        [BOND_HASH_L2] = "l2", [BOND_HASH_L23] = "l23", [BOND_HASH_L34] = "l34"};
    const struct bond *b = bond_of(p);
    unsigned usable = 0;
    for (unsigned m = 0; m < b->n; m++)
        usable += b->members[m].usable;
    text_printf(out, "mode %s\nmembers %u\nusable %u\nmoves %u\n",
                b->is_lacp ? "lacp" : "active-backup", b->n, usable, b->moves);
    if (b->is_lacp)
        text_printf(out, "hash %s\nlacp_rate %s\n", hashes[b->hash],
                    (b->lacp.members[0].actor.state & LACP_SHORT) != 0 ? "fast" : "slow");
    else
        text_printf(out, "primary %s\nactive %s\n",
                    b->primary < 0 ? "none" : b->members[b->primary].port->name,
                    b->members[b->active].port->name);
}

static void free_bond(struct bond *b)
{
    for (unsigned m = b->n; m-- > 0;)
        port_close(b->members[m].port);
    free(b->lanes);
    free(b);
}

static void bond_close(struct port *p)
{
    bond_say_farewell(bond_of(p));
    free_bond(bond_of(p));
}

static const struct port_view view = {.link = bond_link,
                                      .rx_waiting = rx_waiting,
                                      .rss_table = rss_table,
                                      .rss_check = rss_check,
                                      .describe = describe};

static const struct port_wait wait = {.fds = bond_fds};

static const struct port_ops backup_ops = {
    .driver = "bond",
    .rx_burst = bond_rx_burst,
    .tx_burst = bond_backup_tx_burst,
    .stats = stats,
    .close = bond_close,
    .view = &view,
    .group = &bond_group,
    .wait = &wait,
};

static const struct port_ops lacp_ops = {
    .driver = "bond",
    .rx_burst = bond_rx_burst,
    .tx_burst = bond_lacp_tx_burst,
    .stats = stats,
    .close = bond_close,
    .view = &view,
    .group = &bond_group,
    .wait = &wait,
};

int bond_check(const struct port_params *p, struct err *err)
{
    if (p->n_members == 0 || p->n_members > PORT_MEMBERS_MAX || p->members == NULL)
        return err_set(err, "port %s: members: 1 to %d ports were expected", p->name,
                       PORT_MEMBERS_MAX);
    for (unsigned m = 0; m < p->n_members; m++)
        if (!driver_may_join(p->members[m].driver))
            return err_set(err, "port %s: members: no port of driver %s can be one", p->name,
                           p->members[m].driver);
    if (p->primary >= (int)p->n_members)
        return err_set(err, "port %s: primary: one of the members was expected", p->name);
    return 0;
}

static int open_member(struct bond *b, const struct port_params *p, struct err *err)
{
    struct port_params in = p->members[b->n];
    in.queues = p->queues;
    in.waits = p->waits;
    memcpy(in.pools, p->pools, sizeof(in.pools));
    in.has_mac = p->has_mac || b->n != 0;
    in.mac = p->has_mac || b->n == 0 ? p->mac : b->members[0].port->mac;
    struct port *port = port_open(&in, err);
    if (port == NULL)
        return -1;
    b->members[b->n++].port = port;
    if (port->queues == b->members[0].port->queues)
        return 0;
    err_set(err, "port %s: member %s has %u queues, member %s has %u: set queues to the smaller",
            p->name, port->name, port->queues, b->members[0].port->name,
            b->members[0].port->queues);
    return err_key(err, "port.%s.queues", p->name);
}

// take_from: the bond can do what all members can.
static void take_from(struct port *all, const struct port *in)
{
    const uint16_t most = in->chain_max != 0 ? in->chain_max : PKT_CHAIN_MAX;
    all->caps &= in->caps;
    all->mtu = MIN(all->mtu, in->mtu);
    all->chain_max = all->chain_max == 0 ? most : MIN(all->chain_max, most);
    all->rss_kinds &= in->rss_kinds;
    if (all->rss_entries != in->rss_entries)
        all->caps &= ~(uint32_t)(PORT_RSS | PORT_RSS_TAGGED);
}

static void set_up(struct bond *b, const struct port_params *p)
{
    b->port = *b->members[0].port;
    for (unsigned m = 0; m < b->n; m++)
        take_from(&b->port, b->members[m].port);
    strcpy(b->port.name, p->name);
    b->port.ops = p->lacp ? &lacp_ops : &backup_ops;
    b->port.priv = b;
    b->hash = p->bond_hash;
    b->is_lacp = p->lacp;
    b->pool = p->pools[0];
    b->primary = p->lacp ? -1 : p->primary;
    b->active = b->primary >= 0 ? (unsigned)b->primary : 0;
    if (b->is_lacp)
        lacp_init(&b->lacp, b->n, &b->port.mac, p->lacp_fast);
    bond_start(b);
}

struct port *bond_open(const struct port_params *p, struct err *err)
{
    if (bond_check(p, err) != 0)
        return NULL;
    struct bond *b = calloc(1, sizeof(*b));
    CHECK(b != NULL);
    const size_t bytes = ALIGN_UP(sizeof(*b->lanes), CACHE_LINE) * p->queues;
    b->lanes = aligned_alloc(CACHE_LINE, bytes);
    CHECK(b->lanes != NULL);
    memset(b->lanes, 0, bytes);
    while (b->n < p->n_members)
        if (open_member(b, p, err) != 0) {
            free_bond(b);
            return NULL;
        }
    set_up(b, p);
    return &b->port;
}

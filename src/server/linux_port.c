// SPDX-License-Identifier: BSD-3-Clause
#include "server/linux_port.h"

#include <rte_ring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "server/linux_internal.h"
#include "server/linux_tap.h"
#include "server/server_internal.h"

bool linux_ports_any(const struct server_params *p)
{
    for (unsigned i = 0; i < p->n_ports; i++)
        if (p->ports[i].linux_name != NULL)
            return true;
    return false;
}

uint64_t linux_port_footprint(const struct server_params *p)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < p->n_ports; i++)
        bytes += p->ports[i].linux_name != NULL ? linux_box_footprint() : 0;
    return bytes;
}

static int open_one(struct server *s, unsigned i, struct err *err)
{
    const struct server_port_params *pp = &s->params.ports[i];
    struct shared_port *p = &s->linux_ports->ports[i];
    const struct linux_tap t = {.name = pp->linux_name,
                                .port = pp->port.name,
                                .mac = s->ports[i]->mac,
                                // What it sends takes packets of PKT_ROOM bytes.
                                .mtu = MIN(s->ports[i]->mtu, (uint16_t)PORT_MTU_SMALL),
                                .net = &pp->net};
    p->fd = linux_tap_open(&t, &p->ifindex, err);
    if (p->fd < 0)
        return -1;
    p->name = pp->linux_name;
    return 0;
}

int linux_ports_open(struct server *s, struct err *err)
{
    if (!linux_ports_any(&s->params))
        return 0;
    struct linux_ports *l = aligned_alloc(CACHE_LINE, ALIGN_UP(sizeof(*l), CACHE_LINE));
    if (l == NULL)
        return err_set(err, "no memory");
    memset(l, 0, sizeof(*l));
    l->server = s;
    l->n = s->params.n_ports;
    l->flows.key = s->keys.of[SECRET_LINUX];
    s->linux_ports = l;
    for (unsigned i = 0; i < l->n; i++)
        if (s->params.ports[i].linux_name != NULL && open_one(s, i, err) != 0)
            return -1;
    return 0;
}

void linux_ports_join(struct server *s, struct worker *w, uint8_t *mem)
{
    for (unsigned i = 0; i < w->n_ports; i++) {
        const struct server_port_params *pp = &s->params.ports[i];
        if (pp->linux_name == NULL)
            continue;
        const struct siphash_key *secret = &s->keys.of[SECRET_LINUX];
        const struct siphash_key key = {siphash_u64x2(secret, i, 2), siphash_u64x2(secret, i, 3)};
        w->linux_boxes[i] = linux_box_init(mem, pp->linux_rate, &w->ports[i].port->mac, key,
                                           &s->linux_ports->flows);
        mem += linux_box_footprint();
        w->tcp.linux_lanes |= 1u << i;
        w->linux_pool = s->pools[w->id];
    }
}

void linux_ports_close(struct server *s)
{
    struct linux_ports *l = s->linux_ports;
    for (unsigned i = 0; l != NULL && i < l->n; i++)
        if (l->ports[i].name != NULL)
            close(l->ports[i].fd);
    free(l);
    s->linux_ports = NULL;
}

static struct shared_port *port_of(const struct server *s, unsigned i)
{
    struct linux_ports *l = s->linux_ports;
    return l == NULL || l->ports[i].name == NULL ? NULL : &l->ports[i];
}

const char *linux_port_name(const struct server *s, unsigned i)
{
    const struct shared_port *p = port_of(s, i);
    return p == NULL ? NULL : p->name;
}

int linux_port_ifindex(const struct server *s, unsigned i)
{
    const struct shared_port *p = port_of(s, i);
    return p == NULL ? 0 : p->ifindex;
}

bool linux_port_gone(const struct server *s, unsigned i)
{
    const struct shared_port *p = port_of(s, i);
    return p != NULL && shared_bool_load(&p->gone);
}

void linux_port_link(const struct server *s, unsigned i, bool up)
{
    struct shared_port *p = port_of(s, i);
    if (p == NULL)
        return;
    if (linux_port_gone(s, i) && !p->said_gone) {
        p->said_gone = true;
        log_say(LOG_port, LOG_WARN,
                "port %s: interface %s was removed: Linux gets no packets of the port until the "
                "server is restarted",
                s->params.ports[i].port.name, p->name);
    }
    if (up != p->up && linux_tap_carrier(p->fd, up) == 0)
        p->up = up;
}

static void add_worker(struct linux_port_counts *out, const struct linux_box *b)
{
    const uint64_t *from = (const uint64_t *)&b->counts;
    uint64_t *to = (uint64_t *)&out->workers;
    for (size_t k = 0; k < sizeof(b->counts) / sizeof(*from); k++)
        to[k] += stat_load(&from[k]);
    out->to_units += rte_ring_count(b->to);
    out->from_units += rte_ring_count(b->from);
}

void linux_port_read_counts(const struct server *s, unsigned i, struct linux_port_counts *out)
{
    const struct shared_port *p = port_of(s, i);
    char path[80];
    *out = (struct linux_port_counts){.written = 0};
    if (p == NULL)
        return;
    for (unsigned w = 0; w < s->params.n_workers; w++)
        add_worker(out, s->workers[w]->linux_boxes[i]);
    out->written = shared_u64_load(&p->written);
    out->written_bytes = shared_u64_load(&p->written_bytes);
    out->refused = shared_u64_load(&p->refused);
    out->read = shared_u64_load(&p->read);
    out->read_bytes = shared_u64_load(&p->read_bytes);
    snprintf(path, sizeof(path), "/sys/class/net/%s/statistics/tx_dropped", p->name);
    if (!io_read_number(path, &out->kernel_drops))
        out->kernel_drops = 0;
}

const char *linux_class_name(unsigned c)
{
    static const char *const names[NET_LINUX_CLASSES] = {[NET_LINUX_FLOW] = "flow",
                                                         [NET_LINUX_LINK] = "link",
                                                         [NET_LINUX_TCP] = "tcp",
                                                         [NET_LINUX_PROTO] = "proto",
                                                         [NET_LINUX_REST] = "rest"};
    return c < NET_LINUX_CLASSES ? names[c] : NULL;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "server/loopback_port.h"

#include <string.h>

#include "pkt/port.h"
#include "worker/loopback.h"

static void add_local(struct net_config *lo, const struct ip_addr *a)
{
    if (lo->n_locals == NET_LOCALS_MAX)
        return;
    lo->statics[lo->n_statics++] = (struct net_static){.addr = *a};
    lo->locals[lo->n_locals++] = (struct net_local){*a, (uint8_t)ip_bits(a)};
}

// Collects the addresses of one family, the loopback address first.
static void add_family(const struct server_params *p, struct net_config *lo, bool v6)
{
    const struct ip_addr loopback = server_loopback(v6);
    bool first = true;
    for (unsigned i = 0; i < p->n_ports; i++)
        for (unsigned k = 0; k < p->ports[i].net.n_locals; k++) {
            const struct ip_addr *a = &p->ports[i].net.locals[k].addr;
            if (ip_is_v4(a) == v6 || ip_is_any(a))
                continue;
            if (first)
                add_local(lo, &loopback);
            first = false;
            add_local(lo, a);
        }
}

static uint16_t mtu_of(const struct server_params *p)
{
    uint16_t mtu = PORT_MTU_DEFAULT;
    for (unsigned i = 0; i < p->n_ports; i++)
        if (p->ports[i].port.mtu != 0)
            mtu = MAX(mtu, p->ports[i].port.mtu);
    return mtu;
}

static bool has_port(const struct server_params *p, const char *name)
{
    for (unsigned i = 0; i < p->n_ports; i++)
        if (strcmp(p->ports[i].port.name, name) == 0)
            return true;
    return false;
}

void server_loopback_add(struct server_params *p)
{
    bool threads = false;
    for (unsigned i = 0; i < p->n_services; i++)
        threads |= p->services[i].app->thread != NULL;
    if (!threads || p->n_ports == WORKER_PORTS_MAX)
        return;
    struct server_port_params lo = {.port = {.name = has_port(p, "lo") ? "loopback" : "lo",
                                             .driver = "loop",
                                             .mtu = mtu_of(p),
                                             .node = -1}};
    net_config_default(&lo.net);
    lo.net.loops = true;
    lo.net.arp_entries = NET_NEIGHBOR_ENTRIES_MIN;
    add_family(p, &lo.net, false);
    add_family(p, &lo.net, true);
    p->ports[p->n_ports++] = lo;
}

const uint16_t *server_loopback_same(const struct server_params *p, struct worker *w)
{
    const unsigned n = w->sock.n_locals;
    w->loopback_port = WORKER_PORTS_MAX;
    for (unsigned i = 0; i < p->n_ports; i++)
        if (p->ports[i].net.loops)
            w->loopback_port = i;
    for (uint16_t ix = 0; ix < n; ix++)
        for (w->same[ix] = 0; !ip_equal(&w->sock.locals[w->same[ix]], &w->sock.locals[ix]);)
            w->same[ix]++;
    return w->loopback_port == WORKER_PORTS_MAX ? NULL : w->same;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "worker/egress.h"

#include <errno.h>

#include "worker/loopback.h"

struct ip_addr worker_peer_addr(const struct c10m_name *n)
{
    const struct ip_addr a = name_addr(n);
    return name_is_any(&a) ? server_loopback(!ip_is_v4(&a)) : a;
}

uint16_t worker_local(const struct worker *w, const struct ip_addr *a)
{
    for (unsigned i = 0; i < w->sock.n_locals; i++)
        if (ip_equal(&w->sock.locals[i], a))
            return ip_is_any(a) ? UINT16_MAX : (uint16_t)i;  // a place without an address
    return UINT16_MAX;
}

bool worker_is_group(const struct worker *w, const struct ip_addr *a)
{
    for (unsigned i = 0; i < w->n_ports; i++)
        if (net_is_group(w->ports[i].net, a))
            return true;
    return false;
}

int worker_egress(const struct worker *w, const struct ip_addr *to, struct ip_addr *from)
{
    int best = -1, most = -1;
    for (unsigned i = 0; i < w->n_ports; i++) {
        struct ip_addr source;
        const int bits = net_egress(w->ports[i].net, to, &source);
        if (bits > most) {
            most = bits;
            best = (int)i;
            *from = source;
        }
    }
    return best;
}

// has_local: whether it is an address of that port.
static bool has_local(const struct worker *w, unsigned port, const struct ip_addr *a)
{
    for (unsigned i = 0; i < w->sock.n_locals; i++)
        if (w->port_of_local[i] == port && ip_equal(&w->sock.locals[i], a))
            return true;
    return false;
}

int worker_egress_by(const struct worker *w, const struct ip_addr *to, unsigned device,
                     struct ip_addr *from)
{
    if (device == 0 || (device <= w->n_ports && has_local(w, device - 1, to)))
        return worker_egress(w, to, from);
    if (device > w->n_ports || net_egress(w->ports[device - 1].net, to, from) < 0)
        return -1;
    return (int)device - 1;
}

int worker_opening_from(const struct worker *w, const struct ip_addr *from,
                        const struct ip_addr *to, unsigned device)
{
    struct ip_addr source;
    const bool any = name_is_any(from), to_us = sock_local(&w->sock, to->b) >= 0;
    if (worker_is_group(w, to) || (!ip_is_zero(from) && ip_is_v4(from) != ip_is_v4(to)))
        return -ENETUNREACH;
    if (!any && sock_local(&w->sock, from->b) < 0)
        return -EADDRNOTAVAIL;
    if (any || to_us) {
        if (worker_egress_by(w, to, device, &source) < 0)
            return -ENETUNREACH;
        if (!any)
            source = *from;
        const int local =
            to_us ? worker_loopback_local(w, &source) : sock_local(&w->sock, source.b);
        return local < 0 ? -ENETUNREACH : local;
    }
    // A packet with an address of a port is sent through that port.
    const int local = sock_local(&w->sock, from->b);
    if (device != 0 && w->port_of_local[local] + 1u != device)
        return -ENETUNREACH;
    const struct net *net = w->ports[w->port_of_local[local]].net;
    return net_egress(net, to, &source) < 0 ? -ENETUNREACH : local;
}

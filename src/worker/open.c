// Active opens, and the other calls of c10m/socket.h that need the worker's ports.
#include <errno.h>
#include <string.h>

#include "server/server_internal.h"
#include "worker/egress.h"
#include "worker/loopback.h"

enum { FORGET_MAX = 1024 };  // records at a time: some 100 us

static bool is_group(const struct worker *w, const struct ip_addr *a)
{
    for (unsigned i = 0; i < w->n_ports; i++)
        if (net_is_group(w->ports[i].net, a))
            return true;
    return false;
}

// The index of the address to open from, or a negative errno.
static int local_for(struct worker *w, const struct ip_addr *from, const struct ip_addr *to,
                     unsigned device)
{
    struct ip_addr source;
    const bool any = name_is_any(from), to_us = sock_local(&w->sock, to->b) >= 0;
    if (is_group(w, to) || (!ip_is_zero(from) && ip_is_v4(from) != ip_is_v4(to)))
        return -ENETUNREACH;
    if (!any && sock_local(&w->sock, from->b) < 0)
        return -EADDRNOTAVAIL;
    if (any || to_us) {
        const struct worker_port *wp = worker_way_by(w, to, device, &source);
        if (wp == NULL)
            return -ENETUNREACH;
        if (!any)
            source = *from;
        const int local = to_us ? worker_loop_local(w, &source) : sock_local(&w->sock, source.b);
        return local < 0 ? -ENETUNREACH : local;
    }
    // What has an address of a port leaves by that port.
    const int local = sock_local(&w->sock, from->b);
    if (device != 0 && w->port_of_local[local] + 1u != device)
        return -ENETUNREACH;
    const struct net *net = w->ports[w->port_of_local[local]].net;
    return net_way(net, to, &source) < 0 ? -ENETUNREACH : local;
}

// Any address is, as a peer, ourselves (Linux).
static struct ip_addr name_peer(const struct c10m_name *n)
{
    const struct ip_addr a = name_addr(n);
    return name_is_any(&a) ? server_loopback(!ip_is_v4(&a)) : a;
}

int c10m_open(struct c10m_core *core, struct c10m_service *s, const struct c10m_opening *o,
              struct c10m_conn **made)
{
    struct worker *w = worker_of_core(core);
    const struct ip_addr from = name_addr(&o->from), to = name_peer(&o->to);
    if (o->to.port == 0)
        return -EINVAL;
    const int local = local_for(w, &from, &to, o->device);
    if (local < 0)
        return local;
    const struct flow_key key = {to, (uint16_t)local, 0, o->to.port, o->from.port};
    return sock_open(&w->sock, s, &key, made);
}

uint32_t c10m_time_wait_ms(const struct c10m_service *s)
{
    // Asked by threads of services, too, while the worker may be given another (worker/order.h).
    return peek_u32(&server_of(s)->workers[0]->tcp.cfg.time_wait_ms);
}

bool c10m_is_local(const struct c10m_service *s, const uint8_t addr[16])
{
    const struct server_params *p = &server_of(s)->params;
    for (unsigned i = 0; i < p->n_ports; i++)
        for (unsigned k = 0; k < p->ports[i].net.n_locals; k++)
            if (memcmp(p->ports[i].net.locals[k].addr.b, addr, 16) == 0)
                return true;
    return false;
}

// The first worker's addresses and routes are everybody's, and do not change.
unsigned c10m_home_by(const struct c10m_service *s, const struct c10m_opening *o)
{
    struct worker *w = server_of(s)->workers[0];
    const struct ip_addr here = name_addr(&o->from), there = name_peer(&o->to);
    const int local = local_for(w, &here, &there, o->device);
    if (local < 0)
        return 0;
    const struct flow_key key = {there, (uint16_t)local, 0, o->to.port, o->from.port};
    return tcp_home(w->tcp.homes, &key);
}

unsigned c10m_home(const struct c10m_service *s, const struct c10m_name *from,
                   const struct c10m_name *to)
{
    return c10m_home_by(s, &(struct c10m_opening){.from = *from, .to = *to});
}

unsigned c10m_device_to(const struct c10m_service *s, const struct c10m_name *to, unsigned device,
                        struct c10m_name *from)
{
    struct worker *w = server_of(s)->workers[0];
    const struct ip_addr there = name_addr(to);
    struct ip_addr source;
    const struct worker_port *wp = worker_way_by(w, &there, device, &source);
    if (wp == NULL)
        return 0;
    if (from != NULL)
        name_set(from, &source, from->port);
    return (unsigned)(wp - w->ports) + 1;
}

bool c10m_forget(struct c10m_core *core)
{
    struct worker *w = worker_of_core(core);
    for (unsigned i = 0; i < w->n_ports; i++)
        net_forget(w->ports[i].net);
    if (w->udp != NULL)
        udp_paths_forget(w->udp);
    return tcp_forget(&w->tcp, FORGET_MAX);
}

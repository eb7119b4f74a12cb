// SPDX-License-Identifier: BSD-3-Clause
#include "worker/datagrams.h"

#include <errno.h>
#include <string.h>

#include "c10m/socket.h"
#include "stat/trace_points.h"
#include "wire/datagram.h"
#include "worker/egress.h"

enum {
    // Packets of a turn that are reserved for TCP: one to reply to each received segment, and as
    // many again.
    KEPT_FOR_TCP = 2 * BURST_MAX,
    PART_BYTES = 1024,  // a datagram that is fragmented takes one place for each PART_BYTES ...
    PARTS_MAX = 64,     // ... but at most PARTS_MAX
};

static_assert((int)C10M_UDP_PORTS_MAX == (int)UDP_PORTS_MAX, "the number is the index");

static uint64_t *count_of(struct worker *w, const struct ip_addr *at)
{
    return ip_is_v4(at) ? &w->stats->c.udp_ports_now : &w->stats->c.udp6_ports_now;
}

int c10m_udp_open(struct c10m_core *core, struct c10m_service *s, const struct c10m_name *at,
                  bool v6only)
{
    return c10m_udp_open_on(core, s, at, v6only, 0);
}

static int open_port(struct worker *w, const struct c10m_service *s, const struct udp_open *e)
{
    const uint16_t local = worker_local(w, &e->at);
    if (e->port == 0 || s->app->packet == NULL || e->device > w->n_ports)
        return -EINVAL;
    if (local == UINT16_MAX && !name_is_any(&e->at) && !worker_is_group(w, &e->at))
        return -EADDRNOTAVAIL;
    for (unsigned i = 0; !e->icmp && i < w->n_ports; i++)
        if (net_serves(w->ports[i].net, e->port, local))
            return -EADDRINUSE;
    const int ix = udp_table_open(w->udp, e);
    if (ix >= 0)
        (*count_of(w, &e->at))++;
    return ix;
}

int c10m_udp_open_on(struct c10m_core *core, struct c10m_service *s, const struct c10m_name *at,
                     bool v6only, unsigned device)
{
    const struct ip_addr a = name_addr(at);
    const struct udp_open e = {.at = a,
                               .port = at->port,
                               .service = s->ix,
                               .device = (uint8_t)device,
                               .v6only = v6only && ip_is_zero(&a)};
    return open_port(worker_of_core(core), s, &e);
}

int c10m_echo_open(struct c10m_core *core, struct c10m_service *s, const struct c10m_name *at,
                   unsigned device)
{
    const struct ip_addr a = name_addr(at);
    const struct udp_open e = {.at = a,
                               .port = at->port,
                               .service = s->ix,
                               .device = (uint8_t)device,
                               .icmp = true,
                               .v6only = ip_is_zero(&a)};
    return open_port(worker_of_core(core), s, &e);
}

int c10m_udp_peer(struct c10m_core *core, int port, const struct c10m_name *peer)
{
    struct worker *w = worker_of_core(core);
    const struct ip_addr from = peer != NULL ? name_addr(peer) : (struct ip_addr){{0}};
    CHECK(port >= 0 && port < UDP_PORTS_MAX && w->udp->open[port].open);
    if (peer != NULL && peer->port == 0)
        return -EINVAL;
    udp_table_filter(w->udp, (uint16_t)port, &from, peer != NULL ? peer->port : 0);
    return 0;
}

void c10m_udp_close(struct c10m_core *core, int port)
{
    struct worker *w = worker_of_core(core);
    CHECK(port >= 0 && port < UDP_PORTS_MAX && w->udp->open[port].open);
    (*count_of(w, &w->udp->open[port].at))--;
    udp_table_close(w->udp, (uint16_t)port);
}

static struct worker_port *port_at(struct worker *w, int port)
{
    return port < 0 ? NULL : &w->ports[port];
}

// port_for: the port through which d is sent, or NULL with the reason in *error. If the source
// address is unspecified, it is chosen here.
static struct worker_port *port_for(struct worker *w, struct net_datagram *d, unsigned device,
                                    int *error)
{
    struct ip_addr source;
    *error = -ENETUNREACH;
    if (name_is_any(&d->from) && (ip_is_zero(&d->from) || ip_is_v4(&d->to)))
        return port_at(w, worker_egress_by(w, &d->to, device, &d->from));
    if (ip_is_v4(&d->from) != ip_is_v4(&d->to))
        return NULL;
    const uint16_t local = worker_local(w, &d->from);
    *error = -EADDRNOTAVAIL;
    if (local == UINT16_MAX)
        return NULL;
    *error = -ENETUNREACH;
    if (worker_local(w, &d->to) != UINT16_MAX)
        return w->loopback_port < w->n_ports ? &w->ports[w->loopback_port] : NULL;
    return port_at(w, device != 0 ? worker_egress_by(w, &d->to, device, &source)
                                  : w->port_of_local[local]);
}

static int send(struct worker *w, struct net_datagram *d, unsigned device)
{
    int error;
    struct worker_port *wp = port_for(w, d, device, &error);
    if (wp == NULL)
        return error;
    const uint32_t port = (uint32_t)(wp - w->ports);
    if (tcp_lane_left(&w->tcp, port) < KEPT_FOR_TCP + MIN(d->len / PART_BYTES, (size_t)PARTS_MAX))
        return -ENOBUFS;
    const uint32_t before = wp->tx.n;
    error = net_send(wp->net, w->tcp.now, d, &wp->tx);
    // These packets reduce the number that TCP may send in this turn.
    for (uint32_t n = error == 0 ? MAX(wp->tx.n - before, 1u) : 0; n != 0; n--)
        tcp_lane_take(&w->tcp, port);
    return error;
}

int c10m_udp_send(struct c10m_core *core, struct c10m_service *s, const struct c10m_packet *p)
{
    struct worker *w = worker_of_core(core);
    struct core_counters *c = &w->stats->c;
    struct net_datagram d = {.from = name_addr(&p->from),
                             .to = name_addr(&p->to),
                             .from_port = p->from.port,
                             .to_port = p->to.port,
                             .ttl = p->ttl,
                             .tos = p->tos,
                             .df = p->df,
                             .whole = p->whole,
                             .data = p->data,
                             .len = p->len};
    if (p->from.port == 0 || (p->icmp ? p->len < ICMP_BYTES : p->to.port == 0))
        return -EINVAL;
    if (p->icmp) {
        d.icmp = p->data;
        d.data += ICMP_BYTES;
        d.len -= ICMP_BYTES;
    }
    const int error = send(w, &d, p->device);
    const bool v6 = !ip_is_v4(&d.to);
    c->tx_udp += error == 0;
    c->tx_udp6 += error == 0 && v6;
    c->udp_unsent += error == -ENOBUFS;
    c->udp_unsent6 += error == -ENOBUFS && v6;
    return error;
}

int c10m_udp_source(struct c10m_core *core, const struct c10m_name *to, struct c10m_name *from)
{
    struct worker *w = worker_of_core(core);
    const struct ip_addr a = name_addr(to);
    struct ip_addr source;
    if (worker_egress(w, &a, &source) < 0)
        return -ENETUNREACH;
    name_set(from, &source, from->port);
    return 0;
}

uint16_t c10m_udp_mtu(struct c10m_core *core, const struct c10m_name *to)
{
    return c10m_udp_path(core, to, 0, NULL);
}

uint16_t c10m_udp_path(struct c10m_core *core, const struct c10m_name *to, unsigned device,
                       struct c10m_name *from)
{
    struct worker *w = worker_of_core(core);
    struct ip_addr source;
    const struct ip_addr a = name_addr(to);
    const struct worker_port *wp = port_at(w, worker_egress_by(w, &a, device, &source));
    if (wp == NULL)
        return 0;
    if (from != NULL)
        name_set(from, &source, from->port);
    return net_mtu(wp->net, w->tcp.now, &a);
}

// change_group: joins or leaves a group. The report takes places that are reserved for TCP. It is
// omitted if few are free.
static int change_group(struct worker *w, unsigned device, const uint8_t group[16],
                        int (*change)(struct net *net, struct clock_now now,
                                      const struct ip_addr *group, struct net_tx *tx))
{
    struct net_tx none = {.room = 0};
    struct ip_addr a;
    memcpy(a.b, group, sizeof(a.b));
    if (device == 0 || device > w->n_ports)
        return -ENODEV;
    struct worker_port *wp = &w->ports[device - 1];
    const bool room = tcp_lane_left(&w->tcp, device - 1) > KEPT_FOR_TCP;
    const uint32_t before = wp->tx.n;
    const int rc = change(wp->net, w->tcp.now, &a, room ? &wp->tx : &none);
    if (wp->tx.n != before)
        tcp_lane_take(&w->tcp, device - 1);
    return rc;
}

int c10m_group_join(struct c10m_core *core, unsigned device, const uint8_t group[16])
{
    return change_group(worker_of_core(core), device, group, net_group_join);
}

int c10m_group_leave(struct c10m_core *core, unsigned device, const uint8_t group[16])
{
    return change_group(worker_of_core(core), device, group, net_group_leave);
}

// fill: sets the fields that come from the headers of the received datagram.
static void fill(struct c10m_packet *p, const struct udp_in *u, const uint8_t *frame)
{
    const uint8_t *ip = frame + ETH_BYTES;
    struct ip_addr dst;
    if (ip_is_v4(&u->src)) {
        dst = ip_from_v4(load_be32(ip + IP4_DST_AT));
        p->tos = ip[IP4_TOS_AT];
        p->ttl = ip[IP4_TTL_AT];
        p->df = (ip[IP4_FRAGMENT_AT] & IP4_DF >> 8) != 0;
    } else {
        memcpy(dst.b, ip + IP6_DST_AT, sizeof(dst.b));
        p->tos = (uint8_t)(load_be16(ip) >> 4);
        p->ttl = ip[IP6_HOPS_AT];
    }
    name_set(&p->from, &u->src, u->src_port);
    name_set(&p->to, &dst, u->dst_port);
}

static void deliver_packet(struct worker *w, const struct udp_in *u, struct c10m_packet *p)
{
    struct c10m_service *s = &w->sock.services[u->service];
    fill(p, u, pkt_data(w->pkts[u->pkt_ix]));
    p->icmp = u->kind == UDP_ECHO_REPLY;
    p->device = net_device(w->ports[w->rx_port].net, u->local);
    shared_u8_store(&w->sock.serving, s->ix);
    sock_begin(&w->sock);
    const bool taken = s->app->packet(&w->sock.core, s, p);
    sock_settle(&w->sock);
    if (taken) {
        w->stats->c.delivered++;
        return;
    }
    stat_drop(w->stats, DROP_udp_refused, 1);
    w->stats->c.udp_refused6 += !ip_is_v4(&u->src);
}

// deliver_error: reports an ICMP error. p->from is our address, from which the datagram was sent.
static void deliver_error(struct worker *w, const struct udp_in *u, struct c10m_packet *p)
{
    struct c10m_service *s = &w->sock.services[u->service];
    const bool v4 = ip_is_v4(&u->src);
    const struct ip_addr ours = net_local_addr(w->ports[w->rx_port].net, u->local);
    struct c10m_packet_error e = {.type = u->type, .code = u->code};
    e.error = (v4 ? wire_icmp4_errno : wire_icmp6_errno)(u->type, u->code, &e.hard);
    name_set(&p->from, &ours, u->dst_port);
    name_set(&p->to, &u->src, u->src_port);
    p->icmp = w->udp->open[u->open].icmp;
    p->device = net_device(w->ports[w->rx_port].net, u->local);
    w->stats->c.delivered++;
    if (e.error == EMSGSIZE) {
        udp_path_lower(w->udp, &u->src, u->mtu, w->tcp.now.us / 1000, &w->stats->c);
        e.mtu = net_mtu(w->ports[w->rx_port].net, w->tcp.now, &u->src);
    }
    if (s->app->packet_error == NULL || e.error == 0)
        return;
    shared_u8_store(&w->sock.serving, s->ix);
    sock_begin(&w->sock);
    s->app->packet_error(&w->sock.core, s, p, &e);
    sock_settle(&w->sock);
}

void worker_udp_deliver(struct worker *w, const struct udp_in *u)
{
    const struct udp_open *o = &w->udp->open[u->open];
    struct c10m_packet p = {
        .data = pkt_data(w->pkts[u->pkt_ix]) + u->data_off, .len = u->data_len, .port = u->open};
    // An earlier callback may have closed the port.
    if (!o->open || o->port != u->dst_port || o->service != u->service) {
        stat_drop(w->stats, u->kind == UDP_ERROR ? DROP_icmp_no_owner : DROP_udp_no_port, 1);
        return;
    }
    if (u->kind == UDP_ERROR)
        deliver_error(w, u, &p);
    else
        deliver_packet(w, u, &p);
}

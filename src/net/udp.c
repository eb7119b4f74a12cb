// UDP (RFC 768) and the ICMP errors that we send: for a port without a service and for a protocol
// that nobody here speaks.
#include "net/priv6.h"

// udp_find: the served port that a datagram to `port` of local_ix is for, or NULL.
static const struct net_udp_port *udp_find(const struct net *net, uint16_t port, uint16_t local_ix)
{
    for (uint32_t i = 0; i < net->n_udp; i++) {
        const struct net_udp_port *u = &net->udp[i];
        if (u->port == port && (u->local_ix == UINT16_MAX || u->local_ix == local_ix))
            return u;
    }
    return NULL;
}

bool net_serves(const struct net *net, uint16_t port, uint16_t local_ix)
{
    return udp_find(net, port, local_ix) != NULL;
}

// deliver_open: the same to a port that was opened while running.
static enum drop_reason deliver_open(struct net *net, const struct wire_udp *m,
                                     const struct ip_addr *src, const struct ip_addr *dst,
                                     uint32_t local, uint32_t pkt_ix, struct net_rx *rx)
{
    const uint16_t ix = net->open != NULL
                            ? udp_table_find(net->open, dst, m->dst_port, src, m->src_port)
                            : (uint16_t)UDP_NONE;
    if (ix == UDP_NONE)
        return DROP_udp_no_port;
    rx->udp[rx->n_udp++] = (struct udp_in){.src = *src,
                                           .src_port = m->src_port,
                                           .dst_port = m->dst_port,
                                           .pkt_ix = (uint16_t)pkt_ix,
                                           .data_off = m->data_off,
                                           .data_len = m->data_len,
                                           .local = (uint8_t)local,
                                           .service = net->open->open[ix].service,
                                           .kind = UDP_TO_OPEN,
                                           .open = ix};
    net->counters.datagrams_in++;
    return DROP_NONE;
}

enum drop_reason udp_deliver(struct net *net, const struct wire_udp *m, const struct ip_addr *src,
                             const struct ip_addr *dst, uint32_t local, uint32_t pkt_ix,
                             struct net_rx *rx)
{
    const uint16_t local_ix = (uint16_t)(net->local_ix_first + local);
    const struct net_udp_port *u =
        local != NET_TO_GROUP ? udp_find(net, m->dst_port, local_ix) : NULL;
    if (u == NULL)
        return deliver_open(net, m, src, dst, local, pkt_ix, rx);
    if (udp_find(net, m->src_port, local_ix) != NULL)
        return DROP_udp_loop;
    rx->udp[rx->n_udp++] = (struct udp_in){.src = *src,
                                           .src_port = m->src_port,
                                           .dst_port = m->dst_port,
                                           .pkt_ix = (uint16_t)pkt_ix,
                                           .data_off = m->data_off,
                                           .data_len = m->data_len,
                                           .local = (uint8_t)local,
                                           .service = u->service};
    net->counters.datagrams_in++;
    return DROP_NONE;
}

enum drop_reason udp_input(struct net *net, struct clock_now now, const struct pkt *p,
                           const struct wire_ip4 *ip, uint32_t ix, uint32_t pkt_ix,
                           struct net_rx *rx, struct net_tx *tx)
{
    struct wire_udp m;
    // A port that calls a checksum bad may mean one that is 0: the software decides.
    const bool verify = pkt_rx_l4_cksum(p) != PKT_CKSUM_GOOD;
    const enum drop_reason reason = wire_parse_udp(pkt_data(p), ip, verify, &m);
    if (reason != DROP_NONE)
        return reason;
    const struct ip_addr src = ip_from_v4(raw32(ip->src_raw)), dst = ip_from_v4(raw32(ip->dst_raw));
    const enum drop_reason ended = udp_deliver(net, &m, &src, &dst, ix, pkt_ix, rx);
    if (ended == DROP_udp_no_port && ix != NET_TO_GROUP)
        unreachable_send(net, now, p, ip, ix, ICMP_CODE_PORT, tx);
    return ended;
}

enum drop_reason udp_error(struct net *net, const struct udp_in *e, const struct ip_addr *ours,
                           struct net_rx *rx)
{
    if (net->open == NULL)
        return ip_is_v4(ours) ? DROP_icmp_type : DROP_icmp6_type;
    const uint16_t ix = udp_table_find(net->open, ours, e->dst_port, &e->src, e->src_port);
    if (ix == UDP_NONE)
        return DROP_icmp_no_owner;
    struct udp_in *u = &rx->udp[rx->n_udp++];
    *u = *e;
    u->service = net->open->open[ix].service;
    u->kind = UDP_ERROR;
    u->open = ix;
    net->counters.icmp_events++;
    return DROP_NONE;
}

void unreachable_send(struct net *net, struct clock_now now, const struct pkt *p,
                      const struct wire_ip4 *ip, uint32_t ix, uint8_t code, struct net_tx *tx)
{
    struct pkt *answer;
    if (tx->n == tx->room || !rate_allow(&net->error_rate, now.us) ||
        !pkt_alloc_bulk(net->pool, &answer, 1)) {
        net->counters.errors_limited++;
        return;
    }
    const uint32_t quote = MIN((uint32_t)ip->l4_off - ETH_BYTES + ip->l4_len, ICMP_QUOTE_MAX);
    const uint32_t len = wire_build_unreachable(pkt_data(answer), &net->from[ix], net_sender_mac(p),
                                                ip->src_raw, code, pkt_data(p) + ETH_BYTES, quote);
    pkt_set_len(answer, len);
    tx->pkts[tx->n++] = answer;
    net->counters.unreachables_out++;
}

struct pkt *net_udp_begin(struct net *net, const struct udp_in *u, const struct net_tx *tx,
                          uint32_t *room)
{
    struct pkt *p;
    if (tx->n == tx->room || !pkt_alloc_bulk(net->pool, &p, 1))
        return NULL;
    *room = (uint32_t)net->ip_bytes_max - (ip_is_v4(&u->src) ? IP4_BYTES : IP6_BYTES) - UDP_BYTES;
    return p;
}

uint8_t *net_udp_payload(const struct udp_in *u, struct pkt *p)
{
    return pkt_data(p) + (ip_is_v4(&u->src) ? UDP4_DATA_OFF : UDP6_DATA_OFF);
}

void net_udp_send(struct net *net, const struct udp_in *u, const struct pkt *asked, struct pkt *p,
                  uint32_t n, struct net_tx *tx)
{
    uint32_t len;
    if (ip_is_v4(&u->src)) {
        len = wire_build_udp4(pkt_data(p), &net->from[u->local], net_sender_mac(asked),
                              load_raw32(u->src.b + 12), u->dst_port, u->src_port, n);
    } else {
        len = wire_build_udp6(pkt_data(p), &net->v6->from[u->local - net->n_locals],
                              net_sender_mac(asked), &u->src, u->dst_port, u->src_port, n);
        net->counters.ip6_out++;
    }
    DCHECK(tx->n < tx->room && len <= net->ip_bytes_max + ETH_BYTES);
    pkt_set_len(p, len);
    tx->pkts[tx->n++] = p;
}

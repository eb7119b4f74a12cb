// SPDX-License-Identifier: BSD-3-Clause
// UDP (RFC 768) and the ICMP errors that we send: for ports without a service, and for protocols
// that are not supported.
#include <errno.h>

#include "net/priv6.h"
#include "wire/datagram.h"

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

unsigned net_device(const struct net *net, uint8_t local)
{
    return local < NET_LOCALS_MAX ? net->device_of[local] : net->port + 1u;
}

// datagram_add: adds the datagram m to rx. Returns its record, in which the caller sets service and
// kind.
static struct udp_in *datagram_add(struct net *net, const struct wire_udp *m,
                                   const struct ip_addr *src, uint32_t local, uint32_t pkt_ix,
                                   struct net_rx *rx)
{
    struct udp_in *u = &rx->udp[rx->n_udp++];
    *u = (struct udp_in){.src = *src,
                         .src_port = m->src_port,
                         .dst_port = m->dst_port,
                         .pkt_ix = (uint16_t)pkt_ix,
                         .data_off = m->data_off,
                         .data_len = m->data_len,
                         .local = (uint8_t)local};
    net->stats->c.rx_udp++;
    return u;
}

// deliver_open: delivers the datagram m to a port that was opened at run time.
static enum drop_reason deliver_open(struct net *net, const struct wire_udp *m,
                                     const struct ip_addr *src, const struct ip_addr *dst,
                                     uint32_t local, uint32_t pkt_ix, struct net_rx *rx)
{
    const uint16_t ix = net->open != NULL
                            ? udp_table_find(net->open, dst, m->dst_port, src, m->src_port,
                                             net_device(net, (uint8_t)local))
                            : (uint16_t)UDP_NONE;
    if (ix == UDP_NONE)
        return DROP_udp_no_port;
    struct udp_in *in = datagram_add(net, m, src, local, pkt_ix, rx);
    in->service = net->open->open[ix].service;
    in->kind = UDP_TO_OPEN;
    in->open = ix;
    return DROP_NONE;
}

bool echo_deliver(struct net *net, const uint8_t *frame, uint16_t off, uint16_t len,
                  const struct ip_addr *src, const struct ip_addr *dst, uint32_t local,
                  uint32_t pkt_ix, struct net_rx *rx)
{
    const uint16_t id = load_be16(frame + off + ICMP_ID_AT);
    if (net->open == NULL)
        return false;
    const uint16_t ix = udp_table_find_echo(net->open, dst, id, net_device(net, (uint8_t)local));
    if (ix == UDP_NONE)
        return false;
    rx->udp[rx->n_udp++] = (struct udp_in){.src = *src,
                                           .dst_port = id,
                                           .pkt_ix = (uint16_t)pkt_ix,
                                           .data_off = off,
                                           .data_len = len,
                                           .local = (uint8_t)local,
                                           .service = net->open->open[ix].service,
                                           .kind = UDP_ECHO_REPLY,
                                           .open = ix};
    net->stats->c.rx_udp++;
    return true;
}

// answers_all: whether the port belongs to a small service that answers every datagram. One forged
// datagram could cause an endless exchange between such a service and ours. inetd refuses the same
// ports.
static bool answers_all(uint16_t port)
{
    static const uint8_t of[] = {7,  11, 13, 15, 17,  // echo, systat, daytime, netstat, qotd
                                 18, 19, 37};         // msp, chargen, time
    for (unsigned i = 0; i < ARRAY_LEN(of); i++)
        if (port == of[i])
            return true;
    return false;
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
    if (udp_find(net, m->src_port, local_ix) != NULL || answers_all(m->src_port))
        return DROP_udp_loop;
    datagram_add(net, m, src, local, pkt_ix, rx)->service = u->service;
    return DROP_NONE;
}

// may_tell: whether we may send an ICMP error about a packet to a local address. RFC 1122 3.2.2
// forbids it for ICMP errors, and for packets to a link-layer or IP broadcast or multicast address.
// Of ICMP only echo requests are answered, and class E sources are not. Other sources that do not
// denote a single host were dropped earlier. An error about a fragmented datagram quotes the first
// fragment.
static bool may_tell(const uint8_t *eth, const uint8_t *ip)
{
    return (ip[IP4_PROTO_AT] != IP_PROTO_ICMP || ip[4 * (ip[0] & 15u)] == ICMP_ECHO) &&
           (eth[0] & 1) == 0 && (ip[IP4_SRC_AT] & 0xf0) != 0xf0;
}

enum drop_reason udp_input(struct net *net, struct clock_now now, const struct pkt *p,
                           const struct wire_ip4 *ip, uint32_t ix, uint32_t pkt_ix,
                           struct net_rx *rx, struct net_tx *tx)
{
    struct wire_udp m;
    // Some ports report a checksum of 0, which means no checksum, as bad. So software verifies it.
    const bool verify = pkt_rx_l4_cksum(p) != PKT_CKSUM_GOOD;
    const enum drop_reason reason = wire_parse_udp(pkt_data(p), ip, verify, &m);
    if (reason != DROP_NONE)
        return reason;
    const struct ip_addr src = ip_from_v4(raw32(ip->src_raw)), dst = ip_from_v4(raw32(ip->dst_raw));
    const enum drop_reason ended = udp_deliver(net, &m, &src, &dst, ix, pkt_ix, rx);
    if (ended == DROP_NONE && udp_is_secret(&rx->udp[rx->n_udp - 1]) && net->to_linux)
        linux_note(p, pkt_ix, NET_LINUX_CLAIM, rx);
    else if (ended == DROP_NONE && udp_is_secret(&rx->udp[rx->n_udp - 1]) &&
             may_tell(pkt_data(p), pkt_data(p) + ETH_BYTES))
        limit_take(&net->errors, net->errors_per_s, raw32(ip->src_raw), now.us);
    if (ended == DROP_udp_no_port && ix != NET_TO_GROUP)
        unreachable_send(net, now, p, ip, ix, ICMP_CODE_PORT, tx);
    return ended;
}

// served_error: handles an ICMP error about an answer of a service, which does not learn of it.
static enum drop_reason served_error(struct net *net, struct clock_now now, const struct udp_in *e)
{
    bool hard;
    const int error =
        (ip_is_v4(&e->src) ? wire_icmp4_errno : wire_icmp6_errno)(e->type, e->code, &hard);
    if (error != EMSGSIZE || net->reasm == NULL || e->mtu >= net->ip_bytes_max ||
        !net_serves(net, e->dst_port, net->local_ix_first + e->local))
        return DROP_icmp_no_owner;
    udp_path_lower(net->open, &e->src, e->mtu, now.us / 1000, &net->stats->c);
    net->stats->c.delivered++;
    return DROP_NONE;
}

enum drop_reason udp_error(struct net *net, struct clock_now now, const struct udp_in *e,
                           const struct ip_addr *ours, struct net_rx *rx)
{
    const bool echo = e->kind == UDP_ECHO_REPLY;
    const enum drop_reason no_type = ip_is_v4(ours) ? DROP_icmp_type : DROP_icmp6_type;
    const unsigned device = net_device(net, e->local);
    if (net->open == NULL)
        return no_type;
    const uint16_t ix =
        echo ? udp_table_find_echo(net->open, ours, e->dst_port, device)
             : udp_table_find(net->open, ours, e->dst_port, &e->src, e->src_port, device);
    if (ix == UDP_NONE)
        return echo ? no_type : served_error(net, now, e);
    struct udp_in *u = &rx->udp[rx->n_udp++];
    *u = *e;
    u->service = net->open->open[ix].service;
    u->kind = UDP_ERROR;
    u->open = ix;
    return DROP_NONE;
}

void error4_send(struct net *net, struct clock_now now, const uint8_t *eth, const uint8_t *quoted,
                 uint32_t n, uint32_t ix, uint8_t type, uint8_t code, struct net_tx *tx)
{
    struct pkt *answer;
    struct mac_addr to;
    if (!may_tell(eth, quoted))
        return;
    if (!limit_take(&net->errors, net->errors_per_s, load_be32(quoted + IP4_SRC_AT), now.us) ||
        tx->n == tx->room || !pkt_alloc_bulk(net->pool, &answer, 1)) {
        net->stats->c.icmp_errors_limited++;
        return;
    }
    memcpy(to.b, eth + ETH_SRC_AT, sizeof(to.b));
    const uint32_t len = wire_build_error4(pkt_data(answer), &net->from[ix], wire_mac_word(&to),
                                           load_raw32(quoted + IP4_SRC_AT), type, code, quoted, n);
    pkt_set_len(answer, len);
    tx->pkts[tx->n++] = answer;
    net->stats->c.tx_icmp++;
    net->stats->c.tx_icmp_unreachable += type == ICMP_UNREACHABLE;
    net->stats->c.tx_icmp_time_exceeded += type == ICMP_TIME_EXCEEDED;
}

void unreachable_send(struct net *net, struct clock_now now, const struct pkt *p,
                      const struct wire_ip4 *ip, uint32_t ix, uint8_t code, struct net_tx *tx)
{
    const uint32_t bytes = (uint32_t)ip->l4_off - ETH_BYTES + ip->l4_len;
    if (net->to_linux)
        return;
    error4_send(net, now, pkt_data(p), pkt_data(p) + ETH_BYTES,
                MIN(bytes, (uint32_t)ICMP_QUOTE_MAX), ix, ICMP_UNREACHABLE, code, tx);
}

struct pkt *net_udp_begin(struct net *net, const struct udp_in *u, const struct net_tx *tx,
                          uint32_t *room)
{
    const uint32_t head = (ip_is_v4(&u->src) ? IP4_BYTES : IP6_BYTES) + UDP_BYTES;
    *room = MAX((uint32_t)net->ip_bytes_max - head, (uint32_t)u->data_len);
    return tx->n == tx->room ? NULL : fragment_packet(net, ETH_BYTES + head + *room);
}

uint8_t *net_udp_payload(const struct udp_in *u, struct pkt *p)
{
    return pkt_data(p) + (ip_is_v4(&u->src) ? UDP4_DATA_OFF : UDP6_DATA_OFF);
}

// whole_max: a longer IP packet to `to` has to be cut. Without [memory] reassembly nothing is cut.
static uint32_t whole_max(const struct net *net, struct clock_now now, const struct ip_addr *to)
{
    return net->reasm != NULL ? net_mtu(net, now, to) : net->ip_bytes_max;
}

bool net_udp_send(struct net *net, struct clock_now now, const struct udp_in *u,
                  const struct pkt *asked, struct pkt *p, uint32_t n, struct net_tx *tx)
{
    uint32_t len;
    if (ip_is_v4(&u->src)) {
        len = wire_build_udp4(pkt_data(p), &net->from[u->local], net_sender_mac(asked),
                              load_raw32(u->src.b + IP_V4_AT), u->dst_port, u->src_port, n);
    } else {
        len = wire_build_udp6(pkt_data(p), &net->v6->from[u->local - net->n_locals],
                              net_sender_mac(asked), &u->src, u->dst_port, u->src_port, n);
    }
    if (unlikely(len > whole_max(net, now, &u->src) + ETH_BYTES)) {
        const bool sent = fragment_send(net, now, pkt_data(p), len, tx);
        pkt_free(p);
        return sent;
    }
    DCHECK(tx->n < tx->room);
    if (unlikely(pkt_is_attached(p))) {  // a short answer to a long request
        struct pkt *own = fragment_packet(net, len);
        if (own != NULL)
            memcpy(pkt_data(own), pkt_data(p), len);
        pkt_free(p);
        if (own == NULL)
            return false;
        p = own;
    }
    net->stats->c.tx_ip6 += !ip_is_v4(&u->src);
    pkt_set_len(p, len);
    tx->pkts[tx->n++] = p;
    return true;
}

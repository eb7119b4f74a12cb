// SPDX-License-Identifier: BSD-3-Clause
// Sends datagrams of applications over IPv6, as udp_send.c does over IPv4.
#include <errno.h>

#include "net/priv6.h"
#include "wire/datagram.h"

// alike: how many leading bits two addresses share, at most 64, as in RFC 6724 2.2.
static unsigned alike(const struct ip_addr *a, const struct ip_addr *b)
{
    const uint64_t x = __builtin_bswap64(load_raw64(a->b) ^ load_raw64(b->b));
    return x == 0 ? 64 : (unsigned)__builtin_clzll(x);
}

// link_scoped: whether it is a unicast address or a group of link-local or smaller scope.
static bool link_scoped(const struct ip_addr *a)
{
    return ip6_is_link_local(a) || (ip6_is_multicast(a) && (a->b[1] & 15) <= 2);
}

uint32_t net6_source(const struct net6 *v6, const struct ip_addr *to)
{
    uint32_t best = 0;
    unsigned most = 0;
    for (uint32_t k = 0; k < v6->n; k++) {
        if (local6_is_gone(v6, k))
            continue;
        const bool fits = ip6_is_link_local(&v6->local[k]) == link_scoped(to);
        const bool same = ip_equal(&v6->local[k], to);
        const unsigned score = 1 + alike(&v6->local[k], to) + (fits ? 256u : 0) + (same ? 512u : 0);
        if (score > most) {
            most = score;
            best = k;
        }
    }
    return best;
}

static bool is_peer(const struct net6 *v6, const struct ip_addr *a)
{
    if (v6->loops)
        return net6_own(v6, a) >= 0;
    return ip6_is_global_form(a) && net6_own(v6, a) < 0;
}

int net6_way(const struct net *net, const struct ip_addr *to, struct ip_addr *from)
{
    const struct net6 *v6 = net->v6;
    struct ip_addr hop;
    int bits = 0;
    if (local6_is_gone(v6, net6_source(v6, to)))
        return -1;
    if (!ip6_is_multicast(to) || v6->loops)
        bits = is_peer(v6, to) ? route6_way(v6, to, &hop) : -1;
    *from = v6->local[net6_source(v6, to)];
    return bits;
}

static int send_cut6(struct net *net, struct clock_now now, const struct wire_datagram *w,
                     uint32_t ix, uint64_t word, const struct ip_addr *to,
                     const struct ip_addr *wait_for, struct net_tx *tx)
{
    struct pkt *parts[PARTS];
    uint8_t *frame = reasm_scratch(net->reasm);
    const uint32_t len = wire_build_datagram6(frame, &net->v6->from[ix], word, to, w, false);
    const uint32_t n = fragment_out(net, now, frame, len, parts, fragment_room(tx));
    for (uint32_t i = 0; i < n; i++)
        if (wait_for != NULL)
            neighbor_wait(&net->v6->nd, now, neighbor_key6(wait_for), parts[i], tx);
        else
            tx->pkts[tx->n++] = parts[i];
    return n != 0 ? 0 : -ENOBUFS;
}

int net6_send(struct net *net, struct clock_now now, const struct net_datagram *d,
              struct net_tx *tx)
{
    struct net6 *v6 = net->v6;
    const int ix = net6_own(v6, &d->from);
    const bool group = ip6_is_multicast(&d->to);
    struct ip_addr hop;
    const bool cut = d->len > (size_t)net_mtu(net, now, &d->to) - IP6_BYTES - UDP_BYTES;
    struct pkt *p;
    if (ix < 0 || (uint32_t)ix >= v6->n)
        return -EADDRNOTAVAIL;
    if (!group && (!is_peer(v6, &d->to) || route6_way(v6, &d->to, &hop) < 0))
        return -ENETUNREACH;
    if (cut && !net_may_be_cut(net, d, REASM_IP_MAX - UDP_BYTES))
        return -EMSGSIZE;
    const struct mac_addr group_mac = ip6_group_mac(&d->to);
    struct neighbor *e = group ? NULL : neighbor_usable(&v6->nd, neighbor_key6(&hop));
    const uint64_t word = group ? wire_mac_word(&group_mac) : e != NULL ? e->word : 0;
    const struct wire_datagram w = {
        .src_port = d->from_port,
        .dst_port = d->to_port,
        .ttl = d->ttl != 0 ? d->ttl
               : group     ? 1
                           : IP6_HOPS,
        .tos = d->tos,
        .data = d->data,
        .len = (uint32_t)d->len,
        .icmp = d->icmp,
    };
    const bool offload = net->tx_l4 && d->icmp == NULL;
    if (e != NULL)
        e->used_ms = now.ms;
    if (unlikely(cut))
        return send_cut6(net, now, &w, (uint32_t)ix, word, &d->to, group || e != NULL ? NULL : &hop,
                         tx);
    if (tx->n == tx->room || !pkt_alloc_bulk(net->pool, &p, 1))
        return -ENOBUFS;
    pkt_set_len(p, wire_build_datagram6(pkt_data(p), &v6->from[ix], word, &d->to, &w, offload));
    if (offload)
        pkt_tx_offload_udp(p, false, ETH_BYTES, IP6_BYTES);
    net->stats->c.tx_ip6++;
    if (!group && e == NULL) {
        neighbor_wait(&v6->nd, now, neighbor_key6(&hop), p, tx);
        return 0;
    }
    tx->pkts[tx->n++] = p;
    return 0;
}

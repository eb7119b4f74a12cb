// Datagrams of applications on their way out: an address of ours, a next hop, a neighbour.
#include <errno.h>
#include <string.h>

#include "net/priv6.h"
#include "wire/datagram.h"

static const uint64_t broadcast_word = 0xffffffffffff;

static bool is_multicast4(uint32_t addr_raw)
{
    return (addr_raw & 0xf0) == 0xe0;
}

// group_word4: where a datagram to a broadcast address or a group goes (RFC 1112 6.4).
static uint64_t group_word4(uint32_t dst_raw)
{
    const uint8_t *b = (const uint8_t *)&dst_raw;
    const struct mac_addr group = {{1, 0, 0x5e, b[1] & 0x7f, b[2], b[3]}};
    return is_multicast4(dst_raw) ? wire_mac_word(&group) : broadcast_word;
}

bool net_is_group(const struct net *net, const struct ip_addr *a)
{
    if (!ip_is_v4(a))
        return ip6_is_multicast(a);
    const uint32_t raw = load_raw32(a->b + 12);
    return is_multicast4(raw) || is_broadcast(net, raw);
}

// Is it an address that somebody else can have, or, where all comes back, ourselves?
static bool is_peer4(const struct net *net, uint32_t raw)
{
    if (net->loops)
        return net_local_index(net, raw) >= 0;
    return net_source_top_ok(raw) && net_local_index(net, raw) < 0;
}

static int way4(const struct net *net, uint32_t dst_raw, struct ip_addr *from)
{
    uint32_t hop_raw = 0;
    int bits = 0, k = 0;
    if (net->n_locals == 0 || (net->loops && net_local_index(net, dst_raw) < 0))
        return -1;
    if (is_broadcast(net, dst_raw) || is_multicast4(dst_raw)) {
        for (uint32_t i = net->n_locals; i-- > 0;)
            k = dst_raw == net->bcast[i] ? (int)i : k;
        bits = dst_raw == net->bcast[k] ? __builtin_popcount(net->mask[k]) : 0;
    } else {
        bits = is_peer4(net, dst_raw) ? route_way(net, dst_raw, &hop_raw) : -1;
        k = MAX(net_on_link(net, hop_raw), 0);
    }
    *from = ip_from_v4(raw32(net->local[k]));
    return bits;
}

int net_way(const struct net *net, const struct ip_addr *to, struct ip_addr *from)
{
    if (ip_is_v4(to))
        return way4(net, load_raw32(to->b + 12), from);
    return net->v6 != NULL ? net6_way(net, to, from) : -1;
}

uint16_t net_mtu(const struct net *net, struct clock_now now, const struct ip_addr *to)
{
    if (net->open == NULL)
        return net->ip_bytes_max;
    return udp_path_mtu(net->open, to, net->ip_bytes_max, now.us / 1000);
}

static int send4(struct net *net, struct clock_now now, const struct net_datagram *d,
                 struct net_tx *tx)
{
    const uint32_t dst_raw = load_raw32(d->to.b + 12);
    const int ix = ip_is_v4(&d->from) ? net_local_index(net, load_raw32(d->from.b + 12)) : -1;
    const bool group = net_is_group(net, &d->to);
    uint32_t hop_raw = 0;
    struct pkt *p;
    if (ix < 0)
        return -EADDRNOTAVAIL;
    if (!group && (!is_peer4(net, dst_raw) || route_way(net, dst_raw, &hop_raw) < 0))
        return -ENETUNREACH;
    if (d->len > (size_t)net_mtu(net, now, &d->to) - IP4_BYTES - UDP_BYTES)
        return -EMSGSIZE;
    if (tx->n == tx->room || !pkt_alloc_bulk(net->pool, &p, 1))
        return -ENOBUFS;
    struct arp_entry *e = group ? NULL : arp_usable(net, hop_raw);
    const uint64_t word = group ? group_word4(dst_raw) : e != NULL ? e->word : 0;
    const struct wire_datagram w = {
        .src_port = d->from_port,
        .dst_port = d->to_port,
        .ttl = d->ttl != 0              ? d->ttl
               : is_multicast4(dst_raw) ? 1
                                        : IP4_TTL,
        .tos = d->tos,
        .df = d->df,
        .id = d->df ? 0 : net_ip_id(net, dst_raw),
        .data = d->data,
        .len = (uint32_t)d->len,
    };
    pkt_set_len(p,
                wire_build_datagram4(pkt_data(p), &net->from[ix], word, dst_raw, &w, net->tx_l4));
    if (net->tx_l4)
        pkt_tx_offload_udp(p, true, ETH_BYTES, IP4_BYTES);
    if (!group && e == NULL) {
        arp_wait(net, now, hop_raw, p, tx);
        return 0;
    }
    if (e != NULL)
        e->used_ms = now.ms;
    tx->pkts[tx->n++] = p;
    return 0;
}

int net_send(struct net *net, struct clock_now now, const struct net_datagram *d, struct net_tx *tx)
{
    DCHECK(d->from_port != 0 && d->to_port != 0);
    if (ip_is_v4(&d->to))
        return send4(net, now, d, tx);
    return net->v6 != NULL ? net6_send(net, now, d, tx) : -ENETUNREACH;
}

// SPDX-License-Identifier: BSD-3-Clause
// Sends datagrams of applications: chooses the source address and the next hop.
#include <errno.h>
#include <string.h>

#include "net/priv6.h"
#include "wire/datagram.h"

static const uint64_t broadcast_word = 0xffffffffffff;

static bool is_multicast4(uint32_t addr_raw)
{
    return (addr_raw & 0xf0) == 0xe0;
}

// group_word4: the MAC of a broadcast address or of a group (RFC 1112 6.4).
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
    const uint32_t raw = load_raw32(a->b + IP_V4_AT);
    return is_multicast4(raw) || is_broadcast(net, raw);
}

// is_peer4: whether it is a unicast address of another host. At a loopback port it is one of ours.
static bool is_peer4(const struct net *net, uint32_t raw)
{
    if (net->loops)
        return net_local_index(net, raw) >= 0;
    return net_source_top_ok(raw) && net_local_index(net, raw) < 0;
}

static int way4(const struct net *net, uint32_t dst_raw, struct ip_addr *from)
{
    uint32_t hop_raw = 0;
    int bits = 0, k = (int)local_first(net);
    if (net->n_locals == 0 || local_is_gone(net, (uint32_t)k) ||
        (net->loops && net_local_index(net, dst_raw) < 0))
        return -1;
    if (is_broadcast(net, dst_raw) || is_multicast4(dst_raw)) {
        for (uint32_t i = net->n_locals; i-- > 0;)
            k = dst_raw == net->bcast[i] && !local_is_gone(net, i) ? (int)i : k;
        bits = dst_raw == net->bcast[k] ? __builtin_popcount(net->mask[k]) : 0;
    } else {
        bits = is_peer4(net, dst_raw) ? route_way(net, dst_raw, &hop_raw) : -1;
        const int near = net_on_link(net, hop_raw);
        k = near >= 0 ? near : k;
    }
    *from = ip_from_v4(raw32(net->local[k]));
    return bits;
}

int net_egress(const struct net *net, const struct ip_addr *to, struct ip_addr *from)
{
    if (ip_is_v4(to))
        return way4(net, load_raw32(to->b + IP_V4_AT), from);
    return net->v6 != NULL ? net6_way(net, to, from) : -1;
}

uint16_t net_mtu(const struct net *net, struct clock_now now, const struct ip_addr *to)
{
    if (net->open == NULL)
        return net->ip_bytes_max;
    return udp_path_mtu(net->open, to, net->ip_bytes_max, now.us / 1000);
}

bool net_may_be_cut(const struct net *net, const struct net_datagram *d, uint32_t len_max)
{
    return net->reasm != NULL && !d->whole && d->len <= len_max;
}

// send_cut4: sends a datagram in fragments: all of them, or none on failure.
static int send_cut4(struct net *net, struct clock_now now, const struct wire_datagram *w,
                     uint32_t ix, uint64_t word, uint32_t dst_raw, const uint32_t *wait_for,
                     struct net_tx *tx)
{
    struct pkt *parts[PARTS];
    uint8_t *frame = reasm_scratch(net->reasm);
    const uint32_t len = wire_build_datagram4(frame, &net->from[ix], word, dst_raw, w, false);
    const uint32_t n = fragment_out(net, now, frame, len, parts, fragment_room(tx));
    for (uint32_t i = 0; i < n; i++)
        if (wait_for != NULL)
            neighbor_wait(&net->arp, now, neighbor_key4(*wait_for), parts[i], tx);
        else
            tx->pkts[tx->n++] = parts[i];
    return n != 0 ? 0 : -ENOBUFS;
}

static int send4(struct net *net, struct clock_now now, const struct net_datagram *d,
                 struct net_tx *tx)
{
    const uint32_t dst_raw = load_raw32(d->to.b + IP_V4_AT);
    const int ix = ip_is_v4(&d->from) ? net_local_index(net, load_raw32(d->from.b + IP_V4_AT)) : -1;
    const bool group = net_is_group(net, &d->to);
    uint32_t hop_raw = 0;
    const bool cut = d->len > (size_t)net_mtu(net, now, &d->to) - IP4_BYTES - UDP_BYTES;
    struct pkt *p;
    if (ix < 0)
        return -EADDRNOTAVAIL;
    if (!group && (!is_peer4(net, dst_raw) || route_way(net, dst_raw, &hop_raw) < 0))
        return -ENETUNREACH;
    if (cut && !net_may_be_cut(net, d, REASM_IP_MAX - IP4_BYTES - UDP_BYTES))
        return -EMSGSIZE;
    struct neighbor *e = group ? NULL : neighbor_usable(&net->arp, neighbor_key4(hop_raw));
    const uint64_t word = group ? group_word4(dst_raw) : e != NULL ? e->word : 0;
    const struct wire_datagram w = {
        .src_port = d->from_port,
        .dst_port = d->to_port,
        .ttl = d->ttl != 0              ? d->ttl
               : is_multicast4(dst_raw) ? 1
                                        : IP4_TTL,
        .tos = d->tos,
        .df = d->df && !cut,
        .id = d->df || cut ? 0 : net_ip_id(net, dst_raw),
        .data = d->data,
        .len = (uint32_t)d->len,
        .icmp = d->icmp,
    };
    const bool offload = net->tx_l4 && d->icmp == NULL;
    if (e != NULL)
        e->used_ms = now.ms;
    if (unlikely(cut))
        return send_cut4(net, now, &w, (uint32_t)ix, word, dst_raw,
                         group || e != NULL ? NULL : &hop_raw, tx);
    if (tx->n == tx->room || !pkt_alloc_bulk(net->pool, &p, 1))
        return -ENOBUFS;
    pkt_set_len(p, wire_build_datagram4(pkt_data(p), &net->from[ix], word, dst_raw, &w, offload));
    if (offload)
        pkt_tx_offload_udp(p, true, ETH_BYTES, IP4_BYTES);
    if (!group && e == NULL) {
        neighbor_wait(&net->arp, now, neighbor_key4(hop_raw), p, tx);
        return 0;
    }
    tx->pkts[tx->n++] = p;
    return 0;
}

int net_send(struct net *net, struct clock_now now, const struct net_datagram *d, struct net_tx *tx)
{
    DCHECK(d->from_port != 0 && (d->to_port != 0 || d->icmp != NULL));
    if (ip_is_v4(&d->to))
        return send4(net, now, d, tx);
    return net->v6 != NULL ? net6_send(net, now, d, tx) : -ENETUNREACH;
}

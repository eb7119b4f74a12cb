// SPDX-License-Identifier: BSD-3-Clause
// What leaves over IPv6: as output.c does it for IPv4.
#include "net/priv6.h"

// way6: what the segments to one next hop from one local address have in common.
struct way6 {
    struct ip_addr hop;
    bool far;    // behind the gateway
    bool alone;  // the routes were asked: nothing is known of the next segment
    uint16_t local_ix;
    uint32_t ip_bytes_max;
    uint64_t word;  // of the next hop's entry
    struct wire_from6 from;
};

// next_hop: where a packet to dst goes first. False: nowhere.
static bool next_hop(const struct net6 *v6, const struct ip_addr *dst, struct way6 *way)
{
    way->far = !net6_near(v6, dst);
    way->alone = way->far && v6->far == FAR_ROUTED;
    way->hop = way->far ? v6->far_hop : *dst;
    if (way->alone)
        return route6_find(v6, dst, &way->hop);
    return !way->far || v6->far == FAR_GATEWAY;
}

static inline bool goes(const struct net6 *v6, const struct way6 *way, const struct seg_out *s)
{
    if (unlikely(s->key.local_ix != way->local_ix || (s->opts & SEG_OPT_IP)))
        return false;
    if (ip6_same(&s->key.remote, &way->hop))  // the neighbour itself
        return true;
    return way->far && ip6_is_global_form(&s->key.remote) && !net6_near(v6, &s->key.remote);
}

static inline void finish(struct pkt *p, uint32_t len, uint32_t head, bool l4_offload)
{
    pkt_set_len(p, len);
    if (l4_offload)
        pkt_tx_offload6(p, ETH_BYTES, IP6_BYTES, head);
}

// build: the packet of a segment that goes `way`. False: it is too long.
static ALWAYS_INLINE bool build(const struct way6 *way, struct pkt *p, const struct seg_out *s,
                                uint32_t head, enum wire_options options, bool l4_offload)
{
    if (unlikely(IP6_BYTES + head + s->data_len[0] + s->data_len[1] > way->ip_bytes_max))
        return false;
    const uint32_t len =
        wire_build_tcp6(pkt_data(p), &way->from, way->word, s, head, options, l4_offload);
    finish(p, len, head, l4_offload);
    return true;
}

// build_other: the same with any options of TCP: a SYN-ACK, or SACK blocks.
static NOINLINE bool build_other(const struct way6 *way, struct pkt *p, const struct seg_out *s,
                                 bool l4_offload)
{
    return build(way, p, s, wire_tcp_head_bytes(s), WIRE_ANY, l4_offload);
}

// output_run: as the one of output.c; how many of n segments go `way`, each a packet in `to`.
static ALWAYS_INLINE uint32_t output_run(const struct net6 *v6, const struct way6 *way,
                                         const struct seg_out *segs, uint32_t n,
                                         struct pkt *const *pkts, struct pkt **to, bool l4_offload)
{
    uint32_t i = 0;
    for (; i < n; i++) {
        const struct seg_out *s = &segs[i];
        if (unlikely(!goes(v6, way, s)))
            break;
        bool built;
        if (unlikely(wire_has_other_options(s)))
            built = build_other(way, pkts[i], s, l4_offload);
        else if (s->opts & SEG_OPT_TS)
            built = build(way, pkts[i], s, TCP_BYTES + TCP_TS_BYTES, WIRE_TS, l4_offload);
        else
            built = build(way, pkts[i], s, TCP_BYTES, WIRE_PLAIN, l4_offload);
        if (unlikely(!built))
            break;
        to[i] = pkts[i];
    }
    return i;
}

static NOINLINE uint32_t run_whole(const struct net6 *v6, const struct way6 *way,
                                   const struct seg_out *segs, uint32_t n, struct pkt *const *pkts,
                                   struct pkt **to)
{
    return output_run(v6, way, segs, n, pkts, to, false);
}

static NOINLINE uint32_t run_offloaded(const struct net6 *v6, const struct way6 *way,
                                       const struct seg_out *segs, uint32_t n,
                                       struct pkt *const *pkts, struct pkt **to)
{
    return output_run(v6, way, segs, n, pkts, to, true);
}

// slow: segments with something of their own in the IP header, large ones, those that are refused,
// and those whose next hop the hint does not know. left: segments that follow, each with its place
// in tx. True: p was used.
static bool slow(struct net *net, struct clock_now now, const struct seg_out *s, struct pkt *p,
                 struct net_tx *tx, uint32_t left)
{
    struct net6 *v6 = net->v6;
    struct way6 way;
    const uint32_t ix = (uint32_t)s->key.local_ix - v6->local_ix_first,
                   head = wire_tcp_head_bytes(s),
                   total = IP6_BYTES + head + s->data_len[0] + s->data_len[1];
    const bool too_long = total > net->ip_bytes_max,
               large = too_long && net_can_be_cut(net, s, IP6_BYTES + head, head);
    const uint32_t parts = large ? seg_parts(s) : 1;
    if (ix >= v6->n || (!ip6_is_global_form(&s->key.remote) && !v6->loops) ||
        (!(too_long && !large) && !next_hop(v6, &s->key.remote, &way))) {
        net->stats->drops[DROP_ip_no_route] += parts;
        return false;
    }
    if (too_long && !large) {
        net->stats->drops[DROP_ip_mtu]++;
        return false;
    }
    struct neighbor *e = neighbor_usable(&v6->nd, neighbor_key6(&way.hop));
    const uint64_t word = e != NULL ? e->word : 0;
    if (e != NULL)
        e->used_ms = now.ms;
    if (large) {
        const struct large_way to = {word, e != NULL, 0, &way.hop};
        const uint32_t sent = output_large(net, now, s, &to, tx, left);
        net->stats->c.tx_tcp6 += sent;
        net->stats->c.tx_ip6 += sent;
        return false;
    }
    const uint32_t len =
        wire_build_tcp6(pkt_data(p), &v6->from[ix], word, s, head, wire_options_of(s), net->tx_l4);
    if (unlikely(s->opts & SEG_OPT_IP))
        wire_own_ip6(pkt_data(p), s);
    finish(p, len, head, net->tx_l4);
    net->stats->c.tx_tcp6++;
    net->stats->c.tx_ip6++;
    if (e == NULL) {
        neighbor_wait(&v6->nd, now, neighbor_key6(&way.hop), p, tx);
    } else {
        tx->pkts[tx->n++] = p;
    }
    return true;
}

// way_find: the way of segment s, if it is known; used now.
static bool way_find(struct net *net, struct clock_now now, const struct seg_out *s,
                     struct way6 *way)
{
    struct net6 *v6 = net->v6;
    const uint32_t ix = (uint32_t)s->key.local_ix - v6->local_ix_first;
    if (ix >= v6->n || !ip6_is_global_form(&s->key.remote) || !next_hop(v6, &s->key.remote, way))
        return false;
    struct neighbor *e = neighbor_hot(&v6->nd, neighbor_key6(&way->hop), true);
    if (e == NULL)
        return false;
    e->used_ms = now.ms;
    way->local_ix = s->key.local_ix;
    way->ip_bytes_max = net->ip_bytes_max;
    way->word = e->word;
    way->from = v6->from[ix];
    return true;
}

uint32_t output6(struct net *net, struct clock_now now, const struct seg_out *segs, uint32_t n,
                 struct pkt **pkts, struct net_tx *tx, uint32_t *used)
{
    struct way6 way;
    uint32_t ran = 0;
    if (way_find(net, now, segs, &way))
        ran = (net->tx_l4 ? run_offloaded : run_whole)(net->v6, &way, segs, way.alone ? 1 : n, pkts,
                                                       &tx->pkts[tx->n]);
    tx->n += ran;
    net->stats->c.tx_tcp6 += ran;
    net->stats->c.tx_ip6 += ran;
    *used = ran != 0 ? ran : slow(net, now, segs, pkts[0], tx, n - 1);
    return MAX(ran, 1u);
}

// SPDX-License-Identifier: BSD-3-Clause
#include "net/priv6.h"

// next_hop: where a packet to dst_raw goes first: itself when near, on a local prefix, else the
// gateway. 0: no route. NET_ROUTED: route_find() knows.
static inline uint32_t next_hop(const struct net *net, uint32_t dst_raw)
{
    bool near = (dst_raw & net->near_mask[0]) == net->near_subnet[0];
    if (unlikely(net->n_locals > 1))  // one address is the rule
        for (uint32_t k = 1; k < net->n_locals; k++)
            near |= (dst_raw & net->near_mask[k]) == net->near_subnet[k];
    return near ? dst_raw : net->far_hop_raw;
}

// output_refused: why segment s cannot become a packet, or DROP_NONE.
static inline enum drop_reason output_refused(const struct net *net, const struct seg_out *s,
                                              uint32_t ix, uint32_t head)
{
    uint32_t total = IP4_BYTES + head + s->data_len[0] + s->data_len[1];
    if (unlikely(ix >= net->n_locals || !ip_is_v4(&s->key.remote)))
        return DROP_ip_no_route;
    return unlikely(total > net->ip_bytes_max) ? DROP_ip_mtu : DROP_NONE;
}

static inline void finish(struct pkt *p, uint32_t len, uint32_t head, bool l4_offload)
{
    pkt_set_len(p, len);
    if (l4_offload)
        pkt_tx_offload(p, ETH_BYTES, IP4_BYTES, head);
}

static NOINLINE void drop_all(struct net *net, enum drop_reason why, const struct seg_out *segs,
                              uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        net->stats->drops[why] += seg_parts(&segs[i]);
}

// output_slow: segments with something of their own in the IP header, large ones, those that are
// refused, and those whose next hop the hint does not know. left: segments that follow, each with
// its place in tx. True: p was used.
static bool output_slow(struct net *net, struct clock_now now, const struct seg_out *s,
                        struct pkt *p, struct net_tx *tx, uint32_t left)
{
    uint32_t ix = (uint32_t)s->key.local_ix - net->local_ix_first, head = wire_tcp_head_bytes(s);
    enum drop_reason refused = output_refused(net, s, ix, head);
    uint32_t hop_raw = route_find(net, load_raw32(s->key.remote.b + 12));
    const bool large =
        refused == DROP_ip_mtu && net_can_be_cut(net, s, IP4_BYTES + head, IP4_BYTES + head);
    if (large)
        refused = DROP_NONE;
    if (refused == DROP_NONE && hop_raw == 0)
        refused = DROP_ip_no_route;
    if (refused != DROP_NONE) {
        net->stats->drops[refused] += large ? seg_parts(s) : 1;
        return false;
    }
    struct neighbor *e = neighbor_usable(&net->arp, neighbor_key4(hop_raw));
    if (large) {
        const struct large_way way = {e != NULL ? e->word : 0, e != NULL, hop_raw, NULL};
        if (e != NULL)
            e->used_ms = now.ms;
        output_large(net, now, s, &way, tx, left);
        return false;
    }
    uint32_t len = wire_build_tcp4(pkt_data(p), &net->from[ix], e != NULL ? e->word : 0, s, head,
                                   wire_options_of(s), net->tx_l4);
    if (unlikely(s->opts & SEG_OPT_IP))
        wire_own_ip4(pkt_data(p), s,
                     s->may_split ? net_ip_id(net, load_raw32(s->key.remote.b + 12)) : 0, true);
    finish(p, len, head, net->tx_l4);
    if (e == NULL) {
        neighbor_wait(&net->arp, now, neighbor_key4(hop_raw), p, tx);
    } else {
        e->used_ms = now.ms;
        tx->pkts[tx->n++] = p;
    }
    return true;
}

// way: what the segments to one next hop from one local address have in common.
struct way {
    uint32_t hop_raw;
    uint16_t local_ix;
    uint32_t ip_bytes_max;
    uint64_t word;  // of the next hop's entry
    struct wire_from from;
};

// build: the packet of a segment that goes `way`. False: it is too long.
static ALWAYS_INLINE bool build(const struct way *way, struct pkt *p, const struct seg_out *s,
                                uint32_t head, enum wire_options options, bool l4_offload)
{
    if (unlikely(IP4_BYTES + head + s->data_len[0] + s->data_len[1] > way->ip_bytes_max))
        return false;
    const uint32_t len =
        wire_build_tcp4(pkt_data(p), &way->from, way->word, s, head, options, l4_offload);
    finish(p, len, head, l4_offload);
    return true;
}

// build_other: the same with any options of TCP: a SYN-ACK, or SACK blocks.
static NOINLINE bool build_other(const struct way *way, struct pkt *p, const struct seg_out *s,
                                 bool l4_offload)
{
    return build(way, p, s, wire_tcp_head_bytes(s), WIRE_ANY, l4_offload);
}

// output_run: packets for the segments of n as far as they go `way` and ask for nothing in the IP
// header; returns how many. l4_offload is net->tx_l4, as a constant.
static ALWAYS_INLINE uint32_t output_run(const struct net *net, const struct way *way,
                                         const struct seg_out *segs, uint32_t n,
                                         struct pkt *const *pkts, struct pkt **to, bool l4_offload)
{
    uint32_t i = 0;
    for (; i < n; i++) {
        const struct seg_out *s = &segs[i];
        struct pkt *p = pkts[i];
        if (unlikely(s->key.local_ix != way->local_ix || !ip_is_v4(&s->key.remote) ||
                     next_hop(net, load_raw32(s->key.remote.b + 12)) != way->hop_raw ||
                     (s->opts & SEG_OPT_IP)))
            break;
        bool built;
        if (unlikely(wire_has_other_options(s)))
            built = build_other(way, p, s, l4_offload);
        else if (s->opts & SEG_OPT_TS)
            built = build(way, p, s, TCP_BYTES + TCP_TS_BYTES, WIRE_TS, l4_offload);
        else
            built = build(way, p, s, TCP_BYTES, WIRE_PLAIN, l4_offload);
        if (unlikely(!built))
            break;
        to[i] = p;
    }
    return i;
}

static NOINLINE uint32_t run_whole(const struct net *net, const struct way *way,
                                   const struct seg_out *segs, uint32_t n, struct pkt *const *pkts,
                                   struct pkt **to)
{
    return output_run(net, way, segs, n, pkts, to, false);
}

static NOINLINE uint32_t run_offloaded(const struct net *net, const struct way *way,
                                       const struct seg_out *segs, uint32_t n,
                                       struct pkt *const *pkts, struct pkt **to)
{
    return output_run(net, way, segs, n, pkts, to, true);
}

// way_find: the way of segment s, if it is known; used now. With hop_raw NET_ROUTED it is that of s
// alone.
static bool way_find(struct net *net, struct clock_now now, const struct seg_out *s,
                     struct way *way)
{
    const uint32_t ix = (uint32_t)s->key.local_ix - net->local_ix_first;
    const uint32_t dst_raw = load_raw32(s->key.remote.b + 12), hop = next_hop(net, dst_raw);
    if (unlikely(ix >= net->n_locals))
        return false;
    const uint32_t next = hop != NET_ROUTED ? hop : route_find(net, dst_raw);
    struct neighbor *e = neighbor_hot(&net->arp, neighbor_key4(next), false);
    if (e == NULL)
        return false;
    e->used_ms = now.ms;
    *way = (struct way){hop, s->key.local_ix, net->ip_bytes_max, e->word, net->from[ix]};
    return true;
}

// output_others: the segments from segs[0] on that do not go the common way of IPv4: as many as go
// one of IPv6, else one; one packet of pkts for each, as far as they are used: *used of them.
// Returns how many are done with.
static NOINLINE uint32_t output_others(struct net *net, struct clock_now now,
                                       const struct seg_out *segs, uint32_t n, struct pkt **pkts,
                                       struct net_tx *tx, uint32_t *used)
{
    if (net->v6 != NULL && !ip_is_v4(&segs[0].key.remote))
        return output6(net, now, segs, n, pkts, tx, used);
    *used = output_slow(net, now, &segs[0], pkts[0], tx, n - 1);
    return 1;
}

// output_each: one packet of pkts for each of n segments, as far as they can leave; returns how
// many were used.
static uint32_t output_each(struct net *net, struct clock_now now, const struct seg_out *segs,
                            uint32_t n, struct pkt **pkts, struct net_tx *tx)
{
    struct pkt **next = pkts;
    struct way way;
    for (uint32_t i = 0; i < n;) {
        uint32_t ran = 0;
        if (likely(way_find(net, now, &segs[i], &way)))
            ran = (net->tx_l4 ? run_offloaded : run_whole)(
                net, &way, &segs[i], way.hop_raw != NET_ROUTED ? n - i : 1, next, &tx->pkts[tx->n]);
        tx->n += ran;
        next += ran;
        i += ran;
        if (unlikely(ran == 0)) {
            uint32_t used;
            i += output_others(net, now, &segs[i], n - i, next, tx, &used);
            next += used;
        }
    }
    return (uint32_t)(next - pkts);
}

// output_burst: net_output() of at most BURST_MAX segments for which tx has room.
static void output_burst(struct net *net, struct clock_now now, const struct seg_out *segs,
                         uint32_t n, struct net_tx *tx)
{
    struct pkt *pkts[BURST_MAX];
    const uint32_t got = net_alloc_some(net, pkts, n),
                   used = output_each(net, now, segs, got, pkts, tx);
    if (unlikely(got < n))
        drop_all(net, DROP_pkt_pool_empty, segs + got, n - got);
    pkt_free_bulk(pkts + used, got - used);
}

uint32_t net_output(struct net *net, struct clock_now now, const struct seg_out *segs, uint32_t n,
                    struct net_tx *tx)
{
    const uint32_t before = tx->n;
    for (uint32_t fit; n != 0; segs += fit, n -= fit) {
        fit = MIN(MIN(n, (uint32_t)BURST_MAX), tx->room - tx->n);
        if (unlikely(fit == 0)) {
            drop_all(net, DROP_reply_room, segs, n);
            break;
        }
        output_burst(net, now, segs, fit, tx);
    }
    return tx->n - before;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "net/priv6.h"

// next_hop: the next hop of dst_raw: dst_raw itself if it is on-link, else the gateway. Returns 0
// if there is no route, and NET_ROUTED if route_find() must be asked.
static inline uint32_t next_hop(const struct net *net, uint32_t dst_raw)
{
    bool on_link = (dst_raw & net->on_link_mask[0]) == net->on_link_subnet[0];
    if (unlikely(net->n_locals > 1))  // most ports have one address
        for (uint32_t k = 1; k < net->n_locals; k++)
            on_link |= (dst_raw & net->on_link_mask[k]) == net->on_link_subnet[k];
    return on_link ? dst_raw : net->off_link_hop_raw;
}

// output_refused: why segment s cannot be sent, or DROP_NONE.
static inline enum drop_reason output_refused(const struct net *net, const struct seg_out *s,
                                              uint32_t ix, uint32_t head)
{
    uint32_t total = IP4_BYTES + head + s->data_len[0] + s->data_len[1];
    if (unlikely(ix >= net->n_locals || !ip_is_v4(&s->key.remote)))
        return DROP_ip_no_route;
    if (unlikely(local_is_gone(net, ix)))
        return DROP_ip_address_gone;
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
        stat_drop(net->stats, why, seg_parts(&segs[i]));
}

// output_slow: sends a segment that is large, that has its own IP header fields, that is refused,
// or whose next hop is not in the hints. left: how many segments follow, for each of which tx keeps
// a place. Returns whether p was used.
static bool output_slow(struct net *net, struct clock_now now, const struct seg_out *s,
                        struct pkt *p, struct net_tx *tx, uint32_t left)
{
    uint32_t ix = (uint32_t)s->key.local_ix - net->local_ix_first, head = wire_tcp_head_bytes(s);
    enum drop_reason refused = output_refused(net, s, ix, head);
    uint32_t hop_raw = route_find(net, load_raw32(s->key.remote.b + IP_V4_AT));
    const bool large =
        refused == DROP_ip_mtu && net_can_be_cut(net, s, IP4_BYTES + head, IP4_BYTES + head);
    if (large)
        refused = DROP_NONE;
    if (refused == DROP_NONE && hop_raw == 0)
        refused = DROP_ip_no_route;
    if (refused == DROP_ip_mtu)
        too_big_note(net, s);
    if (refused != DROP_NONE) {
        stat_drop(net->stats, refused, large ? seg_parts(s) : 1);
        return false;
    }
    struct neighbor *e = neighbor_usable(&net->arp, neighbor_key4(hop_raw));
    if (large) {
        const struct large_path path = {e != NULL ? e->word : 0, e != NULL, hop_raw, NULL};
        if (e != NULL)
            e->used_ms = now.ms;
        output_large(net, now, s, &path, tx, left);
        return false;
    }
    uint32_t len = wire_build_tcp4(pkt_data(p), &net->from[ix], e != NULL ? e->word : 0, s, head,
                                   wire_options_of(s), net->tx_l4);
    if (unlikely(s->opts & SEG_OPT_IP))
        wire_own_ip4(pkt_data(p), s,
                     s->may_split ? net_ip_id(net, load_raw32(s->key.remote.b + IP_V4_AT)) : 0,
                     true);
    finish(p, len, head, net->tx_l4);
    if (e == NULL) {
        neighbor_wait(&net->arp, now, neighbor_key4(hop_raw), p, tx);
    } else {
        e->used_ms = now.ms;
        tx->pkts[tx->n++] = p;
    }
    return true;
}

// out_path: the fields that are the same for all segments from one local address to one next hop.
struct out_path {
    uint32_t hop_raw;
    uint16_t local_ix;
    uint32_t ip_bytes_max;
    uint64_t word;  // MAC and state of the next hop's entry
    struct wire_from from;
};

// build: builds the packet of a segment. Returns false if it is too long.
static ALWAYS_INLINE bool build(const struct out_path *path, struct pkt *p, const struct seg_out *s,
                                uint32_t head, enum wire_options options, bool l4_offload)
{
    if (unlikely(IP4_BYTES + head + s->data_len[0] + s->data_len[1] > path->ip_bytes_max))
        return false;
    const uint32_t len =
        wire_build_tcp4(pkt_data(p), &path->from, path->word, s, head, options, l4_offload);
    finish(p, len, head, l4_offload);
    return true;
}

// build_other: build() for a segment with any TCP options, such as a SYN-ACK or SACK blocks.
static NOINLINE bool build_other(const struct out_path *path, struct pkt *p,
                                 const struct seg_out *s, bool l4_offload)
{
    return build(path, p, s, wire_tcp_head_bytes(s), WIRE_ANY, l4_offload);
}

// output_run: builds packets for segments from segs[0] on, while they use `path` and have no IP
// header fields of their own. Returns how many. l4_offload: net->tx_l4 as a compile-time constant.
static ALWAYS_INLINE uint32_t output_run(const struct net *net, const struct out_path *path,
                                         const struct seg_out *segs, uint32_t n,
                                         struct pkt *const *pkts, struct pkt **to, bool l4_offload)
{
    uint32_t i = 0;
    for (; i < n; i++) {
        const struct seg_out *s = &segs[i];
        struct pkt *p = pkts[i];
        if (unlikely(s->key.local_ix != path->local_ix || !ip_is_v4(&s->key.remote) ||
                     next_hop(net, load_raw32(s->key.remote.b + IP_V4_AT)) != path->hop_raw ||
                     (s->opts & SEG_OPT_IP)))
            break;
        bool built;
        if (unlikely(wire_has_other_options(s)))
            built = build_other(path, p, s, l4_offload);
        else if (s->opts & SEG_OPT_TS)
            built = build(path, p, s, TCP_BYTES + TCP_TS_BYTES, WIRE_TS, l4_offload);
        else
            built = build(path, p, s, TCP_BYTES, WIRE_PLAIN, l4_offload);
        if (unlikely(!built))
            break;
        to[i] = p;
    }
    return i;
}

static NOINLINE uint32_t run_whole(const struct net *net, const struct out_path *path,
                                   const struct seg_out *segs, uint32_t n, struct pkt *const *pkts,
                                   struct pkt **to)
{
    return output_run(net, path, segs, n, pkts, to, false);
}

static NOINLINE uint32_t run_offloaded(const struct net *net, const struct out_path *path,
                                       const struct seg_out *segs, uint32_t n,
                                       struct pkt *const *pkts, struct pkt **to)
{
    return output_run(net, path, segs, n, pkts, to, true);
}

// path_find: finds the path of segment s. Returns false if the next hop's MAC is unknown. If
// hop_raw is NET_ROUTED, the path is valid for s only.
static bool path_find(struct net *net, struct clock_now now, const struct seg_out *s,
                      struct out_path *path)
{
    const uint32_t ix = (uint32_t)s->key.local_ix - net->local_ix_first;
    const uint32_t dst_raw = load_raw32(s->key.remote.b + IP_V4_AT), hop = next_hop(net, dst_raw);
    if (unlikely(ix >= net->n_locals || local_is_gone(net, ix)))
        return false;
    const uint32_t next = hop != NET_ROUTED ? hop : route_find(net, dst_raw);
    struct neighbor *e = neighbor_hot(&net->arp, neighbor_key4(next), false);
    if (e == NULL)
        return false;
    e->used_ms = now.ms;
    *path = (struct out_path){hop, s->key.local_ix, net->ip_bytes_max, e->word, net->from[ix]};
    return true;
}

// output_others: sends segments from segs[0] on that are not common IPv4 segments: a run that uses
// one IPv6 path, or else one segment. Each takes a packet of pkts; *used is how many were taken.
// Returns how many segments it processed.
static NOINLINE uint32_t output_others(struct net *net, struct clock_now now,
                                       const struct seg_out *segs, uint32_t n, struct pkt **pkts,
                                       struct net_tx *tx, uint32_t *used)
{
    if (net->v6 != NULL && !ip_is_v4(&segs[0].key.remote))
        return output6(net, now, segs, n, pkts, tx, used);
    *used = output_slow(net, now, &segs[0], pkts[0], tx, n - 1);
    return 1;
}

// output_each: sends n segments with one packet of pkts each; returns how many packets were used.
static uint32_t output_each(struct net *net, struct clock_now now, const struct seg_out *segs,
                            uint32_t n, struct pkt **pkts, struct net_tx *tx)
{
    struct pkt **next = pkts;
    struct out_path path;
    for (uint32_t i = 0; i < n;) {
        uint32_t ran = 0;
        if (likely(path_find(net, now, &segs[i], &path)))
            ran = (net->tx_l4 ? run_offloaded : run_whole)(net, &path, &segs[i],
                                                           path.hop_raw != NET_ROUTED ? n - i : 1,
                                                           next, &tx->pkts[tx->n]);
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

// output_burst: net_output() for at most BURST_MAX segments, for which tx has room.
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

// SPDX-License-Identifier: BSD-3-Clause
// Sends segments over IPv6, as output.c does for IPv4.
#include "net/priv6.h"

// out_path6: the fields that are the same for all segments from one local address to one next hop.
struct out_path6 {
    struct ip_addr hop;
    bool off_link;  // the next hop is the gateway
    bool alone;     // the next hop is from a route, and valid for this segment only
    uint16_t local_ix;
    uint32_t ip_bytes_max;
    uint64_t word;  // MAC and state of the next hop's entry
    struct wire_from6 from;
};

// next_hop: finds the next hop of dst. Returns false if there is no route.
static bool next_hop(const struct net6 *v6, const struct ip_addr *dst, struct out_path6 *path)
{
    path->off_link = !net6_on_link(v6, dst);
    path->alone = path->off_link && v6->off_link == OFF_LINK_ROUTED;
    path->hop = path->off_link ? v6->off_link_hop : *dst;
    if (path->alone)
        return route6_find(v6, dst, &path->hop);
    return !path->off_link || v6->off_link == OFF_LINK_GATEWAY;
}

static inline bool goes(const struct net6 *v6, const struct out_path6 *path,
                        const struct seg_out *s)
{
    if (unlikely(s->key.local_ix != path->local_ix || (s->opts & SEG_OPT_IP)))
        return false;
    if (ip6_same(&s->key.remote, &path->hop))  // the peer itself is the next hop
        return true;
    return path->off_link && ip6_is_global_form(&s->key.remote) &&
           !net6_on_link(v6, &s->key.remote);
}

static inline void finish(struct pkt *p, uint32_t len, uint32_t head, bool l4_offload)
{
    pkt_set_len(p, len);
    if (l4_offload)
        pkt_tx_offload6(p, ETH_BYTES, IP6_BYTES, head);
}

// build: builds the packet of a segment. Returns false if it is too long.
static ALWAYS_INLINE bool build(const struct out_path6 *path, struct pkt *p,
                                const struct seg_out *s, uint32_t head, enum wire_options options,
                                bool l4_offload)
{
    if (unlikely(IP6_BYTES + head + s->data_len[0] + s->data_len[1] > path->ip_bytes_max))
        return false;
    const uint32_t len =
        wire_build_tcp6(pkt_data(p), &path->from, path->word, s, head, options, l4_offload);
    finish(p, len, head, l4_offload);
    return true;
}

// build_other: build() for a segment with any TCP options, such as a SYN-ACK or SACK blocks.
static NOINLINE bool build_other(const struct out_path6 *path, struct pkt *p,
                                 const struct seg_out *s, bool l4_offload)
{
    return build(path, p, s, wire_tcp_head_bytes(s), WIRE_ANY, l4_offload);
}

// output_run: builds packets for segments from segs[0] on, while they use `path`. Returns how many.
static ALWAYS_INLINE uint32_t output_run(const struct net6 *v6, const struct out_path6 *path,
                                         const struct seg_out *segs, uint32_t n,
                                         struct pkt *const *pkts, struct pkt **to, bool l4_offload)
{
    uint32_t i = 0;
    for (; i < n; i++) {
        const struct seg_out *s = &segs[i];
        if (unlikely(!goes(v6, path, s)))
            break;
        bool built;
        if (unlikely(wire_has_other_options(s)))
            built = build_other(path, pkts[i], s, l4_offload);
        else if (s->opts & SEG_OPT_TS)
            built = build(path, pkts[i], s, TCP_BYTES + TCP_TS_BYTES, WIRE_TS, l4_offload);
        else
            built = build(path, pkts[i], s, TCP_BYTES, WIRE_PLAIN, l4_offload);
        if (unlikely(!built))
            break;
        to[i] = pkts[i];
    }
    return i;
}

static NOINLINE uint32_t run_whole(const struct net6 *v6, const struct out_path6 *path,
                                   const struct seg_out *segs, uint32_t n, struct pkt *const *pkts,
                                   struct pkt **to)
{
    return output_run(v6, path, segs, n, pkts, to, false);
}

static NOINLINE uint32_t run_offloaded(const struct net6 *v6, const struct out_path6 *path,
                                       const struct seg_out *segs, uint32_t n,
                                       struct pkt *const *pkts, struct pkt **to)
{
    return output_run(v6, path, segs, n, pkts, to, true);
}

// slow: sends a segment that is large, that has its own IP header fields, that is refused, or whose
// next hop is not in the hint. left: how many segments follow, for each of which tx keeps a place.
// Returns whether p was used.
static bool slow(struct net *net, struct clock_now now, const struct seg_out *s, struct pkt *p,
                 struct net_tx *tx, uint32_t left)
{
    struct net6 *v6 = net->v6;
    struct out_path6 path;
    const uint32_t ix = (uint32_t)s->key.local_ix - v6->local_ix_first,
                   head = wire_tcp_head_bytes(s),
                   total = IP6_BYTES + head + s->data_len[0] + s->data_len[1];
    const bool too_long = total > net->ip_bytes_max,
               large = too_long && net_can_be_cut(net, s, IP6_BYTES + head, head);
    const uint32_t parts = large ? seg_parts(s) : 1;
    if (ix >= v6->n || (!ip6_is_global_form(&s->key.remote) && !v6->loops) ||
        (!(too_long && !large) && !next_hop(v6, &s->key.remote, &path))) {
        stat_drop(net->stats, DROP_ip_no_route, parts);
        return false;
    }
    if (local6_is_gone(v6, ix)) {
        stat_drop(net->stats, DROP_ip_address_gone, parts);
        return false;
    }
    if (too_long && !large) {
        too_big_note(net, s);
        stat_drop(net->stats, DROP_ip_mtu, 1);
        return false;
    }
    struct neighbor *e = neighbor_usable(&v6->nd, neighbor_key6(&path.hop));
    const uint64_t word = e != NULL ? e->word : 0;
    if (e != NULL)
        e->used_ms = now.ms;
    if (large) {
        const struct large_path to = {word, e != NULL, 0, &path.hop};
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
        neighbor_wait(&v6->nd, now, neighbor_key6(&path.hop), p, tx);
    } else {
        tx->pkts[tx->n++] = p;
    }
    return true;
}

// path_find: finds the path of segment s, if its next hop is known, and marks the neighbor as
// used.
static bool path_find(struct net *net, struct clock_now now, const struct seg_out *s,
                      struct out_path6 *path)
{
    struct net6 *v6 = net->v6;
    const uint32_t ix = (uint32_t)s->key.local_ix - v6->local_ix_first;
    if (ix >= v6->n || local6_is_gone(v6, ix) || !ip6_is_global_form(&s->key.remote) ||
        !next_hop(v6, &s->key.remote, path))
        return false;
    struct neighbor *e = neighbor_hot(&v6->nd, neighbor_key6(&path->hop), true);
    if (e == NULL)
        return false;
    e->used_ms = now.ms;
    path->local_ix = s->key.local_ix;
    path->ip_bytes_max = net->ip_bytes_max;
    path->word = e->word;
    path->from = v6->from[ix];
    return true;
}

uint32_t output6(struct net *net, struct clock_now now, const struct seg_out *segs, uint32_t n,
                 struct pkt **pkts, struct net_tx *tx, uint32_t *used)
{
    struct out_path6 path;
    uint32_t ran = 0;
    if (path_find(net, now, segs, &path))
        ran = (net->tx_l4 ? run_offloaded : run_whole)(net->v6, &path, segs, path.alone ? 1 : n,
                                                       pkts, &tx->pkts[tx->n]);
    tx->n += ran;
    net->stats->c.tx_tcp6 += ran;
    net->stats->c.tx_ip6 += ran;
    *used = ran != 0 ? ran : slow(net, now, segs, pkts[0], tx, n - 1);
    return MAX(ran, 1u);
}

#include "net/priv.h"

// next_hop: where a packet to dst_raw goes first: itself when near, on a local prefix, else the
// gateway. 0: no route. NET_ROUTED: route_find() knows.
static inline uint32_t next_hop(const struct net *net, uint32_t dst_raw)
{
#pragma GCC unroll 1  // one address is the rule
    for (uint32_t k = 0; k < net->n_locals; k++)
        if ((dst_raw & net->near_mask[k]) == net->near_subnet[k])
            return dst_raw;
    return net->far_hop_raw;
}

static inline bool is_mapped_v4(const struct ip_addr *a)
{
    return (load_raw64(a->b) == 0) & (load_raw32(a->b + 8) == 0xffff0000);
}

// alloc_some: as many of n packets as the pool gives, in halves.
static uint32_t alloc_some(struct net *net, struct pkt **pkts, uint32_t n)
{
    while (n != 0 && !pkt_alloc_bulk(net->pool, pkts, n))
        n /= 2;
    return n;
}

// output_refused: why segment s cannot become a packet, or DROP_NONE.
static inline enum drop_reason output_refused(const struct net *net, const struct seg_out *s,
                                              uint32_t ix, uint32_t head)
{
    uint32_t total = IP4_BYTES + head + s->data_len[0] + s->data_len[1];
    if (unlikely(ix >= net->n_locals || !is_mapped_v4(&s->key.remote)))
        return DROP_ip_no_route;
    return unlikely(total > net->ip_bytes_max) ? DROP_ip_mtu : DROP_NONE;
}

static inline void finish(const struct net *net, struct pkt *p, uint32_t len, uint32_t head,
                          bool l4_offload)
{
    pkt_set_len(p, len);
    if (l4_offload)
        pkt_tx_offload(p, ETH_BYTES, IP4_BYTES, head);
}

// output_slow: SYNs, segments that are refused, and those whose next hop the hint does not know.
// True: p was used.
static NOINLINE bool output_slow(struct net *net, struct clock_now now, const struct seg_out *s,
                                 struct pkt *p, struct net_tx *tx)
{
    uint32_t ix = (uint32_t)s->key.local_ix - net->local_ix_first, head = wire_tcp_head_bytes(s);
    enum drop_reason refused = output_refused(net, s, ix, head);
    uint32_t hop_raw = route_find(net, load_raw32(s->key.remote.b + 12));
    if (refused == DROP_NONE && hop_raw == 0)
        refused = DROP_ip_no_route;
    if (refused != DROP_NONE) {
        net->drops[refused]++;
        return false;
    }
    struct arp_entry *e = arp_usable(net, hop_raw);
    uint32_t len = wire_build_tcp4(pkt_data(p), &net->from[ix], e != NULL ? e->word : 0, s, head,
                                   wire_options_of(s), net->tx_l4);
    finish(net, p, len, head, net->tx_l4);
    net->counters.out_bytes += len;
    if (e == NULL) {
        net->counters.arp_waited++;
        arp_wait(net, now, hop_raw, p, tx);
    } else {
        e->used_ms = now.ms;
        tx->pkts[tx->n++] = p;
    }
    return true;
}

// output_each: one packet of pkts for each of n segments, as far as they can leave; returns how
// many were used. l4_offload is net->tx_l4, as a constant. The next hop of the segment before is
// nearly always this one's too.
static ALWAYS_INLINE uint32_t output_each(struct net *net, struct clock_now now,
                                          const struct seg_out *segs, uint32_t n, struct pkt **pkts,
                                          struct net_tx *tx, bool l4_offload)
{
    struct pkt **next = pkts;
    struct arp_entry *e = NULL;
    uint32_t hop_raw = 0;
    uint64_t bytes = 0;
    for (const struct seg_out *s = segs; s != segs + n; s++) {
        struct pkt *p = *next;
        const uint32_t ix = (uint32_t)s->key.local_ix - net->local_ix_first;
        const bool ts = s->opts & SEG_OPT_TS;
        const uint32_t head = ts ? TCP_BYTES + TCP_TS_BYTES : TCP_BYTES;
        const uint32_t hop = next_hop(net, load_raw32(s->key.remote.b + 12));
        if (unlikely(hop != hop_raw || e == NULL)) {
            // Routed ones are asked about one by one: hop_raw is then that of none.
            hop_raw = hop != NET_ROUTED ? hop : 0;
            e = arp_hot(net, hop != NET_ROUTED ? hop
                                               : route_find(net, load_raw32(s->key.remote.b + 12)));
            if (e != NULL)
                e->used_ms = now.ms;
        }
        if (unlikely(e == NULL || (s->flags & SEG_SYN) != 0 ||
                     output_refused(net, s, ix, head) != DROP_NONE)) {
            next += output_slow(net, now, s, p, tx);
            e = NULL;  // the cache may have changed
            continue;
        }
        const uint32_t len = ts ? wire_build_tcp4(pkt_data(p), &net->from[ix], e->word, s,
                                                  TCP_BYTES + TCP_TS_BYTES, WIRE_TS, l4_offload)
                                : wire_build_tcp4(pkt_data(p), &net->from[ix], e->word, s,
                                                  TCP_BYTES, WIRE_PLAIN, l4_offload);
        finish(net, p, len, head, l4_offload);
        tx->pkts[tx->n++] = p;
        bytes += len;
        next++;
    }
    net->counters.out_bytes += bytes;
    return (uint32_t)(next - pkts);
}

// output_burst: net_output() of at most BURST_MAX segments for which tx has room.
static void output_burst(struct net *net, struct clock_now now, const struct seg_out *segs,
                         uint32_t n, struct net_tx *tx)
{
    struct pkt *pkts[BURST_MAX];
    uint32_t got = alloc_some(net, pkts, n), used;
    net->drops[DROP_pkt_pool_empty] += n - got;
    if (net->tx_l4)
        used = output_each(net, now, segs, got, pkts, tx, true);
    else
        used = output_each(net, now, segs, got, pkts, tx, false);
    pkt_free_bulk(pkts + used, got - used);
    net->counters.segs_out += used;
}

uint32_t net_output(struct net *net, struct clock_now now, const struct seg_out *segs, uint32_t n,
                    struct net_tx *tx)
{
    uint32_t before = tx->n, fit = MIN(n, tx->room - tx->n);
    net->drops[DROP_reply_room] += n - fit;
    for (uint32_t at = 0; at < fit; at += BURST_MAX)
        output_burst(net, now, segs + at, MIN(fit - at, (uint32_t)BURST_MAX), tx);
    return tx->n - before;
}

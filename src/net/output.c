#include "net/priv.h"

// next_hop: where a packet to dst_raw goes first: itself when on a local prefix, else the gateway.
// 0: no route.
static inline uint32_t next_hop(const struct net *net, uint32_t dst_raw)
{
    return net_on_link(net, dst_raw) >= 0 ? dst_raw : net->gateway_raw;
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

// output_burst: net_output() of at most BURST_MAX segments for which tx has room.
static void output_burst(struct net *net, struct clock_now now, const struct seg_out *segs,
                         uint32_t n, struct net_tx *tx)
{
    struct pkt *pkts[BURST_MAX];
    uint32_t got = alloc_some(net, pkts, n), used = 0;
    uint64_t bytes = 0;
    net->drops[DROP_pkt_pool_empty] += n - got;
    for (uint32_t i = 0; i < got; i++) {
        prefetch0_w(pkt_data(pkts[i]));
        prefetch0_w(pkt_data(pkts[i]) + CACHE_LINE);
    }
    for (uint32_t i = 0; i < got; i++) {
        const struct seg_out *s = &segs[i];
        uint32_t ix = (uint32_t)s->key.local_ix - net->local_ix_first;
        uint32_t head = wire_tcp_head_bytes(s);
        enum drop_reason refused = output_refused(net, s, ix, head);
        uint32_t hop_raw = next_hop(net, load_raw32(s->key.remote.b + 12));
        if (unlikely(refused != DROP_NONE || hop_raw == 0)) {
            net->drops[refused != DROP_NONE ? refused : DROP_ip_no_route]++;
            continue;
        }
        struct pkt *p = pkts[used++];
        struct arp_entry *e = arp_hot(net, hop_raw);
        if (unlikely(e == NULL))
            e = arp_usable(net, hop_raw);
        uint32_t len = wire_build_tcp4(pkt_data(p), &net->from[ix], e != NULL ? e->word : 0, s,
                                       head, net->tx_l4);
        pkt_set_len(p, len);
        bytes += len;
        if (net->tx_l4)
            pkt_tx_offload(p, ETH_BYTES, IP4_BYTES, head);
        if (unlikely(e == NULL)) {
            net->counters.arp_waited++;
            arp_wait(net, now, hop_raw, p, tx);
            continue;
        }
        e->used_ms = now.ms;
        tx->pkts[tx->n++] = p;
    }
    pkt_free_bulk(pkts + used, got - used);
    net->counters.segs_out += used;
    net->counters.out_bytes += bytes;
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

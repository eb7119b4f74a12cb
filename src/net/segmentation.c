// SPDX-License-Identifier: BSD-3-Clause
// Large segments. Each stands for several full segments. Their headers differ only in the fields
// that TSO sets: sequence number, IPv4 identification, lengths, checksums, PSH and FIN. A port with
// PORT_TSO gets a large segment as one chain of packets and cuts it itself.
#include "net/priv6.h"

// Large segments with a smaller MSS are cut in software. The peer chooses the MSS, and Intel's i40e
// and iavf stop the queue when they get a small one (malicious driver detection).
enum { TSO_MSS_MIN = 256 };

static_assert(PKT_CHAIN_MAX * PKT_ROOM >= 65535 + TCP6_OFF, "a chain holds any IP packet");

static uint32_t data_bytes(const struct seg_out *s)
{
    return (uint32_t)s->data_len[0] + s->data_len[1];
}

// part: the n bytes of s from offset `at` on as a segment. Flags that belong to the end of s (FIN,
// PSH) are set only in the last part.
static void part(const struct seg_out *s, uint32_t at, uint32_t n, struct seg_out *out)
{
    const uint32_t first = at < s->data_len[0] ? MIN(s->data_len[0] - at, n) : 0;
    *out = *s;
    out->seq = s->seq + at;
    out->data[0] = s->data[0] + at;
    out->data[1] = s->data[1];
    out->data_len[0] = (uint16_t)first;
    out->data_len[1] = (uint16_t)(n - first);
    if (first == 0) {
        out->data[0] = s->data[1] + (at - s->data_len[0]);
        out->data_len[0] = (uint16_t)n;
        out->data_len[1] = 0;
    }
    if (at + n != data_bytes(s))
        out->flags &= (uint8_t) ~(SEG_PSH | SEG_FIN);
}

static void own_ip(struct net *net, const struct large_path *path, uint8_t *frame,
                   const struct seg_out *s, bool with_sum)
{
    if (path->hop6 != NULL)
        wire_own_ip6(frame, s);
    else
        wire_own_ip4(frame, s,
                     s->may_split ? net_ip_id(net, load_raw32(s->key.remote.b + IP_V4_AT)) : 0,
                     with_sum);
}

// build: builds the packet of one part.
static void build(struct net *net, const struct large_path *path, struct pkt *p,
                  const struct seg_out *s, uint32_t head)
{
    const uint32_t ix = (uint32_t)s->key.local_ix - net->local_ix_first;
    uint32_t len;
    if (path->hop6 != NULL)
        len = wire_build_tcp6(pkt_data(p), &net->v6->from[ix - net->n_locals], path->word, s, head,
                              wire_options_of(s), net->tx_l4);
    else
        len = wire_build_tcp4(pkt_data(p), &net->from[ix], path->word, s, head, wire_options_of(s),
                              net->tx_l4);
    if (s->opts & SEG_OPT_IP)
        own_ip(net, path, pkt_data(p), s, true);
    pkt_set_len(p, len);
    if (net->tx_l4 && path->hop6 != NULL)
        pkt_tx_offload6(p, ETH_BYTES, IP6_BYTES, head);
    else if (net->tx_l4)
        pkt_tx_offload(p, ETH_BYTES, IP4_BYTES, head);
}

static void wait_for(struct net *net, struct clock_now now, const struct large_path *path,
                     struct pkt *p, struct net_tx *tx)
{
    if (path->hop6 != NULL)
        neighbor_wait(&net->v6->nd, now, neighbor_key6(path->hop6), p, tx);
    else
        neighbor_wait(&net->arp, now, neighbor_key4(path->hop_raw), p, tx);
}

// cut: sends the first n parts of s, of mss bytes each, as packets. Returns how many it sent, which
// is less than n if too few packets are free.
static uint32_t cut(struct net *net, struct clock_now now, const struct seg_out *s, uint32_t n,
                    const struct large_path *path, struct net_tx *tx)
{
    const uint32_t head = wire_tcp_head_bytes(s), all = data_bytes(s);
    struct pkt *pkts[BURST_MAX];
    uint32_t built = 0;
    for (uint32_t at = 0, got; built < n; built += got) {
        got = net_alloc_some(net, pkts, MIN(n - built, (uint32_t)BURST_MAX));
        if (got == 0) {
            stat_drop(net->stats, DROP_pkt_pool_empty, n - built);
            break;
        }
        for (uint32_t i = 0; i < got; i++, at += s->mss) {
            struct seg_out one;
            part(s, at, MIN((uint32_t)s->mss, all - at), &one);
            build(net, path, pkts[i], &one, head);
            if (path->known)
                tx->pkts[tx->n++] = pkts[i];
            else
                wait_for(net, now, path, pkts[i], tx);
        }
    }
    return built;
}

// copy_data: copies the data of s into the chain of packets with room bytes each. The first packet
// already has `head` bytes. Returns how many packets hold all of it.
static uint32_t copy_data(const struct seg_out *s, struct pkt **pkts, uint32_t room, uint32_t head)
{
    uint32_t used = head, k = 0;
    for (unsigned r = 0; r < 2; r++)
        for (uint32_t at = 0, n; at < s->data_len[r]; at += n, used += n) {
            if (used == room) {
                pkt_set_len(pkts[k++], used);
                used = 0;
            }
            n = MIN(s->data_len[r] - at, room - used);
            memcpy(pkt_data(pkts[k]) + used, s->data[r] + at, n);
        }
    pkt_set_len(pkts[k++], used);
    return k;
}

// whole: sends s as one chain, which the port cuts. Returns false, without sending, if the port
// does not accept so long a chain or if too few packets are free.
static bool whole(struct net *net, const struct seg_out *s, const struct large_path *path,
                  struct net_tx *tx)
{
    const uint32_t ix = (uint32_t)s->key.local_ix - net->local_ix_first;
    const uint32_t tcp_head = wire_tcp_head_bytes(s),
                   head = (path->hop6 != NULL ? TCP6_OFF : TCP4_OFF) + tcp_head;
    const uint32_t k = (head + data_bytes(s) + net->pkt_room - 1) / net->pkt_room;
    struct pkt *pkts[PKT_CHAIN_MAX];
    if (k > net->chain_max || !pkt_alloc_bulk(net->pool, pkts, k))
        return false;
    if (path->hop6 != NULL)
        wire_build_tso6(pkt_data(pkts[0]), &net->v6->from[ix - net->n_locals], path->word, s,
                        tcp_head);
    else
        wire_build_tso4(pkt_data(pkts[0]), &net->from[ix], path->word, s, tcp_head);
    if (s->opts & SEG_OPT_IP)
        own_ip(net, path, pkt_data(pkts[0]), s, false);
    if (path->hop6 == NULL && !net->tx_ip)
        wire_sum_ip4(pkt_data(pkts[0]));
    CHECK(copy_data(s, pkts, net->pkt_room, head) == k);
    pkt_chain(pkts, k);
    if (path->hop6 != NULL)
        pkt_tx_tso6(pkts[0], ETH_BYTES, IP6_BYTES, tcp_head, s->mss);
    else
        pkt_tx_tso(pkts[0], net->tx_ip, ETH_BYTES, IP4_BYTES, tcp_head, s->mss);
    tx->pkts[tx->n++] = pkts[0];
    return true;
}

uint32_t output_large(struct net *net, struct clock_now now, const struct seg_out *s,
                      const struct large_path *path, struct net_tx *tx, uint32_t left)
{
    const uint32_t n = (data_bytes(s) + s->mss - 1) / s->mss;
    const bool by_port = net->tso && s->mss >= TSO_MSS_MIN && path->known;
    if (by_port && tx->n + left < tx->room && whole(net, s, path, tx))
        return n;
    const uint32_t fit = MIN(n, tx->room - tx->n - MIN(left, tx->room - tx->n));
    stat_drop(net->stats, DROP_reply_room, n - fit);
    return cut(net, now, s, fit, path, tx);
}

// SPDX-License-Identifier: BSD-3-Clause
// Fragments (RFC 791 2.3, RFC 8200 4.5). Received fragments are stored until their datagram is
// complete. A datagram to send that exceeds the path MTU is fragmented.
#include "net/priv6.h"

// room_back: called when the packet to which the memory of a whole frame was attached is freed.
static void room_back(void *frame, void *reasm)
{
    reasm_room_back(reasm);
}

struct pkt *fragment_packet(struct net *net, uint32_t bytes)
{
    struct pkt *p;
    void *shared;
    if (!pkt_alloc_bulk(net->pool, &p, 1))
        return NULL;
    if (bytes <= net->pkt_room) {
        pkt_set_len(p, bytes);
        return p;
    }
    uint8_t *at = net->reasm != NULL ? reasm_room(net->reasm, bytes, &shared) : NULL;
    if (at == NULL) {
        pkt_free(p);
        return NULL;
    }
    pkt_attach(p, at, bytes, shared, room_back, net->reasm);
    return p;
}

struct outcome fragment_input(struct net *net, struct clock_now now, const uint8_t *frame,
                              uint16_t data_off, struct reasm_part part)
{
    struct reasm_whole w;
    part.port = net->port;
    part.data = frame + data_off;
    part.head = frame;
    part.head_len = data_off;
    const enum drop_reason reason = reasm_add(net->reasm, now.ms, &part, &w);
    if (reason != DROP_NONE)
        return (struct outcome){.reason = reason};
    if (w.bytes == 0) {
        net->stats->c.kept++;
        return (struct outcome){.reason = DROP_NONE};
    }
    struct pkt *whole = fragment_packet(net, w.bytes);
    if (whole == NULL) {
        reasm_give_up(net->reasm, &w);
        return (struct outcome){.reason = DROP_fragment_room};
    }
    reasm_take(net->reasm, &w, pkt_data(whole));
    return (struct outcome){.reason = DROP_NONE, .whole = whole};
}

// ---- fragmentation of sent datagrams

// cut: how an IP packet is divided. head: bytes of headers before the data; part_head: the same in
// each fragment; room: bytes of data in each fragment but the last; n: number of fragments.
struct cut {
    bool v6;
    uint32_t head, part_head, room, data, n;
};

static struct cut cut_of(const uint8_t *frame, uint32_t len, uint32_t ip_max)
{
    struct cut c = {.v6 = load_be16(frame + ETH_TYPE_AT) == ETH_TYPE_IP6};
    c.head = c.v6 ? IP6_BYTES : 4 * (frame[ETH_BYTES] & 15u);
    c.part_head = c.head + (c.v6 ? IP6_FRAGMENT_BYTES : 0);
    c.room = (ip_max - c.part_head) & ~7u;
    c.data = len - ETH_BYTES - c.head;
    c.n = (c.data + c.room - 1) / c.room;
    return c;
}

static void put_head4(uint8_t *ip, const struct cut *c, uint32_t id, uint32_t at, uint32_t n)
{
    store_be16(ip + IP4_TOTAL_AT, (uint16_t)(c->head + n));
    store_be16(ip + IP4_ID_AT, (uint16_t)id);
    store_be16(ip + IP4_FRAGMENT_AT, (uint16_t)(at / 8 | (at + n != c->data ? IP4_MF : 0)));
    store_be16(ip + IP4_CKSUM_AT, 0);
    store_raw16(ip + IP4_CKSUM_AT, (uint16_t)~cksum_fold(cksum_add(0, ip, c->head)));
}

static void put_head6(uint8_t *ip, const struct cut *c, uint32_t id, uint32_t at, uint32_t n)
{
    uint8_t *h = ip + IP6_BYTES;
    h[0] = ip[IP6_NEXT_AT];
    h[1] = 0;
    store_be16(h + IP6_FRAGMENT_AT, (uint16_t)(at | (at + n != c->data)));
    store_be32(h + IP6_FRAGMENT_ID_AT, id);
    ip[IP6_NEXT_AT] = IP_PROTO_FRAGMENT;
    store_be16(ip + IP6_PAYLOAD_AT, (uint16_t)(c->part_head - IP6_BYTES + n));
}

static void put_part(const struct cut *c, const uint8_t *frame, uint32_t id, uint32_t at,
                     struct pkt *p)
{
    const uint32_t n = MIN(c->room, c->data - at);
    uint8_t *to = pkt_data(p);
    memcpy(to, frame, ETH_BYTES + c->head);
    (c->v6 ? put_head6 : put_head4)(to + ETH_BYTES, c, id, at, n);
    memcpy(to + ETH_BYTES + c->part_head, frame + ETH_BYTES + c->head + at, n);
    pkt_set_len(p, ETH_BYTES + c->part_head + n);
}

uint32_t fragment_cut(struct net *net, const uint8_t *frame, uint32_t len, uint32_t ip_max,
                      uint32_t id, struct pkt **pkts, uint32_t max)
{
    const struct cut c = cut_of(frame, len, ip_max);
    if (c.n > max || !pkt_alloc_bulk(net->pool, pkts, c.n))
        return 0;
    for (uint32_t i = 0; i < c.n; i++)
        put_part(&c, frame, id, i * c.room, pkts[i]);
    return c.n;
}

uint32_t fragment_out(struct net *net, struct clock_now now, const uint8_t *frame, uint32_t len,
                      struct pkt **pkts, uint32_t max)
{
    const bool v6 = load_be16(frame + ETH_TYPE_AT) == ETH_TYPE_IP6;
    const struct ip_addr to = fragment_dst(frame);
    const uint32_t id = v6 ? net_part_id6(net, &to) : net_ip_id(net, load_raw32(to.b + IP_V4_AT));
    const uint32_t n =
        fragment_cut(net, frame, len, net_mtu(net, now, &to), id, pkts, MIN(max, (uint32_t)PARTS));
    if (n == 0) {
        net->stats->c.tx_fragment_fails++;
        net->stats->c.tx_fragment_fails6 += v6;
        return 0;
    }
    net->stats->c.tx_fragmented++;
    net->stats->c.tx_fragmented6 += v6;
    net->stats->c.tx_fragments += n;
    net->stats->c.tx_fragments6 += v6 ? n : 0;
    net->stats->c.tx_ip6 += v6 ? n : 0;
    return n;
}

bool fragment_send(struct net *net, struct clock_now now, const uint8_t *frame, uint32_t len,
                   struct net_tx *tx)
{
    const uint32_t n = fragment_out(net, now, frame, len, tx->pkts + tx->n, fragment_room(tx));
    tx->n += n;
    return n != 0;
}

uint32_t net_hand_over(struct net *net, const struct pkt *whole, struct pkt **pkts, uint32_t max)
{
    return fragment_cut(net, pkt_data(whole), pkt_whole_len(whole), net->pkt_room - ETH_BYTES,
                        reasm_hand_id(net->reasm), pkts, max);
}

// ---- datagrams whose reassembly failed

// tell4: sends ICMP time exceeded to the sender, if the first fragment arrived (RFC 792, RFC 1122
// 3.3.2).
static void tell4(struct net *net, struct clock_now now, const struct reasm_part *of,
                  const uint8_t *quote, uint32_t n, struct net_tx *tx)
{
    const uint32_t head = 4 * (quote[0] & 15u);
    const int ix = net_local_index(net, load_raw32(of->dst.b + IP_V4_AT));
    if (ix < 0 || (of->proto == IP_PROTO_ICMP && quote[head] != ICMP_ECHO))
        return;
    error4_send(net, now, of->head, quote, MIN(n, (uint32_t)ICMP_QUOTE_MAX), (uint32_t)ix,
                ICMP_TIME_EXCEEDED, ICMP_CODE_REASSEMBLY, tx);
}

// tell6: sends ICMPv6 time exceeded to the sender, if the first fragment arrived (RFC 8200 4.5).
static void tell6(struct net *net, struct clock_now now, const struct reasm_part *of,
                  const uint8_t *quote, uint32_t n, struct net_tx *tx)
{
    const struct wire_ip6 ip = {.src = of->src, .dst = of->dst};
    const int ix = net6_own(net->v6, &of->dst);
    if (ix < 0 || wire_may_be_error6(quote, n))
        return;
    error6_quote(net, now, of->head, &ip, (uint32_t)ix, ICMP6_TIME_EXCEEDED, ICMP6_CODE_REASSEMBLY,
                 0, quote, n, tx);
}

void fragment_tick(struct net *net, struct clock_now now, struct net_tx *tx)
{
    uint8_t quote[ICMP6_QUOTE_MAX];
    struct reasm_part of;
    uint32_t n;
    for (unsigned i = 0; i < REASM_EXPIRE_MAX; i++) {
        if (!reasm_expire(net->reasm, now.ms, net->port, &of, quote, sizeof(quote), &n))
            break;
        if (n != 0)
            (ip_is_v4(&of.src) ? tell4 : tell6)(net, now, &of, quote, n, tx);
    }
}

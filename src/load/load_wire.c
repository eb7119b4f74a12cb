// SPDX-License-Identifier: BSD-3-Clause
#include "base/bytes.h"
#include "load/load_internal.h"

// Parses a frame that the fast parser does not accept, with all checks. DROP_NONE: *s is valid.
static enum drop_reason parse4_slow(const uint8_t *frame, uint32_t len, struct seg_in *s)
{
    struct wire_ip4 ip;
    const enum drop_reason why = wire_parse_ip4(frame, len, true, &ip);
    return why != DROP_NONE ? why : wire_parse_tcp(frame, &ip, true, s);
}

static bool parse4(const struct load *l, const struct pkt *p, struct seg_in *s)
{
    const uint8_t *frame = pkt_data(p);
    if (likely(pkt_len(p) >= TCP4_DATA_OFF && wire_is_common(frame, &l->common) &&
               wire_parse_tcp4_fast(frame, pkt_len(p), 0, 0, s)))
        return wire_ip4_tcp4_right(frame, (uint32_t)s->data_off + s->data_len - TCP4_OFF);
    return parse4_slow(frame, pkt_len(p), s) == DROP_NONE;
}

// The index of the connection, from the last 32 bits of the address and the port.
static uint32_t index_of(struct load *l, const struct seg_in *s, uint32_t low)
{
    uint32_t i = UINT32_MAX;
    if (s->key.remote_port == l->p.server_port && ip_equal(&s->key.remote, &l->p.server))
        i = load_index(low - l->first_low, s->key.local_port, l->p.connections);
    if (unlikely(i == UINT32_MAX)) {
        const bool flood = load_is_flood(l, low);
        l->c.flood_answers += flood;
        l->c.strangers += !flood;
    }
    return i;
}

static uint32_t input4(struct load *l, const struct pkt *p, struct seg_in *s)
{
    if (likely(parse4(l, p, s)))
        return index_of(l, s, load_be32(pkt_data(p) + 30));
    l->c.damaged++;
    return UINT32_MAX;
}

// Processes IPv6 packets other than plain TCP segments.
static uint32_t input6_slow(struct load *l, const struct pkt *p, struct seg_in *s)
{
    const uint8_t *frame = pkt_data(p);
    struct wire_ip6 ip;
    enum drop_reason why = wire_parse_ip6(frame, pkt_len(p), &ip);
    if (why == DROP_NONE && ip.proto == IP_PROTO_ICMP6) {
        load_nd_input(l, frame, &ip);
        return UINT32_MAX;
    }
    if (why == DROP_NONE)
        why = wire_parse_tcp6(frame, &ip, true, s);
    if (why != DROP_NONE) {
        l->c.damaged++;
        return UINT32_MAX;
    }
    if (memcmp(ip.dst.b, l->p.first.b, 12) == 0)
        return index_of(l, s, ip_to_v4(&ip.dst));
    l->c.strangers++;
    return UINT32_MAX;
}

// Whether the packet is IPv6 with TCP directly after the header, to an address with the first 12
// bytes of the clients' addresses.
static bool is_plain6(const struct load *l, const uint8_t *frame)
{
    const uint8_t *ip = frame + ETH_BYTES;
    return (ip[0] >> 4 == 6) & (ip[IP6_NEXT_AT] == IP_PROTO_TCP) &
           (load_raw64(ip + IP6_DST_AT) == load_raw64(l->p.first.b)) &
           (load_raw32(ip + IP6_DST_AT + 8) == load_raw32(l->p.first.b + 8));
}

static uint32_t input6(struct load *l, const struct pkt *p, struct seg_in *s)
{
    const uint8_t *frame = pkt_data(p);
    if (unlikely(pkt_len(p) < TCP6_DATA_OFF || !is_plain6(l, frame) ||
                 !wire_parse_tcp6_fast(frame, pkt_len(p), 0, 0, s)))
        return input6_slow(l, p, s);
    if (unlikely(!wire_tcp6_right(frame, (uint32_t)s->data_off + s->data_len - TCP6_OFF))) {
        l->c.damaged++;
        return UINT32_MAX;
    }
    return index_of(l, s, load_be32(frame + ETH_BYTES + IP6_DST_AT + 12));
}

uint32_t load_frame_input(struct load *l, const struct pkt *p, struct seg_in *s)
{
    const uint8_t *frame = pkt_data(p);
    const uint32_t type = pkt_len(p) < ETH_BYTES ? 0 : load_be16(frame + ETH_TYPE_AT);
    if (likely(type == (l->v6 ? ETH_TYPE_IP6 : ETH_TYPE_IP4)))
        return l->v6 ? input6(l, p, s) : input4(l, p, s);
    if (type == ETH_TYPE_ARP)
        load_arp_input(l, frame, pkt_len(p));
    else
        l->c.strangers++;
    return UINT32_MAX;
}

void load_build(struct load *l, struct pkt *p, uint32_t host, const struct seg_out *s)
{
    const uint32_t low_raw = raw32(l->first_low + host);
    const uint32_t head = wire_tcp_head_bytes(s);
    uint32_t len;
    if (l->v6) {
        store_raw32(l->from6.addr.b + IP_V4_AT, low_raw);
        len = wire_build_tcp6(pkt_data(p), &l->from6, l->hop_mac_word, s, head, wire_options_of(s),
                              false);
    } else {
        l->from.v4_raw = low_raw;
        len = wire_build_tcp4(pkt_data(p), &l->from, l->hop_mac_word, s, head, wire_options_of(s),
                              false);
    }
    pkt_set_len(p, len);
}

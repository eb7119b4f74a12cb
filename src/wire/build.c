// SPDX-License-Identifier: BSD-3-Clause
#include "wire/build.h"

void wire_from_init(struct wire_from *from, const struct mac_addr *mac, uint32_t v4)
{
    from->eth_tail = wire_mac_word(mac) | (uint64_t)__builtin_bswap16(ETH_TYPE_IP4) << 48;
    from->v4_raw = raw32(v4);
}

static uint8_t *put_ts(uint8_t *o, const struct seg_out *s, uint8_t lead0, uint8_t lead1)
{
    o[0] = lead0;
    o[1] = lead1;
    o[2] = TCP_OPT_TS;
    o[3] = 10;
    store_be32(o + 4, s->ts_val);
    store_be32(o + 8, s->ts_ecr);
    return o + TCP_TS_BYTES;
}

// put_syn_options: the options of a SYN in the layout of Linux's tcp_options_write():
// SACK-permitted replaces the two NOPs before the timestamp. Without a timestamp it follows two
// NOPs.
static uint8_t *put_syn_options(uint8_t *o, const struct seg_out *s)
{
    bool sack = s->opts & SEG_OPT_SACK_PERM;
    if (s->opts & SEG_OPT_MSS) {
        o[0] = TCP_OPT_MSS;
        o[1] = 4;
        store_be16(o + 2, s->mss);
        o += 4;
    }
    if (s->opts & SEG_OPT_TS) {
        o = sack ? put_ts(o, s, TCP_OPT_SACK_PERM, 2) : put_ts(o, s, TCP_OPT_NOP, TCP_OPT_NOP);
    } else if (sack) {
        memcpy(o, (uint8_t[]){TCP_OPT_NOP, TCP_OPT_NOP, TCP_OPT_SACK_PERM, 2}, 4);
        o += 4;
    }
    if (s->opts & SEG_OPT_WSCALE) {
        memcpy(o, (uint8_t[]){TCP_OPT_NOP, TCP_OPT_WSCALE, 3, s->wscale}, 4);
        o += 4;
    }
    if (s->opts & SEG_OPT_FAST_OPEN) {
        memcpy(o, (uint8_t[]){TCP_OPT_FAST_OPEN, 10}, 2);
        store_be32(o + 2, s->sack->start);
        store_be32(o + 6, s->sack->end);
        memcpy(o + 10, (uint8_t[]){TCP_OPT_NOP, TCP_OPT_NOP}, 2);
        o += 12;
    }
    return o;
}

// put_sack: RFC 2018 3, with the alignment that Linux uses.
static uint8_t *put_sack(uint8_t *o, const struct seg_out *s)
{
    memcpy(o, (uint8_t[]){TCP_OPT_NOP, TCP_OPT_NOP, TCP_OPT_SACK, (uint8_t)(2 + 8 * s->n_sack)}, 4);
    o += 4;
    for (uint32_t i = 0; i < s->n_sack; i++, o += 8) {
        store_be32(o, s->sack[i].start);
        store_be32(o + 4, s->sack[i].end);
    }
    return o;
}

uint32_t wire_put_tcp_options(uint8_t *opt, const struct seg_out *s)
{
    uint8_t *o = opt;
    if (s->flags & SEG_SYN)
        o = put_syn_options(o, s);
    else if (s->opts & SEG_OPT_TS)
        o = put_ts(o, s, TCP_OPT_NOP, TCP_OPT_NOP);
    if (s->opts & SEG_OPT_SACK)
        o = put_sack(o, s);
    return (uint32_t)(o - opt);
}

static const struct seg_piece *pieces_of(const struct seg_out *s)
{
    return (const struct seg_piece *)(const void *)s->data[1];
}

void wire_copy_second(uint8_t *to, const struct seg_out *s)
{
    if (!(s->opts & SEG_OPT_PIECES)) {
        memcpy(to, s->data[1], s->data_len[1]);
        return;
    }
    const struct seg_piece *p = pieces_of(s);
    for (uint32_t i = 0; i < SEG_PIECES_MAX && p[i].len != 0; to += p[i++].len)
        memcpy(to, p[i].at, p[i].len);
}

uint64_t wire_put_two_ranges(uint64_t sum, uint8_t *to, const struct seg_out *s)
{
    sum = cksum_copy(sum, to, s->data[0], s->data_len[0]);
    if (s->opts & SEG_OPT_PIECES) {
        uint32_t at = s->data_len[0];
        const struct seg_piece *p = pieces_of(s);
        for (uint32_t i = 0; i < SEG_PIECES_MAX && p[i].len != 0; at += p[i++].len) {
            const uint64_t one = cksum_copy(0, to + at, p[i].at, p[i].len);
            sum = cksum_plus(sum, at & 1 ? cksum_odd(one) : one);
        }
        return sum;
    }
    uint64_t second = cksum_copy(0, to + s->data_len[0], s->data[1], s->data_len[1]);
    return cksum_plus(sum, s->data_len[0] & 1 ? cksum_odd(second) : second);
}

void wire_own_ip4(uint8_t *frame, const struct seg_out *s, uint16_t id, bool with_sum)
{
    uint8_t *ip = frame + ETH_BYTES;
    if (s->ttl != 0)
        ip[IP4_TTL_AT] = s->ttl;
    if (s->may_split) {
        store_be16(ip + IP4_ID_AT, id);
        store_be16(ip + IP4_FRAGMENT_AT, 0);
    }
    if (!with_sum)
        return;
    store_raw16(ip + IP4_CKSUM_AT, 0);
    store_raw16(ip + IP4_CKSUM_AT, (uint16_t)~cksum_fold(cksum_add(0, ip, IP4_BYTES)));
}

void wire_build_tso4(uint8_t *frame, const struct wire_from *from, uint64_t dst_word,
                     const struct seg_out *s, uint32_t head)
{
    struct seg_out bare = *s;
    uint8_t *ip = frame + ETH_BYTES;
    bare.data_len[0] = bare.data_len[1] = 0;
    wire_build_tcp4(frame, from, dst_word, &bare, head, wire_options_of(&bare), true);
    store_be16(ip + IP4_TOTAL_AT, (uint16_t)(IP4_BYTES + head + s->data_len[0] + s->data_len[1]));
    store_be16(ip + IP4_CKSUM_AT, 0);
    const uint64_t pseudo =
        cksum_pseudo4(from->v4_raw, load_raw32(s->key.remote.b + IP_V4_AT), IP_PROTO_TCP, 0);
    store_raw16(frame + TCP4_OFF + TCP_CKSUM_AT, cksum_fold(pseudo));
}

void wire_sum_ip4(uint8_t *frame)
{
    store_raw16(frame + ETH_BYTES + IP4_CKSUM_AT,
                (uint16_t)~cksum_fold(cksum_add(0, frame + ETH_BYTES, IP4_BYTES)));
}

void wire_build_arp(uint8_t *frame, uint16_t op, const struct mac_addr *dst,
                    const struct mac_addr *own_mac, uint32_t own_raw,
                    const struct mac_addr *target_mac, uint32_t target_raw)
{
    memcpy(frame, dst->b, 6);
    memcpy(frame + ETH_SRC_AT, own_mac->b, 6);
    store_be16(frame + ETH_TYPE_AT, ETH_TYPE_ARP);
    uint8_t *a = frame + ETH_BYTES;
    store_be16(a, 1);  // Ethernet
    store_be16(a + ARP_PROTOCOL_AT, ETH_TYPE_IP4);
    a[ARP_MAC_BYTES_AT] = 6;
    a[ARP_IP_BYTES_AT] = 4;
    store_be16(a + ARP_OP_AT, op);
    memcpy(a + ARP_SENDER_MAC_AT, own_mac->b, 6);
    store_raw32(a + ARP_SENDER_IP_AT, own_raw);
    memcpy(a + ARP_TARGET_MAC_AT, target_mac->b, 6);
    store_raw32(a + ARP_TARGET_IP_AT, target_raw);
}

uint32_t wire_build_echo_reply(uint8_t *frame, const struct wire_from *from, uint32_t dst_raw,
                               uint8_t tos, uint32_t l4_off, uint32_t l4_len)
{
    uint8_t *m = frame + TCP4_OFF;
    if (l4_off != TCP4_OFF)
        memmove(m, frame + l4_off, l4_len);
    uint16_t was = load_raw16(m),
             is = (uint16_t)(was & 0xff00);  // sets the type, the first byte, to 0
    store_raw16(m, is);
    store_raw16(m + ICMP_CKSUM_AT, cksum_update(load_raw16(m + ICMP_CKSUM_AT), was, is));
    struct mac_addr to;
    memcpy(to.b, frame + ETH_SRC_AT, 6);
    wire_put_eth4(frame, from, wire_mac_word(&to));
    wire_put_ip4(frame + ETH_BYTES, from->v4_raw, dst_raw, IP_PROTO_ICMP, tos,
                 (uint16_t)(IP4_BYTES + l4_len));
    return TCP4_OFF + l4_len;
}

uint32_t wire_build_unreachable(uint8_t *frame, const struct wire_from *from, uint64_t dst_word,
                                uint32_t dst_raw, uint8_t code, const uint8_t *quoted, uint32_t n)
{
    return wire_build_error4(frame, from, dst_word, dst_raw, ICMP_UNREACHABLE, code, quoted, n);
}

uint32_t wire_build_error4(uint8_t *frame, const struct wire_from *from, uint64_t dst_word,
                           uint32_t dst_raw, uint8_t type, uint8_t code, const uint8_t *quoted,
                           uint32_t n)
{
    uint8_t *m = frame + TCP4_OFF;
    m[ICMP_TYPE_AT] = type;
    m[ICMP_CODE_AT] = code;
    store_be16(m + ICMP_CKSUM_AT, 0);
    store_be32(m + ICMP_REST_AT, 0);
    memcpy(m + ICMP_BYTES, quoted, n);
    store_raw16(m + ICMP_CKSUM_AT, (uint16_t)~cksum_fold(cksum_add(0, m, ICMP_BYTES + n)));
    wire_put_eth4(frame, from, dst_word);
    wire_put_ip4(frame + ETH_BYTES, from->v4_raw, dst_raw, IP_PROTO_ICMP, ICMP_TOS,
                 (uint16_t)(IP4_BYTES + ICMP_BYTES + n));
    return TCP4_OFF + ICMP_BYTES + n;
}

uint32_t wire_build_udp4(uint8_t *frame, const struct wire_from *from, uint64_t dst_word,
                         uint32_t dst_raw, uint16_t src_port, uint16_t dst_port, uint32_t n)
{
    const uint16_t len = (uint16_t)(UDP_BYTES + n);
    uint8_t *udp = frame + TCP4_OFF;
    store_be16(udp, src_port);
    store_be16(udp + UDP_DST_PORT_AT, dst_port);
    store_be16(udp + UDP_LEN_AT, len);
    store_be16(udp + UDP_CKSUM_AT, 0);
    const uint64_t pseudo = cksum_pseudo4(from->v4_raw, dst_raw, IP_PROTO_UDP, len);
    const uint16_t sum = (uint16_t)~cksum_fold(cksum_add(pseudo, udp, len));
    store_raw16(udp + UDP_CKSUM_AT, sum != 0 ? sum : 0xffff);  // RFC 768: 0 means no checksum
    wire_put_eth4(frame, from, dst_word);
    wire_put_ip4(frame + ETH_BYTES, from->v4_raw, dst_raw, IP_PROTO_UDP, 0,
                 (uint16_t)(IP4_BYTES + len));
    return TCP4_OFF + len;
}

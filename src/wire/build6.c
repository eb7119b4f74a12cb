// SPDX-License-Identifier: BSD-3-Clause
#include "wire/build6.h"

void wire_from6_init(struct wire_from6 *from, const struct mac_addr *mac,
                     const struct ip_addr *addr)
{
    from->eth_tail = wire_mac_word(mac) | (uint64_t)__builtin_bswap16(ETH_TYPE_IP6) << 48;
    from->addr = *addr;
}

void wire_build_tso6(uint8_t *frame, const struct wire_from6 *from, uint64_t dst_word,
                     const struct seg_out *s, uint32_t head)
{
    struct seg_out bare = *s;
    bare.data_len[0] = bare.data_len[1] = 0;
    wire_build_tcp6(frame, from, dst_word, &bare, head, wire_options_of(&bare), true);
    store_be16(frame + ETH_BYTES + IP6_PAYLOAD_AT,
               (uint16_t)(head + s->data_len[0] + s->data_len[1]));
    store_raw16(frame + TCP6_OFF + TCP_CKSUM_AT,
                cksum_fold(cksum_pseudo6(&from->addr, &s->key.remote, IP_PROTO_TCP, 0)));
}

// put_icmp6_sum: the checksum of an ICMPv6 message of n bytes at frame + off.
static void put_icmp6_sum(uint8_t *frame, uint32_t off, const struct ip_addr *src,
                          const struct ip_addr *dst, uint32_t n)
{
    uint8_t *m = frame + off;
    store_be16(m + ICMP_CKSUM_AT, 0);
    const uint64_t pseudo = cksum_pseudo6(src, dst, IP_PROTO_ICMP6, (uint16_t)n);
    store_raw16(m + ICMP_CKSUM_AT, (uint16_t)~cksum_fold(cksum_add(pseudo, m, n)));
}

uint32_t wire_build_echo_reply6(uint8_t *frame, const struct wire_from6 *from,
                                const struct wire_ip6 *ip)
{
    uint8_t *m = frame + TCP6_OFF;
    struct mac_addr to;
    if (ip->l4_off != TCP6_OFF)
        memmove(m, frame + ip->l4_off, ip->l4_len);
    // The type, the first byte, changes. Exchanging the two addresses does not change the sum.
    const uint16_t was = load_raw16(m), is = (uint16_t)((was & 0xff00) | ICMP6_ECHO_REPLY);
    store_raw16(m, is);
    store_raw16(m + ICMP_CKSUM_AT, cksum_update(load_raw16(m + ICMP_CKSUM_AT), was, is));
    memcpy(to.b, frame + ETH_SRC_AT, sizeof(to.b));
    wire_put_eth_ip6(frame, from, wire_mac_word(&to), &ip->src, IP_PROTO_ICMP6, ip->tos, IP6_HOPS,
                     ip->l4_len);
    return TCP6_OFF + (uint32_t)ip->l4_len;
}

uint32_t wire_build_error6(uint8_t *frame, const struct wire_from6 *from, uint64_t dst_word,
                           const struct ip_addr *dst, uint8_t type, uint8_t code, uint32_t value,
                           const uint8_t *quoted, uint32_t n)
{
    uint8_t *m = frame + TCP6_OFF;
    m[ICMP_TYPE_AT] = type;
    m[ICMP_CODE_AT] = code;
    store_be32(m + ICMP_REST_AT, value);
    memcpy(m + ICMP6_BYTES, quoted, n);
    put_icmp6_sum(frame, TCP6_OFF, &from->addr, dst, ICMP6_BYTES + n);
    wire_put_eth_ip6(frame, from, dst_word, dst, IP_PROTO_ICMP6, 0, IP6_HOPS,
                     (uint16_t)(ICMP6_BYTES + n));
    return TCP6_OFF + ICMP6_BYTES + n;
}

uint32_t wire_build_udp6(uint8_t *frame, const struct wire_from6 *from, uint64_t dst_word,
                         const struct ip_addr *dst, uint16_t src_port, uint16_t dst_port,
                         uint32_t n)
{
    const uint16_t len = (uint16_t)(UDP_BYTES + n);
    uint8_t *udp = frame + TCP6_OFF;
    store_be16(udp, src_port);
    store_be16(udp + UDP_DST_PORT_AT, dst_port);
    store_be16(udp + UDP_LEN_AT, len);
    store_be16(udp + UDP_CKSUM_AT, 0);
    const uint64_t pseudo = cksum_pseudo6(&from->addr, dst, IP_PROTO_UDP, len);
    const uint16_t sum = (uint16_t)~cksum_fold(cksum_add(pseudo, udp, len));
    store_raw16(udp + UDP_CKSUM_AT, sum != 0 ? sum : 0xffff);  // RFC 8200 8.1: 0 is not allowed
    wire_put_eth_ip6(frame, from, dst_word, dst, IP_PROTO_UDP, 0, IP6_HOPS, len);
    return TCP6_OFF + (uint32_t)len;
}

// put_nd: header and option of a neighbor discovery message. lla: the link-layer address of the
// option. Returns its length in bytes.
static uint32_t put_nd(uint8_t *m, uint8_t type, uint8_t flags, const struct ip_addr *target,
                       const struct mac_addr *lla)
{
    m[ICMP_TYPE_AT] = type;
    m[ICMP_CODE_AT] = 0;
    store_be32(m + ND_FLAGS_AT, (uint32_t)flags << 24);
    memcpy(m + ND_TARGET_AT, target->b, sizeof(target->b));
    if (lla == NULL)
        return ND_BYTES;
    m[ND_BYTES] = type == ND_SOLICIT ? ND_OPT_SOURCE : ND_OPT_TARGET;
    m[ND_BYTES + 1] = 1;  // length in units of 8 bytes
    memcpy(m + ND_BYTES + 2, lla->b, sizeof(lla->b));
    return ND_BYTES + ND_LLA_BYTES;
}

uint32_t wire_build_solicit(uint8_t *frame, const struct wire_from6 *from,
                            const struct mac_addr *own_mac, const struct ip_addr *target,
                            const struct mac_addr *to, bool probe)
{
    struct wire_from6 source = *from;
    const struct ip_addr group = ip6_solicited_node(target);
    const struct mac_addr group_mac = ip6_group_mac(&group);
    const struct ip_addr *dst = to != NULL ? target : &group;
    if (probe)
        source.addr = (struct ip_addr){{0}};
    const uint32_t n = put_nd(frame + TCP6_OFF, ND_SOLICIT, 0, target, probe ? NULL : own_mac);
    put_icmp6_sum(frame, TCP6_OFF, &source.addr, dst, n);
    wire_put_eth_ip6(frame, &source, wire_mac_word(to != NULL ? to : &group_mac), dst,
                     IP_PROTO_ICMP6, 0, IP6_HOPS_LINK, (uint16_t)n);
    return TCP6_OFF + n;
}

void wire_build_advert(uint8_t *frame, const struct wire_from6 *from,
                       const struct mac_addr *own_mac, const struct ip_addr *dst,
                       const struct mac_addr *to, uint8_t flags)
{
    const uint32_t n = put_nd(frame + TCP6_OFF, ND_ADVERT, flags, &from->addr, own_mac);
    put_icmp6_sum(frame, TCP6_OFF, &from->addr, dst, n);
    wire_put_eth_ip6(frame, from, wire_mac_word(to), dst, IP_PROTO_ICMP6, 0, IP6_HOPS_LINK,
                     (uint16_t)n);
}

// is_first: whether no address before this one has the same solicited-node group.
static bool is_first(const struct ip_addr *addrs, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++)
        if (memcmp(addrs[i].b + 13, addrs[at].b + 13, 3) == 0)
            return false;
    return true;
}

// put_record: an MLDv2 record for one group and all sources. Returns where the next record begins.
static uint8_t *put_record(uint8_t *r, uint8_t kind, const struct ip_addr *group)
{
    store_be32(r, (uint32_t)kind << 24);
    memcpy(r + 4, group->b, sizeof(group->b));
    return r + MLD_RECORD_BYTES;
}

uint32_t wire_build_mld_report(uint8_t *frame, const struct wire_from6 *from,
                               const struct wire_mld *say)
{
    // Hop-by-hop options: the router alert of MLD (RFC 2711) and padding.
    static const uint8_t alert[8] = {IP_PROTO_ICMP6, 0, 5, 2, 0, 0, 1, 0};
    static const struct ip_addr routers = {{0xff, 2, [15] = 0x16}};  // ff02::16: MLDv2 routers
    const struct mac_addr mac = ip6_group_mac(&routers);
    const uint32_t off = TCP6_OFF + sizeof(alert);
    uint8_t *m = frame + off, *r = m + ICMP6_BYTES;
    memcpy(frame + TCP6_OFF, alert, sizeof(alert));
    for (uint32_t i = 0; i < say->n_addrs; i++) {
        const struct ip_addr group = ip6_solicited_node(&say->addrs[i]);
        if (is_first(say->addrs, i))
            r = put_record(r, say->kind, &group);
    }
    for (uint32_t i = 0; i < say->n_groups; i++)
        r = put_record(r, say->kind, &say->groups[i]);
    const uint32_t bytes = (uint32_t)(r - m);
    m[ICMP_TYPE_AT] = MLD_REPORT;
    m[ICMP_CODE_AT] = 0;
    store_be32(m + ICMP_REST_AT, (bytes - ICMP6_BYTES) / MLD_RECORD_BYTES);
    put_icmp6_sum(frame, off, &from->addr, &routers, bytes);
    wire_put_eth_ip6(frame, from, wire_mac_word(&mac), &routers, IP_PROTO_HOPS, 0, 1,
                     (uint16_t)(sizeof(alert) + bytes));
    return off + bytes;
}

// SPDX-License-Identifier: BSD-3-Clause
// build6.h: IPv6 frames from host form, as build.h for IPv4.
#pragma once
#include "wire/build.h"
#include "wire/parse6.h"

// wire_from6: the fields that all frames from one local address share.
struct wire_from6 {
    uint64_t eth_tail;  // bytes 6..13 of an IPv6 frame: own MAC, type
    struct ip_addr addr;
};

void wire_from6_init(struct wire_from6 *from, const struct mac_addr *mac,
                     const struct ip_addr *addr);

// wire_put_eth_ip6: writes the Ethernet header and the IPv6 header with flow label 0. dst_word:
// destination MAC in the low 48 bits. payload: bytes after the IPv6 header.
static inline void wire_put_eth_ip6(uint8_t *frame, const struct wire_from6 *from,
                                    uint64_t dst_word, const struct ip_addr *dst, uint8_t proto,
                                    uint8_t tos, uint8_t hops, uint16_t payload)
{
    uint8_t *ip = frame + ETH_BYTES;
    // A little-endian word: 6 tos label | payload next-header hops.
    const uint32_t first = 0x60 | (uint32_t)tos >> 4 | (uint32_t)(tos & 15) << 12;
    const uint32_t second =
        __builtin_bswap32(payload) >> 16 | (uint32_t)proto << 16 | (uint32_t)hops << 24;
    store_raw64(frame, dst_word);
    store_raw64(frame + ETH_SRC_AT, from->eth_tail);
    store_raw64(ip, first | (uint64_t)second << 32);
    memcpy(ip + IP6_SRC_AT, from->addr.b, sizeof(from->addr.b));
    memcpy(ip + IP6_DST_AT, dst->b, sizeof(dst->b));
}

// wire_build_tcp6: as wire_build_tcp4(). Returns TCP6_OFF + head + payload.
static ALWAYS_INLINE uint32_t wire_build_tcp6(uint8_t *restrict frame,
                                              const struct wire_from6 *restrict from,
                                              uint64_t dst_word, const struct seg_out *restrict s,
                                              uint32_t head, enum wire_options options,
                                              bool l4_offload)
{
    const uint32_t tcp_len = head + s->data_len[0] + s->data_len[1];
    uint8_t *tcp = frame + TCP6_OFF;
    wire_put_eth_ip6(frame, from, dst_word, &s->key.remote, IP_PROTO_TCP, s->tos, IP6_HOPS,
                     (uint16_t)tcp_len);
    const uint64_t sum = wire_put_tcp_head(tcp, s, head, options);
    const uint64_t pseudo =
        cksum_pseudo6(&from->addr, &s->key.remote, IP_PROTO_TCP, (uint16_t)tcp_len);
    wire_put_tcp_rest(tcp, s, head, sum, pseudo, l4_offload);
    return TCP6_OFF + tcp_len;
}

// wire_own_ip6: as wire_own_ip4().
static inline void wire_own_ip6(uint8_t *frame, const struct seg_out *s)
{
    if (s->ttl != 0)
        frame[ETH_BYTES + IP6_HOPS_AT] = s->ttl;
}

// wire_build_tso6: as wire_build_tso4().
void wire_build_tso6(uint8_t *frame, const struct wire_from6 *from, uint64_t dst_word,
                     const struct seg_out *s, uint32_t head);

// wire_build_echo_reply6: turns the frame of a checked ICMPv6 echo request into its reply.
// Extension headers are removed. Returns the bytes of the frame, at most those of the request.
uint32_t wire_build_echo_reply6(uint8_t *frame, const struct wire_from6 *from,
                                const struct wire_ip6 *ip);

// wire_build_error6: builds an ICMPv6 error (RFC 4443 3) to dst. dst_word: destination MAC in the
// low 48 bits. value: the 32 bits after the checksum. It quotes the first n bytes, n <=
// ICMP6_QUOTE_MAX, of the IPv6 packet at `quoted`. Returns the bytes of the frame.
uint32_t wire_build_error6(uint8_t *frame, const struct wire_from6 *from, uint64_t dst_word,
                           const struct ip_addr *dst, uint8_t type, uint8_t code, uint32_t value,
                           const uint8_t *quoted, uint32_t n);

// wire_build_udp6: as wire_build_udp4(), with the payload at UDP6_DATA_OFF.
uint32_t wire_build_udp6(uint8_t *frame, const struct wire_from6 *from, uint64_t dst_word,
                         const struct ip_addr *dst, uint16_t src_port, uint16_t dst_port,
                         uint32_t n);

// wire_build_solicit: builds a neighbor solicitation for target (RFC 4861 4.3), to the MAC `to`,
// or if that is NULL to the solicited-node group. probe: for duplicate address detection, from the
// unspecified address and without the option (RFC 4862 5.4.2). Returns the bytes of the frame:
// ND_FRAME_BYTES, a probe ND_LLA_BYTES less.
uint32_t wire_build_solicit(uint8_t *frame, const struct wire_from6 *from,
                            const struct mac_addr *own_mac, const struct ip_addr *target,
                            const struct mac_addr *to, bool probe);

// wire_build_advert: builds a neighbor advertisement for the address of `from`, of ND_FRAME_BYTES,
// to dst at MAC `to`.
void wire_build_advert(uint8_t *frame, const struct wire_from6 *from,
                       const struct mac_addr *own_mac, const struct ip_addr *dst,
                       const struct mac_addr *to, uint8_t flags);

// wire_mld: the content of a report: n_groups groups and the solicited-node groups of n_addrs
// addresses, each once. kind: MLD_IS_EXCLUDE, MLD_TO_EXCLUDE or MLD_TO_INCLUDE.
struct wire_mld {
    const struct ip_addr *addrs, *groups;
    uint32_t n_addrs, n_groups;
    uint8_t kind;
};

// wire_build_mld_report: builds a report of these groups (RFC 3810 5.2). Returns the bytes of the
// frame, at most TCP6_OFF + 16 + (n_addrs + n_groups) * MLD_RECORD_BYTES.
uint32_t wire_build_mld_report(uint8_t *frame, const struct wire_from6 *from,
                               const struct wire_mld *say);

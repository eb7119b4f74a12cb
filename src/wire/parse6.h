// SPDX-License-Identifier: BSD-3-Clause
// parse6.h: IPv6 frames into host form, as parse.h for IPv4: IPv6 (RFC 8200), ICMPv6 (RFC 4443),
// neighbor discovery (RFC 4861), and what differs for TCP and UDP.
#pragma once
#include "wire/parse.h"

// wire_ip6: a parsed IPv6 header. problem_code and problem_at: with some drop reasons, the code and
// pointer of the parameter problem to send (RFC 4443 3.4); the pointer counts from the IPv6 header.
// WIRE_NO_PROBLEM: send none, as for a packet that is or may be an ICMPv6 error or a redirect (RFC
// 4443 2.4 e.1, e.2). problem_to_group: send it even if the packet went to a group (RFC 8200 4.2).
enum { WIRE_NO_PROBLEM = 255 };

struct wire_ip6 {
    struct ip_addr src, dst;
    uint16_t l4_off;  // of the upper layer, from the first byte of the frame
    uint16_t l4_len;
    uint8_t proto;  // TCP, UDP or ICMPv6
    uint8_t tos;    // the traffic class
    uint8_t hops;
    uint8_t problem_code;
    uint16_t problem_at;
    bool problem_to_group;
    // Valid with DROP_ip6_fragment. l4_off and l4_len are then those of the fragment's data, proto
    // is the next header of the fragment header.
    bool more;
    uint16_t part_at;   // fragment offset in bytes
    uint16_t named_at;  // in the frame: the field that names the fragment header
    uint32_t id;
};

// wire_parse_ip6: parses the IPv6 header and its extension headers, at most IP6_EXT_MAX of at most
// IP6_EXT_BYTES_MAX bytes together, in a frame of len bytes with type ETH_TYPE_IP6. A fragment
// gives DROP_ip6_fragment; an atomic fragment (RFC 6946) is parsed as a whole packet. A routing
// header with segments left gives DROP_ip6_routing (RFC 5095 for type 0). src, dst, tos and hops
// are valid also with an error, but not with DROP_ip6_short and DROP_ip6_version.
enum drop_reason wire_parse_ip6(const uint8_t *frame, uint32_t len, struct wire_ip6 *out);

// wire_may_be_error6: whether the packet of `total` bytes at ip is or may be an ICMPv6 error or a
// redirect. It checks only the lengths of the headers.
bool wire_may_be_error6(const uint8_t *ip, uint32_t total);

// wire_is_first6: whether the first fragment, whose header is ip, holds all headers up to the upper
// layer's (RFC 7112 5) and is not neighbor discovery (RFC 6980 5).
bool wire_is_first6(const uint8_t *frame, const struct wire_ip6 *ip);

// wire_parse_tcp6, wire_parse_udp6: as wire_parse_tcp() and wire_parse_udp(). A UDP datagram
// without a checksum is dropped (RFC 8200 8.1).
enum drop_reason wire_parse_tcp6(const uint8_t *frame, const struct wire_ip6 *ip, bool verify,
                                 struct seg_in *out);
enum drop_reason wire_parse_udp6(const uint8_t *frame, const struct wire_ip6 *ip, bool verify,
                                 struct wire_udp *out);

struct wire_icmp6 {
    uint8_t type, code;
    uint32_t mtu;  // with ICMP6_TOO_BIG
    // Valid if an error message quotes a segment, a datagram or an echo request (src_port is then
    // its identifier).
    bool has_tcp, has_udp, has_echo;
    struct ip_addr src, dst;  // of the quoted packet
    uint16_t src_port, dst_port;
    uint32_t seq;                 // of a segment
    uint16_t data_off, data_len;  // of a datagram: the quoted part of its payload
};

// wire_parse_icmp6: parses the ICMPv6 message that ip locates and always checks its checksum. Of an
// error (type below 128) it also parses the quoted packet. TCP, UDP and echo are found there only
// directly after the IPv6 header, or after that of a first fragment, as c10m sends them.
enum drop_reason wire_parse_icmp6(const uint8_t *frame, const struct wire_ip6 *ip,
                                  struct wire_icmp6 *out);

// wire_quoted_upper6: the offset of the upper header in a packet that we sent, of which an error
// quotes len bytes at ip, IP6_BYTES or more. *proto: its protocol; IP_PROTO_FRAGMENT: it is in
// another fragment.
uint32_t wire_quoted_upper6(const uint8_t *ip, uint32_t len, uint8_t *proto);

// wire_icmp6_kind: how TCP treats an ICMPv6 error. Hard: port unreachable, prohibited, policy and
// reject (RFC 4443 3.1, codes 4, 1, 5, 6) and parameter problems.
enum icmp_kind wire_icmp6_kind(uint8_t type, uint8_t code);

struct wire_nd {
    uint8_t type;   // ND_SOLICIT or ND_ADVERT
    uint8_t flags;  // of an advertisement: ND_SOLICITED, ND_OVERRIDE
    bool has_lla;
    struct ip_addr target;
    struct mac_addr lla;  // solicitation: of the source; advertisement: of the target
};

// wire_parse_nd: parses a neighbor solicitation or advertisement whose checksum was checked. It
// makes all checks of RFC 4861 7.1.1 and 7.1.2.
enum drop_reason wire_parse_nd(const uint8_t *frame, const struct wire_ip6 *ip,
                               struct wire_nd *out);

// wire_is_mld_query: whether the message of type MLD_QUERY is a router's query for all groups (RFC
// 3810 5.1).
bool wire_is_mld_query(const uint8_t *frame, const struct wire_ip6 *ip);

// ip6_is_multicast, ip6_is_link_local: ff00::/8, fe80::/10.
static inline bool ip6_is_multicast(const struct ip_addr *a)
{
    return a->b[0] == 0xff;
}

static inline bool ip6_is_link_local(const struct ip_addr *a)
{
    return a->b[0] == 0xfe && (a->b[1] & 0xc0) == 0x80;
}

// ip6_is_global_form: whether a can be a peer: not multicast, and the upper half is not 0. That
// excludes the unspecified, loopback, IPv4-mapped and IPv4-compatible addresses (RFC 4291 2.5).
static inline bool ip6_is_global_form(const struct ip_addr *a)
{
    return load_raw64(a->b) != 0 && a->b[0] != 0xff;
}

// ip6_solicited_node: the solicited-node group of a (RFC 4291 2.7.1).
static inline struct ip_addr ip6_solicited_node(const struct ip_addr *a)
{
    return (struct ip_addr){
        {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, a->b[13], a->b[14], a->b[15]}};
}

// ip6_all_nodes: the group of all nodes on the link (RFC 4291 2.7.1).
static inline struct ip_addr ip6_all_nodes(void)
{
    return (struct ip_addr){{0xff, 2, [15] = 1}};
}

// ip6_group_mac: the multicast MAC of a group (RFC 2464 7).
static inline struct mac_addr ip6_group_mac(const struct ip_addr *group)
{
    const uint8_t *b = group->b;
    return (struct mac_addr){{0x33, 0x33, b[12], b[13], b[14], b[15]}};
}

// wire_tcp6_right: whether the checksum of the TCP segment of tcp_len bytes, at least TCP_BYTES, is
// right. It follows an IPv6 header without extension headers.
static inline bool wire_tcp6_right(const uint8_t *frame, uint32_t tcp_len)
{
    const uint8_t *tcp = frame + TCP6_OFF;
    const uint64_t rest = (uint64_t)load_raw32(tcp + TCP_CKSUM_AT) + (IP_PROTO_TCP << 8) +
                          (__builtin_bswap32(tcp_len) >> 16);
    uint64_t sum = cksum_plus3(cksum_plus32(rest, frame + ETH_BYTES + IP6_SRC_AT), load_raw64(tcp),
                               load_raw64(tcp + TCP_ACK_AT), 0);
    if (tcp_len != TCP_BYTES)
        sum = cksum_add(sum, tcp + TCP_BYTES, tcp_len - TCP_BYTES);
    return cksum_is_right(sum);
}

// wire_common6: what the common IPv6 frame holds: Ethernet to our MAC, IPv6 to our address, TCP
// directly after it.
struct wire_common6 {
    uint8_t head[16], head_mask[16];  // bytes 0..15
    uint8_t dst[16];
} CACHE_ALIGNED;

void wire_common6_init(struct wire_common6 *c, const struct mac_addr *mac,
                       const struct ip_addr *addr);

// wire_is_common6: is this frame, of at least TCP6_OFF bytes, one of c's?
static inline bool wire_is_common6(const uint8_t *frame, const struct wire_common6 *c)
{
    const wire_v16 odd = ((wire_load16(frame) ^ wire_load16(c->head)) & wire_load16(c->head_mask)) |
                         (wire_load16(frame + ETH_BYTES + 24) ^ wire_load16(c->dst));
    return wire_is_zero(odd) && frame[ETH_BYTES + IP6_NEXT_AT] == IP_PROTO_TCP;
}

// wire_parse_tcp6_fast: as wire_parse_tcp4_fast(), in a frame for which wire_is_common6() holds and
// which has at least TCP6_DATA_OFF bytes.
static inline uint32_t wire_parse_tcp6_fast(const uint8_t *restrict frame, uint32_t len,
                                            uint32_t local_ix, uint32_t pkt_ix,
                                            struct seg_in *restrict out)
{
    const uint32_t payload = load_be16(frame + ETH_BYTES + IP6_PAYLOAD_AT);
    const uint32_t head = load_raw32(frame + TCP6_OFF + TCP_DATA_OFFSET_AT) >> 2 & 0x3c;
    const uint32_t ports = load_raw32(frame + TCP6_OFF);
    const uint32_t odd = (((len - TCP6_OFF - payload) | (payload - head)) & 1u << 31) |
                         ((ports - 0x00010001) & ~ports & 0x80008000);
    if (unlikely(odd != 0))
        return 0;
    const wire_v16 from = wire_load16(frame + ETH_BYTES + IP6_SRC_AT);
    memcpy(&out->key, &from, sizeof(from));
    memcpy(&out->key.local_ix, &local_ix, sizeof(local_ix));  // and zero
    const wire_v16 raw = wire_load16(frame + TCP6_OFF);
    const wire_v16 tcp =
        __builtin_shufflevector(raw, raw, 1, 0, 3, 2, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
    memcpy(&out->key.remote_port, &tcp, sizeof(tcp));
    out->data_off = (uint16_t)(TCP6_OFF + head);
    out->data_len = (uint16_t)(payload - head);
    out->ts_val = 0;
    out->ts_ecr = 0;
    // pkt_ix, opts 0, ecn, tcp_off, urg.
    const uint64_t tail = pkt_ix | (uint64_t)(frame[ETH_BYTES + 1] >> 4 & 3) << 24 |
                          (uint64_t)TCP6_OFF << 32 |
                          (uint64_t)load_be32(frame + TCP6_OFF + TCP_CKSUM_AT) << 48;
    memcpy(&out->pkt_ix, &tail, sizeof(tail));
    memset(&out->mss, 0, sizeof(*out) - offsetof(struct seg_in, mss));
    if (head != TCP_BYTES) {
        if (unlikely(head != TCP_BYTES + TCP_TS_BYTES ||
                     load_raw32(frame + TCP6_DATA_OFF) != TCP_TS_WORD_RAW))
            return wire_usual_syn(frame + TCP6_DATA_OFF, head / 4, out) ? payload : 0;
        out->ts_val = load_be32(frame + TCP6_DATA_OFF + 4);
        out->ts_ecr = load_be32(frame + TCP6_DATA_OFF + 8);
        out->opts = SEG_OPT_TS;
    }
    return payload;
}

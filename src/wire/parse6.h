// SPDX-License-Identifier: BSD-3-Clause
// parse6.h: frames of IPv6 into host form, as parse.h does those of IPv4: IPv6 (RFC 8200), ICMPv6
// (RFC 4443), neighbour discovery (RFC 4861), and what of TCP and UDP differs.
#pragma once
#include "wire/parse.h"

// wire_ip6: addresses as struct ip_addr has them. problem_code and problem_at: with some reasons,
// what to tell the sender (RFC 4443 3.4): the code of a parameter problem, WIRE_NO_PROBLEM: none,
// and where it lies from the first byte of the IPv6 header. A packet that is an ICMPv6 error or a
// redirect, or may be one as far as its headers tell, has none (RFC 4443 2.4 e.1, e.2).
// problem_to_group: the sender is told even if the packet was sent to a group (RFC 8200 4.2).
enum { WIRE_NO_PROBLEM = 255 };

struct wire_ip6 {
    struct ip_addr src, dst;
    uint16_t l4_off;  // of what follows the headers, from the first byte of the frame
    uint16_t l4_len;
    uint8_t proto;  // TCP, UDP or ICMPv6
    uint8_t tos;    // the traffic class
    uint8_t hops;
    uint8_t problem_code;
    uint16_t problem_at;
    bool problem_to_group;
    // With ip6_fragment, where l4_off and l4_len are those of its data, and proto is what begins
    // there in the first one:
    bool more;
    uint16_t part_at;   // where its data begins in the datagram, in bytes
    uint16_t named_at;  // in the frame: what names the fragment header
    uint32_t id;
};

// wire_parse_ip6: the IPv6 header and its extension headers, IP6_EXT_MAX of at most
// IP6_EXT_BYTES_MAX bytes, in a frame of len bytes with type ETH_TYPE_IP6. A fragment is told by
// ip6_fragment, unless it is atomic (RFC 6946): then it is whole; a routing header with segments
// left as well, of type 0 among them (RFC 5095). An error leaves src, dst, tos and hops valid from
// ip6_payload_length on.
enum drop_reason wire_parse_ip6(const uint8_t *frame, uint32_t len, struct wire_ip6 *out);

// wire_may_be_error6: is the packet of `total` bytes at ip an ICMPv6 error or a redirect, or one as
// far as can be told? Nothing in its headers is judged but their lengths.
bool wire_may_be_error6(const uint8_t *ip, uint32_t total);

// wire_is_first6: does the fragment's data hold all headers up to that of the upper layer (RFC 7112
// 5), ip being its header, and is that not neighbour discovery (RFC 6980 5)?
bool wire_is_first6(const uint8_t *frame, const struct wire_ip6 *ip);

// wire_parse_tcp6, wire_parse_udp6: as the ones of IPv4; a datagram without checksum is refused.
enum drop_reason wire_parse_tcp6(const uint8_t *frame, const struct wire_ip6 *ip, bool verify,
                                 struct seg_in *out);
enum drop_reason wire_parse_udp6(const uint8_t *frame, const struct wire_ip6 *ip, bool verify,
                                 struct wire_udp *out);

struct wire_icmp6 {
    uint8_t type, code;
    uint32_t mtu;  // with ICMP6_TOO_BIG
    // An error that quotes a segment, a datagram, an echo request (src_port: its identifier): the
    // fields below.
    bool has_tcp, has_udp, has_echo;
    struct ip_addr src, dst;  // of the quoted packet
    uint16_t src_port, dst_port;
    uint32_t seq;                 // of a segment
    uint16_t data_off, data_len;  // of a datagram: as much of its payload as is quoted
};

// wire_parse_icmp6: the message that ip says where to find; its checksum is always checked. An
// error (type below 128): also what it quotes, which is TCP or UDP only right behind the IPv6
// header, as we send it.
enum drop_reason wire_parse_icmp6(const uint8_t *frame, const struct wire_ip6 *ip,
                                  struct wire_icmp6 *out);

// wire_icmp6_kind: what an ICMPv6 error is to TCP: unreachable port and all that is forbidden (RFC
// 4443 3.1, codes 1, 4, 5, 6) and parameter problem are hard.
enum icmp_kind wire_icmp6_kind(uint8_t type, uint8_t code);

struct wire_nd {
    uint8_t type;   // ND_SOLICIT or ND_ADVERT
    uint8_t flags;  // ND_SOLICITED, ND_OVERRIDE: of an advertisement
    bool has_lla;
    struct ip_addr target;
    struct mac_addr lla;  // of the source (solicitation), of the target (advertisement)
};

// wire_parse_nd: a neighbour solicitation or advertisement whose checksum has been checked, with
// all that RFC 4861 7.1.1 and 7.1.2 ask of it.
enum drop_reason wire_parse_nd(const uint8_t *frame, const struct wire_ip6 *ip,
                               struct wire_nd *out);

// wire_is_mld_query: is the ICMPv6 message, of type MLD_QUERY, a query for all groups of a router
// (RFC 3810 5.1)?
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

// ip6_is_global_form: neither multicast nor with a first half of zeros, as the unspecified address,
// loopback, IPv4-mapped and IPv4-compatible ones have it (RFC 4291 2.5): those are no peer's.
static inline bool ip6_is_global_form(const struct ip_addr *a)
{
    return load_raw64(a->b) != 0 && a->b[0] != 0xff;
}

// ip6_solicited_node: the group of those whose address ends as a's does (RFC 4291 2.7.1).
static inline struct ip_addr ip6_solicited_node(const struct ip_addr *a)
{
    return (struct ip_addr){
        {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, a->b[13], a->b[14], a->b[15]}};
}

// ip6_all_nodes: of the link.
static inline struct ip_addr ip6_all_nodes(void)
{
    return (struct ip_addr){{0xff, 2, [15] = 1}};
}

// ip6_group_mac: where frames to a group go (RFC 2464 7).
static inline struct mac_addr ip6_group_mac(const struct ip_addr *group)
{
    const uint8_t *b = group->b;
    return (struct mac_addr){{0x33, 0x33, b[12], b[13], b[14], b[15]}};
}

// wire_tcp6_right: is the checksum of the TCP segment of tcp_len bytes, at least TCP_BYTES, right
// that lies behind an IPv6 header without extensions?
static inline bool wire_tcp6_right(const uint8_t *frame, uint32_t tcp_len)
{
    const uint8_t *tcp = frame + TCP6_OFF;
    const uint64_t rest =
        (uint64_t)load_raw32(tcp + 16) + (IP_PROTO_TCP << 8) + (__builtin_bswap32(tcp_len) >> 16);
    uint64_t sum = cksum_plus3(cksum_plus32(rest, frame + ETH_BYTES + 8), load_raw64(tcp),
                               load_raw64(tcp + 8), 0);
    if (tcp_len != TCP_BYTES)
        sum = cksum_add(sum, tcp + TCP_BYTES, tcp_len - TCP_BYTES);
    return cksum_is_right(sum);
}

// wire_common6: what the common frame of IPv6 has besides TCP behind its header: Ethernet to our
// MAC, IPv6, to our address.
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
    return wire_is_zero(odd) && frame[ETH_BYTES + 6] == IP_PROTO_TCP;
}

// wire_parse_tcp6_fast: as wire_parse_tcp4_fast(), in a frame for which wire_is_common6() holds and
// which has at least TCP6_DATA_OFF bytes.
static inline uint32_t wire_parse_tcp6_fast(const uint8_t *restrict frame, uint32_t len,
                                            uint32_t local_ix, uint32_t pkt_ix,
                                            struct seg_in *restrict out)
{
    const uint32_t payload = load_be16(frame + ETH_BYTES + 4);
    const uint32_t head = load_raw32(frame + TCP6_OFF + 12) >> 2 & 0x3c;
    const uint32_t ports = load_raw32(frame + TCP6_OFF);
    const uint32_t odd = (((len - TCP6_OFF - payload) | (payload - head)) & 1u << 31) |
                         ((ports - 0x00010001) & ~ports & 0x80008000);
    if (unlikely(odd != 0))
        return 0;
    const wire_v16 from = wire_load16(frame + ETH_BYTES + 8);
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
                          (uint64_t)load_be32(frame + TCP6_OFF + 16) << 48;
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

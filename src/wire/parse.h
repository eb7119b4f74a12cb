// SPDX-License-Identifier: BSD-3-Clause
// parse.h: frames into host form. Pure: each function reads only the bytes it was given and returns
// DROP_NONE or why the packet ends here; what it writes is valid with DROP_NONE only.
#pragma once
#include "base/addr.h"
#include "base/drops.h"
#include "wire/cksum.h"
#include "wire/icmp_event.h"
#include "wire/proto.h"
#include "wire/seg.h"

struct wire_arp {
    uint16_t op;
    struct mac_addr sender_mac;
    uint32_t sender_raw, target_raw;
};

// wire_parse_arp: the ARP packet (RFC 826) in a frame of len bytes with type ETH_TYPE_ARP.
enum drop_reason wire_parse_arp(const uint8_t *frame, uint32_t len, struct wire_arp *out);

struct wire_ip4 {
    uint32_t src_raw, dst_raw;
    uint16_t l4_off;  // of what follows the header, from the first byte of the frame
    uint16_t l4_len;  // its bytes, without the frame's padding
    uint8_t proto;
    uint8_t tos;
    // With ip_fragment:
    bool more;
    uint16_t id, part_at;  // where its data begins in the datagram, in bytes
};

// wire_parse_ip4: the IPv4 header (RFC 791) in a frame of len bytes with type ETH_TYPE_IP4. Options
// are skipped; a fragment is told by ip_fragment, with all of out. verify: check the header's
// checksum too.
enum drop_reason wire_parse_ip4(const uint8_t *frame, uint32_t len, bool verify,
                                struct wire_ip4 *out);

// wire_parse_tcp: the segment that ip says where to find (RFC 9293 3.1). Fills every field of out
// but key.local_ix and pkt_ix (both 0). verify: check the checksum too.
enum drop_reason wire_parse_tcp(const uint8_t *frame, const struct wire_ip4 *ip, bool verify,
                                struct seg_in *out);

// wire_parse_tcp_options: n bytes of options behind the TCP header of a segment whose out->flags
// are set; fills opts, mss, wscale, ts_val, ts_ecr, sack_off, sack_count. An option that Linux
// ignores (unknown, of another size than its kind has, MSS and the like without SYN) is skipped; of
// several of a kind the last counts.
enum drop_reason wire_parse_tcp_options(const uint8_t *opt, uint32_t n, struct seg_in *out);

// wire_read_sack: the s->sack_count blocks of a parsed segment, which has SEG_OPT_SACK or
// SEG_OPT_FAST_OPEN, as they were sent: any number may stand there.
void wire_read_sack(const uint8_t *frame, const struct seg_in *s, struct seq_range *out);

struct wire_icmp {
    uint8_t type, code;
    uint16_t mtu;  // of the next hop; with ICMP_UNREACHABLE, ICMP_CODE_FRAG_NEEDED
    // An error message that quotes a segment, a datagram, an echo request (src_port: its
    // identifier): the fields below.
    bool has_tcp, has_udp, has_echo;
    uint32_t src_raw, dst_raw;  // of the quoted packet
    uint16_t src_port, dst_port;
    uint32_t seq;                 // of a segment
    uint16_t data_off, data_len;  // of a datagram: as much of its payload as is quoted
};

// wire_parse_icmp: the message that ip says where to find (RFC 792, RFC 1191); its checksum is
// always checked. ICMP_UNREACHABLE, ICMP_TIME_EXCEEDED and ICMP_PARAMETER: also what they quote.
enum drop_reason wire_parse_icmp(const uint8_t *frame, const struct wire_ip4 *ip,
                                 struct wire_icmp *out);

// wire_quoted_udp: of a datagram quoted in a frame, with its header at off and `len` bytes of it
// there, at least UDP_BYTES: where its payload lies and how much of it is there.
void wire_quoted_udp(const uint8_t *frame, uint32_t off, uint32_t len, uint16_t *data_off,
                     uint16_t *data_len);

// wire_icmp4_kind: what an ICMP error of type and code is to TCP (RFC 1122 4.2.3.9, RFC
// 1812 5.2.7.1, as Linux has them).
enum icmp_kind wire_icmp4_kind(uint8_t type, uint8_t code);

struct wire_udp {
    uint16_t src_port, dst_port;
    uint16_t data_off, data_len;  // of the payload, from the first byte of the frame
};

// wire_parse_udp: the datagram that ip says where to find (RFC 768). verify: check the checksum
// too, if there is one: 0 means none.
enum drop_reason wire_parse_udp(const uint8_t *frame, const struct wire_ip4 *ip, bool verify,
                                struct wire_udp *out);

// wire_parse_tcp_at, wire_parse_udp_at: the parts of both families' parsers that know no address,
// of len bytes at frame + off. TCP: pseudo is the sum of the pseudo header; key.remote and ecn are
// the caller's. UDP: returns the datagram's bytes, 0: udp_length; no checksum is looked at.
enum drop_reason wire_parse_tcp_at(const uint8_t *frame, uint32_t off, uint32_t len, bool verify,
                                   uint64_t pseudo, struct seg_in *out);
uint16_t wire_parse_udp_at(const uint8_t *frame, uint32_t off, uint32_t len, struct wire_udp *out);

// wire_ip4_verify: is the checksum of an IPv4 header without options right?
static inline bool wire_ip4_verify(const uint8_t *ip_header)
{
    uint64_t sum = cksum_plus(load_raw64(ip_header + 12), load_raw64(ip_header));
    return cksum_fold(cksum_plus(sum, load_raw32(ip_header + 8))) == 0xffff;
}

// wire_tcp4_verify: the same for the TCP segment of tcp_len bytes, at least TCP_BYTES, behind such
// a header.
static inline bool wire_tcp4_verify(const uint8_t *frame, uint32_t tcp_len)
{
    // Pseudo header: both addresses lie together; then protocol and length.
    const uint8_t *tcp = frame + TCP4_OFF;
    const uint64_t rest =
        (uint64_t)load_raw32(tcp + 16) + (IP_PROTO_TCP << 8) + (__builtin_bswap32(tcp_len) >> 16);
    uint64_t sum = cksum_plus(load_raw64(frame + ETH_BYTES + 12), load_raw64(tcp));
    sum = cksum_plus(cksum_plus(sum, load_raw64(tcp + 8)), rest);
    if (tcp_len != TCP_BYTES)
        sum = cksum_add(sum, tcp + TCP_BYTES, tcp_len - TCP_BYTES);
    return cksum_fold(sum) == 0xffff;
}

// wire_ip4_tcp4_right: both at once.
static inline bool wire_ip4_tcp4_right(const uint8_t *frame, uint32_t tcp_len)
{
    const uint8_t *ip = frame + ETH_BYTES, *tcp = frame + TCP4_OFF;
    const uint64_t addresses = load_raw64(ip + 12);
    const uint64_t head = cksum_plus3(addresses, load_raw64(ip), load_raw32(ip + 8), 0);
    const uint64_t rest =
        (uint64_t)load_raw32(tcp + 16) + (IP_PROTO_TCP << 8) + (__builtin_bswap32(tcp_len) >> 16);
    uint64_t sum = cksum_plus3(addresses, load_raw64(tcp), load_raw64(tcp + 8), rest);
    if (tcp_len != TCP_BYTES)
        sum = cksum_add(sum, tcp + TCP_BYTES, tcp_len - TCP_BYTES);
    return cksum_is_right(head) & cksum_is_right(sum);
}

// wire_common: what the first 34 bytes of the common frame hold: Ethernet to our MAC, IPv4 without
// options or fragment, TCP, to our address. Where a mask is 0 anything may be.
struct wire_common {
    uint8_t head[16], head_mask[16];  // bytes 0..15: to the type of service
    uint8_t tail[16], tail_mask[16];  // bytes 18..33: from the identification on
} CACHE_ALIGNED;

// wire_common_init: for frames to mac and to the address *v4_raw; NULL: to any address.
void wire_common_init(struct wire_common *c, const struct mac_addr *mac, const uint32_t *v4_raw);

// wire_is_common: is this frame, of at least 34 bytes, one of c's?
static inline bool wire_is_common(const uint8_t *frame, const struct wire_common *c)
{
    const wire_v16 head = (wire_load16(frame) ^ wire_load16(c->head)) & wire_load16(c->head_mask);
    const wire_v16 tail =
        (wire_load16(frame + 18) ^ wire_load16(c->tail)) & wire_load16(c->tail_mask);
    return wire_is_zero(head | tail);
}

// wire_usual_syn: the options at `opt`, of a header of `words`, if they are those of a SYN in the
// order in which Linux and others send them: MSS, SACK-permitted or two NOPs, timestamp, NOP,
// window scale. False: they are others.
static inline bool wire_usual_syn(const uint8_t *opt, uint32_t words, struct seg_in *out)
{
    if (words != 10 || (out->flags & SEG_SYN) == 0)
        return false;
    const uint32_t mss = load_be16(opt + 2), second = load_raw32(opt + 4);
    const bool sack = second == TCP_SACK_TS_WORD_RAW;
    const uint32_t odd = ((load_raw32(opt) & 0xffff) ^ TCP_MSS_HALF_RAW) |
                         ((load_raw32(opt + 16) & 0xffffff) ^ TCP_WSCALE_THIRDS_RAW);
    if (odd != 0 || mss == 0 || (!sack && second != TCP_TS_WORD_RAW))
        return false;
    out->mss = (uint16_t)mss;
    out->ts_val = load_be32(opt + 8);
    out->ts_ecr = load_be32(opt + 12);
    out->wscale = MIN(opt[19], TCP_WSCALE_MAX);
    out->opts =
        (uint8_t)(SEG_OPT_MSS | SEG_OPT_TS | SEG_OPT_WSCALE | (sack ? SEG_OPT_SACK_PERM : 0));
    return true;
}

// wire_parse_tcp4_fast: the common TCP segment, in a frame for which wire_is_common() holds and
// which has at least TCP4_DATA_OFF bytes: no TCP options or exactly the aligned timestamp option,
// or those of a usual SYN, all lengths right. Returns the bytes of the segment, header and all:
// every field of out is filled; or 0: nothing is known, and the other parsers find out. No checksum
// and no source address is checked.
static inline uint32_t wire_parse_tcp4_fast(const uint8_t *restrict frame, uint32_t len,
                                            uint32_t local_ix, uint32_t pkt_ix,
                                            struct seg_in *restrict out)
{
    const uint32_t total = load_be32(frame + ETH_BYTES) & 0xffff;
    const uint32_t head = IP4_BYTES + (load_raw32(frame + TCP4_OFF + 12) >> 2 & 0x3c);
    const uint32_t ports = load_raw32(frame + TCP4_OFF);
    // Bit 31: more bytes than there are, fewer than the headers have; 31 and 15: a port is 0.
    const uint32_t odd = (((len - ETH_BYTES - total) | (total - head)) & 1u << 31) |
                         ((ports - 0x00010001) & ~ports & 0x80008000);
    if (unlikely(odd != 0))
        return 0;
    // The source address, with which these 16 bytes end, behind ::ffff.
    wire_v16 from = wire_load16(frame + 26 - 12);
    from = (from & (wire_v16){0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255}) |
           (wire_v16){0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 0, 0};
    memcpy(&out->key, &from, sizeof(from));
    memcpy(&out->key.local_ix, &local_ix, sizeof(local_ix));  // and zero
    // The 16 bytes from the ports to the window, in the order of struct seg_in.
    const wire_v16 raw = wire_load16(frame + TCP4_OFF);
    const wire_v16 tcp =
        __builtin_shufflevector(raw, raw, 1, 0, 3, 2, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
    memcpy(&out->key.remote_port, &tcp, sizeof(tcp));
    out->data_off = (uint16_t)(ETH_BYTES + head);
    out->data_len = (uint16_t)(total - head);
    out->ts_val = 0;
    out->ts_ecr = 0;
    // pkt_ix, opts 0, ecn, tcp_off, urg. The type of service ends the word at 12.
    const uint64_t tail = pkt_ix | (load_raw32(frame + 12) & 3u << 24) | (uint64_t)TCP4_OFF << 32 |
                          (uint64_t)load_be32(frame + TCP4_OFF + 16) << 48;
    memcpy(&out->pkt_ix, &tail, sizeof(tail));
    memset(&out->mss, 0, sizeof(*out) - offsetof(struct seg_in, mss));
    if (head != IP4_BYTES + TCP_BYTES) {
        if (unlikely(head != IP4_BYTES + TCP_BYTES + TCP_TS_BYTES ||
                     load_raw32(frame + TCP4_DATA_OFF) != TCP_TS_WORD_RAW))
            return wire_usual_syn(frame + TCP4_DATA_OFF, (head - IP4_BYTES) / 4, out)
                       ? total - IP4_BYTES
                       : 0;
        out->ts_val = load_be32(frame + TCP4_DATA_OFF + 4);
        out->ts_ecr = load_be32(frame + TCP4_DATA_OFF + 8);
        out->opts = SEG_OPT_TS;
    }
    return total - IP4_BYTES;
}

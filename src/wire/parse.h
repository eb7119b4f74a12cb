// SPDX-License-Identifier: BSD-3-Clause
// parse.h: frames into host form. Each function reads only the bytes that it was given. It returns
// DROP_NONE, or the reason to drop the packet; its output is valid only with DROP_NONE.
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
    uint16_t l4_off;  // of the upper layer, from the first byte of the frame
    uint16_t l4_len;  // its bytes, without padding of the frame
    uint8_t proto;
    uint8_t tos;
    // Valid with DROP_ip_fragment:
    bool more;
    uint16_t id, part_at;  // fragment offset in bytes
};

// wire_parse_ip4: parses the IPv4 header (RFC 791) in a frame of len bytes with type ETH_TYPE_IP4.
// Options are skipped. A fragment gives DROP_ip_fragment with all of out valid. verify: also check
// the header checksum.
enum drop_reason wire_parse_ip4(const uint8_t *frame, uint32_t len, bool verify,
                                struct wire_ip4 *out);

// wire_parse_tcp: parses the segment that ip locates (RFC 9293 3.1). Sets every field of out;
// key.local_ix and pkt_ix are 0. verify: also check the checksum.
enum drop_reason wire_parse_tcp(const uint8_t *frame, const struct wire_ip4 *ip, bool verify,
                                struct seg_in *out);

// wire_parse_tcp_options: parses n bytes of TCP options of a segment whose out->flags are set. Sets
// opts, mss, wscale, ts_val, ts_ecr, sack_off and sack_count. As on Linux, it skips unknown
// options, options of a wrong length, and SYN options on other segments; of several options of a
// kind the last counts.
enum drop_reason wire_parse_tcp_options(const uint8_t *opt, uint32_t n, struct seg_in *out);

// wire_read_sack: reads the s->sack_count blocks of a parsed segment with SEG_OPT_SACK or
// SEG_OPT_FAST_OPEN. The values are as sent and not checked.
void wire_read_sack(const uint8_t *frame, const struct seg_in *s, struct seq_range *out);

struct wire_icmp {
    uint8_t type, code;
    uint16_t mtu;  // of the next hop; with ICMP_UNREACHABLE, ICMP_CODE_FRAG_NEEDED
    // Valid if an error message quotes a segment, a datagram or an echo request (src_port is then
    // its identifier).
    bool has_tcp, has_udp, has_echo;
    uint32_t src_raw, dst_raw;  // of the quoted packet
    uint16_t src_port, dst_port;
    uint32_t seq;                 // of a segment
    uint16_t data_off, data_len;  // of a datagram: the quoted part of its payload
};

// wire_parse_icmp: parses the ICMP message that ip locates (RFC 792, RFC 1191) and always checks
// its checksum. Of ICMP_UNREACHABLE, ICMP_TIME_EXCEEDED and ICMP_PARAMETER it also parses the
// quoted packet.
enum drop_reason wire_parse_icmp(const uint8_t *frame, const struct wire_ip4 *ip,
                                 struct wire_icmp *out);

// wire_quoted_udp: locates the payload of a quoted datagram. Its UDP header is at off; `len` bytes
// of the datagram were quoted, at least UDP_BYTES.
void wire_quoted_udp(const uint8_t *frame, uint32_t off, uint32_t len, uint16_t *data_off,
                     uint16_t *data_len);

// wire_icmp4_kind: how TCP treats an ICMP error (RFC 1122 4.2.3.9, RFC 1812 5.2.7.1, as on Linux).
enum icmp_kind wire_icmp4_kind(uint8_t type, uint8_t code);

struct wire_udp {
    uint16_t src_port, dst_port;
    uint16_t data_off, data_len;  // of the payload, from the first byte of the frame
};

// wire_parse_udp: parses the UDP datagram that ip locates (RFC 768). verify: also check the
// checksum, unless it is 0 (none).
enum drop_reason wire_parse_udp(const uint8_t *frame, const struct wire_ip4 *ip, bool verify,
                                struct wire_udp *out);

// wire_parse_tcp_at, wire_parse_udp_at: the parts of the parsers that both families share, for len
// bytes at frame + off. TCP: pseudo is the sum of the pseudo header; the caller sets key.remote and
// ecn. UDP: returns the length of the datagram; 0: wrong (DROP_udp_length). The UDP checksum is not
// checked.
enum drop_reason wire_parse_tcp_at(const uint8_t *frame, uint32_t off, uint32_t len, bool verify,
                                   uint64_t pseudo, struct seg_in *out);
uint16_t wire_parse_udp_at(const uint8_t *frame, uint32_t off, uint32_t len, struct wire_udp *out);

// wire_ip4_verify: whether the checksum of an IPv4 header without options is right.
static inline bool wire_ip4_verify(const uint8_t *ip_header)
{
    uint64_t sum = cksum_plus(load_raw64(ip_header + IP4_SRC_AT), load_raw64(ip_header));
    return cksum_fold(cksum_plus(sum, load_raw32(ip_header + IP4_TTL_AT))) == 0xffff;
}

// wire_tcp4_verify: the same of the TCP segment of tcp_len bytes, at least TCP_BYTES, that follows
// such a header.
static inline bool wire_tcp4_verify(const uint8_t *frame, uint32_t tcp_len)
{
    // Pseudo header: both addresses lie together; then protocol and length.
    const uint8_t *tcp = frame + TCP4_OFF;
    const uint64_t rest = (uint64_t)load_raw32(tcp + TCP_CKSUM_AT) + (IP_PROTO_TCP << 8) +
                          (__builtin_bswap32(tcp_len) >> 16);
    uint64_t sum = cksum_plus(load_raw64(frame + ETH_BYTES + IP4_SRC_AT), load_raw64(tcp));
    sum = cksum_plus(cksum_plus(sum, load_raw64(tcp + TCP_ACK_AT)), rest);
    if (tcp_len != TCP_BYTES)
        sum = cksum_add(sum, tcp + TCP_BYTES, tcp_len - TCP_BYTES);
    return cksum_fold(sum) == 0xffff;
}

// wire_ip4_tcp4_right: whether both checksums are right.
static inline bool wire_ip4_tcp4_right(const uint8_t *frame, uint32_t tcp_len)
{
    const uint8_t *ip = frame + ETH_BYTES, *tcp = frame + TCP4_OFF;
    const uint64_t addresses = load_raw64(ip + IP4_SRC_AT);
    const uint64_t head = cksum_plus3(addresses, load_raw64(ip), load_raw32(ip + IP4_TTL_AT), 0);
    const uint64_t rest = (uint64_t)load_raw32(tcp + TCP_CKSUM_AT) + (IP_PROTO_TCP << 8) +
                          (__builtin_bswap32(tcp_len) >> 16);
    uint64_t sum = cksum_plus3(addresses, load_raw64(tcp), load_raw64(tcp + TCP_ACK_AT), rest);
    if (tcp_len != TCP_BYTES)
        sum = cksum_add(sum, tcp + TCP_BYTES, tcp_len - TCP_BYTES);
    return cksum_is_right(head) & cksum_is_right(sum);
}

enum { WIRE_COMMON_TAIL_AT = ETH_BYTES + IP4_ID_AT };  // begin of wire_common.tail

// wire_common: bytes and masks of the first 34 bytes of the common frame: Ethernet to our MAC, IPv4
// without options and not fragmented, TCP, to our address. A mask of 0 accepts any byte.
struct wire_common {
    uint8_t head[16], head_mask[16];  // bytes 0..15: Ethernet to type of service
    uint8_t tail[16], tail_mask[16];  // bytes 18..33: identification to destination
} CACHE_ALIGNED;

// wire_common_init: for frames to mac and to address *v4_raw. NULL: to any address.
void wire_common_init(struct wire_common *c, const struct mac_addr *mac, const uint32_t *v4_raw);

// wire_is_common: whether this frame of at least 34 bytes matches c.
static inline bool wire_is_common(const uint8_t *frame, const struct wire_common *c)
{
    const wire_v16 head = (wire_load16(frame) ^ wire_load16(c->head)) & wire_load16(c->head_mask);
    const wire_v16 tail = (wire_load16(frame + WIRE_COMMON_TAIL_AT) ^ wire_load16(c->tail)) &
                          wire_load16(c->tail_mask);
    return wire_is_zero(head | tail);
}

// wire_usual_syn: parses the options at `opt` of a SYN with a TCP header of `words` 32-bit words,
// if they are in the order of Linux and others: MSS, SACK-permitted or two NOPs, timestamp, NOP,
// window scale. False: they are not.
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

// wire_parse_tcp4_fast: parses the common TCP segment, in a frame of at least TCP4_DATA_OFF bytes
// that wire_is_common() accepted. Its options are none, the aligned timestamp option, or those of
// wire_usual_syn(). Sets every field of out and returns the bytes of the segment with its header.
// 0: use the other parsers. It checks all lengths, but no checksum and no source address.
static inline uint32_t wire_parse_tcp4_fast(const uint8_t *restrict frame, uint32_t len,
                                            uint32_t local_ix, uint32_t pkt_ix,
                                            struct seg_in *restrict out)
{
    const uint32_t total = load_be32(frame + ETH_BYTES) & 0xffff;
    const uint32_t head =
        IP4_BYTES + (load_raw32(frame + TCP4_OFF + TCP_DATA_OFFSET_AT) >> 2 & 0x3c);
    const uint32_t ports = load_raw32(frame + TCP4_OFF);
    // Bit 31: the total length exceeds the frame, or the headers exceed it. Bits 31 and 15: a port
    // is 0.
    const uint32_t odd = (((len - ETH_BYTES - total) | (total - head)) & 1u << 31) |
                         ((ports - 0x00010001) & ~ports & 0x80008000);
    if (unlikely(odd != 0))
        return 0;
    // The source address is the end of these 16 bytes; ::ffff goes before it.
    wire_v16 from = wire_load16(frame + ETH_BYTES + IP4_SRC_AT - IP_V4_AT);
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
    const uint64_t tail = pkt_ix | (load_raw32(frame + ETH_TYPE_AT) & 3u << 24) |
                          (uint64_t)TCP4_OFF << 32 |
                          (uint64_t)load_be32(frame + TCP4_OFF + TCP_CKSUM_AT) << 48;
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

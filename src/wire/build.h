// SPDX-License-Identifier: BSD-3-Clause
// build.h: frames from host form. Each function writes exactly the bytes that its comment names.
#pragma once
#include "base/addr.h"
#include "wire/cksum.h"
#include "wire/proto.h"
#include "wire/seg.h"

// wire_mac_word: a MAC in the low 48 bits, in memory order; the upper bits are 0.
static inline uint64_t wire_mac_word(const struct mac_addr *mac)
{
    return load_raw32(mac->b) | (uint64_t)load_raw16(mac->b + 4) << 32;
}

static inline struct mac_addr wire_mac_from_word(uint64_t word)
{
    struct mac_addr mac;
    memcpy(mac.b, &word, 6);
    return mac;
}

// wire_from: the fields that all frames from one local address share.
struct wire_from {
    uint64_t eth_tail;  // bytes 6..13 of an IPv4 frame: own MAC, type
    uint32_t v4_raw;
};

void wire_from_init(struct wire_from *from, const struct mac_addr *mac, uint32_t v4);

// wire_put_eth4: writes the Ethernet header of an IPv4 frame. dst_word: destination MAC in the low
// 48 bits.
static inline void wire_put_eth4(uint8_t *frame, const struct wire_from *from, uint64_t dst_word)
{
    store_raw64(frame, dst_word);
    store_raw64(frame + ETH_SRC_AT, from->eth_tail);
}

// wire_put_ip4: writes a 20-byte IPv4 header with its checksum. The identification is 0 and DF is
// set (RFC 6864 4.1; as Linux). total: bytes of the IP packet.
static inline void wire_put_ip4(uint8_t *ip, uint32_t src_raw, uint32_t dst_raw, uint8_t proto,
                                uint8_t tos, uint16_t total)
{
    // Little-endian words: 45 tos total | id 0, fragment word 40 00 (DF); TTL, protocol.
    uint64_t first = 0x45 | (uint32_t)tos << 8 | __builtin_bswap32(total) | (uint64_t)0x0040 << 48;
    uint32_t third = IP4_TTL | (uint32_t)proto << 8;
    uint16_t sum = cksum_fold(cksum_plus(first, (uint64_t)third + src_raw + dst_raw));
    store_raw64(ip, first);
    store_raw32(ip + IP4_TTL_AT, third | (uint32_t)(uint16_t)~sum << 16);
    store_raw32(ip + IP4_SRC_AT, src_raw);
    store_raw32(ip + IP4_DST_AT, dst_raw);
}

// wire_put_tcp_options: writes the options that s->opts asks for, in Linux's order, padded to 4
// bytes. With SYN: MSS, SACK-permitted, timestamp, window scale; else the timestamp; then SACK
// blocks. Returns their bytes, at most TCP_OPTIONS_MAX.
uint32_t wire_put_tcp_options(uint8_t *opt, const struct seg_out *s);

// wire_has_other_options: whether s has an option other than the timestamp, or several pieces.
static inline bool wire_has_other_options(const struct seg_out *s)
{
    return (s->opts & ~SEG_OPT_TS) != 0;
}

// wire_tcp_head_bytes: bytes of the TCP header with its options.
static inline uint32_t wire_tcp_head_bytes(const struct seg_out *s)
{
    if (likely(!wire_has_other_options(s)))
        return s->opts != 0 ? TCP_BYTES + TCP_TS_BYTES : TCP_BYTES;
    const uint8_t of_syn = s->flags & SEG_SYN ? s->opts : 0;
    uint32_t n = TCP_BYTES;
    if (of_syn & SEG_OPT_MSS)
        n += 4;
    if (s->opts & SEG_OPT_TS)
        n += TCP_TS_BYTES;
    else if (of_syn & SEG_OPT_SACK_PERM)
        n += 4;
    if (of_syn & SEG_OPT_WSCALE)
        n += 4;
    if (of_syn & SEG_OPT_FAST_OPEN)
        n += 12;
    return s->opts & SEG_OPT_SACK ? n + 4 + 8u * s->n_sack : n;
}

// wire_put_payload: copies the data of s to `to` and returns sum plus the words of the data.
// wire_put_two_ranges() is a function call because a second range is rare.
uint64_t wire_put_two_ranges(uint64_t sum, uint8_t *to, const struct seg_out *s);

static inline uint64_t wire_put_payload(uint64_t sum, uint8_t *to, const struct seg_out *s)
{
    if (unlikely(s->data_len[1] != 0))
        return wire_put_two_ranges(sum, to, s);
    return cksum_copy(sum, to, s->data[0], s->data_len[0]);
}

// wire_copy_payload: copies the data without a sum. wire_copy_second: its part after data[0].
void wire_copy_second(uint8_t *to, const struct seg_out *s);

static inline void wire_copy_payload(uint8_t *to, const struct seg_out *s)
{
    if (s->data_len[0] != 0)
        memcpy(to, s->data[0], s->data_len[0]);
    if (unlikely(s->data_len[1] != 0))
        wire_copy_second(to + s->data_len[0], s);
}

enum wire_options { WIRE_PLAIN, WIRE_TS, WIRE_ANY };  // none; the timestamp only; any

static inline enum wire_options wire_options_of(const struct seg_out *s)
{
    return wire_has_other_options(s) ? WIRE_ANY : s->opts != 0 ? WIRE_TS : WIRE_PLAIN;
}

// wire_put_tcp_head: writes the TCP header of s, `head` bytes, without its checksum. Returns the
// sum of its words.
static ALWAYS_INLINE uint64_t wire_put_tcp_head(uint8_t *restrict tcp,
                                                const struct seg_out *restrict s, uint32_t head,
                                                enum wire_options options)
{
    // Ports to window, in the order of the wire; the data offset is byte 12.
    wire_v16 first = wire_load16((const uint8_t *)&s->key.remote_port);
    first =
        __builtin_shufflevector(first, first, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
    uint64_t word[2];
    first |= (wire_v16){0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, (uint8_t)(head << 2), 0, 0, 0};
    memcpy(tcp, &first, sizeof(first));
    memcpy(word, &first, sizeof(word));
    uint64_t sum = cksum_plus(word[0], word[1]);
    if (options == WIRE_ANY) {
        sum = cksum_add(sum, tcp + TCP_BYTES, wire_put_tcp_options(tcp + TCP_BYTES, s));
    } else if (options == WIRE_TS) {
        uint32_t val = raw32(s->ts_val), ecr = raw32(s->ts_ecr);
        store_raw32(tcp + TCP_BYTES, TCP_TS_WORD_RAW);
        store_raw32(tcp + TCP_BYTES + 4, val);
        store_raw32(tcp + TCP_BYTES + 8, ecr);
        sum = cksum_plus(sum, (uint64_t)TCP_TS_WORD_RAW + val + ecr);
    }
    return sum;
}

// wire_put_tcp_rest: writes payload and checksum of the segment at tcp. sum: of the words of its
// header; pseudo: of the pseudo header.
static ALWAYS_INLINE void wire_put_tcp_rest(uint8_t *restrict tcp, const struct seg_out *restrict s,
                                            uint32_t head, uint64_t sum, uint64_t pseudo,
                                            bool l4_offload)
{
    if (l4_offload) {
        store_raw32(tcp + TCP_CKSUM_AT, cksum_fold(pseudo));
        wire_copy_payload(tcp + head, s);
    } else {
        sum = cksum_plus(cksum_plus(sum, pseudo), wire_put_payload(0, tcp + head, s));
        store_raw32(tcp + TCP_CKSUM_AT, (uint16_t)~cksum_fold(sum));  // and urgent pointer 0
    }
}

// wire_build_tcp4: builds the frame of s, whose remote address is IPv4, and copies its payload.
// dst_word: MAC of the next hop in the low 48 bits. head: wire_tcp_head_bytes(s). options:
// wire_options_of(s). With l4_offload the TCP checksum field holds the folded sum of the pseudo
// header, which the port completes. Returns the bytes of the frame: TCP4_OFF + head + payload.
// Always inlined, so that constant options and l4_offload remove branches.
static ALWAYS_INLINE uint32_t wire_build_tcp4(uint8_t *restrict frame,
                                              const struct wire_from *restrict from,
                                              uint64_t dst_word, const struct seg_out *restrict s,
                                              uint32_t head, enum wire_options options,
                                              bool l4_offload)
{
    uint32_t dst_raw = load_raw32(s->key.remote.b + IP_V4_AT);
    uint32_t tcp_len = head + s->data_len[0] + s->data_len[1];
    wire_put_eth4(frame, from, dst_word);
    wire_put_ip4(frame + ETH_BYTES, from->v4_raw, dst_raw, IP_PROTO_TCP, s->tos,
                 (uint16_t)(IP4_BYTES + tcp_len));

    uint8_t *tcp = frame + TCP4_OFF;
    const uint64_t sum = wire_put_tcp_head(tcp, s, head, options);
    const uint64_t pseudo = cksum_pseudo4(from->v4_raw, dst_raw, IP_PROTO_TCP, (uint16_t)tcp_len);
    wire_put_tcp_rest(tcp, s, head, sum, pseudo, l4_offload);
    return TCP4_OFF + tcp_len;
}

// wire_own_ip4: sets the TTL and the identification of segment s, which has SEG_OPT_IP, in the IP
// header of its frame. id: for a packet that may be fragmented (RFC 6864 4.2). with_sum: also write
// the header checksum.
void wire_own_ip4(uint8_t *frame, const struct seg_out *s, uint16_t id, bool with_sum);

// wire_build_tso4: builds the headers of the large segment s, TCP4_OFF + head bytes, for a port
// that splits it. As DPDK requires, the length is that of the whole, the IP checksum is 0, and the
// TCP checksum is the folded sum of the pseudo header without a length. wire_sum_ip4: writes the IP
// checksum of such a frame, for a port that does not.
void wire_build_tso4(uint8_t *frame, const struct wire_from *from, uint64_t dst_word,
                     const struct seg_out *s, uint32_t head);
void wire_sum_ip4(uint8_t *frame);

// wire_build_arp: builds a frame of ARP_FRAME_BYTES to dst. target_mac is zero in a request (RFC
// 5227 1.1). Addresses are in memory order.
void wire_build_arp(uint8_t *frame, uint16_t op, const struct mac_addr *dst,
                    const struct mac_addr *own_mac, uint32_t own_raw,
                    const struct mac_addr *target_mac, uint32_t target_raw);

// wire_build_echo_reply: turns the frame of a checked ICMP echo request into its reply to the MAC
// that sent it. The request has l4_len bytes at l4_off. IP options are removed. Returns the bytes
// of the frame, at most those of the request.
uint32_t wire_build_echo_reply(uint8_t *frame, const struct wire_from *from, uint32_t dst_raw,
                               uint8_t tos, uint32_t l4_off, uint32_t l4_len);

// wire_build_error4: builds an ICMP error (RFC 792). dst_word: destination MAC in the low 48 bits.
// It quotes the first n bytes, n <= ICMP_QUOTE_MAX, of the IPv4 packet at `quoted`. Returns the
// bytes of the frame. wire_build_unreachable: the same for destination unreachable.
uint32_t wire_build_error4(uint8_t *frame, const struct wire_from *from, uint64_t dst_word,
                           uint32_t dst_raw, uint8_t type, uint8_t code, const uint8_t *quoted,
                           uint32_t n);
uint32_t wire_build_unreachable(uint8_t *frame, const struct wire_from *from, uint64_t dst_word,
                                uint32_t dst_raw, uint8_t code, const uint8_t *quoted, uint32_t n);

// wire_build_udp4: writes the headers and the checksum of a datagram whose n bytes of payload are
// at frame + UDP4_DATA_OFF already. Returns the bytes of the frame.
uint32_t wire_build_udp4(uint8_t *frame, const struct wire_from *from, uint64_t dst_word,
                         uint32_t dst_raw, uint16_t src_port, uint16_t dst_port, uint32_t n);

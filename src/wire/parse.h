// parse.h: frames into host form. Pure: each function reads only the bytes it was given and returns
// DROP_NONE or why the packet ends here; what it writes is valid with DROP_NONE only.
#pragma once
#include "base/addr.h"
#include "base/drops.h"
#include "wire/cksum.h"
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
};

// wire_parse_ip4: the IPv4 header (RFC 791) in a frame of len bytes with type ETH_TYPE_IP4. Options
// are skipped, fragments refused. verify: check the header's checksum too.
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

struct wire_icmp {
    uint8_t type, code;
    uint16_t mtu;               // of the next hop; with ICMP_UNREACHABLE, ICMP_CODE_FRAG_NEEDED
    bool has_tcp;               // an error message that quotes a TCP segment: the fields below
    uint32_t src_raw, dst_raw;  // of the quoted packet
    uint16_t src_port, dst_port;
    uint32_t seq;
};

// wire_parse_icmp: the message that ip says where to find (RFC 792, RFC 1191); its checksum is
// always checked. ICMP_UNREACHABLE and ICMP_TIME_EXCEEDED: also what they quote.
enum drop_reason wire_parse_icmp(const uint8_t *frame, const struct wire_ip4 *ip,
                                 struct wire_icmp *out);

// wire_ip4_verify: is the checksum of an IPv4 header without options right?
static inline bool wire_ip4_verify(const uint8_t *ip_header)
{
    uint64_t sum = cksum_plus(load_raw64(ip_header), load_raw64(ip_header + 8));
    return cksum_fold(cksum_plus(sum, load_raw32(ip_header + 16))) == 0xffff;
}

// wire_tcp4_verify: the same for the TCP segment of tcp_len bytes behind such a header.
static inline bool wire_tcp4_verify(const uint8_t *frame, uint32_t tcp_len)
{
    // Pseudo header: both addresses lie together; then protocol and length.
    uint64_t sum = cksum_plus(load_raw64(frame + 26),
                              (IP_PROTO_TCP << 8) + __builtin_bswap16((uint16_t)tcp_len));
    return cksum_fold(cksum_add(sum, frame + TCP4_OFF, tcp_len)) == 0xffff;
}

// seg_in_key: key of a segment from src_raw, whose two ports lie at ports, to local address
// local_ix.
static inline void seg_in_key(struct flow_key *key, uint32_t src_raw, const uint8_t *ports,
                              uint16_t local_ix)
{
    // Little-endian words of struct flow_key: ::ffff:src, then remote port, local port, index,
    // zero.
    uint32_t p = load_be32(ports);
    uint64_t *w = (uint64_t *)key;
    w[0] = 0;
    w[1] = (uint64_t)src_raw << 32 | 0xffff0000;
    w[2] = (uint64_t)local_ix << 32 | (uint32_t)(p << 16 | p >> 16);
}

// wire_fast_tcp4: the common frame: Ethernet to the MAC whose bytes lead mac_word (then two zero
// bytes) as load_raw64() << 16 gives them, IPv4 without options or fragment, TCP with no options or
// exactly the aligned timestamp option, all lengths right. True: every field of out is filled but
// key.local_ix and pkt_ix (0). False: nothing is known; the other parsers find out. No checksum, no
// address is checked.
static inline bool wire_fast_tcp4(const uint8_t *frame, uint32_t len, uint64_t mac_word,
                                  struct seg_in *out)
{
    if (unlikely(len < TCP4_DATA_OFF))
        return false;
    // Bytes 12..15: type, version and header length (TOS masked); 16..23: total length, id,
    // fragment word, TTL, protocol, of which the fragment word without DF and the protocol count.
    const uint64_t ip_mask = 0xff00ff3f00000000, ip_want = (uint64_t)IP_PROTO_TCP << 56;
    uint64_t ip = load_raw64(frame + 16);
    if (unlikely((load_raw64(frame) << 16) != mac_word ||
                 (load_raw32(frame + 12) & 0x00ffffff) != 0x00450008 || (ip & ip_mask) != ip_want))
        return false;
    uint32_t total = __builtin_bswap16((uint16_t)ip);
    uint32_t words = frame[TCP4_OFF + 12] >> 4;
    uint32_t ports = load_be32(frame + TCP4_OFF);
    if (unlikely(total + ETH_BYTES > len || (ports & 0xffff) == 0 || ports >> 16 == 0))
        return false;
    uint32_t head = IP4_BYTES + words * 4;
    if (unlikely(total < head))
        return false;
    if (likely(words == 8)) {
        if (unlikely(load_raw32(frame + TCP4_DATA_OFF) != TCP_TS_WORD_RAW))
            return false;
        out->ts_val = load_be32(frame + TCP4_DATA_OFF + 4);
        out->ts_ecr = load_be32(frame + TCP4_DATA_OFF + 8);
        out->opts = SEG_OPT_TS;
    } else if (likely(words == 5)) {
        out->ts_val = 0;
        out->ts_ecr = 0;
        out->opts = 0;
    } else {
        return false;
    }
    seg_in_key(&out->key, load_raw32(frame + 26), frame + TCP4_OFF, 0);
    out->seq = load_be32(frame + TCP4_OFF + 4);
    out->ack = load_be32(frame + TCP4_OFF + 8);
    out->wnd = load_be16(frame + TCP4_OFF + 14);
    out->mss = 0;
    out->data_off = (uint16_t)(ETH_BYTES + head);
    out->data_len = (uint16_t)(total - head);
    out->pkt_ix = 0;
    out->flags = frame[TCP4_OFF + 13];
    out->wscale = 0;
    out->sack_off = 0;
    out->sack_count = 0;
    out->ecn = frame[15] & 3;
    out->urg = load_be16(frame + TCP4_OFF + 18);
    out->tcp_off = TCP4_OFF;
    return true;
}

// SPDX-License-Identifier: BSD-3-Clause
// seg.h: a TCP segment in host form, received or to be sent. It is parsed and checked once at the
// border; inside the stack there is no wire order and no unchecked length.
#pragma once
#include "base/addr.h"
#include "base/base.h"
#include "base/seq.h"

enum seg_flag {  // RFC 9293 3.1, the flag byte as on the wire
    SEG_FIN = 0x01,
    SEG_SYN = 0x02,
    SEG_RST = 0x04,
    SEG_PSH = 0x08,
    SEG_ACK = 0x10,
    SEG_URG = 0x20,
    SEG_ECE = 0x40,
    SEG_CWR = 0x80,
};

enum seg_opt {          // which options are present
    SEG_OPT_TS = 0x01,  // RFC 7323
    SEG_OPT_WSCALE = 0x02,
    SEG_OPT_MSS = 0x04,
    SEG_OPT_SACK_PERM = 0x08,  // RFC 2018
    SEG_OPT_SACK = 0x10,
    SEG_OPT_IP = 0x20,         // not a TCP option: seg_out.ttl and may_split are valid
    SEG_OPT_FAST_OPEN = 0x40,  // RFC 7413; on a SYN, stored in the SACK fields
    SEG_OPT_PIECES = 0x80,     // not a TCP option: seg_out.data[1] is several ranges
};

enum { SEG_SACK_MAX = 4 };  // SACK blocks of one segment: what 40 bytes of options hold

// seg_in: one received segment whose lengths, checksum and options have been checked.
struct seg_in {
    struct flow_key key;
    uint32_t seq;
    uint32_t ack;
    uint16_t wnd;             // as sent, not scaled
    uint8_t flags;            // SEG_FIN...
    uint8_t head;             // the data offset as sent: upper four bits, words of the header
    uint16_t data_off;        // of the payload, from the first byte of the frame
    uint16_t data_len;        // bytes of payload
    uint32_t ts_val, ts_ecr;  // valid with SEG_OPT_TS
    uint16_t pkt_ix;          // index of the packet in this turn's burst
    uint8_t opts;             // SEG_OPT_MSS...
    uint8_t ecn;              // the two ECN bits of the IP header
    uint16_t tcp_off;         // of the TCP header, from the first byte of the frame
    uint16_t urg;             // urgent pointer as sent
    uint16_t mss;             // valid with SEG_OPT_MSS
    uint8_t wscale;           // valid with SEG_OPT_WSCALE, at most 14 (RFC 7323 2.3)
    uint8_t sack_off;    // of the first SACK block from the TCP header; valid with SEG_OPT_SACK
    uint8_t sack_count;  // 0..SEG_SACK_MAX; wire_read_sack() reads them
    // With SEG_OPT_FAST_OPEN: sack_off is the offset of the cookie; 0: the peer asks for one.
    // sack_count 1: the cookie has 8 bytes and is read as one block.
    uint8_t pad[3];
} CACHE_ALIGNED;

static_assert(sizeof(struct seg_in) == 64, "a burst of parsed segments is 4 KiB: an eighth of L1");
#define SEG_IS_VECTOR(s)                                                                           \
    (offsetof(struct s, key.remote_port) == 20 && offsetof(struct s, seq) == 24 &&                 \
     offsetof(struct s, ack) == 28 && offsetof(struct s, wnd) == 32 &&                             \
     offsetof(struct s, flags) == 34 && offsetof(struct s, head) == 35)

static_assert(SEG_IS_VECTOR(seg_in), "16 bytes of the TCP header, shuffled (wire_parse_tcp4_fast)");
static_assert(offsetof(struct seg_in, opts) - offsetof(struct seg_in, pkt_ix) == 2 &&
                  offsetof(struct seg_in, ecn) - offsetof(struct seg_in, pkt_ix) == 3 &&
                  offsetof(struct seg_in, tcp_off) - offsetof(struct seg_in, pkt_ix) == 4 &&
                  offsetof(struct seg_in, urg) - offsetof(struct seg_in, pkt_ix) == 6,
              "eight bytes written at once (wire_parse_tcp4_fast)");

// A segment with more bytes of data than SEG_WHOLE_MAX and than `mss` is a large one: net_output()
// or the port splits it into segments of mss bytes; the last may be shorter. It has at most
// SEG_LARGE_MAX bytes, which fit in one IP packet.
enum { SEG_WHOLE_MAX = 2048, SEG_LARGE_MAX = 63 << 10 };

// seg_piece: a range of memory. What six buffers hold is at least a segment of a jumbo frame.
enum { SEG_PIECES_MAX = 5 };

struct seg_piece {
    const uint8_t *at;
    uint32_t len;  // 0: none
};

// seg_out: one segment to send. data[] names up to two ranges of memory that are copied after the
// headers. With SEG_OPT_PIECES, which a large segment does not have, data[1] is an array of
// SEG_PIECES_MAX seg_piece, and data_len[1] the sum of their lengths. All of them and sack stay
// valid until net_output() returns.
struct seg_out {
    struct flow_key key;
    uint32_t seq;
    uint32_t ack;
    uint16_t wnd;  // field value, already scaled
    uint8_t flags;
    uint8_t head;  // 0: the data offset follows from the options
    uint16_t data_len[2];
    uint32_t ts_val, ts_ecr;  // with SEG_OPT_TS
    const uint8_t *data[2];
    // With SEG_OPT_MSS. With more than SEG_WHOLE_MAX bytes of data: bytes of each part of a large
    // segment; 0: it is none.
    uint16_t mss;
    uint8_t opts;  // options to write, in Linux's order
    uint8_t wscale;
    uint8_t tos;
    uint8_t n_sack;  // with SEG_OPT_SACK: 1..SEG_SACK_MAX, one less with SEG_OPT_TS
    // With SEG_OPT_IP:
    uint8_t ttl;                   // 0: default
    bool may_split;                // IPv4: DF is clear
    const struct seq_range *sack;  // with SEG_OPT_FAST_OPEN: the cookie as one block
};

static_assert(SEG_IS_VECTOR(seg_out), "16 bytes of the TCP header, shuffled (wire_build_tcp4)");

// seg_parts: the number of segments that s is split into; 1 if it is not a large one.
static inline uint32_t seg_parts(const struct seg_out *s)
{
    const uint32_t data = (uint32_t)s->data_len[0] + s->data_len[1];
    return data > SEG_WHOLE_MAX && s->mss != 0 ? (data + s->mss - 1) / s->mss : 1;
}

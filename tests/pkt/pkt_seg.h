// SPDX-License-Identifier: BSD-3-Clause
// pkt_seg.h: a segment as a packet script writes it: numbers relative to both ISNs, options in the
// order of the wire. Text to segment is pkt_parse.h's; here are printing, the wire form of options,
// and comparison.
#pragma once
#include <stdio.h>

#include "tcp_pair.h"

enum { PKT_OPTS_MAX = 40, PKT_SACKS_MAX = 4, PKT_TEXT_MAX = 512 };

enum pkt_opt_kind {
    PKT_NOP,
    PKT_EOL,
    PKT_MSS,
    PKT_WSCALE,
    PKT_SACK_OK,
    PKT_SACK,
    PKT_TS,
    PKT_FAST_OPEN,
    PKT_BYTE
};

// pkt_opt: one option. a: MSS, shift, TSval, or a byte as it is (BYTE); b: TSecr.
struct pkt_opt {
    enum pkt_opt_kind kind;
    uint32_t a, b;
    // The MSS that this stack announces by itself, its cookie of FAST_OPEN for this peer; else that
    // is sack[0], and none without n_sacks.
    bool own;
    bool any_a, any_b;  // TS, expected: whatever there is; any_b, received: the last that was sent
    unsigned n_sacks;
    uint32_t sack[PKT_SACKS_MAX][2];
};

struct pkt_opts {
    bool any;  // <...>: whatever there is
    unsigned n;
    struct pkt_opt o[PKT_OPTS_MAX];
};

// pkt_seg: has_win false: not said. payload: which content (pkt_byte).
struct pkt_seg {
    uint8_t flags, ecn;
    bool has_win;
    uint16_t win, urg;
    uint32_t seq, len, ack, payload;
    struct pkt_opts opts;
};

// pkt_byte: byte `at` of content number `payload` of a stream: 0 is what everybody sends who says
// nothing else, and each other number differs from it, and from the next, in every byte.
static inline uint8_t pkt_byte(uint32_t at, uint32_t payload)
{
    return (uint8_t)(role_byte(at) ^ (uint8_t)(payload * 0x5b));
}

// pkt_seg_print: the segment in the language, into text[PKT_TEXT_MAX]; returns text.
const char *pkt_seg_print(const struct pkt_seg *s, char *text);

// pkt_opts_write: the options as on the wire, padded with zeros to a multiple of 4; own_mss stands
// for `mss own`. Returns the bytes, at most 40, or UINT32_MAX when there is no room.
uint32_t pkt_opts_write(const struct pkt_opts *o, uint16_t own_mss, uint8_t out[40]);

// pkt_opts_read: the same back; what no such option is becomes bytes.
void pkt_opts_read(const uint8_t *opt, uint32_t n, struct pkt_opts *o);

// pkt_opts_strip: takes out all options of a kind.
void pkt_opts_strip(struct pkt_opts *o, enum pkt_opt_kind kind);

// pkt_opts_find: the first option of the kind, or NULL.
struct pkt_opt *pkt_opts_find(struct pkt_opts *o, enum pkt_opt_kind kind);

// pkt_seg_matches: whether what left is what was expected.
bool pkt_seg_matches(const struct pkt_seg *expected, const struct pkt_seg *left, uint16_t own_mss);

// SPDX-License-Identifier: BSD-3-Clause
// load_stream.h: bulk transfer on the connections of a load. They are opened and closed as those of
// every load are; in between each carries the pattern of load_pattern.h, one way:
//
//   down  the server sends as fast as it can. What comes is compared where it lies and forgotten:
//         a piece that comes too early only leaves its range, which SACK reports (RFC 2018).
//         Acknowledged are two segments at once, or what came in a turn if that was more; every
//         piece out of order at once (RFC 5681 4.2).
//   up    the client sends what the window, slow start and congestion avoidance let (RFC 5681,
//         6582: one hole a round trip), and goes back to the first hole at a timeout.
//
// load_conn.snd_nxt is the first byte that the peer has not acknowledged; state LOAD_ASKED: there
// is one.
#pragma once
#include "base/seq.h"
#include "load/load_internal.h"
#include "load/load_pattern.h"

enum {
    LOAD_STREAM_HELD_MAX = 32,  // ranges of a connection; a piece that needs one more is lost
    LOAD_STREAM_ACK_SEGS = 2,
    LOAD_STREAM_CWND_SEGS = 10,  // RFC 6928
    LOAD_STREAM_CWND_MAX = 1 << 26,
    LOAD_STREAM_TURN_SEGS = 16,  // of one connection in a turn
};

struct load_stream {
    uint32_t at;   // in the pattern: the first byte not yet received, or not acknowledged
    uint32_t wnd;  // that the peer offers, bytes
    uint8_t wscale;
    bool sack;        // the peer understands it
    uint8_t unacked;  // in-order segments since the last ACK
    bool due;         // listed to be acknowledged
    uint8_t n_held, newest;
    uint16_t mss;  // of data
    // up:
    uint32_t next, max;  // sequence numbers: what goes next, the end of all that was sent
    uint32_t cwnd, ssthresh, recover;
    uint32_t deadline_ms;
    uint8_t dups, tries;
    bool recovering;
    struct seq_range held[LOAD_STREAM_HELD_MAX];  // in order, apart, behind a hole
};

struct load_streams {
    uint32_t n_due, cursor;
    uint32_t *due;  // connections with something to be acknowledged
    struct load_stream *each;
    uint8_t pattern[LOAD_PATTERN_BYTES + LOAD_PATTERN_MORE];
};

// load_streams_new: for all of l's connections; NULL: no memory. load_streams_free: NULL is
// nothing.
struct load_streams *load_streams_new(const struct load *l);
void load_streams_free(struct load_streams *s);

// load_stream_opened: connection i has got its SYN-ACK s.
void load_stream_opened(struct load *l, uint32_t i, const struct seg_in *s);

// load_stream_input: data and acknowledgement of s, a segment of the open connection i.
void load_stream_input(struct load *l, uint32_t i, const struct seg_in *s, const uint8_t *data);

// load_stream_turn: acknowledges what n packets of this turn brought; sends what may be sent; new
// data only if `new_data`.
void load_stream_turn(struct load *l, uint32_t n, bool new_data);

// SPDX-License-Identifier: BSD-3-Clause
// load_stream.h: bulk transfer. The connections are opened and closed as in other loads. Between
// that, each transfers the pattern of load_pattern.h:
//
//   down  the server sends as fast as possible. Received data is compared in the packet and
//         discarded; for data out of order only the range is stored, which SACK reports (RFC 2018).
//         Every second segment is acknowledged, or all segments of a turn at once if there are
//         more; segments out of order are acknowledged at once (RFC 5681 4.2).
//   up    the client sends as window, slow start and congestion avoidance allow (RFC 5681;
//         RFC 6582: one hole per round trip). After a timeout it continues at the first hole.
//   both  the client sends as in `up`, the server returns every byte, and the client receives and
//         compares them as in `down`. A byte that was not sent yet is wrong.
//
// load_conn.snd_nxt is the first byte that the peer has not acknowledged. State LOAD_ASKED means
// that there are unacknowledged bytes, or bytes that have not come back.
#pragma once
#include "base/seq.h"
#include "load/load_internal.h"
#include "load/load_pattern.h"

enum {
    // out-of-order ranges of a connection; a segment that needs one more is dropped
    LOAD_STREAM_HELD_MAX = 32,
    LOAD_STREAM_ACK_SEGS = 2,
    LOAD_STREAM_CWND_SEGS = 10,  // RFC 6928
    LOAD_STREAM_CWND_MAX = 1 << 26,
    LOAD_STREAM_TURN_SEGS = 16,  // segments of one connection in a turn
};

struct load_stream {
    uint32_t at;   // position in the pattern of the first byte not received
    uint32_t wnd;  // window of the peer, bytes
    uint8_t wscale;
    bool sack;        // the peer supports SACK
    uint8_t unacked;  // in-order segments since the last ACK
    bool due;         // in the list `due`
    uint8_t n_held, newest;
    uint16_t mss;  // bytes of data in a full segment
    // up, both:
    uint32_t una_at;     // position in the pattern of the first byte not acknowledged
    uint32_t owed;       // both: bytes sent and not received back in order
    uint32_t next, max;  // sequence numbers: next to send, end of all that was sent
    uint32_t cwnd, ssthresh, recover;
    uint32_t deadline_ms;
    uint8_t dups, tries;
    bool recovering;
    struct seq_range held[LOAD_STREAM_HELD_MAX];  // sorted, disjoint, after a hole
};

struct load_streams {
    uint32_t n_due, cursor;
    uint32_t reopen;  // the connection that was looked at last, whether it has to be opened again
    uint32_t *due;    // connections that have to send an ACK
    struct load_stream *each;
    uint8_t pattern[LOAD_PATTERN_BYTES + LOAD_PATTERN_MORE];
};

// load_streams_new: allocates the state for all connections of l. Returns NULL if there is no
// memory. load_streams_free: frees it; NULL is allowed.
struct load_streams *load_streams_new(const struct load *l);
void load_streams_free(struct load_streams *s);

// load_stream_opened: connection i has received its SYN-ACK s.
void load_stream_opened(struct load *l, uint32_t i, const struct seg_in *s);

// load_stream_input: processes data and acknowledgment of s, a segment of the open connection i.
void load_stream_input(struct load *l, uint32_t i, const struct seg_in *s, const uint8_t *data);

// load_stream_turn: sends the ACKs that are due and the data that the windows allow; new data only
// if `new_data`, which also opens failed connections again with `reopen`. n: packets received in
// this turn.
void load_stream_turn(struct load *l, uint32_t n, bool new_data);

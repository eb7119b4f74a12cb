// SPDX-License-Identifier: BSD-3-Clause
// flight.h: the log of what a connection has in flight: when each part of it was sent last, and
// what became of it. RACK (RFC 8985) asks that of every segment; here the segments that left
// together, or nearly so, are one run. Records of two sizes, from pools of one worker; a connection
// has one only while more than one segment of it is in flight, or a timeout has come.
//
//   una                                                                   una of the connection's
//    |  run 0: lost  |  run 1: SACKed  |  run 2: sent again  |  run 3  |  end of the last: snd_max
//
// With more runs than a record holds, it becomes a large one; without one left, neighbours become
// one and take the later time: what is lost is found later, by the part of the round trip that one
// run covers. Where that does not do, for there is a hole between any two, what the peer reports
// is not taken down, and may leave again.
#pragma once
#include "base/base.h"
#include "mem/index_pool.h"

enum {
    FLIGHT_BYTES = 512,         // of a record
    FLIGHT_LARGE_BYTES = 8192,  // of a large one: a hole in every sixth segment of 1 Gb/s x 50 ms
    FLIGHT_HEAD_BYTES = 128,
    // One small record in so many is matched by a large one: who needs that loses a lot.
    FLIGHT_LARGE_SHARE = 64,
    FLIGHT_LARGE_MIN = 4,
};

#define FLIGHT_LARGE (1u << 31)  // of an index: it is one of the large ones

enum flight_flag {
    FLIGHT_SACKED = 1 << 0,
    FLIGHT_LOST = 1 << 1,    // and not sent again since
    FLIGHT_AGAIN = 1 << 2,   // sent more than once
    FLIGHT_COARSE = 1 << 4,  // several times became one: the last part left at sent_us
    FLIGHT_GUESS = 1 << 3,   // left before the log was: sent_us is good to a millisecond
};

// flight_run: from the end of the one before, or una, to `end`.
struct flight_run {
    uint32_t end;
    uint32_t sent_us;  // low half of the clock, as all times of us here
    uint32_t flags;    // enum flight_flag
};

enum flight_state {
    FLIGHT_OPEN,
    FLIGHT_RECOVERY,  // fast recovery (RFC 6675, 9937), until `recover` is acknowledged
    FLIGHT_LOSS,      // after a timeout, the same
};

// RFC 5682 3.1: after a timeout the first segment leaves again; new ones are to leave; they did.
enum flight_frto { FRTO_OFF, FRTO_FIRST, FRTO_NEW, FRTO_WAIT };

// What the deadline rto_at_ms of the block is for (RFC 8985 8).
enum flight_timer { FLIGHT_RTO, FLIGHT_REORDER, FLIGHT_PROBE };

struct flight {
    uint16_t cap, first, n;  // the runs: run[first .. first + n)
    uint8_t state;           // enum flight_state
    uint8_t timer;           // enum flight_timer
    uint32_t una;
    uint32_t sacked, lost;  // bytes of the runs that are
    uint32_t forgotten;     // bytes that were SACKed, and were not told as delivered again since
    uint32_t since_us;      // what is in the first run left from then on
    uint32_t rto_at_ms;     // when the retransmission timeout is, whatever the timer runs for

    // RACK (RFC 8985 5.2)
    uint32_t rack_sent_us, rack_end, rack_rtt_us;  // with has_rack
    uint32_t min_rtt_us;                           // 0: none yet
    uint32_t fack;                                 // highest number delivered
    uint32_t dsack_round;                          // with in_dsack_round
    uint32_t reorder_us;  // the reordering timer has so long to run; 0: no need of one
    uint8_t reo_mult, reo_persist;
    uint8_t has_rack : 1, reordering : 1, in_dsack_round : 1, has_echo : 1;
    uint8_t frto;  // enum flight_frto

    // What the acknowledgement at hand brought.
    uint8_t advanced : 1, orig_acked : 1, newly_lost : 1, dsack : 1;
    uint8_t full : 1;  // no new run of reports fits, until something is acknowledged
    uint8_t pad;
    uint16_t echo_from_16ms;  // the block's echo_from_ms, in 16 ms, rounded down
    uint32_t delivered;       // bytes, acknowledged or SACKed
    uint32_t burst;           // the same of all since the last output
    uint32_t acked;           // up to here
    uint32_t echo_ms;         // when what it echoes was sent, with has_echo
    uint32_t rtt_us;          // measured; 0: not

    // Proportional rate reduction (RFC 9937)
    uint32_t prr_delivered, prr_out, recover_fs;

    // Tail loss probe (RFC 8985 7)
    uint32_t probe_end, probe_ms;  // with probe_out
    uint8_t probe_due : 1, probe_out : 1, probe_again : 1;

    // Undo (RFC 3522, 4015, 5682, DSACK)
    uint8_t can_undo : 1, sent_again : 1;
    uint32_t undo_end;  // when that is acknowledged there will be no more reports of the last one
    uint32_t again_from, again_bytes,
        again_ms;  // what left again, not reported as a duplicate; when first
    struct flight_run run[];
};

static_assert(sizeof(struct flight) <= FLIGHT_HEAD_BYTES, "two lines, and then the runs");

struct flight_pool {
    uint8_t *small, *large;
    struct index_pool *small_free, *large_free;
};

// flight_large: large records beside n small ones. flight_footprint: bytes for those.
static inline uint32_t flight_large(uint32_t n)
{
    return MAX(n / FLIGHT_LARGE_SHARE, (uint32_t)FLIGHT_LARGE_MIN);
}

static inline size_t flight_footprint(uint32_t n)
{
    const uint32_t large = flight_large(n);
    return (size_t)n * FLIGHT_BYTES + (size_t)large * FLIGHT_LARGE_BYTES + index_pool_footprint(n) +
           index_pool_footprint(large);
}

// flight_pool_init: n records, placed at mem.
static inline void flight_pool_init(struct flight_pool *p, void *mem, uint32_t n)
{
    const uint32_t large = flight_large(n);
    p->small = mem;
    p->large = p->small + (size_t)n * FLIGHT_BYTES;
    uint8_t *lists = p->large + (size_t)large * FLIGHT_LARGE_BYTES;
    p->small_free = index_pool_init(lists, n);
    p->large_free = index_pool_init(lists + index_pool_footprint(n), large);
}

static inline struct flight *flight_at(const struct flight_pool *p, uint32_t ix)
{
    uint8_t *at = ix & FLIGHT_LARGE ? p->large + (size_t)(ix & ~FLIGHT_LARGE) * FLIGHT_LARGE_BYTES
                                    : p->small + (size_t)ix * FLIGHT_BYTES;
    return (struct flight *)(void *)at;
}

// SPDX-License-Identifier: BSD-3-Clause
// flight.h: the log of what a connection has in flight: when each part was sent last, and what
// became of it. RACK (RFC 8985) needs that of every segment; here segments that were sent at about
// the same time form one run. Records of two sizes come from pools of one worker. A connection has
// a record only while it has more than one segment in flight, or after a timeout.
//
//   una                                                                   una of the block
//    |  run 0: lost  |  run 1: SACKed  |  run 2: resent  |  run 3  |  end of the last: snd_max
//
// If the runs do not fit into a small record, it is replaced by a large one. If none is free,
// adjacent runs are merged and take the later time; loss is then detected later, by up to the time
// that one run covers. If runs cannot be merged, because every second one is SACKed, the peer's
// report is ignored, and data may be retransmitted needlessly.
#pragma once
#include "base/base.h"
#include "mem/index_pool.h"

enum {
    FLIGHT_BYTES = 512,         // of a record
    FLIGHT_LARGE_BYTES = 8192,  // of a large one: a hole in every sixth segment at 1 Gb/s x 50 ms
    FLIGHT_HEAD_BYTES = 128,
    // Large records: one for so many small ones. Only connections with heavy loss need one.
    FLIGHT_LARGE_SHARE = 64,
    FLIGHT_LARGE_MIN = 4,
};

#define FLIGHT_LARGE (1u << 31)  // bit of an index: a large record

enum flight_flag {
    FLIGHT_SACKED = 1 << 0,
    FLIGHT_LOST = 1 << 1,    // and not retransmitted since
    FLIGHT_AGAIN = 1 << 2,   // retransmitted
    FLIGHT_COARSE = 1 << 4,  // merged: sent_us is the time of the last part
    FLIGHT_GUESS = 1 << 3,   // sent before the log existed: sent_us is exact to 1 ms
};

// flight_run: from the end of the run before, or una, to `end`.
struct flight_run {
    uint32_t end;
    uint32_t sent_us;  // low half of the clock, as all times in us here
    uint32_t flags;    // enum flight_flag
};

enum flight_state {
    FLIGHT_OPEN,
    FLIGHT_RECOVERY,  // fast recovery (RFC 6675, 9937), until `recover` is acknowledged
    FLIGHT_LOSS,      // the same after a timeout
};

// F-RTO (RFC 5682 3.1): off; first segment retransmitted; new data to be sent; new data sent.
enum flight_frto { FRTO_OFF, FRTO_FIRST, FRTO_NEW, FRTO_WAIT };

// What the block's deadline rto_at_ms is for (RFC 8985 8).
enum flight_timer { FLIGHT_RTO, FLIGHT_REORDER, FLIGHT_PROBE };

struct flight {
    uint16_t cap, first, n;  // the runs: run[first .. first + n)
    uint8_t state;           // enum flight_state
    uint8_t timer;           // enum flight_timer
    uint32_t una;
    uint32_t sacked, lost;  // bytes in runs with that flag
    uint32_t forgotten;     // SACKed bytes that the peer discarded and are not delivered again
    uint32_t since_us;      // the first run was sent since then
    uint32_t rto_at_ms;     // deadline of the retransmission timeout

    // RACK (RFC 8985 5.2)
    uint32_t rack_sent_us, rack_end, rack_rtt_us;  // with has_rack
    uint32_t min_rtt_us;                           // 0: none yet
    uint32_t fack;                                 // highest number delivered
    uint32_t dsack_round;                          // with in_dsack_round
    uint32_t reorder_us;                           // length of the reordering timer; 0: not needed
    uint8_t reo_mult, reo_persist;
    uint8_t has_rack : 1, reordering : 1, in_dsack_round : 1, has_echo : 1;
    uint8_t frto;  // enum flight_frto

    // Results of the current acknowledgment.
    uint8_t advanced : 1, orig_acked : 1, newly_lost : 1, dsack : 1;
    uint8_t full : 1;  // no room for new SACKed runs until snd_una advances
    uint8_t pad;
    uint16_t echo_from_16ms;  // the block's echo_from_ms, in units of 16 ms, rounded down
    uint32_t delivered;       // bytes newly acknowledged or SACKed
    uint32_t burst;           // sum of delivered since the last output
    uint32_t acked;           // the acknowledgment number
    uint32_t echo_ms;         // with has_echo: the echoed time
    uint32_t rtt_us;          // measured RTT; 0: none

    // Proportional rate reduction (RFC 9937)
    uint32_t prr_delivered, prr_out, recover_fs;

    // Tail loss probe (RFC 8985 7)
    uint32_t probe_end, probe_ms;  // with probe_out
    uint8_t probe_due : 1, probe_out : 1, probe_again : 1;

    // Undo (RFC 3522, 4015, 5682, DSACK)
    uint8_t can_undo : 1, sent_again : 1;
    uint32_t undo_end;  // DSACKs of the last recovery end when this is acknowledged
    uint32_t again_from, again_bytes,
        again_ms;  // retransmitted and not DSACKed; time of the first
    struct flight_run run[];
};

static_assert(sizeof(struct flight) <= FLIGHT_HEAD_BYTES, "two lines, and then the runs");

struct flight_pool {
    uint8_t *small, *large;
    struct index_pool *small_free, *large_free;
};

// flight_large: the number of large records for n small ones. flight_footprint: bytes of both.
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

// flight_pool_init: places n small records and their large ones at mem.
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

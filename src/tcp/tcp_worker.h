// SPDX-License-Identifier: BSD-3-Clause
// tcp_worker.h: struct tcp, one worker's TCP, and the parts of it that are not simple fields.
#pragma once
#include "base/clock.h"
#include "base/keys.h"
#include "base/limit.h"
#include "base/toeplitz.h"
#include "flow/addr_hash.h"
#include "flow/flow_table.h"
#include "flow/sources.h"
#include "flow/wheel.h"
#include "mem/block.h"
#include "mem/buf.h"
#include "mem/flight.h"
#include "mem/index_pool.h"
#include "stat/counters.h"
#include "tcp/tcp_config.h"
#include "tcp/tcp_lane.h"
#include "tcp/tcp_listen.h"
#include "tcp/tcp_seek.h"
#include "tcp/tcp_service.h"
#include "wire/seg.h"

// tcp_homes: at which of several workers the packets of a connection arrive (base/toeplitz.h).
// Written before the workers start.
struct tcp_homes {
    struct toeplitz hash;
    unsigned workers, self;
    struct ip_addr local[TCP_LOCALS_MAX];  // by flow_key.local_ix
    uint16_t entries[TCP_LOCALS_MAX];      // of the table of that address's port
};

// time_wait_ring: TIME-WAIT records, the oldest at `head`.
struct time_wait_ring {
    uint8_t *records;  // struct time_wait, or struct time_wait6
    uint32_t record_bytes;
    uint32_t capacity, head, used;
};

// ooo_holders: connections of one source that hold data out of order, by how long, and their
// buffers (tcp/tcp_ooo.h). Extension records are named by their index plus one; 0: none.
struct ooo_holders {
    uint32_t oldest, youngest;
    uint32_t bufs;
    uint32_t exts;  // extension records of connections of the source, whatever for
};

enum {
    // Places that sources fall on by a keyed hash. Two of them at their limit hold all that may be
    // held, so that a bystander shares the place of such a one once in 2,000 times.
    TCP_OOO_SOURCES = 4096,
    TCP_OOO_RELIEVE_MAX = 64,  // pages that a call of tcp_ooo_relieve() makes holders give up
};

enum { TCP_SHED_WATCHED = 512 };

// shed_watch: a connection that is watched (tcp/tcp_shed.h).
struct shed_watch {
    uint32_t block;
    uint32_t held;     // bytes
    uint32_t snd_una;  // at first
    uint32_t took;     // of what it holds, in 4,096ths; when that is too little
    uint32_t bufs;
    uint16_t generation;
    uint16_t source;
};

// tcp_shed: who is to be reset while buffers are scarce.
struct tcp_shed {
    uint8_t step;
    uint8_t halved;  // how often nobody was found: so much less may those hold who are watched
    bool any_shed;
    uint16_t victim_generation;
    uint32_t victim;    // the block that its next timer resets, plus one; 0: none
    uint32_t slice_ms;  // when it went on last
    uint32_t since_ms;  // since when there is a victim, or all are watched
    uint32_t at, left;  // of the round: the next block, and how many there are yet
    uint32_t most;      // of bufs_of
    uint32_t level;     // sources that held so much are watched
    uint32_t n_watched, judged;
    uint32_t bufs_of[TCP_OOO_SOURCES];  // of send queues, by source
    struct shed_watch watched[TCP_SHED_WATCHED];
};

// tcp: one worker's TCP.
struct tcp {
    struct block *blocks;
    struct flow_table *table;
    struct wheel *wheel;
    struct buf_pool bufs;
    struct core_stats *stats;
    struct clock_now now;
    uint32_t dirty_head, dirty_tail;  // list through dirty_next
    uint32_t n_dirty;                 // blocks in it
    // A filter of what was entered in the table since tcp_burst(): no bit, no entry
    // (tcp_new_flows.h).
    uint64_t new_flows[TCP_NEW_FLOWS_WORDS];
    uint32_t n_out, out_room;  // out_room: how many may be there in this turn, at most TCP_OUT_MAX
    struct seg_out *out;       // what leaves at the end of this turn
    // The SACK blocks of segments: received, by seg_in.pkt_ix; to be sent, by the place in `out`.
    const struct seq_range (*sacks_in)[SEG_SACK_MAX];
    struct seq_range (*sacks_out)[SEG_SACK_MAX];

    // By block: how often its generation came round. With it 48 bits count the lives of a block; it
    // is written once in 65,536 of them, and read for handles only.
    uint32_t *rounds;

    // One bit a block: an xmit deadline (retransmission, delayed ACK) is running. It lets the
    // wheel's entries of deadlines that were called off, one a request, end without touching the
    // block.
    uint64_t *xmit_runs;

    struct index_pool *block_pool;
    struct index_pool *syn_pool;
    struct index_pool *ext_pool;
    struct flight_pool flights;
    struct tcp_place *places;  // TCP_SEEK_PLACES; NULL: send queues are walked from their heads
    struct syn_record *syns;
    struct ext *exts;
    struct time_wait_ring tw4, tw6;  // over IPv4, IPv6

    uint32_t sweep_ix, sweep_ms;  // the next block to be swept; when the last was
    uint32_t flush_ix;            // the next half-open record that tcp_flush() looks at

    uint64_t resets_asked;  // calls of tcp_claim_reset()
    uint32_t syn_reserve;   // half-open records that are kept back, until syn_reserve_us
    uint64_t syn_reserve_us;
    uint64_t ports_drawn;       // for active opens
    uint64_t cookies_until_us;  // until then an ACK may acknowledge a SYN cookie
    struct siphash_key numbers_key, cookies_key, fast_open_key, ports_key, ooo_key;
    struct addr_hash_key ts_key;
    struct tcp_config cfg;
    uint32_t n_services;
    struct tcp_service services[TCP_SERVICES_MAX];
    uint32_t rcv_limits[TCP_SERVICES_MAX * (TCP_GROWN_MAX + 1)];  // by window_class
    struct sources *sources;        // NULL: no service has a source_max
    struct listen_table *listens;   // NULL: no service listens while running
    const struct tcp_homes *homes;  // NULL: one worker
    struct limit resets;            // to strangers
    // By local_ix: the one by which listeners know its address; NULL: each address is there once.
    const uint16_t *same;
    struct tcp_lanes lanes;  // the ports by which it sends
    // From here on it is about what is held; tcp_view_begin() leaves that out.
    struct ooo_holders ooo_of[TCP_OOO_SOURCES];  // by source
    uint32_t ooo_bufs;                           // of all
    // Which of them holds most, as a tree of contests: node n is won by the source that holds more
    // of those that won nodes 2n and 2n + 1, the last nodes being between two sources each. Named
    // by its place among the sources below that node, so that all zero is a tree without holders.
    uint16_t ooo_most[TCP_OOO_SOURCES];
    struct tcp_shed shed;
};

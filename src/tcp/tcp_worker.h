// SPDX-License-Identifier: BSD-3-Clause
// tcp_worker.h: struct tcp, the TCP of one worker, and the structs that it contains.
#pragma once
#include "base/clock.h"
#include "base/keys.h"
#include "base/limit.h"
#include "base/toeplitz.h"
#include "flow/addr_hash.h"
#include "flow/flow_table.h"
#include "flow/prefixes.h"
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

// tcp_homes: computes which worker receives the packets of a connection (base/toeplitz.h). Written
// before the workers start.
struct tcp_homes {
    struct toeplitz hash;
    unsigned workers, self;
    struct ip_addr local[TCP_LOCALS_MAX];  // by flow_key.local_ix
    uint16_t entries[TCP_LOCALS_MAX];      // entries of the table of its port
};

// time_wait_ring: TIME-WAIT records; the oldest is at `head`.
struct time_wait_ring {
    uint8_t *records;  // struct time_wait, or struct time_wait6
    uint32_t record_bytes;
    uint32_t capacity, head, used;
};

// ooo_holders: the connections of one source with out-of-order data, in order of age, and their
// buffers (tcp/tcp_ooo.h). Extension records are linked by index plus one; 0: none.
struct ooo_holders {
    uint32_t oldest, youngest;
    uint32_t bufs;
    uint32_t exts;  // extension records of the source's connections, for any use
};

enum {
    // Sources are mapped to places by a keyed hash. At most two of them can be at their limit, so
    // that another source shares the place of one of them with probability 1 in 2,000.
    TCP_OOO_SOURCES = 4096,
    TCP_OOO_RELIEVE_MAX = 64,  // pages that one tcp_ooo_relieve() frees
};

enum { TCP_SHED_WATCHED = 512 };

// shed_watch: a watched connection (tcp/tcp_shed.h).
struct shed_watch {
    uint32_t block;
    uint32_t held;     // bytes
    uint32_t snd_una;  // at the begin of the watch
    uint32_t took;     // drained part of `held`, in 1/4,096; if that is too little
    uint32_t bufs;
    uint16_t generation;
    uint16_t source;
};

// tcp_shed: state of the selection of connections to reset (tcp/tcp_shed.h).
struct tcp_shed {
    uint8_t step;
    uint8_t halved;  // how often none was found; halves `level` each time
    bool any_shed;
    uint16_t victim_generation;
    uint32_t victim;    // the block to reset at its next timer, plus one; 0: none
    uint32_t slice_ms;  // time of the last slice
    uint32_t since_ms;  // when the victim was chosen, or the watch was complete
    uint32_t at, left;  // the next block of the round, and how many remain
    uint32_t most;      // the maximum of bufs_of
    uint32_t level;     // sources with at least so many buffers are watched
    uint32_t n_watched, judged;
    uint32_t bufs_of[TCP_OOO_SOURCES];  // buffers of send queues, by source
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
    uint32_t behind_us;  // how long what this turn received has waited, at most (worker/backlog.h)
    uint32_t dirty_head, dirty_tail;  // list through dirty_next
    uint32_t n_dirty;                 // blocks in it
    uint32_t full_us;  // while behind_us != 0, as the next: for how long all bursts were full
    bool queue_full;   // the driver counted nearly as many packets as the queue holds
    uint32_t touched;  // the block that an event, timer or output works on (tcp_touch())
    // A filter of the entries added to the table since tcp_burst(): no bit, no entry
    // (tcp_new_flows.h).
    uint64_t new_flows[TCP_NEW_FLOWS_WORDS];
    uint32_t n_out, out_room;  // out_room: limit of n_out in this turn, at most TCP_OUT_MAX
    struct seg_out *out;       // the segments of this turn
    // SACK blocks: of received segments by seg_in.pkt_ix, of segments to send by their place in
    // `out`.
    const struct seq_range (*sacks_in)[SEG_SACK_MAX];
    struct seq_range (*sacks_out)[SEG_SACK_MAX];
    // Data of segments in more than two buffers, by their place in `out`; NULL: none has more.
    struct seg_piece (*pieces_out)[SEG_PIECES_MAX];

    // By block: how often its generation wrapped. With it, 48 bits count the lives of a block.
    // Written once in 65,536 lives, read for handles only.
    uint32_t *rounds;

    // One bit for each block: an xmit deadline (retransmission, persist, delayed ACK) runs. If it
    // is clear, an expired xmit entry is discarded without an access to the block: its deadline was
    // canceled, as about one for each request is.
    uint64_t *xmit_runs;

    struct index_pool *block_pool;
    struct index_pool *syn_pool;
    struct index_pool *ext_pool;
    struct flight_pool flights;
    struct tcp_place *places;  // TCP_SEEK_PLACES; NULL: searches begin at the head of the queue
    struct syn_record *syns;
    struct ext *exts;
    struct time_wait_ring tw4, tw6;  // over IPv4, IPv6

    uint32_t sweep_ix, sweep_ms;  // the next block to sweep; time of the last sweep
    uint32_t flush_ix;            // the next half-open record for tcp_flush()

    uint64_t resets_asked;  // calls of tcp_claim_reset()
    uint32_t syn_reserve;   // half-open records that are reserved until syn_reserve_us
    uint64_t syn_reserve_us;
    uint64_t ports_drawn;       // random ports drawn for active opens
    uint64_t cookies_until_us;  // until then ACKs may acknowledge SYN cookies
    struct siphash_key numbers_key, cookies_key, fast_open_key, ports_key, ooo_key;
    struct addr_hash_key ts_key;
    struct tcp_config cfg;
    uint32_t n_services;
    struct tcp_service services[TCP_SERVICES_MAX];
    uint32_t rcv_limits[TCP_SERVICES_MAX * (TCP_GROWN_MAX + 1)];  // by window_class
    struct sources *sources;        // NULL: no service has a source_max
    struct prefixes *prefixes;      // NULL: prefixes have no share
    struct listen_table *listens;   // NULL: no service listens at run time
    const struct tcp_homes *homes;  // NULL: one worker
    struct limit resets;            // RSTs to strangers
    // By local_ix: the local_ix by which listeners know its address. NULL: each address exists
    // once.
    const uint16_t *same;
    struct trace_ring *trace;  // NULL: the worker is not traced (stat/trace_ring.h)
    struct tcp_lanes lanes;    // room for output by port
    // tcp_view_begin() does not copy the fields from here on.
    struct ooo_holders ooo_of[TCP_OOO_SOURCES];  // by source
    uint32_t ooo_bufs;                           // buffers with out-of-order data
    // The block, plus one, whose out-of-order data is being dropped for another one; 0: none. A
    // process that adopts connections refuses it if this one ends meanwhile.
    uint32_t pruned;
    // A tournament tree for the source with the most buffers: node n is won by the better of the
    // winners of nodes 2n and 2n + 1; the last nodes compare two sources each. A winner is stored
    // as its place among the sources below that node, so that an all-zero tree has no holders.
    uint16_t ooo_most[TCP_OOO_SOURCES];
    struct tcp_shed shed;
    uint32_t linux_lanes;  // bit p: Linux gets the segments of port p that nobody owns here
};

// SPDX-License-Identifier: BSD-3-Clause
// trace_ring.h: what a worker did, as records of 16 bytes in a ring that overwrites the oldest. The
// worker writes while somebody asks for it (trace_ask()); the control thread copies the records
// before they are overwritten. src/trace makes traces of them.
//
//     turn:  [records of what happened] [TRACE_turn] [TRACE_stages, if they were timed]
//     [TRACE_stage]
//
// A turn without work leaves nothing, so that an idle core writes nothing. Reading the clock costs
// more than writing a record. So only turn and stage have a time of their own; what happened in
// between has the stage in which it happened. What may happen for each packet is bounded:
// TRACE_TURN_MAX records and TRACE_REQUESTS_MAX new requests in a turn; more are counted.
#pragma once
#include "base/shared.h"
#include "stat/counters.h"

// X(name, what its record says). `when` is a TSC value or, of open, close, request, answer,
// retransmit and timer, the stage in which they happened: a value below STAGE_COUNT. id is a block
// unless stated otherwise, mid its generation. See trace_is_timed().
#define TRACE_KIND_TABLE(X)                                                                        \
    X(turn, "begin of a turn; small: packets received, mid: segments sent, id: see trace_turn_id") \
    X(stages, "when the stages of the turn ended (stat/trace_stages.h)")                           \
    X(stage, "end of the turn; small: its last stage, STAGE_COUNT: its stages were not timed")     \
    X(stall, "end of a turn that took too long; small: its longest stage, id: its microseconds")   \
    X(open, "connection established; small: service")                                              \
    X(close, "connection ended; small: service, and above TRACE_WHY_SHIFT enum c10m_close")        \
    X(request, "request received; small: service, id: TRACE_DATAGRAM: by UDP, mid its number")     \
    X(answer, "its answer is queued; small: service, and TRACE_CLOSED if it ended without one")    \
    X(retransmit, "segment sent again; small: service, TRACE_NO_SERVICE: a SYN-ACK")               \
    X(timer, "timer of a connection expired; small: enum tcp_wake")                                \
    X(drop, "packets dropped since the last look; small: reason, id: how many")                    \
    X(pool, "fill level changed; small: enum trace_pool, id: entries in use")                      \
    X(user, "event of an application; small: service, mid: its number, id: its value")             \
    X(unfollowed, "requests whose begin was not recorded since the last of these; id: how many")

enum trace_kind {
#define TRACE_KIND_ENUM(name, help) TRACE_##name,
    TRACE_KIND_TABLE(TRACE_KIND_ENUM)
#undef TRACE_KIND_ENUM
        TRACE_KINDS
};

// trace_pool: the pools whose level is recorded.
#define TRACE_POOL_TABLE(X) X(blocks) X(buffers) X(half_open) X(time_wait)

enum trace_pool {
#define TRACE_POOL_ENUM(name) TRACE_POOL_##name,
    TRACE_POOL_TABLE(TRACE_POOL_ENUM)
#undef TRACE_POOL_ENUM
        TRACE_POOLS
};

enum {
    TRACE_RING_MIN = 1 << 12,  // records; a power of two
    TRACE_RING_MAX = 1 << 24,
    TRACE_TURN_MAX = 32,     // records of a turn besides its own, requests and answers
    TRACE_REQUESTS_MAX = 1,  // requests whose begin is recorded in a turn
    TRACE_OPEN_MAX = 16,     // requests of a worker that are followed to their answer
    TRACE_WHY_SHIFT = 5,     // TCP_SERVICES_MAX is 32
    TRACE_CLOSED = 1 << TRACE_WHY_SHIFT,
    TRACE_NO_SERVICE = 0xff,
};

// TRACE_DATAGRAM: stands for the block of a request that has no connection. Its answer is the next
// record.
#define TRACE_DATAGRAM UINT32_MAX

// trace_record: one of them. enum trace_kind says what the fields mean.
struct trace_record {
    uint64_t when;
    uint8_t kind, small;
    uint16_t mid;
    uint32_t id;
};

static_assert(sizeof(struct trace_record) == 16, "four in a cache line");
static_assert(DROP_COUNT <= UINT8_MAX, "a reason is `small`");

// trace_is_timed: `when` is a TSC value.
static inline bool trace_is_timed(const struct trace_record *r)
{
    return r->kind != TRACE_stages && r->kind < TRACE_KINDS && r->when >= STAGE_COUNT;
}

// trace_turn_id: id of TRACE_turn: events for applications, timers, records that were not written.
struct trace_turn_id {
    uint8_t events, timers;
    uint16_t skipped;
};

static inline uint32_t trace_turn_pack(struct trace_turn_id t)
{
    return (uint32_t)t.events | (uint32_t)t.timers << 8 | (uint32_t)t.skipped << 16;
}

static inline struct trace_turn_id trace_turn_unpack(uint32_t id)
{
    return (struct trace_turn_id){(uint8_t)id, (uint8_t)(id >> 8), (uint16_t)(id >> 16)};
}

// trace_conn: a connection of this worker.
struct trace_conn {
    uint32_t block;
    uint16_t generation;
    uint8_t service;
};

// trace_open: a request without its answer. snd_end: the end of what is queued before the answer.
struct trace_open {
    struct trace_conn conn;
    bool marked;  // the application says when its answer is complete
    uint32_t snd_end;
    uint32_t number;  // of the request, in the order in which they began
};

// trace_ring: of one worker, which writes all but `asked` and `levels_asked`.
struct trace_ring {
    struct shared_u32 asked CACHE_ALIGNED;  // how many want the records. Control thread to worker
    struct shared_u32 levels_asked;         // how often the levels were wanted. The same

    struct shared_u64 n CACHE_ALIGNED;  // records so far: number i is in at[i & mask]. Release in
                                        // trace_put(), acquire in trace_take()
    const struct shared_u32 *stage;     // enum stage: where the turn is
    uint64_t mask;
    uint32_t left;        // records that this turn may still write
    uint32_t skipped;     // records of this turn that were not written
    uint32_t begun;       // requests of this turn; TRACE_REQUESTS_MAX also if it follows none
    uint32_t open_used;   // the entries of `open` in use, one bit each
    uint32_t requests;    // begun so far; wraps
    uint32_t unfollowed;  // requests of which no record was written, since TRACE_unfollowed
    uint64_t open_bits;   // block % 64 of those in `open`: without its bit a block is not there
    uint64_t fetched;     // lines of the records before this one were prefetched
    struct trace_open open[TRACE_OPEN_MAX];
    // Of the worker's last look (worker/turn_trace.h).
    uint64_t paced_tsc, paced_busy, paced_idle;
    bool times_all;
    bool samples;          // requests are followed in turns with timed stages only
    bool some_unmarked;    // an application does not mark its requests
    uint32_t levels_told;  // `levels_asked` then
    uint64_t drops_seen[DROP_COUNT];
    uint32_t pools_seen[TRACE_POOLS];
    struct trace_record at[] CACHE_ALIGNED;
};

// trace_ring_footprint: bytes for `records`, a power of two. trace_ring_init: places a ring in mem,
// which is zeroed. stage: the worker's word that says where its turn is.
size_t trace_ring_footprint(uint32_t records);
struct trace_ring *trace_ring_init(void *mem, uint32_t records, const struct shared_u32 *stage);

// trace_write: appends a record. Worker.
static inline void trace_write(struct trace_ring *r, const struct trace_record *record)
{
    const uint64_t n = shared_u64_load(&r->n);
    r->at[n & r->mask] = *record;
    shared_u64_store_release(&r->n, n + 1);
}

// trace_put: the same for what may happen for each packet: bounded in each turn. trace_put_conn:
// for a connection, in this stage. Worker.
void trace_put(struct trace_ring *r, const struct trace_record *record);
void trace_put_conn(struct trace_ring *r, enum trace_kind kind, struct trace_conn c);

// trace_begin: request of c received. Nothing happens if one of c is open; it is only counted if
// the turn has begun TRACE_REQUESTS_MAX others. If TRACE_OPEN_MAX others are open, the oldest is
// forgotten. Returns its entry, or NULL. trace_end: the answer is complete; nothing happens if no
// request of c is open. Worker.
struct trace_open *trace_begin(struct trace_ring *r, struct trace_conn c);
void trace_end(struct trace_ring *r, struct trace_conn c);

// trace_may_be_open: false: no request of a connection in this block is open. trace_is_full: a
// request of it, if it begins now, is only counted. Both without its generation. Worker.
static inline uint64_t trace_bit_of(uint32_t block)
{
    return 1ULL << block % 64;
}

static inline bool trace_may_be_open(const struct trace_ring *r, uint32_t block)
{
    return (r->open_bits & trace_bit_of(block)) != 0;
}

static inline bool trace_is_full(const struct trace_ring *r, uint32_t block)
{
    return r->begun == TRACE_REQUESTS_MAX && !trace_may_be_open(r, block);
}

// trace_datagram: a datagram was received and, if `answered`, its answer is queued: a request that
// begins and ends. It takes no place of TRACE_OPEN_MAX; it is only counted if the turn has begun
// TRACE_REQUESTS_MAX others. Worker.
void trace_datagram(struct trace_ring *r, uint8_t service, bool answered);

// trace_ask: the worker writes records from its next housekeeping on, until trace_release() was
// called as often. Control thread.
void trace_ask(struct trace_ring *r);
void trace_release(struct trace_ring *r);

// trace_ask_levels: in its next housekeeping the worker writes the level of each pool, changed or
// not: for one who asks while others have asked already. Control thread.
static inline void trace_ask_levels(struct trace_ring *r)
{
    shared_u32_store(&r->levels_asked, shared_u32_load(&r->levels_asked) + 1);
}

// trace_take: copies records from number *taken on to out[0..max), oldest first, and returns how
// many. *taken advances past them and past overwritten ones, which are added to *lost. Control
// thread.
unsigned trace_take(const struct trace_ring *r, uint64_t *taken, struct trace_record *out,
                    unsigned max, uint64_t *lost);

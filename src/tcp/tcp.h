// SPDX-License-Identifier: BSD-3-Clause
// tcp.h: TCP (RFC 9293) on blocks: ranges in, segments out. It knows no packet, no socket and no
// clock: time, chance and memory are arguments. What happened comes back as event bits; the caller
// acts.
//
//   seg_in ----> tcp_input() ----> events, range of new data    (caller: application callbacks)
//                    |  replies due at once go to ctx->out, in order
//                    v
//               dirty list ------> tcp_output() ----> seg_out   (caller: builds packets)
//                    ^
//   wheel ------> tcp_timer()
//
// Everything here belongs to one worker and runs on its core.
#pragma once
#include "base/clock.h"
#include "base/drops.h"
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
#include "tcp/tcp_lane.h"
#include "tcp/tcp_listen.h"
#include "tcp/tcp_seek.h"
#include "tcp/tcp_state.h"
#include "wire/icmp_event.h"
#include "wire/seg.h"

enum {
    TCP_LISTENS_MAX = 8,     // ports of one service
    TCP_OUT_MAX = 320,       // segments a turn may send: one reply per received one, and the budget
    TCP_OUT_BLOCK_MAX = 32,  // segments of one connection a turn, so that others have theirs
    TCP_EXPIRE_MAX = 256,    // timers handled in a turn
    // Dirty blocks looked at in a turn, whether they send or not: those that its own segments and
    // timers can make dirty.
    TCP_VISITS_MAX = TCP_OUT_MAX + TCP_EXPIRE_MAX,
    TCP_DUPACKS = 3,          // RFC 5681 3.2
    TCP_ORPHAN_RETRIES = 8,   // R2 of what the application has closed (Linux's tcp_orphan_retries)
    TCP_MSS_DEFAULT = 536,    // RFC 9293 3.7.1: of a peer that announces none, over IPv4
    TCP_MSS_DEFAULT6 = 1220,  // and over IPv6
    TCP_MSS_MIN = 64,    // a smaller one from a peer is taken as this (RFC 6691 gives no floor)
    TCP_PMTU_MIN = 552,  // bytes of a packet: ICMP does not bring it lower (Linux's min_pmtu)
    TCP_WINDOW_MAX = 1 << 30,             // RFC 7323 2.3
    TCP_PAWS_MS = 24 * 24 * 3600 * 1000,  // RFC 7323 5.5
    // Every block is swept once in 2^23 intervals of 64 ms: 6.2 days, for 2^32 ms are 49.7.
    TCP_SWEEP_MS = 64,
    TCP_SWEEP_STEPS = 1 << 23,
    TCP_SWEEP_MAX = 64,  // blocks at a time
};

// What tcp_input() and tcp_timer() report of a connection.
enum tcp_event {
    TCP_EV_DATA = 1 << 0,      // verdict.data_off, data_len: new bytes in order
    TCP_EV_CHAIN = 1 << 1,     // verdict.chain: buffers that follow them, the caller's from now on
    TCP_EV_OPEN = 1 << 2,      // established
    TCP_EV_PEER_FIN = 1 << 3,  // no more data will come
    TCP_EV_SENT = 1 << 4,      // queued bytes were acknowledged: there is room
    TCP_EV_CLOSED = 1 << 5,  // TIME_WAIT or CLOSED: tell the application (close_why), then tcp_free
    TCP_EV_APP_TIMER = 1 << 6,  // the application's timer has come
    TCP_EV_KEPT = 1 << 7,       // the data was kept out of order
};

// tcp_verdict: what one segment came to.
struct tcp_verdict {
    uint32_t block;     // BLOCK_NONE: it touched none
    uint32_t chain;     // with CHAIN
    uint16_t data_off;  // with DATA; from the first byte of the frame
    uint16_t data_len;
    uint16_t events;  // enum tcp_event
    uint16_t drop;    // enum drop_reason; DROP_NONE: delivered, kept or answered
};

// tcp_delivered: the segment ended in a connection.
static inline bool tcp_delivered(const struct tcp_verdict *v)
{
    return (v->drop | (v->events & TCP_EV_KEPT)) == 0 && v->block != BLOCK_NONE;
}

// Who opens a connection to a service that is not open gets a RST, as where nobody listens; those
// that are there go on. Half-open ones are let in by one that drains, and forgotten by one that is
// closed: nobody comes in any more.
enum tcp_service_state { TCP_SERVICE_OPEN, TCP_SERVICE_DRAINING, TCP_SERVICE_CLOSED };

// tcp_service: what a service's connections share. Written before the workers start; later by the
// worker itself, as it is ordered (worker/order.h).
struct tcp_service {
    uint16_t ports[TCP_LISTENS_MAX];  // listens on these; n_ports 0: not listening
    uint8_t n_ports;
    uint16_t local_ix;  // on this local address; UINT16_MAX: on all
    bool nodelay;
    uint8_t state;       // enum tcp_service_state
    uint8_t congestion;  // enum tcp_congestion
    bool pulls;          // its application reads by itself: data waits, and a half-closed one lasts
    uint32_t rcv_limit;  // bytes unconsumed, at most
    uint32_t snd_limit;  // bytes copied and unacknowledged, at most
    uint32_t rcv_initial, snd_initial;  // as long as the path does not take more; 0: the same
    uint32_t keepalive_ms;              // 0: off
    uint32_t keepalive_interval_ms, keepalive_probes;
    uint32_t user_timeout_ms;  // 0: off
    uint32_t connections_max;
    uint32_t connections;  // now
    uint32_t source_max;   // connections that one address may have; 0: no limit
    // RFC 7413 5.1: blocks in SYN-RECEIVED by Fast Open, at most (0: off), and now. Who was reset
    // counts on for 60 to 120 s: by the turn of 60 s, which began at reset_ms, and the one before.
    uint32_t fast_open, fast_open_now;
    uint32_t fast_open_reset[2], fast_open_reset_ms;
};

enum { TCP_SERVICES_MAX = 32, TCP_LOCALS_MAX = 128, TCP_GROWN_MAX = 7, TCP_NEW_FLOWS_WORDS = 32 };

// What a handle of the wheel means: a block for one of its xmit deadlines (retransmission, delayed
// ACK), a half-open connection, a block for one of its far deadlines (keepalive, lingering,
// application), a block for any of these that its entry of that kind comes too late for, or for its
// congestion control (pacing, idle time). The wheel has one entry of each kind and block, or
// record, at most.
enum tcp_wake { WAKE_XMIT, WAKE_SYN, WAKE_FAR, WAKE_SOON };

// Explicit congestion notification: never, when the peer asks for it, always asked for.
enum tcp_ecn { TCP_ECN_OFF, TCP_ECN_ACCEPT, TCP_ECN_ON };

// How cwnd grows and shrinks.
enum tcp_congestion {
    TCP_CUBIC,    // RFC 9438
    TCP_NEWRENO,  // RFC 5681
};

// When a SYN is answered by a cookie (RFC 4987 3.6) in place of a record: never, when there is no
// room for a record, always.
enum tcp_cookies { TCP_COOKIES_OFF, TCP_COOKIES_AUTO, TCP_COOKIES_ALWAYS };

struct tcp_config {
    uint32_t rto_min_ms, rto_max_ms, rto_initial_ms;
    uint32_t syn_retries, synack_retries;
    uint32_t retries1, retries;  // R1, R2 (RFC 9293 3.8.3)
    uint32_t time_wait_ms, delayed_ack_ms, fin_wait2_ms;
    uint32_t rst_per_s;       // of one worker
    uint32_t invalid_ack_ms;  // least time between two answers of tcp_claim_answer()
    uint32_t initial_window;  // segments
    uint32_t pacing_rtt_ms;   // the shortest round trip that is paced; 0: none is
    uint8_t window_scale;
    uint8_t ecn;          // enum tcp_ecn
    uint8_t syn_cookies;  // enum tcp_cookies
    bool ack_merge, quick_ack, timestamps, sack;
    bool black_hole_detection;
    bool rfc1337;   // a RST does not end TIME-WAIT
    bool large;     // full segments of one connection leave as one large (SEG_WHOLE_MAX)
    uint16_t mss;   // what we announce over IPv4: MTU less 40
    uint16_t mss6;  // and over IPv6: MTU less 60
};

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

// tcp_config_default: the values of config/default.conf's [tcp].
struct tcp_config tcp_config_default(void);

// tcp_set_keys: those that are TCP's.
void tcp_set_keys(struct tcp *t, const struct keys *keys);

// tcp_listener: who listens on the segment's destination, as one number (a door): its service, and
// the place plus one in `listens`, or TCP_LISTEN_NONE for a configured port. -1: nobody, or a
// service that is not open, which is counted.
int tcp_listener(const struct tcp *t, const struct flow_key *key);

static inline uint8_t door_service(int door)
{
    return (uint8_t)door;
}

static inline uint16_t door_listen(int door)
{
    return (uint16_t)(door >> 8);
}

// tcp_owner: the handle of the table that owns `key` now, FLOW_NONE: none. The slow look-up:
// compares in block or record. tcp_owner_is: whether `handle` owns key.
uint32_t tcp_owner(const struct tcp *t, const struct flow_key *key);
bool tcp_owner_is(const struct tcp *t, uint32_t handle, const struct flow_key *key);

// tcp_input: one segment, its payload at `data`, its SACK blocks in t->sacks_in, whose owner is
// `found` (FLOW_NONE: none; a handle that was right when the burst was looked up is checked again
// here). Sets *v; replies due at once
// are appended to t->out. Follows RFC 9293 3.10.7.
void tcp_input(struct tcp *t, const struct seg_in *s, const uint8_t *data, uint32_t found,
               struct tcp_verdict *v);

// tcp_input_hashed: the same; hash: flow_hash() of the segment's key.
void tcp_input_hashed(struct tcp *t, const struct seg_in *s, uint64_t hash, const uint8_t *data,
                      uint32_t found, struct tcp_verdict *v);

// tcp_burst: the owners of another burst are about to be looked up.
static inline void tcp_burst(struct tcp *t)
{
    memset(t->new_flows, 0, sizeof(t->new_flows));
}

// tcp_input_common: the same for the common case, an in-order segment of an established connection.
// False: it is another, and nothing was done: ask tcp_input().
bool tcp_input_common(struct tcp *t, const struct seg_in *s, uint32_t found, struct tcp_verdict *v);

// tcp_icmp: an ICMP error about a segment of ours. It counts only if the quoted sequence number is
// in flight (RFC 5927 4.1). A hard one ends an open in SYN-SENT and nothing else (RFC 5927 5.2); of
// an application that pulls any does, and later it is kept for tcp_soft_error();
// "fragmentation needed" lowers the connection's MSS, never raises it, never below TCP_PMTU_MIN,
// and what is in flight leaves again in smaller segments (RFC 1191 6.4); all others are counted.
// *v: the block that it reached, or why it was dropped; TCP_EV_CLOSED as with tcp_timer().
void tcp_icmp(struct tcp *t, const struct icmp_event *e, struct tcp_verdict *v);

// tcp_soft_error: errno of the last ICMP error about what is in flight; 0: none, or something was
// acknowledged since.
int tcp_soft_error(const struct tcp *t, const struct block *b);

// tcp_clear_soft_error: the peer acknowledged something, or the application was told: block b,
// which has an extension record, has no soft error any more.
void tcp_clear_soft_error(struct tcp *t, struct block *b);

// tcp_room: how many segments from local_ix may be made yet in this turn. tcp_lane_left: the same
// of a lane.
static inline uint32_t tcp_room(struct tcp *t, uint16_t local_ix)
{
    const uint32_t room = t->out_room - MIN(t->n_out, t->out_room);
    if (likely(!t->lanes.apart))
        return room;
    return MIN(room, tcp_lane_room(t, t->lanes.of_local[local_ix]));
}

static inline uint32_t tcp_lane_left(struct tcp *t, uint32_t lane)
{
    const uint32_t room = t->out_room - MIN(t->n_out, t->out_room);
    return t->lanes.apart ? MIN(room, tcp_lane_room(t, lane)) : room;
}

// tcp_output: there is room for a segment; appends what the connection may send now to t->out: data
// within window, cwnd and the room of this turn, FIN, or a bare acknowledgement that is due.
// The block is not dirty then, whose place in the list the caller has taken it out of; true: more
// could be sent but for that room, and it has to be dirty again.
bool tcp_output(struct tcp *t, uint32_t ix);

// tcp_output_dirty: tcp_output() of the dirty blocks, each once, as long as there is room for
// segments, and of TCP_VISITS_MAX at most; the rest stays for the next turn.
void tcp_output_dirty(struct tcp *t);

// tcp_timer: the wheel woke block ix by its entry `wake`: handles each deadline that has come, the
// far ones unless that was the xmit one, and arms the next. Returns event bits; with TCP_EV_CLOSED
// the caller tells and frees.
uint16_t tcp_timer(struct tcp *t, uint32_t ix, enum tcp_wake wake);

// tcp_life: which of its lives block ix has, in 48 bits.
static inline uint64_t tcp_life(const struct tcp *t, uint32_t ix)
{
    return (uint64_t)t->rounds[ix] << 16 | t->blocks[ix].generation;
}

// tcp_xmit_runs: whether block ix has an xmit deadline: if not, an xmit wheel entry of it is void.
static inline bool tcp_xmit_runs(const struct tcp *t, uint32_t ix)
{
    return t->xmit_runs[ix / 64] >> ix % 64 & 1;
}

// tcp_syn_timer: the same for a half-open connection: the SYN-ACK again, or the end.
void tcp_syn_timer(struct tcp *t, uint32_t syn_ix);

// tcp_time_wait_init: places for n4 records over IPv4 at mem4, a struct time_wait each, and for n6
// over IPv6 at mem6, a struct time_wait6 each; all zero.
void tcp_time_wait_init(struct tcp *t, void *mem4, uint32_t n4, void *mem6, uint32_t n6);

// tcp_time_wait_expire: ends TIME-WAIT records whose time has come, at most max of each family;
// returns how many.
unsigned tcp_time_wait_expire(struct tcp *t, unsigned max);

// tcp_time_wait_next_ms: when the next one ends; 0: there is none.
uint32_t tcp_time_wait_next_ms(const struct tcp *t);

// tcp_idle_time_ms: for how long at least the peer has neither sent nor acknowledged anything new,
// nor answered a keepalive probe. Of a connection without timestamps that moved since it was noted
// last it is not known: 0, and it is noted now.
uint32_t tcp_idle_time_ms(const struct tcp *t, struct block *b);

// tcp_sweep: forgets times of blocks before they are 2^31 ms old and look like times to come: an
// idle connection may live longer than the millisecond clock goes round. Call it at least once in
// some seconds; it does nothing more often than every TCP_SWEEP_MS. Returns how many it looked at.
unsigned tcp_sweep(struct tcp *t);

// tcp_shed: while buffers are scarce: goes on with the search for connections that hold many and
// take little (tcp/tcp_shed.h), and lets the wheel wake one that is to be reset. Call it in each
// millisecond or so.
void tcp_shed(struct tcp *t);

// tcp_arm: makes sure that the wheel wakes block ix at its earliest xmit deadline.
void tcp_arm(struct tcp *t, uint32_t ix);

// tcp_set_far: the same for the slow deadlines of the block, which have changed.
void tcp_set_far(struct tcp *t, uint32_t ix);

// tcp_dirty: puts the block on the dirty list, once. tcp_dirty_block: the same; b is block ix.
static inline void tcp_dirty_block(struct tcp *t, struct block *b, uint32_t ix)
{
    if (b->flags & BF_DIRTY)
        return;
    b->flags |= BF_DIRTY;
    b->dirty_next = BLOCK_NONE;
    if (t->dirty_tail == BLOCK_NONE)
        t->dirty_head = ix;
    else
        t->blocks[t->dirty_tail].dirty_next = ix;
    t->dirty_tail = ix;
    t->n_dirty++;
}

static inline void tcp_dirty(struct tcp *t, uint32_t ix)
{
    tcp_dirty_block(t, &t->blocks[ix], ix);
}

// tcp_close: the application's orderly close: FIN after what is queued. tcp_abort: RST, and the
// block goes to CLOSED; the caller frees it.
void tcp_close(struct tcp *t, uint32_t ix);
void tcp_abort(struct tcp *t, uint32_t ix);

// tcp_orphan: the application is done with the connection, and hears of it no more; unread says
// that bytes are left that it never took: then, and if more come later, it ends in RST (RFC 2525
// 2.17), else in FIN after what is queued. In FIN-WAIT-2 it ends without a word after
// cfg.fin_wait2_ms. Linux's tcp_close().
void tcp_orphan(struct tcp *t, uint32_t ix, bool unread);

// tcp_connect: active open from local_ix to remote, of a port whose answers arrive at this worker:
// a block in SYN-SENT, or a negative errno (EADDRNOTAVAIL: no such port found, ENOBUFS: no block or
// table entry).
int tcp_connect(struct tcp *t, const struct ip_addr *remote, uint16_t remote_port,
                uint16_t local_ix, uint8_t service, uint32_t *ix);

// tcp_open: the same for `key`, from key->local_port unless that is 0: -EADDRNOTAVAIL then too
// where the answers arrive at another worker, or where the four are taken, by a connection or by
// what TIME-WAIT keeps of one without timestamps; one with them gives way to who names its port
// (as Linux, whose net.ipv4.tcp_tw_reuse is about ports that the stack chooses).
int tcp_open(struct tcp *t, const struct flow_key *key, uint8_t service, uint32_t *ix);

// tcp_home: of h->workers, the one at which the packets of `key` arrive. h NULL: the only one.
unsigned tcp_home(const struct tcp_homes *h, const struct flow_key *key);

// tcp_flush: as if this TCP had just begun, but for its connections, listeners and counters: no
// TIME-WAIT, no half-open connection, no cookie awaited, all limits rested. At most max records a
// call; false: there are more.
bool tcp_flush(struct tcp *t, unsigned max);

// tcp_block_new: a block for `key`, in the table under `hash` in place of `old` (FLOW_NONE: a new
// entry). BLOCK_NONE without room.
uint32_t tcp_block_new(struct tcp *t, const struct flow_key *key, uint8_t service, uint32_t old);

// tcp_ooo_relieve: buffers are scarce: of what came out of order some goes.
void tcp_ooo_relieve(struct tcp *t);

// tcp_free: takes the block out of the table and gives it back with all it holds. It is reused from
// the next turn on.
void tcp_free(struct tcp *t, uint32_t ix);

// tcp_window_update: after data was consumed: marks the block dirty if the window may open enough
// to be worth a segment (RFC 9293 3.8.6.2.2).
void tcp_window_update(struct tcp *t, uint32_t ix);

// tcp_sockopts: the options of block b alone, NULL: it has none.
static inline struct ext_sockopts *tcp_sockopts(const struct tcp *t, const struct block *b)
{
    if (likely(!(b->flags & BF_EXT)))
        return NULL;
    struct ext_sockopts *o = &t->exts[b->ext].sockopts;
    return o->set != 0 ? o : NULL;
}

// tcp_sockopt_value: option o of block b: its own, or the service's. tcp_sockopt_set: gives it a
// value of its own, or takes that away: 0, -EINVAL (out of range), or -ENOBUFS: there is no
// extension record for it. 0 means the service's, but for SOCKOPT_TOS, SOCKOPT_DF, SOCKOPT_CORK,
// SOCKOPT_MORE and SOCKOPT_CONGESTION.
uint32_t tcp_sockopt_value(const struct tcp *t, const struct block *b, enum sockopt o);
int tcp_sockopt_set(struct tcp *t, uint32_t ix, enum sockopt o, uint32_t value);

// tcp_sockopt_unset: o is the service's again.
void tcp_sockopt_unset(struct tcp *t, uint32_t ix, enum sockopt o);

// tcp_timeout_ms: the retransmission timeout of block b, with its backoff.
uint32_t tcp_timeout_ms(const struct tcp *t, const struct block *b);

// tcp_packet_bytes: of a packet with a full segment of block b. tcp_announced_mss: what its SYN
// told.
uint32_t tcp_packet_bytes(const struct block *b);
uint16_t tcp_announced_mss(const struct tcp *t, const struct block *b);

// tcp_quick_ack_now: acknowledgements are not delayed for a while, and one that is leaves; or none
// is spared.
void tcp_quick_ack_now(struct tcp *t, uint32_t ix, bool quick);

// tcp_rcv_limit, tcp_snd_limit: bytes unconsumed, or copied and unacknowledged, at most, at present
// (tcp/tcp_tune.h).
static inline uint32_t tcp_rcv_limit(const struct tcp *t, const struct block *b)
{
    if (likely(tcp_sockopts(t, b) == NULL))
        return t->rcv_limits[b->window_class];
    return MIN(tcp_sockopt_value(t, b, SOCKOPT_RCV_LIMIT),
               tcp_sockopt_value(t, b, SOCKOPT_WINDOW_CLAMP));
}

uint32_t tcp_snd_tuned(const struct tcp *t, const struct block *b);
static inline uint32_t tcp_snd_limit(const struct tcp *t, const struct block *b)
{
    return tcp_sockopts(t, b) == NULL ? tcp_snd_tuned(t, b)
                                      : tcp_sockopt_value(t, b, SOCKOPT_SND_LIMIT);
}

// tcp_set_limits: the services are known, or changed.
void tcp_set_limits(struct tcp *t);

// tcp_flight: bytes sent and not acknowledged.
static inline uint32_t tcp_flight(const struct block *b)
{
    return b->snd_nxt - b->snd_una;
}

// Sequence numbers, RFC 9293 3.4.
static inline bool seq_lt(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

static inline bool seq_leq(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) <= 0;
}

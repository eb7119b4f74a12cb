// SPDX-License-Identifier: BSD-3-Clause
// tcp_pair.h: two TCPs with their socket layers and small applications in 4 KiB pages and
// virtual time, back to back through a seeded link; or one of them and a peer that the test plays
// by hand. A turn does what worker_turn() does, without packets. Wrong use aborts by CHECK.
#pragma once
#include "base/rng.h"
#include "role_bytes.h"
#include "sock/sock.h"
#include "tcp/tcp_internal.h"
#include "tcp_check.h"

enum { PAIR_PORT = 7, PAIR_RAW_PORT = 40000, PAIR_OUT_MAX = TCP_OUT_MAX };

// pair_sizes: of one end's pools.
struct pair_sizes {
    uint32_t blocks, syns, exts, tw, bufs, wheel;  // tw: of each family
    uint32_t flights, no_flights;                  // no_flights: not one log
};

// role: what the applications of one end do, and what they saw. Byte number i of a stream is
// role_byte(i), unless the connection echoes.
struct role {
    uint64_t source;   // bytes each connection sends; 0: none
    uint64_t shut_at;  // shuts down when all was sent
    bool echo;         // sends back what comes
    bool shut;         // shut down after `source`
    bool shut_on_end;  // shut down when the peer has
    bool pause_open;   // paused from the start
    bool hold;         // consumes nothing
    bool connects;     // opens one to the peer for each that the peer has opened
    bool abort_on_timer, resume_on_timer;
    uint32_t timer_ms;  // set at open
    uint32_t pause_ms;  // after each data callback: pause, resume by timer
    unsigned opened, ended, closed, writable, timers, unread, connects_failed;
    uint64_t sent, received;
    uint64_t received_at_end;  // bytes seen when `end` was told last
    bool wrong;                // a byte was not the expected one
    enum c10m_close why;
};

enum { END_HELD_MAX = 24 };

struct end {
    struct tcp tcp;
    struct sock sock;
    struct core_stats stats;
    struct c10m_service services[TCP_SERVICES_MAX];
    struct role role;
    struct seg_out out[TCP_OUT_MAX];
    struct seq_range sacks_in[BURST_MAX][SEG_SACK_MAX], sacks_out[TCP_OUT_MAX][SEG_SACK_MAX];
    struct seg_piece pieces_out[TCP_OUT_MAX][SEG_PIECES_MAX];
    struct tcp_place places[TCP_SEEK_PLACES];
    struct pair_sizes sizes;
    struct tcp_check_shadow *shadows;
    uint32_t v4;
    uint32_t out_room;  // of each turn
    bool planted;       // numbers of blocks are not those of a run: they are not checked
    // calls: what else happens in a turn, after what was received and before the timers; NULL:
    // nothing.
    void (*calls)(void *arg);
    void *calls_arg;
    void *mem[8];  // table, buffers, logs
    // What worker/hand.h reads of a worker: whether the burst is in hand, and its segments.
    bool burst_in_hand;
    uint32_t n_burst, found[BURST_MAX];
    struct tcp_verdict verdicts[BURST_MAX];
    // All its memory, but this struct.
    struct {
        void *at;
        size_t bytes;
    } held[END_HELD_MAX];
    unsigned n_held;
};

struct pair_packet {
    uint64_t at_us, order;
    unsigned to;
    struct seg_in s;
    struct seq_range sacks[SEG_SACK_MAX];
    uint8_t *data;
};

enum { PAIR_FLIGHT_MAX = 16384 };

struct pair {
    struct end e[2];
    struct rng rng;
    uint64_t now_us, order;
    uint32_t loss_pm, dup_pm, reorder_pm;  // per thousand
    uint32_t mark_pm;                      // CE, of what is ECT
    uint32_t delay_us;
    // Of each end with one connection: up to where its data has left, and what left again and was
    // lost.
    uint32_t sent_end[2], again_lost[2];
    // turn: called before each end_turn(), with its arguments; NULL: it is not.
    void (*turn)(struct pair *p, unsigned to, const struct seg_in *s, const uint8_t *const *data,
                 uint32_t n);
    uint32_t n_flight;
    struct pair_packet flight[PAIR_FLIGHT_MAX];
};

// end_init: an end at address v4 that listens on PAIR_PORT; sizes 0 take defaults. end_fini: frees
// its memory; CHECKs that every pool is full again if `clean`.
void end_init(struct end *e, uint32_t v4, const struct pair_sizes *sizes);
void end_fini(struct end *e, bool clean);

// end_leaks: NULL, or the name of what is not back.
const char *end_leaks(const struct end *e);

// end_turn: one turn at now_us with n segments; data[i] is segment i's payload. What leaves is in
// e->out[0..e->tcp.n_out).
void end_turn(struct end *e, uint64_t now_us, const struct seg_in *s, const uint8_t *const *data,
              uint32_t n);

// end_check_pools: CHECKs that blocks, pools, table and gauges agree; for tests that take nothing
// out of a pool themselves.
void end_check_pools(const struct end *e);

// seg_out_byte: byte i of the data of o.
uint8_t seg_out_byte(const struct seg_out *o, uint32_t i);

// end_connect: active open to v4:port; CHECKs that it works. end_connect_from: from that port.
uint32_t end_connect_from(struct end *e, uint16_t from, uint32_t v4, uint16_t port);
uint32_t end_connect(struct end *e, uint32_t v4, uint16_t port);

// pair_new: with ends of these sizes; NULL: the defaults.
struct pair *pair_new_sized(uint64_t seed, const struct pair_sizes *sizes);
struct pair *pair_new(uint64_t seed);
void pair_free(struct pair *p, bool clean);

// pair_run: until nothing is in flight and no connection and no record is left, or for at most
// `ms`. pair_run_for: exactly that long.
void pair_run(struct pair *p, uint64_t ms);
void pair_run_for(struct pair *p, uint64_t ms);

enum { RAW_DATA_MAX = 9000 };

// raw: a peer played by hand against one end. Its numbers follow what was sent and received. mss is
// what the SYN of raw_open() announces.
struct raw {
    struct end e;
    uint64_t now_us;
    uint32_t seq, ack;  // of the next segment
    uint16_t wnd, port, mss;
    struct ip_addr remote;
    bool ts, sack;
    uint32_t ts_val, ts_ecr;
    uint32_t n;  // queued for the next turn
    struct seg_in segs[BURST_MAX];
    uint8_t data[BURST_MAX][RAW_DATA_MAX];  // not zeroed
};

// raw_new: no connection yet; over IPv6 if raw_ip6, in segments of IPv4's
// size if raw_one_mss. raw_open: three-way handshake, the end is
// passive. raw_free as end_fini.
extern bool raw_ip6, raw_one_mss;
struct raw *raw_new(const struct pair_sizes *sizes);
void raw_open(struct raw *r);
void raw_free(struct raw *r, bool clean);

// raw_seg: queues a segment for the next turn: seq, ack and flags as given; the payload's bytes are
// role_byte(first + i). raw_turn: a turn after `ms`. raw_send: both, with the present numbers,
// which then move on.
struct seg_in *raw_seg(struct raw *r, uint8_t flags, uint32_t seq, uint32_t ack, uint64_t first,
                       uint16_t len);
void raw_turn(struct raw *r, uint32_t ms);
void raw_send(struct raw *r, uint8_t flags, uint64_t first, uint16_t len);

// raw_sack: gives the segment that was queued last one more SACK block.
void raw_sack(struct raw *r, uint32_t start, uint32_t end);

// raw_wait: empty turns, one a millisecond, until one sends something; returns the milliseconds, or
// UINT32_MAX after `max`.
uint32_t raw_wait(struct raw *r, uint32_t max);

// raw_time_wait: the first TIME-WAIT place of its family.
struct time_wait *raw_time_wait(const struct raw *r);

// raw_block: the one connection's block, NULL: none.
struct block *raw_block(struct raw *r);

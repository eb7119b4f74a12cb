// SPDX-License-Identifier: BSD-3-Clause
// table.h: what loss recovery and congestion control do on known paths, beside what the RFCs lead
// one to expect. Two whole stacks (sim_host.c: the real worker_turn()) on a path with a bottleneck
// of a rate and a queue, in virtual time, in one thread; a seed decides everything.
//
//   host 0, the sender --> [ queue at the rate: tail drop, CE ] --> loss, delay, reordering -->
//   host 1
//          ^------------------------------ delay ---------------------------------------------'
//
// Host 1 opens every connection and only receives; flow i is its i-th. What happens is seen on the
// wire (struct table_flow) and in the sender's block. A row of the table is a function of
// table_app.c or one of its neighbors, which runs one or more worlds and says what it found by
// table_say().
#pragma once
#include "sim.h"

enum {
    TABLE_FLOWS_MAX = 8,
    TABLE_BURSTS_MAX = 4,  // of one flow
    TABLE_PACKETS = 49152,
    TABLE_BUFFERS = 24576,      // of a host: a window out of order, or more
    TABLE_FRAME = 1514,         // a full one at the bottleneck, without preamble and gap
    TABLE_WIRE_EXTRA = 24,      // preamble, check sum, gap
    TABLE_MSS = 1448,           // with timestamps
    TABLE_RCV_LIMIT = 33554432  // more than any path here wants
};

// table_seg: a data segment of a flow as the sender let it go. off: of its first byte in the
// stream.
struct table_seg {
    uint32_t flow;
    uint64_t off;
    uint32_t len;
    bool again;  // it was sent before, or a part of it
};

struct table_world;

// table_path: between the two hosts, and what each flow has of its own.
struct table_path {
    uint32_t mbit_per_s;                // of the bottleneck; 0: none
    uint64_t queue_bytes, mark_bytes;   // mark_bytes: CE from there on; 0: never
    uint64_t rtt_ns;                    // without any queue
    uint64_t more_ns[TABLE_FLOWS_MAX];  // of a flow's round trip
    uint32_t loss_ppm;                  // of data segments
    uint32_t ack_loss_ppm;              // of the others
    uint32_t jitter_ns;                 // acknowledgments are late by up to that, in order
    uint32_t late_ppm, late_ns;         // held back by up to late_ns, overtaken meanwhile
    uint64_t spike_at_ns, spike_ns;     // the bottleneck stands still for so long
    bool (*drop)(struct table_world *t, const struct table_seg *s);  // NULL: none
};

// table_setup: of both hosts.
struct table_setup {
    struct tcp_config tcp;
    uint32_t rcv_limit, snd_limit;
    uint32_t rcv_initial, snd_initial;  // 0: the limits
    uint8_t congestion;                 // enum tcp_congestion
    uint32_t gap_ns;                    // of two turns of the sender; 0: 5 us
    bool no_hystart;                    // of CUBIC or NewReno: slow start until a loss
    bool no_flight_logs;                // with SACK: losses are repaired by RFC 6675
};

// table_flow: the plan of a connection, and what was seen of it.
struct table_flow {
    uint64_t start_ns;
    struct {
        uint32_t at_ms;  // after the connection was opened
        uint64_t bytes;
    } bursts[TABLE_BURSTS_MAX];  // the first at 0; a size of UINT64_MAX: without end
    unsigned n_bursts;
    // Seen.
    uint16_t port;  // host 1's; 0: not begun
    bool open[2];   // by host
    uint32_t block[2];
    uint64_t opened_ms;
    uint64_t allowed, queued, received;
    uint32_t iss;
    uint64_t off_max;      // sent so far
    uint64_t segs, bytes;  // data segments on the wire, also those sent again
    uint64_t again_segs, again_bytes;
    uint64_t dropped_segs, dropped_bytes;  // at the queue, or lost
    uint64_t marked;
    uint64_t first_again_ns, last_first_ns;  // first retransmission; last new segment
    uint64_t last_ack_ns;                    // the last ACK arrived at the sender
    uint64_t ack_at_ns;                      // when the last one on its way will
};

// table_heap: frames by the time of their arrival.
struct table_heap {
    uint32_t n, room;
    struct sim_frame *frames;
};

// table_world: one run.
struct table_world {
    struct sim_world w;  // hosts, pool, time
    struct sim_options options;
    struct sim_result result;
    struct table_path path;
    bool no_hystart;
    struct rng rng;
    struct table_flow flows[TABLE_FLOWS_MAX];
    unsigned n_flows;
    uint64_t drops_left;  // for the path's drop()
    uint64_t drop_word;
    uint64_t busy_ns;  // of the bottleneck
    uint64_t queue_max_bytes;
    uint64_t queue_drops;
    uint64_t queue_sum_bytes, queue_seen;  // what each data segment found there
    uint64_t arrived_ns;                   // the last data segment at the bottleneck
    uint32_t burst, burst_max;             // segments that came there at once
    struct table_heap heap[2];             // on their way to a host
};

// table_default: as the configuration's defaults are, with limits that are not in the way.
struct table_setup table_default(void);

// table_begin: a world on *path, with *setup at both hosts. table_add gives it a flow that begins
// at start_ns and sends so many bytes, or without end. table_run lets time pass until then.
// table_end gives all back.
struct table_world *table_begin(const struct table_path *path, const struct table_setup *setup);
struct table_flow *table_add(struct table_world *t, uint64_t start_ns, uint64_t bytes);
void table_run(struct table_world *t, uint64_t until_ns);
// table_run_until: ... or until done() says so; it is asked after every turn.
bool table_run_until(struct table_world *t, uint64_t until_ns,
                     bool (*done)(const struct table_world *t));
void table_end(struct table_world *t);

// table_sender, table_receiver: the block of flow f at host 0, at host 1; NULL: it is not open.
const struct block *table_sender(const struct table_world *t, unsigned f);
const struct block *table_receiver(const struct table_world *t, unsigned f);
// table_stats: of the sender.
static inline const struct core_counters *table_stats(const struct table_world *t)
{
    return &t->w.hosts[0]->w->stats->c;
}

extern struct table_world *table_now;  // the one that runs
extern struct pkt_pool *table_pool;
extern uint64_t table_seed;

// table_app.c: host 1 opens flow f.
void table_connect(struct table_world *t, unsigned f);

// What a row finds. HARD: it has to hold. SOFT: it is to hold, but the feature is not there yet: a
// miss does not fail the table. PLAIN: a figure without a bound. table_say: a line: what was
// measured, what the RFCs lead one to expect, and whether it is that.
enum table_weight { TABLE_HARD, TABLE_SOFT, TABLE_PLAIN };
void table_say(enum table_weight weight, bool holds, const char *what, const char *expected,
               const char *format, ...) __attribute__((format(printf, 5, 6)));

struct table_row {
    const char *name, *title;
    void (*run)(void);
};

// In the order of the table; a name of NULL ends them.
extern const struct table_row table_rate_rows[], table_repair_rows[], table_start_rows[],
    table_engine_rows[];

// table_mbit: bytes in ns as Mb/s. table_full_mbit: what the payload of full segments can have of a
// link of mbit.
static inline double table_mbit(uint64_t bytes, uint64_t ns)
{
    return (double)bytes * 8000 / (double)ns;
}

static inline double table_full_mbit(uint32_t mbit)
{
    return mbit * (double)TABLE_MSS / (TABLE_FRAME + TABLE_WIRE_EXTRA);
}

enum { TABLE_S = 1000000000, TABLE_MS = 1000000 };

// table_gigabit: 1 Gb/s, 50 ms, a queue of one BDP.
extern const struct table_path table_gigabit;
// table_hundred: 100 Mb/s, 20 ms, a queue of one BDP.
extern const struct table_path table_hundred;

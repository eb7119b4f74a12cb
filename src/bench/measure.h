// SPDX-License-Identifier: BSD-3-Clause
// measure.h: shared parts of the benchmarks of the loop: a wire, its measuring client, and the cost
// of a batch.
#pragma once
#include "base/err.h"
#include "bench/bench_loop_options.h"
#include "bench/feed.h"
#include "bench/turn_loop.h"

enum {
    BENCH_SERVER_V4 = 0x0a000001,  // 10.0.0.1
    BENCH_CLIENT_V4 = 0x0a400000,  // 10.64.0.0 and up
    BENCH_SERVER_PORT = 7,
};

// bench_row: the result of one measurement: packets received, cycles of busy turns.
struct bench_row {
    uint32_t connections;
    uint64_t packets, cycles, turns;
    double median;  // cycles per packet, over batches
    size_t page_bytes, memory_bytes;
};

// bench_wire: the two ends of a ring port and their packet pools.
struct bench_wire {
    struct port *server, *client;
    struct pkt_pool *server_pool, *client_pool;
};

// bench_slots: the number of ring slots for a batch. bench_pool_packets: the number of packets of a
// pool for such a ring.
uint32_t bench_slots(uint32_t batch);
uint32_t bench_pool_packets(uint32_t batch);

// bench_wire_open: returns 0, or -1 with the reason in *err. bench_wire_close: closes both ends;
// also allowed after a failed open.
int bench_wire_open(uint32_t batch, struct bench_wire *w, struct err *err);
void bench_wire_close(struct bench_wire *w);

// bench_slice: runs `server` on EAL worker 0, fed for `seconds` s after some batches to warm up.
// Adds the result to *row and sets the median to that of the slice. Returns 0, or -1 with the
// reason in *err.
int bench_slice(struct turn_loop *server, struct feed *f, double seconds, struct bench_row *row,
                struct err *err);

// bench_bare: the bare loop on a wire, with its client.
struct bench_bare {
    struct bare *bare;
    struct turn_loop server;
    struct feed *feed;
};

// bench_bare_open: opens it with row->connections and stores its memory in *row. Returns 0, or -1
// with the reason in *err. bench_bare_close: closes it; returns 0, or -1 with the reason in *err if
// a packet was dropped.
int bench_bare_open(const struct bench_options *o, struct bench_wire *w, struct bench_bare *b,
                    struct bench_row *row, struct err *err);
int bench_bare_close(struct bench_bare *b, struct err *err);

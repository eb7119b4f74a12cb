// SPDX-License-Identifier: BSD-3-Clause
// measure.h: what the benchmarks of the loop share: a wire, its measuring client, the cost of a
// batch.
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

// bench_row: one measurement: packets received, cycles of busy turns.
struct bench_row {
    uint32_t connections;
    uint64_t packets, cycles, turns;
    double median;  // cycles per packet, over batches
    size_t page_bytes, memory_bytes;
};

// bench_wire: two ends of a ring port and their pools.
struct bench_wire {
    struct port *server, *client;
    struct pkt_pool *server_pool, *client_pool;
};

// bench_slots: ring slots that hold a batch. bench_pool_packets: packets of a pool at such a ring.
uint32_t bench_slots(uint32_t batch);
uint32_t bench_pool_packets(uint32_t batch);

// bench_wire_open, bench_wire_close: 0, or -1 and *err; closing takes what was opened.
int bench_wire_open(uint32_t batch, struct bench_wire *w, struct err *err);
void bench_wire_close(struct bench_wire *w);

// bench_slice: `server` on EAL worker 0, fed for so many seconds after some batches to warm up;
// added to *row, whose median is this slice's. 0, or -1 and *err.
int bench_slice(struct turn_loop *server, struct feed *f, double seconds, struct bench_row *row,
                struct err *err);

// bench_bare: the bare loop over a wire, with its client.
struct bench_bare {
    struct bare *bare;
    struct turn_loop server;
    struct feed *feed;
};

// bench_bare_open: with row->connections; notes its memory in *row. 0, or -1 and *err.
// bench_bare_close: takes what was opened; -1 and *err if it dropped a packet.
int bench_bare_open(const struct bench_options *o, struct bench_wire *w, struct bench_bare *b,
                    struct bench_row *row, struct err *err);
int bench_bare_close(struct bench_bare *b, struct err *err);

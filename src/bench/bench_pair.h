// SPDX-License-Identifier: BSD-3-Clause
// bench_pair.h: a server (bench/bench_server.h) and the measuring client (bench/feed.h).
#pragma once
#include "bench/measure.h"
#include "server/server.h"
#include "worker/worker.h"

struct bench_pair {
    struct worker *w;
    struct port *client;  // the client's end of the wire
    struct pkt_pool *pool;
    struct turn_loop server;
    struct feed *feed;
    struct core_stats before;  // counters at bench_pair_open()
};

// bench_pair_params: parameters of a server with one ring port for the largest number of
// connections in *o.
void bench_pair_params(const struct bench_options *o, struct server_params *p, const char *prefix);

// bench_pair_join: opens the client's end of the port of s, and its packet pool. Once per server.
// Returns 0, or -1 with the reason in *err. bench_pair_part: closes them; call it before the server
// stops.
int bench_pair_join(const struct bench_options *o, struct server *s, struct bench_pair *pair,
                    struct err *err);
void bench_pair_part(struct bench_pair *pair);

// bench_pair_open: adds `connections` established connections, and creates their client. Returns 0,
// or -1 with the reason in *err.
int bench_pair_open(const struct bench_options *o, struct bench_pair *pair, uint32_t connections,
                    struct err *err);

// bench_pair_close: removes the connections and sets *now to the counters at the end. Returns 0, or
// -1 with the reason in *err, also if the server has dropped packets since bench_pair_open().
int bench_pair_close(struct bench_pair *pair, struct core_stats *now, struct err *err);

// bench_median: sorts v and returns its median.
double bench_median(double *v, unsigned n);

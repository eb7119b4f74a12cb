// SPDX-License-Identifier: BSD-3-Clause
// bench_pair.h: the real server (bench/bench_server.h) under the measuring client.
#pragma once
#include "bench/measure.h"
#include "server/server.h"
#include "worker/worker.h"

struct bench_pair {
    struct worker *w;
    struct port *client;  // the far end of the wire
    struct pkt_pool *pool;
    struct turn_loop server;
    struct feed *feed;
    struct core_stats before;  // when it was opened
};

// bench_pair_params: a server of one ring port for as many connections as o's largest count.
void bench_pair_params(const struct bench_options *o, struct server_params *p, const char *prefix);

// bench_pair_join: the client's end of s's port, and its packets. Once a server. 0, or -1 and *err.
// bench_pair_part: before the server is stopped.
int bench_pair_join(const struct bench_options *o, struct server *s, struct bench_pair *pair,
                    struct err *err);
void bench_pair_part(struct bench_pair *pair);

// bench_pair_open: `connections` established, with their client. 0, or -1 and *err.
int bench_pair_open(const struct bench_options *o, struct bench_pair *pair, uint32_t connections,
                    struct err *err);

// bench_pair_close: takes the connections away. now: the counters at the end, before: pair->before.
// -1 and *err if the server dropped a packet.
int bench_pair_close(struct bench_pair *pair, struct core_stats *now, struct err *err);

// bench_median: sorts v.
double bench_median(double *v, unsigned n);

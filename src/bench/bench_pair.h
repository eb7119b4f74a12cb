// bench_pair.h: the real server (bench/bench_server.h) under the measuring client.
#pragma once
#include "bench/measure.h"
#include "server/server.h"
#include "worker/worker.h"

struct bench_side {
    struct worker *w;
    struct port *client;  // the far end of the wire
    struct pkt_pool *pool;
    struct lockstep_server server;
    struct feed *feed;
    struct core_stats before;  // when it was opened
};

// bench_side_params: a server of one ring port for as many connections as o's largest count.
void bench_side_params(const struct bench_options *o, struct server_params *p, const char *prefix);

// bench_side_wire: the client's end of s's port, and its packets. Once a server. 0, or -1 and *err.
// bench_side_unwire: before the server is stopped.
int bench_side_wire(const struct bench_options *o, struct server *s, struct bench_side *side,
                    struct err *err);
void bench_side_unwire(struct bench_side *side);

// bench_side_open: `connections` established, with their client. 0, or -1 and *err.
int bench_side_open(const struct bench_options *o, struct bench_side *side, uint32_t connections,
                    struct err *err);

// bench_side_close: takes the connections away. now: the counters at the end, before: side->before.
// -1 and *err if the server dropped a packet.
int bench_side_close(struct bench_side *side, struct core_stats *now, struct err *err);

// bench_median: sorts v.
double bench_median(double *v, unsigned n);

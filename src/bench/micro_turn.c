// SPDX-License-Identifier: BSD-3-Clause
// A complete turn of a worker, and the part of TCP in it, from the stage counters of the worker:
// requests in, replies out, ACKs in, as in `c10m bench echo`. Client and server alternate on one
// core.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/bench_pair.h"
#include "bench/bench_server.h"
#include "bench/micro.h"

struct turn_ctx {
    struct bench_options o;
    struct server_params params;
    struct server *server;
    struct bench_pair pair;
    struct turn_loop_sums sums;
    bool unpublished;
    char prefix[32];
};

// Runs a turn of the server on this core while the client waits.
static void one_turn(void *arg)
{
    struct turn_ctx *c = arg;
    turn_loop_turn(&c->pair.server, &c->sums, &c->unpublished);
}

static void *turn_open(uint32_t connections, struct err *err)
{
    struct turn_ctx *c = aligned_alloc(CACHE_LINE, ALIGN_UP(sizeof(*c), CACHE_LINE));
    CHECK(c != NULL);
    *c = (struct turn_ctx){.o = {.counts = {connections},
                                 .count_n = 1,
                                 .batch = 512,
                                 .payload = 64,
                                 .seed = 1,
                                 .client_cpu = 0,
                                 .server_cpu = 1}};
    snprintf(c->prefix, sizeof(c->prefix), "c10mmicro%d", (int)getpid());
    bench_pair_params(&c->o, &c->params, c->prefix);
    c->params.extra_packet_bytes = 32u << 20;
    bench_pages(&c->params, "micro");
    if ((c->server = server_start(&c->params, err)) == NULL)
        return NULL;
    if (bench_pair_join(&c->o, c->server, &c->pair, err) == 0 &&
        bench_pair_open(&c->o, &c->pair, connections, err) == 0) {
        c->pair.server.meanwhile = one_turn;
        c->pair.server.arg = c;
        one_turn(c);  // provides packets for the first packets of the client
        return c;
    }
    server_stop(c->server);
    return NULL;
}

// As turn_open(), and the worker writes records, as for a trace.
static void *traced_open(uint32_t connections, struct err *err)
{
    struct turn_ctx *c = turn_open(connections, err);
    if (c != NULL)
        trace_ask(c->pair.w->trace);
    return c;
}

static void turn_close(void *ctx)
{
    struct turn_ctx *c = ctx;
    static struct core_stats now;
    struct err err;
    if (bench_pair_close(&c->pair, &now, &err) != 0)
        fprintf(stderr, "c10m bench micro: %s\n", err.text);
    server_stop_workers(c->server);
    bench_pair_part(&c->pair);
    server_stop(c->server);
    free(c);
}

static void batches(struct turn_ctx *c, struct micro_run *r)
{
    struct turn_loop_sums did;
    struct err err;
    for (unsigned i = 0; i < 16; i++) {
        if (feed_batch(c->pair.feed, &did, &err) != 0) {
            fprintf(stderr, "c10m bench micro: %s\n", err.text);
            CHECK(!"the server's replies are right");
        }
        r->ops += did.packets;
        r->cycles += did.cycles;
    }
}

static void turn_run(void *ctx, struct micro_run *r)
{
    batches(ctx, r);
}

static void input_run(void *ctx, struct micro_run *r)
{
    struct turn_ctx *c = ctx;
    static struct core_stats before, after;
    struct micro_run all = {0};
    stat_snapshot(&before, c->pair.w->stats);
    batches(c, &all);
    stat_snapshot(&after, c->pair.w->stats);
    r->ops += all.ops;
    r->cycles += after.cycles[STAGE_tcp_input] - before.cycles[STAGE_tcp_input];
}

#define TURN(n, h, o, f)                                                                           \
    {                                                                                              \
        .name = n, .help = h, .sizes = {1000, 100000, 1000000}, .open = o, .run = f,               \
        .close = turn_close                                                                        \
    }

const struct micro micro_turn[] = {
    TURN("TcpInput", "a segment in tcp_input(), from the counter of the stage", turn_open,
         input_run),
    TURN("Turn", "a packet in a complete turn: receive, TCP, echo, send", turn_open, turn_run),
    TURN("TurnTraced", "the same while the worker is traced", traced_open, turn_run),
    {.name = NULL},
};

// SPDX-License-Identifier: BSD-3-Clause
// bench_server.h: the server that benchmarks feed: a real one (ports, loop, TCP) on a ring port,
// with the least application there can be: an echo, or one that works for a while on each request.
// Only handshakes are left out: connections are put into its tables as the third segment would
// have.
#pragma once
#include "bench/feed.h"
#include "c10m/app.h"
#include "server/server.h"
#include "worker/worker.h"

// bench_echo_app: sends back what comes. bench_busy_app: so too, after bench_busy_cycles of work
// for each piece; that is written while the workers stand still.
extern const struct c10m_app bench_echo_app, bench_busy_app;
extern uint64_t bench_busy_cycles;

// bench_server_params: of a server of one worker with that many connections at most, on a ring of
// bench_slots(batch) slots; further workers are the caller's to add.
void bench_server_params(struct server_params *p, const char *prefix, const struct c10m_app *app,
                         uint32_t connections, uint32_t batch, unsigned client_cpu,
                         unsigned server_cpu);

// bench_pages: ordinary memory where too few hugepages are free, which is said on stderr. After the
// parameters are complete.
void bench_pages(struct server_params *p, const char *name);

// bench_client_open: the far end of the server's port, all its queues with packets of `pool`. NULL:
// *err.
struct port *bench_client_open(const struct server *s, struct pkt_pool *pool, struct err *err);

// bench_turn: a turn of the worker ctx, for struct turn_loop.
struct turn_loop_work bench_turn(void *ctx);

// bench_install: an established connection at the feed's sequence numbers. False: no place for it.
// bench_uninstall_all: ends all of them.
bool bench_install(struct tcp *t, struct feed_conn c);
void bench_uninstall_all(struct worker *w);

// SPDX-License-Identifier: BSD-3-Clause
// bench_server.h: the server of the benchmarks: a complete server (ports, loop, TCP) on a ring port
// with a minimal application: an echo, or an echo that works for some time on each request.
// Handshakes are omitted: connections are added to the tables in the state after the third segment
// of the handshake.
#pragma once
#include "bench/feed.h"
#include "c10m/app.h"
#include "server/server.h"
#include "worker/worker.h"

// bench_echo_app: sends received data back. bench_busy_app: the same after bench_busy_cycles of
// work for each piece. Write bench_busy_cycles only while the workers stand still.
extern const struct c10m_app bench_echo_app, bench_busy_app;
extern uint64_t bench_busy_cycles;

// bench_server_params: sets *p for a server with one worker on a ring of bench_slots(batch) slots.
// The caller may add workers.
void bench_server_params(struct server_params *p, const char *prefix, const struct c10m_app *app,
                         uint32_t connections, uint32_t batch, unsigned client_cpu,
                         unsigned server_cpu);

// bench_pages: selects 4 KiB pages, with a warning on stderr, if too few hugepages are free. Call
// it when the other parameters are complete.
void bench_pages(struct server_params *p, const char *name);

// bench_client_open: opens the client's end of the server's port, with packets of `pool` for all
// queues. Returns NULL with the reason in *err on failure.
struct port *bench_client_open(const struct server *s, struct pkt_pool *pool, struct err *err);

// bench_turn: runs one turn of the worker ctx, for struct turn_loop.
struct turn_loop_work bench_turn(void *ctx);

// bench_install: adds an established connection with the sequence numbers of the feed. Returns
// false if there is no free place. bench_uninstall_all: removes all connections.
bool bench_install(struct tcp *t, struct feed_conn c);
void bench_uninstall_all(struct worker *w);

// SPDX-License-Identifier: BSD-3-Clause
// paced_setup.h: a server with one worker, its connections, the client in an open loop, and the
// detection of stalls.
#pragma once
#include "bench/bench_server.h"
#include "bench/bench_server_options.h"
#include "bench/paced.h"
#include "c10m/app.h"
#include "server/stalls.h"
#include "worker/worker.h"

enum { PACED_SLOTS = 4096 };  // slots of the rings, as in a NIC

struct paced_setup {
    struct server *server;
    struct worker *w;
    struct pkt_pool *pool;
    struct port *client;
    struct stalls *stalls;
    struct paced *paced;
};

// paced_setup_open: returns 0, or -1 with the reason in *err. Closing is also allowed after a
// failed open.
int paced_setup_open(const struct bench_server_options *o, const struct c10m_app *app,
                     struct paced_setup *st, struct err *err);
void paced_setup_close(struct paced_setup *st);

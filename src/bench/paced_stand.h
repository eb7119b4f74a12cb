// SPDX-License-Identifier: BSD-3-Clause
// paced_stand.h: a server of one worker, its connections, the open loop before it, and somebody who
// names its stalls.
#pragma once
#include "bench/bench_server.h"
#include "bench/bench_server_options.h"
#include "bench/paced.h"
#include "c10m/app.h"
#include "server/stalls.h"
#include "worker/worker.h"

enum { PACED_SLOTS = 4096 };  // of the rings, as many as a NIC has

struct paced_stand {
    struct server *server;
    struct worker *w;
    struct pkt_pool *pool;
    struct port *client;
    struct stalls *stalls;
    struct paced *paced;
};

// paced_stand_open: 0, or -1 and *err; closing takes what was opened.
int paced_stand_open(const struct stand_options *o, const struct c10m_app *app,
                     struct paced_stand *st, struct err *err);
void paced_stand_close(struct paced_stand *st);

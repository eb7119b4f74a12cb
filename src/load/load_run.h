// SPDX-License-Identifier: BSD-3-Clause
// load_run.h: one run of `c10m load`, whoever its server is.
#pragma once
#include "load/load_options.h"
#include "load/load_report.h"
#include "server/server.h"

struct load_run {
    struct load_options o;
    struct server *server;  // in this process; NULL: it is somewhere else
    bool eal_up;            // started here, and not by the server
    struct load *load;
    struct pkt_pool *pool;
    struct port *port;
    struct load_counters shown;  // by the last line of progress
    struct load_result result;
};

// load_run_params: what the command line says of the load, into *p.
void load_run_params(const struct load_options *o, struct load_params *p);

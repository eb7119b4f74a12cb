// SPDX-License-Identifier: BSD-3-Clause
// load_run.h: the state of one run of `c10m load`.
#pragma once
#include "load/load_options.h"
#include "load/load_report.h"
#include "server/server.h"

struct load_run {
    struct load_options o;
    struct server *server;  // in this process; NULL: the server is elsewhere
    bool eal_up;            // EAL was started by the client, not by the server
    struct load *load;
    struct pkt_pool *pool;
    struct port *port;
    struct load_counters shown;  // counters at the last line of progress
    struct load_result result;
    struct prof_files profiles;
    struct prof *prof;  // NULL: none is wanted
    double prof_due_s;
};

// load_run_params: copies the options of the load into *p.
void load_run_params(const struct load_options *o, struct load_params *p);

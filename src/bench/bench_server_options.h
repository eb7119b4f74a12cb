// SPDX-License-Identifier: BSD-3-Clause
// bench_server_options.h: the command line options of the benchmarks that feed a server in an open
// loop.
#pragma once
#include "base/base.h"

enum { BENCH_SERVER_LIST_MAX = 16 };

struct bench_server_options {
    const char *name;  // name of the benchmark
    uint32_t connections;
    double seconds;
    unsigned client_cpu, server_cpu;
    bool json;
    // Options of some benchmarks only; `takes` has the letters of those allowed: r, c, w, x.
    const char *takes;
    double rates[BENCH_SERVER_LIST_MAX];  // --rates, packets per second
    unsigned rate_n;
    uint32_t cycles;                          // --cycles
    uint32_t workers[BENCH_SERVER_LIST_MAX];  // --workers
    unsigned worker_n;
    bool share;  // --share
};

// bench_server_options_parse: sets fields of *o, which must contain the name and the defaults.
// Returns 0: continue; 1: help was printed; 2: wrong usage, with a message on stderr.
int bench_server_options_parse(int argc, char **argv, const char *help,
                               struct bench_server_options *o);

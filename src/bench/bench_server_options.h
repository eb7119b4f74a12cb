// SPDX-License-Identifier: BSD-3-Clause
// bench_server_options.h: the command lines of the benchmarks that feed a server in an open loop.
#pragma once
#include "base/base.h"

enum { BENCH_SERVER_LIST_MAX = 16 };

struct bench_server_options {
    const char *name;  // of the benchmark
    uint32_t connections;
    double seconds;
    unsigned client_cpu, server_cpu;
    bool json;
    // What only some take; `takes` names them by their letter: r, c, w, x.
    const char *takes;
    double rates[BENCH_SERVER_LIST_MAX];  // --rates: packets a second
    unsigned rate_n;
    uint32_t cycles;                          // --cycles
    uint32_t workers[BENCH_SERVER_LIST_MAX];  // --workers
    unsigned worker_n;
    bool share;  // --share
};

// bench_server_options_parse: fills *o, whose name and defaults are set. 0: go on; 1: help was
// printed; 2: bad usage, said on stderr.
int bench_server_options_parse(int argc, char **argv, const char *help,
                               struct bench_server_options *o);

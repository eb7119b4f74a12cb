// SPDX-License-Identifier: BSD-3-Clause
// bench_loop_options.h: the command lines of the benchmarks of the loop.
#pragma once
#include "bench/feed.h"

enum { BENCH_COUNTS_MAX = 16 };

// bench_options: what every benchmark of the loop takes from the command line.
struct bench_options {
    uint32_t counts[BENCH_COUNTS_MAX];  // of connections
    unsigned count_n;
    uint32_t batch, payload;
    double seconds;
    enum feed_order order;
    uint64_t seed;
    unsigned client_cpu, server_cpu;
    bool json;
};

// bench_options_parse: fills *o, whose defaults are set. 0: go on; 1: help was printed; 2: bad
// usage, said on stderr.
int bench_options_parse(int argc, char **argv, const char *name, const char *help,
                        struct bench_options *o);

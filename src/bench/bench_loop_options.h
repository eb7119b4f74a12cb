// SPDX-License-Identifier: BSD-3-Clause
// bench_loop_options.h: the command line options of the benchmarks of the loop.
#pragma once
#include "bench/feed.h"
#include "bench/options.h"

// Help text of the options that all benchmarks in lockstep have, after --connections and --seconds.
#define BENCH_LOOP_HELP                                                                            \
    "  --batch N           packets sent at once, an even number from 2 to 8192\n"                  \
    "                      (default 1024)\n"                                                       \
    "  --payload BYTES     bytes of each request, 8 to 1460 (default 64)\n"                        \
    "  --order ORDER       order of the connections: `random` (default) or in `turn`\n"            \
    "  --seed N            seed of the random order (default 1)\n" BENCH_CPUS_HELP BENCH_JSON_HELP

enum { BENCH_COUNTS_MAX = 16 };

// bench_options: the common command line options of the benchmarks of the loop.
struct bench_options {
    uint32_t counts[BENCH_COUNTS_MAX];  // numbers of connections
    unsigned count_n;
    uint32_t batch, payload;
    double seconds;
    enum feed_order order;
    uint64_t seed;
    unsigned client_cpu, server_cpu;
    bool json;
};

// bench_options_parse: sets fields of *o, which must contain the defaults. Returns 0: continue; 1:
// help was printed; 2: wrong usage, with a message on stderr.
int bench_options_parse(int argc, char **argv, const char *name, const char *help,
                        struct bench_options *o);

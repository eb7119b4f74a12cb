// SPDX-License-Identifier: BSD-3-Clause
#include "bench/bench_main.h"

#include <stdio.h>
#include <string.h>

#include "base/interrupt.h"

static const struct {
    const char *name, *help;
    int (*run)(int argc, char **argv);
} benches[] = {
    {"roofline", "the memory work of a TCP echo and nothing else: the limit of a server",
     bench_roofline},
    {"echo", "the server's echo beside that limit, in the same run", bench_echo},
    {"reader", "the server's echo with and without somebody who reads net/tcp, in the same run",
     bench_reader},
    {"tree", "the same with somebody who reads the whole tree ten times a second", bench_tree},
    {"machine", "what caches, memory, pages, system calls and the other core cost; the budget",
     bench_machine},
    {"latency", "latency at half of the maximum rate beside an idle loop; stalls and their causes",
     bench_latency},
    {"scale", "the cost of a packet with 1, 2, 4, 8 workers at a fixed number of connections",
     bench_scale},
    {"budget", "the cycles that are left to an application at a rate", bench_budget},
    {"micro", "parse, flow table, timers, checksum, TCP input, turn: one at a time, beside DPDK's",
     bench_micro},
    {"growth", "cycles a packet and a stage from 1 k to 10 M connections, by page size; a plot",
     bench_growth},
    {"hop", "the round trip of a cache line between two CPUs", bench_hop},
    {"pipeline", "parse and look-up on one core and the rest on another, against one core for all",
     bench_pipeline},
};

enum { BENCHES = sizeof(benches) / sizeof(benches[0]) };

static int usage(FILE *to, int status)
{
    fprintf(to, "usage: c10m bench BENCHMARK [OPTIONS]   (BENCHMARK --help lists its options)\n");
    for (int i = 0; i < BENCHES; i++)
        fprintf(to, "  %-10s %s\n", benches[i].name, benches[i].help);
    return status;
}

int bench_main(int argc, char **argv)
{
    if (argc < 2)
        return usage(stderr, 2);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return usage(stdout, 0);
    for (int i = 0; i < BENCHES; i++)
        if (strcmp(argv[1], benches[i].name) == 0) {
            interrupt_catch();
            return benches[i].run(argc - 1, argv + 1);
        }
    fprintf(stderr, "c10m bench: no benchmark \"%s\"\n", argv[1]);
    return usage(stderr, 2);
}

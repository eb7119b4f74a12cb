// SPDX-License-Identifier: BSD-3-Clause
#include "bench/bench_main.h"

#include <stdio.h>
#include <string.h>

#include "base/interrupt.h"

static const struct {
    const char *name, *help;
    int (*run)(int argc, char **argv);
} benches[] = {
    {"roofline", "measure the memory accesses of a TCP echo alone: the limit of a server",
     bench_roofline},
    {"echo", "compare the server's echo with that limit, in the same run", bench_echo},
    {"reader", "compare the server's echo with and without a reader of net/tcp, in the same run",
     bench_reader},
    {"tree", "the same with a reader of the whole tree, ten times a second", bench_tree},
    {"machine", "measure the cost of caches, memory, pages, system calls and another core",
     bench_machine},
    {"latency", "measure latency at half of the maximum rate; list stalls and their causes",
     bench_latency},
    {"scale", "measure the cost of a packet with 1, 2, 4, 8 workers and fixed connections",
     bench_scale},
    {"budget", "measure the cycles per request that are left for an application", bench_budget},
    {"micro", "measure single parts of the data path, and DPDK functions of the same purpose",
     bench_micro},
    {"growth", "measure cycles per packet and stage for 1 k to 10 M connections, by page size",
     bench_growth},
    {"hop", "measure the round trip of a cache line between two CPUs", bench_hop},
    {"pipeline", "compare a pipeline over two cores with one core for everything", bench_pipeline},
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

// SPDX-License-Identifier: BSD-3-Clause
#include "bench/bench_main.h"

#include <stdio.h>
#include <string.h>

#include "base/interrupt.h"
#include "bench/bench_prof.h"
#include "bench/go_text.h"

static const struct {
    const char *name, *help;
    int (*run)(int argc, char **argv);
    bool profiles;  // it calls bench_prof_begin()
} benches[] = {
    {"roofline", "measure the memory accesses of a TCP echo alone: the limit of a server",
     bench_roofline, false},
    {"echo", "compare the server's echo with that limit, in the same run", bench_echo, true},
    {"reader", "compare the server's echo with and without a reader of net/tcp, in the same run",
     bench_reader, true},
    {"tree", "the same with a reader of the whole tree, ten times a second", bench_tree, true},
    {"machine", "measure the cost of caches, memory, pages, system calls and another core",
     bench_machine, false},
    {"latency", "measure latency at half of the maximum rate; list stalls and their causes",
     bench_latency, true},
    {"scale", "measure the cost of a packet with 1, 2, 4, 8 workers and fixed connections",
     bench_scale, true},
    {"budget", "measure the cycles per request that are left for an application", bench_budget,
     true},
    {"micro", "measure single parts of the data path, and DPDK functions of the same purpose",
     bench_micro, false},
    {"growth", "measure cycles per packet and stage for 1 k to 10 M connections, by page size",
     bench_growth, false},
    {"hop", "measure the round trip of a cache line between two CPUs", bench_hop, false},
    {"pipeline", "compare a pipeline over two cores with one core for everything", bench_pipeline,
     false},
};

enum { BENCHES = sizeof(benches) / sizeof(benches[0]) };

static int usage(FILE *to, int status)
{
    fprintf(to, "usage: c10m bench BENCHMARK [OPTIONS]   (BENCHMARK --help lists its options)\n");
    for (int i = 0; i < BENCHES; i++)
        fprintf(to, "  %-10s %s\n", benches[i].name, benches[i].help);
    fputs("\nThose of a whole server (echo, reader, tree, latency, budget, scale) also take:\n\n",
          to);
    fputs(BENCH_PROF_HELP, to);
    return status;
}

// micro prints Go's format itself, with as many lines as it has repetitions.
static int run(int argc, char **argv, int (*bench)(int argc, char **argv))
{
    if (bench != bench_micro && go_text_wanted(argc, argv))
        return go_text_run(argc, argv, bench);
    return bench(argc, argv);
}

static int run_profiled(unsigned i, int argc, char **argv)
{
    struct err err;
    if (bench_prof_options(&argc, argv, &err) != 0) {
        fprintf(stderr, "c10m bench: %s\n", err.text);
        return 2;
    }
    if (bench_prof_wanted() && !benches[i].profiles) {
        fprintf(stderr, "c10m bench %s: it has no server to be profiled\n", benches[i].name);
        return 2;
    }
    interrupt_catch();
    return run(argc, argv, benches[i].run);
}

int bench_main(int argc, char **argv)
{
    if (argc < 2)
        return usage(stderr, 2);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return usage(stdout, 0);
    for (int i = 0; i < BENCHES; i++)
        if (strcmp(argv[1], benches[i].name) == 0)
            return run_profiled((unsigned)i, argc - 1, argv + 1);
    fprintf(stderr, "c10m bench: no benchmark \"%s\"\n", argv[1]);
    return usage(stderr, 2);
}

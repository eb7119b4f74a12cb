// SPDX-License-Identifier: BSD-3-Clause
// Measures the round trip of a cache line between two CPUs. The host may move the CPUs of a virtual
// machine, which changes this time and with it the cost of communication between client and server.
// So results of benchmarks with two cores are comparable only if this round trip is the same.
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "bench/bench_main.h"
#include "bench/costs.h"
#include "bench/options.h"

enum { ROUNDS = 31 };

static const char help[] = "usage: c10m bench hop [OPTIONS]\n"
                           "\n"
                           "Measure the round trip of a cache line between two CPUs: one writes a "
                           "word, the other sees it and\n"
                           "writes an answer, 2,000 times in a round. The output has the lowest, "
                           "the median and the highest of\n"
                           "31 rounds.\n"
                           "\n"
                           "  --cpus A,B          the two CPUs (default 0,1)\n" BENCH_JSON_HELP;

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(const unsigned *cpus, const double *cycles, bool json)
{
    const double hz = costs_tsc_hz(), low = cycles[0], mid = cycles[ROUNDS / 2],
                 high = cycles[ROUNDS - 1];
    if (json)
        printf("{\"bench\":\"hop\",\"cpu\":%u,\"other_cpu\":%u,\"tsc_hz\":%.0f,"
               "\"round_trip_cycles\":{\"lowest\":%.1f,\"median\":%.1f,\"highest\":%.1f},"
               "\"round_trip_ns\":%.1f}\n",
               cpus[0], cpus[1], hz, low, mid, high, mid / hz * 1e9);
    else
        printf(
            "hop: CPU %u to %u and back: %.0f cycles (%.0f ns); %d rounds: %.0f to %.0f cycles\n",
            cpus[0], cpus[1], mid, mid / hz * 1e9, ROUNDS, low, high);
}

struct hop_options {
    unsigned cpus[2];
    bool json;
};

static enum bench_taken take(int c, void *to)
{
    struct hop_options *o = to;
    if (c != 'u') {
        o->json = true;
        return BENCH_TAKEN;
    }
    const bool good = bench_cpus(optarg, &o->cpus[0], &o->cpus[1]);
    return good && MAX(o->cpus[0], o->cpus[1]) < CPU_SETSIZE ? BENCH_TAKEN : BENCH_WRONG;
}

static const char *expected(int c)
{
    (void)c;
    return BENCH_CPUS_EXPECTED;
}

int bench_hop(int argc, char **argv)
{
    static const struct option table[] = {BENCH_SHARED_OPTIONS};
    static const struct bench_cli cli = {"hop", help, table, take, expected};
    struct hop_options o = {.cpus = {0, 1}};
    double cycles[ROUNDS];
    const int rc = bench_cli_parse(argc, argv, &cli, &o);
    if (rc != 0)
        return rc == 1 ? 0 : rc;
    if (!cost_line_trips(o.cpus[0], o.cpus[1], cycles, ROUNDS)) {
        fprintf(stderr, "c10m bench hop: CPU %u or %u cannot be used\n", o.cpus[0], o.cpus[1]);
        return 1;
    }
    qsort(cycles, ROUNDS, sizeof(cycles[0]), by_size);
    print(o.cpus, cycles, o.json);
    return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// How far apart two CPUs are: the round trip of a cache line between them. A virtual machine's CPUs
// may be neighbours now and strangers later, and what client and server hand each other costs with
// it: figures of two cores are to be read beside this one.
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "bench/bench_main.h"
#include "bench/costs.h"

enum { ROUNDS = 31 };

static const char help[] =
    "usage: c10m bench hop [OPTIONS]\n"
    "\n"
    "The round trip of a cache line between two CPUs: one writes a word, the other sees it and "
    "writes\n"
    "back, 2,000 times a round. Of 31 rounds the lowest, the median and the highest.\n"
    "\n"
    "  --cpus A,B  the two (default 0,1)\n"
    "  --json      one JSON object instead of the line\n";

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
        printf("hop: CPU %u to %u and back: %.0f cycles (%.0f ns); of %d rounds %.0f to %.0f\n",
               cpus[0], cpus[1], mid, mid / hz * 1e9, ROUNDS, low, high);
}

// -1: go on; else the exit status.
static int parse(int argc, char **argv, unsigned *cpus, bool *json)
{
    static const struct option table[] = {{"cpus", required_argument, NULL, 'u'},
                                          {"json", no_argument, NULL, 'j'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    optind = 1;
    for (int c; (c = getopt_long(argc, argv, "h", table, NULL)) != -1;) {
        if (c == 'h') {
            fputs(help, stdout);
            return 0;
        }
        if (c == '?')
            return 2;
        *json |= c == 'j';
        if (c == 'u' && (sscanf(optarg, "%u,%u", &cpus[0], &cpus[1]) != 2 || cpus[0] == cpus[1] ||
                         MAX(cpus[0], cpus[1]) >= CPU_SETSIZE)) {
            fprintf(stderr,
                    "c10m bench hop: --cpus: expected two different CPUs, as 0,1, got \"%s\"\n",
                    optarg);
            return 2;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "c10m bench hop: %s: no such argument\n", argv[optind]);
        return 2;
    }
    return -1;
}

int bench_hop(int argc, char **argv)
{
    unsigned cpus[2] = {0, 1};
    double cycles[ROUNDS];
    bool json = false;
    const int rc = parse(argc, argv, cpus, &json);
    if (rc >= 0)
        return rc;
    if (!cost_line_trips(cpus[0], cpus[1], cycles, ROUNDS)) {
        fprintf(stderr, "c10m bench hop: CPU %u or %u cannot be used\n", cpus[0], cpus[1]);
        return 1;
    }
    qsort(cycles, ROUNDS, sizeof(cycles[0]), by_size);
    print(cpus, cycles, json);
    return 0;
}

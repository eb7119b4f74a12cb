// SPDX-License-Identifier: BSD-3-Clause
// Measures the cycles left for an application: the application of the server works for a fixed
// number of cycles on each request. The client sends in an open loop, and requests that the server
// does not receive in time are lost.
#include <math.h>
#include <rte_cycles.h>
#include <stdio.h>

#include "bench/bench_main.h"
#include "bench/bench_prof.h"
#include "bench/options.h"
#include "bench/paced_setup.h"

enum {
    TRIALS = 10,       // trials of a search: each halves the interval
    CALM_MIN = 3,      // undisturbed slices required for a verdict
    AGAIN = 4,         // trials to get CALM_MIN slices
    VERIFY_STEPS = 8,  // steps of 1/20
};

static const char help[] =
    "usage: c10m bench budget [OPTIONS]\n"
    "\n"
    "Measure the cycles per request that are left for an application. The client sends requests "
    "(each\n"
    "received packet is one) at a fixed rate to an application that works for N cycles on each, "
    "and\n"
    "counts those that the server did not process in time. Then the largest budget without loss "
    "is\n"
    "determined for each rate: by a search if the client reaches the rate, otherwise from the "
    "cycles per\n"
    "request, verified against the server's busy time. The verdict uses only slices of 5 ms in "
    "which the\n"
    "host interrupted neither core.\n"
    "\n"
    "  --cycles N          cycles of the application per request (default 1400)\n"
    "  --rates LIST        packets per second for this worker (default 1M,10M); --cycles applies "
    "to\n"
    "                      the first\n"
    "  --connections N     number of connections (default 10k)\n"
    "  --seconds S         seconds for each rate (default 5)\n" BENCH_CPUS_HELP BENCH_JSON_HELP;

static struct paced_result one;

// Measures with this budget, whose work does not count as a stall. Repeats if too few slices were
// undisturbed.
static int try_budget(struct paced_setup *st, double rate, uint64_t cycles, double seconds,
                      struct err *err)
{
    const uint64_t stall_cycles = st->w->stall_cycles;
    bench_busy_cycles = cycles;
    st->w->stall_cycles = MAX(stall_cycles, 2 * BURST_MAX * (cycles + 2000));
    int rc = 0;
    for (unsigned i = 0; i < AGAIN && rc == 0; i++) {
        rc = paced_run(st->paced, rate, seconds, &one, err);
        if (one.calm.slices >= CALM_MIN)
            break;
    }
    st->w->stall_cycles = stall_cycles;
    return rc;
}

static double useful(uint64_t cycles)
{
    return one.busy_share * (double)cycles / one.cycles;
}

static const char *verdict(void)
{
    return one.calm.slices < CALM_MIN ? "disturbed" : one.calm.lost == 0 ? "held" : "lost";
}

static void print_trial(const struct bench_server_options *o, double rate, uint64_t cycles,
                        bool first)
{
    if (o->json)
        printf("%s{\"rate\":%.0f,\"cycles\":%llu,\"sent_per_s\":%.0f,\"requests\":%llu,"
               "\"lost\":%llu,\"calm_slices\":%llu,\"slices\":%llu,\"calm_requests\":%llu,"
               "\"calm_lost\":%llu,\"busy_share\":%.3f,\"useful_share\":%.3f,\"verdict\":\"%s\"}",
               first ? "" : ",", rate, (unsigned long long)cycles, one.rate,
               (unsigned long long)one.all.sent, (unsigned long long)one.all.lost,
               (unsigned long long)one.calm.slices, (unsigned long long)one.all.slices,
               (unsigned long long)one.calm.sent, (unsigned long long)one.calm.lost, one.busy_share,
               useful(cycles), verdict());
    else
        printf("%7.2f M/s  %6llu cycles  sent %6.2f M/s  lost %llu of %llu, undisturbed %llu of "
               "%llu (%llu of %llu slices)  busy %3.0f %%  application %3.0f %%  %s\n",
               rate / 1e6, (unsigned long long)cycles, one.rate / 1e6,
               (unsigned long long)one.all.lost, (unsigned long long)(one.all.sent + one.all.lost),
               (unsigned long long)one.calm.lost,
               (unsigned long long)(one.calm.sent + one.calm.lost),
               (unsigned long long)one.calm.slices, (unsigned long long)one.all.slices,
               100 * one.busy_share, 100 * useful(cycles), verdict());
    fflush(stdout);
}

// found: the result of the search for the largest budget at a rate.
struct found {
    uint64_t cycles;
    bool disturbed;  // no verdict, because of the host
    bool
        searched;  // by a search in an open loop at the rate; otherwise computed from the busy time
    double useful;
    double alone;  // cycles per packet without application, with full bursts
    double most;   // packets per second without application
};

static int search(struct paced_setup *st, double rate, double seconds, struct found *f,
                  struct err *err)
{
    uint64_t low = 0, high = (uint64_t)((double)rte_get_tsc_hz() / rate);
    for (unsigned i = 0; i < TRIALS && high - low > high / 100; i++) {
        const uint64_t cycles = (low + high) / 2;
        if (try_budget(st, rate, cycles, seconds / TRIALS, err) != 0)
            return -1;
        f->disturbed = one.calm.slices < CALM_MIN;
        if (f->disturbed)
            return 0;
        if (one.calm.lost == 0) {
            low = cycles;
            f->useful = useful(cycles);
        } else {
            high = cycles;
        }
    }
    f->cycles = low;
    return 0;
}

// Computes the rate of the server from the duration of its turns with work, at the highest rate of
// the client.
static int compute(struct paced_setup *st, double rate, double seconds, struct found *f,
                   struct err *err)
{
    const double room = (double)rte_get_tsc_hz() / rate;
    double budget = room - f->alone;
    for (unsigned i = 0; i < VERIFY_STEPS && budget > 0; i++, budget -= room / 20) {
        if (try_budget(st, 0, (uint64_t)budget, seconds / VERIFY_STEPS, err) != 0)
            return -1;
        if (one.cycles > room)
            continue;
        f->cycles = (uint64_t)budget;
        f->useful = (double)f->cycles / room;
        return 0;
    }
    return 0;
}

static int find(struct paced_setup *st, double rate, double seconds, struct found *f,
                struct err *err)
{
    *f = (struct found){0};
    if (try_budget(st, 0, 0, seconds / TRIALS, err) != 0)
        return -1;
    f->alone = one.cycles;
    f->most = (double)rte_get_tsc_hz() / one.cycles;
    f->searched = one.rate > 1.2 * rate;  // the client reaches the rate, with a margin
    return f->searched ? search(st, rate, seconds, f, err) : compute(st, rate, seconds, f, err);
}

static void print_found(const struct bench_server_options *o, double rate, const struct found *f)
{
    const char *how = f->searched ? "searched" : "computed";
    if (o->json)
        printf("{\"rate\":%.0f,\"disturbed\":%s,\"largest_cycles\":%llu,\"how\":\"%s\",\"useful_"
               "share\":%.3f,"
               "\"cycles_without\":%.1f,\"packets_per_s_without\":%.0f}",
               rate, f->disturbed ? "true" : "false", (unsigned long long)f->cycles, how, f->useful,
               f->alone, f->most);
    else if (f->disturbed)
        printf("%7.2f M/s  unknown: the host interrupted a core in nearly every slice\n",
               rate / 1e6);
    else if (f->cycles == 0 && f->most < rate)
        printf("%7.2f M/s  no budget: without an application a packet takes %.0f cycles, at most "
               "%.2f M/s: %.0f workers are required\n",
               rate / 1e6, f->alone, f->most / 1e6, ceil(rate / f->most));
    else
        printf("%7.2f M/s  at most %llu cycles per packet (%s), %.0f %% of the core; without an "
               "application %.0f cycles\n",
               rate / 1e6, (unsigned long long)f->cycles, how, 100 * f->useful, f->alone);
    fflush(stdout);
}

static int run(const struct bench_server_options *o, struct paced_setup *st, struct err *err)
{
    if (o->json)
        printf("{\"bench\":\"budget\",\"tsc_hz\":%llu,\"trials\":[",
               (unsigned long long)rte_get_tsc_hz());
    int rc = try_budget(st, o->rates[0], o->cycles, o->seconds, err);
    if (rc == 0)
        print_trial(o, o->rates[0], o->cycles, true);
    if (o->json)
        printf("],\"largest\":[");
    for (unsigned i = 0; i < o->rate_n && rc == 0; i++) {
        struct found f;
        rc = find(st, o->rates[i], o->seconds, &f, err);
        if (o->json && i != 0)
            printf(",");
        if (rc == 0)
            print_found(o, o->rates[i], &f);
    }
    if (o->json)
        printf("]}\n");
    return rc;
}

int bench_budget(int argc, char **argv)
{
    struct bench_server_options o = {.name = "budget",
                                     .connections = 10000,
                                     .seconds = 5,
                                     .server_cpu = 1,
                                     .takes = "rc",
                                     .cycles = 1400,
                                     .rates = {1e6, 10e6},
                                     .rate_n = 2};
    struct paced_setup st = {.w = NULL};
    struct err err = {.text = ""};
    int rc = bench_server_options_parse(argc, argv, help, &o);
    if (rc != 0)
        return rc == 1 ? 0 : 2;
    rc = paced_setup_open(&o, &bench_busy_app, &st, &err);
    if (rc == 0)
        rc = run(&o, &st, &err);
    if (rc == 0)
        rc = bench_prof_end(&err);
    if (rc != 0)
        fprintf(stderr, "c10m bench budget: %s\n", err.text);
    paced_setup_close(&st);
    return rc == 0 ? 0 : 1;
}

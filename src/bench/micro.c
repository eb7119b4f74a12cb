// SPDX-License-Identifier: BSD-3-Clause
// `c10m bench micro`: the benchmarks of micro.h, each in a separate process.
#include "bench/micro.h"

#include <fnmatch.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "bench/bench_main.h"
#include "bench/bench_pair.h"
#include "bench/costs.h"
#include "bench/micro_print.h"
#include "bench/subprocess.h"
#include "drivers/eal.h"
#include "drivers/hugefiles.h"

static const struct micro *const lists[] = {micro_wire, micro_flow, micro_timer, micro_ooo,
                                            micro_sack, micro_turn, micro_gro};

struct options {
    unsigned count;
    uint32_t size_max;
    double seconds;
    enum micro_format format;
    unsigned cpu;
    char **names;
    int n_names;
};

static void help(void)
{
    printf("usage: c10m bench micro [OPTIONS] [NAME...]\n"
           "\n"
           "Measure single parts of the data path, and DPDK functions of the same purpose. With\n"
           "NAME, a pattern such as Flow*, measure only the parts that match.\n"
           "\n"
           "  --count N       repetitions, 1 to %d (default 1)\n"
           "  --seconds S     seconds of each repetition (default 0.2)\n"
           "  --max N         largest number of entries (default 10M)\n"
           "  --cpu N         CPU to measure on (default 1)\n"
           "  --go            print Go's benchmark format, for benchstat\n"
           "  --json          print one JSON object instead of the table\n"
           "\n",
           MICRO_COUNT_MAX);
    for (unsigned l = 0; l < ARRAY_LEN(lists); l++)
        for (const struct micro *m = lists[l]; m->name != NULL; m++)
            printf("  %-15s %s\n", m->name, m->help);
}

int micro_eal(uint64_t bytes, struct err *err)
{
    struct hugepages pages;
    const bool huge =
        hugepages_read(2 << 20, &pages) && pages.free * pages.page_bytes >= bytes + (64 << 20);
    static char prefix[32];
    snprintf(prefix, sizeof(prefix), "c10mmicro%d", (int)getpid());
    const struct eal_params p = {.file_prefix = prefix,
                                 .main_cpu = (unsigned)sched_getcpu(),
                                 .hugepages = huge,
                                 .in_memory = true,
                                 .memory_bytes = {bytes}};
    return eal_start(&p, err);
}

// The task of the child process.
struct task {
    const struct micro *m;
    const struct options *o;
    uint32_t size;
};

static void count(uint64_t *calls, uint64_t *bytes)
{
    *calls = *bytes = 0;
    if (bench_allocations != NULL)
        bench_allocations(calls, bytes);
}

// Makes one repetition: runs lots until the time has expired.
static void repeat(const struct task *t, void *ctx, double hz, struct micro_result *out)
{
    struct micro_run r = {0};
    uint64_t calls[2], bytes[2];
    count(&calls[0], &bytes[0]);
    do
        t->m->run(ctx, &r);
    while ((double)r.cycles < t->o->seconds * hz && !interrupted());
    count(&calls[1], &bytes[1]);
    out->rows[out->n++] = (struct micro_row){
        .ops = r.ops,
        .ns = (double)r.cycles / (double)r.ops / hz * 1e9,
        .bytes = (double)(bytes[1] - bytes[0]) / (double)r.ops,
        .allocations = (double)(calls[1] - calls[0]) / (double)r.ops,
    };
}

static int measure(const void *arg, void *result, struct err *err)
{
    const struct task *t = arg;
    struct micro_result *out = result;
    struct micro_run warm = {0};
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(t->o->cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0)
        return err_set(err, "CPU %u cannot be used", t->o->cpu);
    const double hz = costs_tsc_hz();
    void *ctx = t->m->open(t->size, err);
    if (ctx == NULL)
        return -1;
    t->m->run(ctx, &warm);
    out->counted = bench_allocations != NULL;
    out->tsc_hz = hz;
    for (unsigned i = 0; i < t->o->count && !interrupted(); i++)
        repeat(t, ctx, hz, out);
    if (t->m->close != NULL)
        t->m->close(ctx);
    return interrupted() ? err_set(err, "interrupted") : 0;
}

static bool wanted(const struct options *o, const struct micro *m)
{
    bool found = o->n_names == 0;
    for (int i = 0; i < o->n_names; i++)
        found |= fnmatch(o->names[i], m->name, 0) == 0;
    return found;
}

// Returns 0, or -1 after a message on stderr if a measurement has failed.
static int run_one(const struct options *o, const struct micro *m, uint32_t size,
                   struct micro_print *print)
{
    static struct micro_result result;
    struct err err = {.text = ""};
    const struct task t = {m, o, size};
    result = (struct micro_result){.m = m, .size = size};
    if (bench_subprocess(measure, &t, &result, sizeof(result), &err) != 0) {
        fprintf(stderr, "c10m bench micro: %s: %u: %s\n", m->name, size, err.text);
        return -1;
    }
    result.m = m;
    result.size = size;
    micro_print_result(print, &result);
    return 0;
}

static int run(const struct options *o)
{
    static struct micro_print print;
    int rc = 0;
    micro_print_begin(&print, o->format);
    for (unsigned l = 0; l < ARRAY_LEN(lists); l++)
        for (const struct micro *m = lists[l]; m->name != NULL; m++)
            for (unsigned s = 0; s < MICRO_SIZES_MAX && m->sizes[s] != 0 && !interrupted(); s++)
                if (wanted(o, m) && (m->bytes || m->sizes[s] <= o->size_max))
                    rc |= run_one(o, m, m->sizes[s], &print);
    micro_print_end(&print);
    return rc == 0 && !interrupted() ? 0 : 1;
}

static bool parse_number(const char *text, double least, double most, double *out)
{
    char *end;
    *out = strtod(text, &end);
    if (end != text && (*end == 'k' || *end == 'M'))
        *out *= *end++ == 'k' ? 1e3 : 1e6;
    return end != text && *end == '\0' && *out >= least && *out <= most;
}

static bool names_known(const struct options *o)
{
    for (int i = 0; i < o->n_names; i++) {
        bool known = false;
        for (unsigned l = 0; l < ARRAY_LEN(lists); l++)
            for (const struct micro *m = lists[l]; m->name != NULL; m++)
                known |= fnmatch(o->names[i], m->name, 0) == 0;
        if (!known) {
            fprintf(stderr, "c10m bench micro: no benchmark \"%s\"\n", o->names[i]);
            return false;
        }
    }
    return true;
}

// Returns -1: continue; otherwise the exit status.
static int parse(int argc, char **argv, struct options *o)
{
    static const struct option table[] = {
        {"count", required_argument, NULL, 'n'}, {"seconds", required_argument, NULL, 's'},
        {"max", required_argument, NULL, 'm'},   {"cpu", required_argument, NULL, 'u'},
        {"go", no_argument, NULL, 'g'},          {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},        {NULL, 0, NULL, 0}};
    int c, index = 0;
    double v = 0;
    optind = 1;
    while ((c = getopt_long(argc, argv, "h", table, &index)) != -1) {
        bool good = true;
        if (c == 'h') {
            help();
            return 0;
        }
        if (c == 'n' && (good = parse_number(optarg, 1, MICRO_COUNT_MAX, &v)))
            o->count = (unsigned)v;
        else if (c == 's' && (good = parse_number(optarg, 0.0001, 60, &v)))
            o->seconds = v;
        else if (c == 'm' && (good = parse_number(optarg, 1, 1e8, &v)))
            o->size_max = (uint32_t)v;
        else if (c == 'u' && (good = parse_number(optarg, 0, CPU_SETSIZE - 1, &v)))
            o->cpu = (unsigned)v;
        else if (c == 'g' || c == 'j')
            o->format = c == 'g' ? MICRO_GO : MICRO_JSON;
        else if (c == '?')
            return 2;
        if (!good) {
            fprintf(
                stderr,
                "c10m bench micro: --%s: \"%s\" is not in the range of the option; see --help\n",
                table[index].name, optarg);
            return 2;
        }
    }
    o->names = argv + optind;
    o->n_names = argc - optind;
    return names_known(o) ? -1 : 2;
}

int bench_micro(int argc, char **argv)
{
    struct options o = {.count = 1, .size_max = 10000000, .seconds = 0.2, .cpu = 1};
    const int rc = parse(argc, argv, &o);
    return rc < 0 ? run(&o) : rc;
}

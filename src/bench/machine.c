// SPDX-License-Identifier: BSD-3-Clause
// Measures the latencies of this machine and computes the budget of a packet from them.
#include <numa.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/interrupt.h"
#include "base/topology.h"
#include "bench/bench_main.h"
#include "bench/chase.h"
#include "bench/costs.h"
#include "bench/map.h"
#include "bench/options.h"

enum {
    CURVE_MAX = 32,
    COPIES_MAX = 4,
    NOTE_BYTES = 96,
    NODES_MAX = 1 << 21,   // 128 MiB of cache lines
    TLB_PAGES_MAX = 4096,  // more than the entries of present second-level TLBs
};

#define MIB ((size_t)1 << 20)

static const char help[] =
    "usage: c10m bench machine [OPTIONS]\n"
    "\n"
    "Measure the cost of caches, memory, pages, branches, system calls and another core of this "
    "machine,\n"
    "and how many of each fit into the time of a packet at 1 and at 10 million packets per second. "
    "Each\n"
    "value is the minimum of several rounds.\n"
    "\n"
    "  --memory MIB        MiB of memory to walk through, 16 to 1048576 (default 1024)\n"
    "  --cpus A,B          measure on CPU B, with A as the other core (default 0,1)\n"
    "  --quick             measure for a shorter time, in 32 MiB\n" BENCH_JSON_HELP "\n"
    "Pages of 2 MiB and 1 GiB are measured if enough of them are free (sysctl vm.nr_hugepages).\n";

struct options {
    size_t bytes;
    unsigned other, cpu;
    bool quick, json;
};

struct curve_point {
    size_t bytes;
    double ns;
};

// page_cost: results for one page size. random_ns: random cache lines of the whole memory.
// tlb_miss_ns: the time for one cache line per page minus the time for the same number of adjacent
// cache lines.
struct page_cost {
    const char *name;
    size_t page_bytes;
    bool there;          // enough pages were free
    bool transparent;    // the pages are transparent hugepages
    double random_ns;    // per access, each waits for the previous one
    uint32_t pages;      // number of pages for tlb_miss_ns
    double tlb_miss_ns;  // per access
};

struct copy_cost {
    size_t bytes;
    double gb_s;
};

struct machine {
    struct options o;
    struct cpu_place place;
    unsigned nodes;
    struct machine_costs costs;
    char notes[COST_COUNT][NOTE_BYTES];
    struct bench_map map;  // memory of o.bytes
    struct rng rng;
    unsigned n_curve;
    struct curve_point curve[CURVE_MAX];
    struct page_cost pages[3];
    unsigned n_copies;
    struct copy_cost copies[COPIES_MAX];
};

static double ns_of(const struct machine *m, double cycles)
{
    return cycles < 0 ? 0 : cycles / m->costs.tsc_hz * 1e9;
}

static unsigned rounds(const struct machine *m)
{
    return m->o.quick ? 2 : 5;
}

// Returns the minimum of some walks of the chain, in ns per access. The first walk fills the
// caches.
static double walk_ns(const struct machine *m, struct chase *c)
{
    const uint32_t loads = m->o.quick ? 50000 : 300000;
    double best = chase_cycles(c, MIN(c->n * 2, loads));
    for (unsigned r = 0; r < rounds(m) && !interrupted(); r++) {
        const double now = chase_cycles(c, loads);
        best = MIN(best, now);
    }
    return ns_of(m, best);
}

// Initializes c with cache lines in the whole memory: all of them, or a number far above the size
// of the caches.
static void lines_of(struct machine *m, struct chase *c, void *mem, size_t bytes)
{
    const size_t lines = bytes / CACHE_LINE, most = m->o.quick ? NODES_MAX / 8 : NODES_MAX;
    const size_t stride = (lines + most - 1) / most * CACHE_LINE;
    chase_init(c, mem, (uint32_t)(bytes / stride), stride, &m->rng);
}

static double chain_ns(struct machine *m, void *mem, size_t bytes)
{
    struct chase c;
    lines_of(m, &c, mem, bytes);
    return walk_ns(m, &c);
}

static const char *page_name(size_t bytes)
{
    return bytes >= (size_t)1 << 30 ? "1 GiB" : bytes >= 2 * MIB ? "2 MiB" : "4 KiB";
}

// Measures each cache level with a size that does not fit into the previous level and uses only a
// part of the level, because a last-level cache is often shared with other virtual machines.
static void measure_caches(struct machine *m)
{
    const uint64_t size[] = {topology_cache_bytes(&m->place, 1), topology_cache_bytes(&m->place, 2),
                             topology_cache_bytes(&m->place, 3)};
    const uint64_t walked[] = {size[0] / 2, MAX(size[1] / 4, size[0] * 2),
                               MIN(size[2] / 2, size[1] * 4)};
    for (unsigned i = 0; i < ARRAY_LEN(size); i++) {
        const enum machine_cost what = COST_L1 + i;
        if (size[i] == 0 || walked[i] < CACHE_LINE) {
            snprintf(m->notes[what], NOTE_BYTES, "no such cache in sysfs");
            continue;
        }
        m->costs.ns[what] = chain_ns(m, m->map.at, MIN((size_t)walked[i], m->map.bytes));
        snprintf(m->notes[what], NOTE_BYTES, "%llu KiB, measured with %llu KiB",
                 (unsigned long long)size[i] >> 10, (unsigned long long)walked[i] >> 10);
    }
}

// Adds a note about the usable part of the last-level cache: the size of the largest walk whose
// latency is nearer to that of the cache than to that of memory.
static void note_ours(struct machine *m)
{
    const double l3 = m->costs.ns[COST_L3], half = (l3 + m->costs.ns[COST_DRAM]) / 2;
    size_t ours = 0;
    for (unsigned i = 0; i < m->n_curve && m->curve[i].ns < half; i++)
        ours = m->curve[i].bytes;
    const size_t len = strlen(m->notes[COST_L3]);
    if (l3 > 0 && ours != 0)
        snprintf(m->notes[COST_L3] + len, NOTE_BYTES - len, "; %zu KiB of it usable", ours >> 10);
}

static void measure_memory(struct machine *m)
{
    struct chase c;
    lines_of(m, &c, m->map.at, m->o.bytes);
    m->costs.ns[COST_DRAM] = walk_ns(m, &c);
    snprintf(m->notes[COST_DRAM], NOTE_BYTES, "%zu MiB in %s pages%s", m->o.bytes >> 20,
             page_name(m->map.page_bytes), m->map.page_bytes == 4096 ? " or transparent ones" : "");
    double best = chase_batch_cycles(&c, 10000, &m->rng);
    for (unsigned r = 0; r < rounds(m); r++) {
        const double now = chase_batch_cycles(&c, m->o.quick ? 50000 : 500000, &m->rng);
        best = MIN(best, now);
    }
    m->costs.ns[COST_BATCH] = ns_of(m, best);
    snprintf(m->notes[COST_BATCH], NOTE_BYTES, "the same memory");
    for (size_t bytes = 4096; bytes <= m->o.bytes && m->n_curve < CURVE_MAX; bytes *= 2)
        m->curve[m->n_curve++] = (struct curve_point){bytes, chain_ns(m, m->map.at, bytes)};
    note_ours(m);
}

// Returns the first other NUMA node with memory; -1: there is none.
static int other_node(const struct machine *m)
{
    if (numa_available() < 0)
        return -1;
    for (int i = 0; i <= numa_max_node(); i++)
        if (i != m->place.node && numa_node_size64(i, NULL) > 0)
            return i;
    return -1;
}

static void measure_remote(struct machine *m)
{
    struct bench_map map;
    const int node = m->nodes > 1 ? other_node(m) : -1;
    if (node < 0) {
        snprintf(m->notes[COST_REMOTE], NOTE_BYTES, "this machine has one node");
        return;
    }
    numa_set_preferred(node);
    if (bench_map(&map, m->o.bytes)) {
        m->costs.ns[COST_REMOTE] = chain_ns(m, map.at, m->o.bytes);
        snprintf(m->notes[COST_REMOTE], NOTE_BYTES, "node %d from node %d", node, m->place.node);
        bench_unmap(&map);
    } else {
        snprintf(m->notes[COST_REMOTE], NOTE_BYTES, "node %d has no free memory", node);
    }
    numa_set_localalloc();
}

// Returns the difference between one cache line in each of n pages and n adjacent cache lines, in
// ns per access.
static double tlb_ns(struct machine *m, void *mem, uint32_t n, size_t page_bytes)
{
    struct chase far, near;
    chase_init(&near, m->map.at, n, CACHE_LINE, &m->rng);
    const double base = walk_ns(m, &near);
    chase_init(&far, mem, n, page_bytes, &m->rng);
    const double apart = walk_ns(m, &far);
    return MAX(apart - base, 0);
}

static void measure_pages(struct machine *m)
{
    static const size_t sizes[] = {4096, (size_t)2 << 20, (size_t)1 << 30};
    for (unsigned i = 0; i < ARRAY_LEN(sizes); i++) {
        struct page_cost *p = &m->pages[i];
        struct bench_map map;
        *p = (struct page_cost){.name = page_name(sizes[i]), .page_bytes = sizes[i]};
        if (interrupted() || (sizes[i] > m->o.bytes && m->o.quick) ||
            !bench_map_of(&map, m->o.bytes, sizes[i]))
            continue;
        p->there = true;
        p->transparent = map.transparent;
        p->random_ns = chain_ns(m, map.at, m->o.bytes);
        p->pages = (uint32_t)MIN(map.bytes / sizes[i], (size_t)TLB_PAGES_MAX);
        p->tlb_miss_ns = tlb_ns(m, map.at, p->pages, sizes[i]);
        bench_unmap(&map);
    }
}

static void measure_core(struct machine *m)
{
    const bool quick = m->o.quick;
    m->costs.ns[COST_BRANCH] = ns_of(m, cost_branch_cycles(quick));
    m->costs.ns[COST_SYSCALL] = ns_of(m, cost_syscall_cycles(quick));
    m->costs.ns[COST_SWITCH] = ns_of(m, cost_switch_cycles(m->o.cpu, quick));
    m->costs.ns[COST_ATOMIC] = ns_of(m, cost_atomic_cycles(quick));
    m->costs.ns[COST_TSC] = ns_of(m, cost_tsc_cycles(quick));
    const size_t sizes[COPIES_MAX] = {
        1460, 16 << 10, (size_t)topology_cache_bytes(&m->place, 2) / 4, m->map.bytes / 2};
    for (unsigned i = 0; i < COPIES_MAX; i++) {
        if (sizes[i] == 0)
            continue;
        const double cycles =
            cost_copy_cycles(m->map.at, (uint8_t *)m->map.at + m->map.bytes / 2, sizes[i], quick);
        m->copies[m->n_copies++] =
            (struct copy_cost){sizes[i], (double)sizes[i] / ns_of(m, cycles)};
    }
}

static void measure_other_core(struct machine *m)
{
    m->costs.ns[COST_HOP] = ns_of(m, cost_hop_cycles(m->o.cpu, m->o.other, m->o.quick));
    m->costs.ns[COST_ATOMIC_SHARED] =
        ns_of(m, cost_atomic_shared_cycles(m->o.cpu, m->o.other, m->o.quick));
    if (m->costs.ns[COST_HOP] == 0)
        snprintf(m->notes[COST_HOP], NOTE_BYTES, "CPU %u cannot be used", m->o.other);
    else
        snprintf(m->notes[COST_HOP], NOTE_BYTES, "CPU %u to CPU %u, half of a round trip", m->o.cpu,
                 m->o.other);
}

static void print_table(const struct machine *m)
{
    const double hz = m->costs.tsc_hz;
    printf("machine: measured on CPU %u, TSC %.0f MHz, NUMA nodes: %u%s\n", m->o.cpu, hz / 1e6,
           m->nodes, m->o.quick ? "; quick: less precise" : "");
    printf("%-40s %9s %9s\n", "what", "ns", "cycles");
    for (unsigned i = 0; i < COST_COUNT; i++) {
        if (m->costs.ns[i] > 0)
            printf("%-40s %9.2f %9.1f  %s\n", cost_infos[i].label, m->costs.ns[i],
                   m->costs.ns[i] * hz / 1e9, m->notes[i]);
        else
            printf("%-40s %9s %9s  %s\n", cost_infos[i].label, "-", "-", m->notes[i]);
    }
    printf("\n%-10s %24s %22s\n", "pages", "random line, ns", "TLB miss, ns");
    for (unsigned i = 0; i < ARRAY_LEN(m->pages); i++) {
        const struct page_cost *p = &m->pages[i];
        if (p->there)
            printf("%-10s %24.1f %22.1f  one line in each of %u%s\n", p->name, p->random_ns,
                   p->tlb_miss_ns, p->pages, p->transparent ? " (transparent)" : "");
        else
            printf("%-10s %24s %22s  not enough free pages\n", p->name, "-", "-");
    }
    printf("\n%-10s", "memcpy");
    for (unsigned i = 0; i < m->n_copies; i++)
        printf("  %zu B: %.1f GB/s", m->copies[i].bytes, m->copies[i].gb_s);
    printf("\n\n%-10s  ns per access, each waits for the previous one\n", "memory");
    for (unsigned i = 0; i < m->n_curve; i++)
        printf("%6zu KiB  %7.2f\n", m->curve[i].bytes >> 10, m->curve[i].ns);
    putchar('\n');
    struct text budget;
    text_init(&budget, 1 << 16);
    costs_budget(&m->costs, &budget);
    fputs(text_str(&budget), stdout);
    text_free(&budget);
}

static void print_json(const struct machine *m)
{
    struct utsname u;
    uname(&u);
    printf("{\"bench\":\"machine\",\"cpu\":%u,\"other_cpu\":%u,\"nodes\":%u,\"tsc_hz\":%.0f,"
           "\"kernel\":\"%s\",\"memory_bytes\":%zu,\"page_bytes\":%zu,\"quick\":%s,\"ns\":{",
           m->o.cpu, m->o.other, m->nodes, m->costs.tsc_hz, u.release, m->o.bytes,
           m->map.page_bytes, m->o.quick ? "true" : "false");
    const char *comma = "";
    for (unsigned i = 0; i < COST_COUNT; i++) {
        if (m->costs.ns[i] > 0)
            printf("%s\"%s\":%.3f", comma, cost_infos[i].name, m->costs.ns[i]);
        else
            printf("%s\"%s\":null", comma, cost_infos[i].name);
        comma = ",";
    }
    printf("},\"pages\":[");
    comma = "";
    for (unsigned i = 0; i < ARRAY_LEN(m->pages); i++) {
        const struct page_cost *p = &m->pages[i];
        if (!p->there)
            continue;
        printf("%s{\"page_bytes\":%zu,\"transparent\":%s,\"random_ns\":%.2f,\"tlb_miss_ns\":%.2f,"
               "\"tlb_pages\":%u}",
               comma, p->page_bytes, p->transparent ? "true" : "false", p->random_ns,
               p->tlb_miss_ns, p->pages);
        comma = ",";
    }
    printf("],\"memcpy\":[");
    for (unsigned i = 0; i < m->n_copies; i++)
        printf("%s{\"bytes\":%zu,\"gb_per_s\":%.2f}", i == 0 ? "" : ",", m->copies[i].bytes,
               m->copies[i].gb_s);
    printf("],\"curve\":[");
    for (unsigned i = 0; i < m->n_curve; i++)
        printf("%s{\"bytes\":%zu,\"ns\":%.3f}", i == 0 ? "" : ",", m->curve[i].bytes,
               m->curve[i].ns);
    struct text budget;
    text_init(&budget, 1 << 16);
    costs_budget_json(&m->costs, &budget);
    printf("],\"budget\":%s}\n", text_str(&budget));
    text_free(&budget);
}

static int pin(unsigned cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return sched_setaffinity(0, sizeof(set), &set);
}

static int run(const struct options *o)
{
    static struct machine m;
    m = (struct machine){.o = *o, .rng = {1}, .nodes = topology_nodes("/sys")};
    if (!topology_read("/sys", o->cpu, &m.place) || pin(o->cpu) != 0) {
        fprintf(stderr, "c10m bench machine: CPU %u cannot be used\n", o->cpu);
        return 1;
    }
    if (!bench_map(&m.map, o->bytes)) {
        fprintf(stderr, "c10m bench machine: no memory for %zu MiB\n", o->bytes >> 20);
        return 1;
    }
    m.costs.tsc_hz = costs_tsc_hz();
    void (*const parts[])(struct machine *) = {measure_caches, measure_memory, measure_core,
                                               measure_other_core};
    for (unsigned i = 0; i < ARRAY_LEN(parts) && !interrupted(); i++)
        parts[i](&m);
    if (!interrupted())
        measure_pages(&m);  // these two allocate memory
    if (!interrupted())
        measure_remote(&m);
    if (interrupted())
        fprintf(stderr, "c10m bench machine: interrupted\n");
    else if (o->json)
        print_json(&m);
    else
        print_table(&m);
    bench_unmap(&m.map);
    return interrupted() ? 1 : 0;
}

int machine_costs_measure(unsigned cpu, unsigned other, struct machine_costs *out, struct err *err)
{
    static struct machine m;
    m = (struct machine){.o = {.bytes = 256 * MIB, .cpu = cpu, .other = other}, .rng = {1}};
    m.nodes = topology_nodes("/sys");
    cpu_set_t before;
    sched_getaffinity(0, sizeof(before), &before);
    if (!topology_read("/sys", cpu, &m.place) || pin(cpu) != 0)
        return err_set(err, "CPU %u cannot be used", cpu);
    if (!bench_map(&m.map, m.o.bytes)) {
        sched_setaffinity(0, sizeof(before), &before);
        return err_set(err, "no memory for %zu MiB", m.o.bytes >> 20);
    }
    m.costs.tsc_hz = costs_tsc_hz();
    measure_caches(&m);
    measure_memory(&m);
    measure_core(&m);
    if (other != cpu)
        measure_other_core(&m);
    bench_unmap(&m.map);
    sched_setaffinity(0, sizeof(before), &before);
    *out = m.costs;
    return 0;
}

static bool parse_mib(const char *text, size_t *bytes)
{
    char *end;
    const unsigned long long v = strtoull(text, &end, 10);
    *bytes = (size_t)v << 20;
    return end != text && *end == '\0' && v >= 16 && v <= 1 << 20;
}

static enum bench_taken take(int c, void *to)
{
    struct options *o = to;
    if (c == 'm')
        return parse_mib(optarg, &o->bytes) ? BENCH_TAKEN : BENCH_WRONG;
    if (c == 'u') {
        const bool good = bench_cpus(optarg, &o->other, &o->cpu);
        return good && MAX(o->other, o->cpu) < CPU_SETSIZE ? BENCH_TAKEN : BENCH_WRONG;
    }
    o->quick |= c == 'q';
    o->json |= c == 'j';
    return BENCH_TAKEN;
}

static const char *expected(int c)
{
    return c == 'm' ? "a number of MiB from 16 to 1048576" : BENCH_CPUS_EXPECTED;
}

int bench_machine(int argc, char **argv)
{
    static const struct option table[] = {{"memory", required_argument, NULL, 'm'},
                                          {"quick", no_argument, NULL, 'q'},
                                          BENCH_SHARED_OPTIONS};
    static const struct bench_cli cli = {"machine", help, table, take, expected};
    struct options o = {.other = 0, .cpu = 1};
    const int rc = bench_cli_parse(argc, argv, &cli, &o);
    if (rc != 0)
        return rc == 1 ? 0 : rc;
    if (o.bytes == 0)
        o.bytes = (o.quick ? 32 : 1024) * MIB;
    return run(&o);
}

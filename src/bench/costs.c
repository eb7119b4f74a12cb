// SPDX-License-Identifier: BSD-3-Clause
#include "bench/costs.h"

#include <immintrin.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"

enum { ROUNDS = 9, ROUNDS_QUICK = 2, CALIBRATE_NS = 20 * 1000 * 1000, BITS = 1 << 14 };

// Typical values, from Intel's and AMD's optimization manuals and from measurements.
const struct cost_info cost_infos[COST_COUNT] = {
    [COST_L1] = {"l1", "L1 cache, load", 1.5, false},
    [COST_L2] = {"l2", "L2 cache, load", 5, true},
    [COST_L3] = {"l3", "L3 cache, load", 20, true},
    [COST_DRAM] = {"dram", "memory, one access after the other", 100, true},
    [COST_REMOTE] = {"remote", "memory of another NUMA node", 150, false},
    [COST_BATCH] = {"batch", "memory, random lines prefetched by 32", 18, true},
    [COST_BRANCH] = {"branch", "mispredicted branch", 6, true},
    [COST_SYSCALL] = {"syscall", "system call (getppid)", 100, true},
    [COST_SWITCH] = {"switch", "context switch, with the wakeup", 1500, true},
    [COST_HOP] = {"hop", "hop to another core through a ring", 100, true},
    [COST_ATOMIC] = {"atomic", "atomic increment, own line", 7, true},
    [COST_ATOMIC_SHARED] = {"atomic_shared", "atomic increment, line of two cores", 60, true},
    [COST_TSC] = {"tsc", "reading the TSC", 10, true},
};

static const double rates[] = {1e6, 10e6};  // packets per second of a core

static uint64_t raw_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

double costs_tsc_hz(void)
{
    const uint64_t ns = raw_ns(), tsc = tsc_read();
    uint64_t now;
    while ((now = raw_ns()) - ns < CALIBRATE_NS)
        _mm_pause();
    return (double)(tsc_read() - tsc) * 1e9 / (double)(now - ns);
}

struct machine_costs costs_typical(void)
{
    struct machine_costs c = {.tsc_hz = costs_tsc_hz()};
    for (unsigned i = 0; i < COST_COUNT; i++)
        c.ns[i] = cost_infos[i].typical_ns;
    return c;
}

void costs_budget(const struct machine_costs *c, struct text *out)
{
    text_printf(out, "%-40s %8s  %10s  %10s\n", "budget of a packet, one core", "ns each",
                "at 1 M/s", "at 10 M/s");
    text_printf(out, "%-40s %8.2f  %10.0f  %10.0f\n", "cycles (of the TSC)", 1e9 / c->tsc_hz,
                c->tsc_hz / rates[0], c->tsc_hz / rates[1]);
    for (unsigned i = 0; i < COST_COUNT; i++)
        if (cost_infos[i].budget && c->ns[i] > 0)
            text_printf(out, "%-40s %8.2f  %10.1f  %10.1f\n", cost_infos[i].label, c->ns[i],
                        1e9 / rates[0] / c->ns[i], 1e9 / rates[1] / c->ns[i]);
}

void costs_budget_json(const struct machine_costs *c, struct text *out)
{
    for (unsigned r = 0; r < ARRAY_LEN(rates); r++) {
        text_printf(out, "%s{\"packets_per_s\":%.0f,\"cycles\":%.1f", r == 0 ? "[" : ",", rates[r],
                    c->tsc_hz / rates[r]);
        for (unsigned i = 0; i < COST_COUNT; i++)
            if (cost_infos[i].budget && c->ns[i] > 0)
                text_printf(out, ",\"%s\":%.2f", cost_infos[i].name, 1e9 / rates[r] / c->ns[i]);
        text_printf(out, "}");
    }
    text_printf(out, "]");
}

static unsigned rounds(bool quick)
{
    return quick ? ROUNDS_QUICK : ROUNDS;
}

// The branch depends on a byte of `bits`. Both branches write to memory, so that the compiler keeps
// the branch.
static NOINLINE uint64_t branches(const uint8_t *bits, volatile uint64_t *even,
                                  volatile uint64_t *odd)
{
    const uint64_t start = tsc_read();
    for (unsigned i = 0; i < BITS; i++)
        if (bits[i] & 1)
            (*odd)++;
        else
            (*even)++;
    return tsc_read() - start;
}

double cost_branch_cycles(bool quick)
{
    static uint8_t bits[BITS];
    struct rng rng = {1};
    uint64_t even = 0, odd = 0, tame = UINT64_MAX, wild = UINT64_MAX;
    for (unsigned r = 0; r < rounds(quick); r++) {
        for (unsigned i = 0; i < BITS; i++)
            bits[i] = i & 1;  // predictable, with the same number of each branch
        branches(bits, &even, &odd);
        tame = MIN(tame, branches(bits, &even, &odd));
        // new values each time, because predictors learn patterns of thousands of branches
        for (unsigned i = 0; i < BITS; i++)
            bits[i] = (uint8_t)(rng_u64(&rng) >> 63);
        wild = MIN(wild, branches(bits, &even, &odd));
    }
    return wild > tame ? (double)(wild - tame) / (BITS / 2.0) : 0;
}

double cost_syscall_cycles(bool quick)
{
    enum { CALLS = 2000 };
    uint64_t best = UINT64_MAX;
    for (unsigned r = 0; r < rounds(quick); r++) {
        const uint64_t start = tsc_read();
        for (unsigned i = 0; i < CALLS; i++)
            syscall(SYS_getppid);
        best = MIN(best, tsc_read() - start);
    }
    return (double)best / CALLS;
}

double cost_atomic_cycles(bool quick)
{
    enum { TIMES = 10000 };
    static uint64_t line CACHE_ALIGNED;
    uint64_t best = UINT64_MAX;
    for (unsigned r = 0; r < rounds(quick); r++) {
        const uint64_t start = tsc_read();
        for (unsigned i = 0; i < TIMES; i++)
            __atomic_fetch_add(&line, 1, __ATOMIC_SEQ_CST);
        best = MIN(best, tsc_read() - start);
    }
    return (double)best / TIMES;
}

double cost_tsc_cycles(bool quick)
{
    enum { TIMES = 10000 };
    uint64_t best = UINT64_MAX;
    for (unsigned r = 0; r < rounds(quick); r++) {
        const uint64_t start = tsc_read();
        for (unsigned i = 0; i < TIMES; i++)
            tsc_read();
        best = MIN(best, tsc_read() - start);
    }
    return (double)best / TIMES;
}

double cost_copy_cycles(uint8_t *to, const uint8_t *from, size_t bytes, bool quick)
{
    const size_t times = MAX((size_t)(quick ? 4 << 20 : 64 << 20) / bytes, (size_t)1);
    uint64_t best = UINT64_MAX;
    for (unsigned r = 0; r < rounds(quick); r++) {
        const uint64_t start = tsc_read();
        for (size_t i = 0; i < times; i++) {
            memcpy(to, from, bytes);
            __asm__ volatile("" : : "r"(to) : "memory");
        }
        best = MIN(best, tsc_read() - start);
    }
    return (double)best / (double)times;
}

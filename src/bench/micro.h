// SPDX-License-Identifier: BSD-3-Clause
// micro.h: benchmarks of single parts of the data path, with comparisons to DPDK functions of the
// same purpose where they exist.
#pragma once
#include "base/err.h"

enum { MICRO_SIZES_MAX = 5, MICRO_LOT = 64 };  // MICRO_LOT: operations at a time, as in a burst

// micro_run: the result of a lot.
struct micro_run {
    uint64_t ops, cycles;
};

// micro: one benchmark. name: in the style of Go benchmarks. sizes: numbers of entries, or bytes.
struct micro {
    const char *name;
    const char *peer;  // name of the benchmark for comparison, or NULL
    const char *help;
    uint32_t sizes[MICRO_SIZES_MAX];  // 0: end of the list
    bool bytes;
    // open: creates a context for a size; returns NULL with the reason in *err on failure. run:
    // runs a lot of operations and adds it to *r. close: may be NULL, because the process ends.
    void *(*open)(uint32_t size, struct err *err);
    void (*run)(void *ctx, struct micro_run *r);
    void (*close)(void *ctx);
};

// Lists of benchmarks, each terminated by a row without a name.
extern const struct micro micro_wire[], micro_flow[], micro_timer[], micro_ooo[], micro_sack[],
    micro_turn[], micro_gro[];

// micro_eal: starts EAL for a benchmark that needs `bytes` of DPDK's heap: in hugepages if enough
// are free, otherwise in 4 KiB pages. Returns 0, or -1 with the reason in *err.
int micro_eal(uint64_t bytes, struct err *err);

// bench_allocations: the calls of malloc() and similar functions since the start of the program,
// and the requested bytes. Defined only in c10m-bench, whose malloc() counts; otherwise NULL.
void bench_allocations(uint64_t *calls, uint64_t *bytes) __attribute__((weak));
